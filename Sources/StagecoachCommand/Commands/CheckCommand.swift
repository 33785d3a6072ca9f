import Diagnostics
import Stagecoach

/// `stagecoach check`.
struct CheckCommand {
    private let work: MigrationWork

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        work = try MigrationWork(arguments, console: console)
    }

    /// Counts what is invalid and prints it. Nothing stays on disk but a report file that was asked for.
    ///
    /// - Throws: errors of the inputs and of the work; `check.violations` (65) where a migration would fail.
    func run() throws {
        let files = work.request.reports
        let (inputs, checked) = try work.run(
            preparing: { _, _ in for file in files { try OutputFile.check(file) } }, { try $0.check() })
        let outline = CheckOutline(checked.report, checkedVersion: checked.version, inputs: inputs)
        work.console.output.write(work.printsJSON ? try JSONText.text(outline) : CheckWording.text(outline))
        let permissions = FilePermissions(ofSource: work.request.source)
        for file in files {
            try ReportFile.write(file, try text(outline, ReportFormat(path: file) ?? .json), permissions: permissions)
        }
        guard outline.fails else { return }
        throw MigrationError(
            "check.violations", .data, CheckWording.verdict(outline),
            remedy: outline.report.excuse ?? outline.report.refusal(work.request.options)?.remedy)
    }
}

extension CheckCommand {
    private func text(_ outline: CheckOutline, _ format: ReportFormat) throws -> String {
        switch format {
        case .json: try JSONText.text(outline)
        case .csv: CheckPage(outline).table
        case .html: CheckPage(outline).page()
        }
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
    /// Where the way takes several migrations: the version that the last one looked at leads to.
    var checkedVersion: String?
    /// Why a migration would be refused for what it leaves behind; nil where it would not.
    var refusal: String?

    private enum Key: String, CodingKey {
        case fails
        case checkedVersion
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
        try container.encodeIfPresent(checkedVersion, forKey: .checkedVersion)
    }
}

extension CheckOutline {
    init(_ report: CheckReport, checkedVersion: String?, inputs: MigrationInputs) {
        let options = inputs.request.options
        self.report = report
        self.checkedVersion = checkedVersion
        fails = report.fails(options)
        refusal = report.refusal(options)?.message
        rejects = options.onInvalid == .reject
        maximumRejects = options.maximumRejects
        sourceVersion = inputs.sourceModel.name
        destinationVersion = inputs.destinationModel.name
        mapping = inputs.mapping
    }
}
