import Diagnostics
import Stagecoach

/// `stagecoach check`.
struct CheckCommand {
    private let work: MigrationWork

    init(_ arguments: ParsedArguments, console: Console) throws(UsageError) {
        work = try MigrationWork(arguments, console: console)
    }

    /// Counts invalid objects and prints them. Nothing stays on disk except requested report files.
    func run() throws {
        let counter = work.request.counter
        try work.measured("check", counter) { try check(counter, $0) }
    }

    private func check(_ counter: ProgressCounter, _ metrics: RunMetrics) throws {
        let files = work.request.reports
        let (inputs, checked) = try work.run(
            counter: counter, preparing: { _, _ in for file in files { try OutputFile.check(file) } },
            { try $0.check() })
        let outline = CheckOutline(checked.report, checkedVersion: checked.version, inputs: inputs)
        let report = outline.report
        metrics.note(
            .init(
                rejected: report.rejectedObjects, left: report.leftBehind,
                nilReferences: report.danglingReferences.reduce(0) { $0 + $1.count }
                    + (report.nilReferences ?? []).reduce(0) { $0 + $1.count }))
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

/// The encodable result of a check, with facts that only the command knows.
struct CheckOutline: Encodable {
    let report: CheckReport
    /// True if a migration with the same arguments would fail because of its objects.
    let fails: Bool
    /// True if the migration would leave invalid objects out.
    let rejects: Bool
    let maximumRejects: Int?
    let names: MigrationNames
    /// The command's remarks on the way.
    let notes: [String]
    /// The destination version of the last migration checked, if the way takes several; nil otherwise.
    var checkedVersion: String?
    /// The reason why a migration would be refused for its losses; nil if it would not.
    var refusal: String?

    func encode(to encoder: any Encoder) throws {
        try report.encode(to: encoder)
        try names.encode(to: encoder)
        try ["fails": fails].encode(to: encoder)
        if !notes.isEmpty { try ["notes": notes].encode(to: encoder) }
        if let checkedVersion { try ["checkedVersion": checkedVersion].encode(to: encoder) }
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
        names = inputs.names
        notes = inputs.notes
    }
}
