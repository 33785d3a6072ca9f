import Diagnostics
import Stagecoach

/// `stagecoach check`.
struct CheckCommand {
    private let request: MigrationRequest
    private let style: ProgressDisplay.Style
    private let printsJSON: Bool
    private let console: Console

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        request = try MigrationRequest(arguments)
        style = ProgressDisplay.Style(choice: arguments[option: "progress"], console: console)
        printsJSON = arguments.has("json")
        self.console = console
    }

    /// Counts what is invalid and prints it. Nothing stays on disk but a report file that was asked for.
    ///
    /// - Throws: errors of the inputs and of the work; `check.violations` (65) where a migration would fail.
    func run() throws {
        let progress = ProgressCounter()
        let cancellation = CancellationFlag()
        let outline = try console.interruption.during(cancellation) {
            let inputs = try MigrationInputs(request)
            if let report = request.report { try OutputFile.check(report) }
            let migration = inputs.migration(progress: progress, cancellation: cancellation)
            let report = try ProgressDisplay.during(progress, console: console, style: style) { try migration.check() }
            return CheckOutline(report, inputs: inputs)
        }
        let json = request.report != nil || printsJSON ? try JSONText.text(outline) : ""
        console.output.write(printsJSON ? json : CheckWording.text(outline))
        if let report = request.report { try OutputFile.create(report, json) }
        guard outline.fails else { return }
        throw MigrationError("check.violations", .data, CheckWording.verdict(outline))
    }
}

/// A check's result with what the command knows beyond it: a value that can be encoded.
struct CheckOutline: Encodable {
    let report: CheckReport
    /// Whether a migration with the same arguments would fail for its objects' sake.
    let fails: Bool
    /// Whether the migration would leave invalid objects out.
    let rejects: Bool
    let maximumRejects: Int?
    let sourceVersion: String?
    let destinationVersion: String?
    /// The mapping model's file; nil where it was inferred.
    let mapping: String?

    init(_ report: CheckReport, inputs: MigrationInputs) {
        let options = inputs.request.options
        self.report = report
        fails = report.fails(options)
        rejects = options.onInvalid == .reject
        maximumRejects = options.maximumRejects
        sourceVersion = inputs.sourceModel.name
        destinationVersion = inputs.destinationModel.name
        mapping = inputs.request.mapping
    }

    private enum Key: String, CodingKey {
        case fails
        case sourceVersion
        case destinationVersion
        case mapping
    }

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(fails, forKey: .fails)
        try container.encodeIfPresent(sourceVersion, forKey: .sourceVersion)
        try container.encodeIfPresent(destinationVersion, forKey: .destinationVersion)
        try container.encodeIfPresent(mapping, forKey: .mapping)
    }
}
