import Stagecoach
import TestSupport

/// The result of a fixture's migration: the store, or the error.
struct PolicyEnding {
    var store: ReferenceStore?
    var report: MigrationReport?
    var error: String?

    init() {}

    init(of fixture: PolicyFixture, by manager: MigrationManager) {
        do {
            store = try fixture.run(manager)
            report = manager.report
        } catch {
            self.error = "\(error)"
        }
    }

    /// Returns the differences from an expected ending: the error, or rows, counts and rejects.
    func differences(from expected: PolicyEnding) -> [String] {
        guard expected.error == error else {
            return ["expected \(expected.error ?? "success")", "found \(error ?? "success")"]
        }
        guard let before = expected.store, let after = store else { return [] }
        var lines = after.differences(from: before)
        if expected.report.map(Self.counts) != report.map(Self.counts) {
            lines.append("counts \(String(describing: report?.counts))")
        }
        if expected.report?.rejects?.objects != report?.rejects?.objects { lines.append("rejects") }
        return lines
    }

    /// The counts, with objects that a policy made and did not associate among the dropped ones: which of the two they are is
    /// told by the objects that a call made, and a call that associates later or deletes tells it otherwise where rows were
    /// prepared.
    private static func counts(_ report: MigrationReport) -> MigrationCounts {
        var counts = report.counts
        for index in counts.mappings.indices {
            counts.mappings[index].droppedByPolicy += counts.mappings[index].unassociated
            counts.mappings[index].unassociated = 0
        }
        return counts
    }
}
