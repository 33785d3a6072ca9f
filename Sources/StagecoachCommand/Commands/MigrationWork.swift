import Diagnostics
import Stagecoach

/// What `migrate` and `check` have in common: the arguments, and the work on them, which shows its progress and heeds
/// signals.
struct MigrationWork {
    let request: MigrationRequest
    /// Whether the result goes to standard output as JSON.
    let printsJSON: Bool
    let console: Console
    private let style: ProgressDisplay.Style

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        style = ProgressDisplay.Style(choice: arguments[option: "progress"], console: console)
        printsJSON = arguments.has("json")
        self.console = console
    }

    /// Reads the inputs and works on them.
    ///
    /// - Parameters:
    ///   - prepare: what may stop the work once the inputs are known to be sound.
    ///   - work: shows its progress.
    /// - Throws: errors of the inputs, of the preparation and of the work.
    func run<Report>(
        preparing prepare: (ChainedMigration) throws -> Void, _ work: (ChainedMigration) throws -> Report
    ) throws -> (inputs: MigrationInputs, report: Report) {
        let progress = ProgressCounter()
        let cancellation = CancellationFlag()
        return try console.interruption.during(cancellation) {
            let inputs = try MigrationInputs(request)
            let migration = inputs.migration(progress: progress, cancellation: cancellation)
            try prepare(migration)
            return (
                inputs, try ProgressDisplay.during(progress, console: console, style: style) { try work(migration) }
            )
        }
    }
}
