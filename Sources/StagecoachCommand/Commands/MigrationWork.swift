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
    /// Where lines of JSON go; nil: standard error.
    private let progressFile: String?

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        style = ProgressDisplay.Style(choice: arguments[option: "progress"], console: console)
        progressFile = arguments[option: "progress-file"]
        if progressFile != nil, style != .events { throw .needsOption("--progress-file", other: "--progress json") }
        printsJSON = arguments.has("json")
        self.console = console
    }

    /// Reads the inputs and works on them.
    ///
    /// - Parameters:
    ///   - counter: counts how far the work is.
    ///   - prepare: what may stop the work once the inputs are known to be sound.
    ///   - outcome: what it means that a signal stops the work.
    ///   - work: shows its progress.
    /// - Throws: errors of the inputs, of the preparation and of the work.
    func run<Report>(
        counter: ProgressCounter = ProgressCounter(),
        preparing prepare: (MigrationInputs, ChainedMigration) throws -> Void,
        outcome: String = "no destination was made",
        _ work: (ChainedMigration) throws -> Report
    ) throws -> (inputs: MigrationInputs, report: Report) {
        let cancellation = CancellationFlag()
        let permissions = FilePermissions(ofSource: request.source)
        let file = try progressFile.map { path throws(MigrationError) in
            try EventFile(path, permissions: permissions)
        }
        return try console.interruption.during(cancellation, outcome: outcome) {
            try ProgressDisplay.during(counter, console: console, style: style, events: file) {
                // A source that another process has locked is waited for here already.
                let inputs = try WaitBoard.$current.withValue(counter.waits) { try MigrationInputs(request) }
                let migration = inputs.migration(progress: counter, cancellation: cancellation)
                try prepare(inputs, migration)
                return (inputs, try work(migration))
            }
        }
    }
}
