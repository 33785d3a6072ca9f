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
