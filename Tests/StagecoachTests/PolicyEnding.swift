import Stagecoach
import TestSupport

/// What came of a fixture's migration: the store, or the error.
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

    /// What is otherwise than it was to be: the error, or rows, counts and rejects.
    func differences(from expected: PolicyEnding) -> [String] {
        guard expected.error == error else {
            return ["expected \(expected.error ?? "success")", "found \(error ?? "success")"]
        }
        guard let before = expected.store, let after = store else { return [] }
        var lines = after.differences(from: before)
        if expected.report?.counts != report?.counts { lines.append("counts \(String(describing: report?.counts))") }
        if expected.report?.rejects?.objects != report?.rejects?.objects { lines.append("rejects") }
        return lines
    }
}
