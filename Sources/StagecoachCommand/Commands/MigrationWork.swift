import Diagnostics
import Glibc
import Stagecoach

/// The common part of `migrate` and `check`: the arguments, and the work on them with progress display and signal handling.
struct MigrationWork {
    let request: MigrationRequest
    /// True if the result is printed to standard output as JSON.
    let printsJSON: Bool
    let console: Console
    private let style: ProgressDisplay.Style
    /// The file, pipe or device for lines of JSON; nil for standard error.
    private let progressFile: String?

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        style = ProgressDisplay.Style(choice: arguments[option: "progress"], console: console)
        progressFile = arguments[option: "progress-file"]
        if progressFile != nil, style != .events { throw .needsOption("--progress-file", other: "--progress json") }
        printsJSON = arguments.has("json")
        self.console = console
    }

    /// Writes the file of metrics, if one is asked for, around the whole of a command.
    ///
    /// - Parameters:
    ///   - command: the name of the command.
    ///   - counter: a counter of the request.
    func measured(_ command: String, _ counter: ProgressCounter, _ work: (RunMetrics) throws -> Void) throws {
        let metrics = RunMetrics(request, counter)
        let store = PathIdentity.canonical(request.destination.isEmpty ? request.source : request.destination)
        try MetricsFile.during(
            request.metrics, of: [("command", command), ("store", store)], { metrics.add(to: &$0) },
            { try work(metrics) })
    }

    /// Reads the inputs and runs the work on them.
    ///
    /// - Parameters:
    ///   - counter: counts the progress.
    ///   - traces: takes the last files of a work that makes the destination; nil: it makes none.
    ///   - prepare: may stop the work by throwing, after the inputs have been checked.
    ///   - outcome: the consequence of stopping the work by a signal, in words.
    ///   - work: the work, whose progress is shown.
    func run<Report>(
        counter: ProgressCounter, leavingTo traces: LastTraces? = nil,
        preparing prepare: (MigrationInputs, ChainedMigration) throws -> Void,
        outcome: String = "no destination was made", _ work: (ChainedMigration) throws -> Report
    ) throws -> (inputs: MigrationInputs, report: Report) {
        let cancellation = CancellationFlag()
        let permissions = FilePermissions(ofSource: request.source)
        let file = try progressFile.map { path throws(MigrationError) in
            let descriptor = SystemCall.uninterrupted {
                open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, permissions.file)
            }
            guard descriptor >= 0 else { throw OutputFile.creationFailure(errno, path) }
            return DescriptorSink(descriptor, closes: true)
        }
        return try console.interruption.during(cancellation, outcome: outcome) {
            try ProgressDisplay.during(counter, console: console, style: style, events: file) {
                // The wait for a source locked by another process starts here already.
                try AtomicArgument.during(request, makes: traces != nil, cancellation: cancellation) {
                    let inputs = try WaitBoard.$current.withValue(counter.waits) { try MigrationInputs(request) }
                    func run(_ destination: String) throws -> Report {
                        let migration = inputs.migration(
                            to: destination, progress: counter, cancellation: cancellation)
                        try prepare(inputs, migration)
                        return try work(migration)
                    }
                    do {
                        guard let traces else { return (inputs, try run(request.destination)) }
                        let made = try AtomicArgument.making(
                            request, inputs, leavingTo: traces, cancellation: cancellation, run)
                        var noted = inputs
                        noted.numbering = made.note
                        return (noted, made.value)
                    } catch let error as MigrationError {
                        throw inputs.swiftModels?.explained(error) ?? error
                    }
                }
            }
        }
    }
}
