import Stagecoach

/// The words for the cost of each stage of a migration.
enum ProfileWording {
    /// Returns a table for each run of a chain; empty if no profile was requested.
    static func lines(_ report: MigrationReport) -> [String] {
        let steps = report.steps ?? []
        guard steps.count > 1 else { return table(report.profile ?? []) }
        return steps.flatMap { step in
            table(step.report.profile ?? []).titled(Versions.text(step.sourceVersion, step.destinationVersion))
        }
    }

    private static func table(_ profile: [ProfileLine]) -> [String] {
        guard !profile.isEmpty else { return [] }
        let rows = (profile + [.sum(profile)]).map { line in
            [
                line.stage, line.subject, Figures.decimal(line.seconds, places: 3),
                Figures.decimal(line.processorSeconds, places: 3), Figures.size(line.bytesRead),
                Figures.size(line.bytesWritten), Figures.size(line.spilledBytes),
            ]
        }
        let header = ["stage", "of", "seconds", "processor", "read", "written", "spilled"]
        return ([header] + rows).lines(right: Set(2...6)).map(\.printable)
    }
}
