import Stagecoach

/// The outcome of a run.
enum RunOutcome: String, Encodable {
    case migrated
    case dryRun
    case failed
    /// Ended by a signal, or because the source was written meanwhile. The same command may be run again.
    case interrupted
}

/// The encodable result of a migration, with facts that only the command knows.
struct MigrationResult: Encodable {
    let report: MigrationReport
    let names: MigrationNames

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        try names.encode(to: encoder)
        try ["outcome": report.isDryRun ? RunOutcome.dryRun : .migrated].encode(to: encoder)
    }
}
