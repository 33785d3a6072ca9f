import Diagnostics

/// The report of a batch's stores, as a page, as JSON and as comma-separated values.
///
/// Memory: the given results.
struct BatchPage {
    /// The greatest number of stores on a page. Stores that are not done come first.
    static let listed = 5000

    let summary: BatchSummary
    /// The last line of each store.
    let results: [BatchResult]
    /// The words of the command line, with the program's name first.
    let command: [String]

    /// Returns the report in the format of a file's ending.
    func text(_ format: ReportFormat) throws -> String {
        switch format {
        case .html: page
        case .csv: table
        case .json: try JSONText.text(BatchReport(summary: summary, stores: results))
        }
    }

    /// Returns a text in the first bytes of every batch report. It identifies an earlier batch report, which may be replaced.
    static func mark(_ format: ReportFormat) -> String {
        switch format {
        case .html: "stagecoach-batch"
        case .csv: header.joined(separator: ",")
        case .json: "\"\(BatchReport.version)\""
        }
    }

    /// Refuses paths where no report can be made, before the work. Makes nothing.
    static func check(_ paths: [String]) throws(MigrationError) {
        for path in paths { try ReportFile.check(path, replacing: mark(ReportFormat(path: path) ?? .json)) }
    }

    /// Writes the reports, each in the format of its ending.
    ///
    /// - Parameter permissions: the permissions of the files, less those of the process's umask.
    func write(_ paths: [String], permissions: FilePermissions) throws {
        for path in paths {
            let format = ReportFormat(path: path) ?? .json
            try ReportFile.write(path, try text(format), permissions: permissions, replacing: Self.mark(format))
        }
    }

    private static let header = [
        "status", "exitCode", "source", "destination", "objects", "rejected", "leftOutObjects", "leftOutValues",
        "leftOutLinks", "nilReferences", "destinationBytes", "seconds", "peakMemory", "error", "message",
    ]

    private var table: String {
        func text(_ figure: Int?) -> String { figure.map { "\($0)" } ?? "" }
        var rows = [Self.header]
        for result in results {
            var row = [result.status.rawValue, "\(result.exitCode)", result.source, result.destination]
            row += [result.objects, result.rejected, result.leftOutObjects, result.leftOutValues].map(text)
            row += [result.leftOutLinks, result.nilReferences, result.destinationBytes].map(text)
            row += [result.seconds.map { "\($0)" } ?? "", text(result.peakMemory)]
            row += [result.error ?? "", result.message ?? ""]
            rows.append(row)
        }
        let empty = Array(repeating: "", count: Self.header.count - 3)
        for source in summary.missing { rows.append(["missing", "", source] + empty) }
        return ReportTable.text(rows)
    }

    private var page: String {
        let open = summary.failed + summary.postponed + summary.missing.count
        let all = summary.stores + summary.missing.count
        let lossy = summary.storesWithLosses
        let verdict =
            open == 0
            ? "All stores are done" + (lossy > 0 ? ", \(Figures.count(lossy)) with something left out" : "")
            : "\(Figures.count(open)) of \(Figures.count(all, "store")) not done"
        return ReportPage.document(title: "Batch: \(verdict)", mark: Self.mark(.html)) { body in
            body.element(
                "div",
                ["class": "verdict " + (open == 0 && lossy == 0 ? "good" : summary.failed > 0 ? "bad" : "warn")],
                verdict)
            body.element("h1", "Batch of \(Figures.count(all, "store"))")
            let counts = [
                (summary.done + summary.skipped, "done", true), (summary.failed, "failed", false),
                (summary.postponed, "postponed to another run", false),
                (summary.missing.count, "without a result", false), (summary.objects, "objects made", true),
                (summary.rejected, "objects rejected", false), (lossy, "stores with something left out", false),
                (summary.atTarget, "at the target version already", false),
            ]
            let processor = Figures.duration(summary.processorSeconds)
            body.figures(
                counts.compactMap { count, name, isAlways in
                    count > 0 || isAlways ? (Figures.count(count), name) : nil
                } + (summary.wallSeconds.map { [(Figures.duration($0), "time")] } ?? []) + [
                    (Figures.duration(summary.seconds), "sum of all stores, \(processor) of processor"),
                    (Figures.size(summary.peakMemory), "peak memory of a process"),
                    (Figures.size(summary.destinationBytes), "destinations"),
                ])
            stores("Not done", "failures", results.filter(\.isUnfinished), &body)
            if !summary.missing.isEmpty {
                body.table(
                    "Without a result", id: "missing", header: ["source"],
                    rows: summary.missing.prefix(Self.listed).map { [PathIdentity.shortened($0)] })
            }
            stores("Done", "done", results.filter { $0.status == .done || $0.status == .skipped }, &body)
            body.again(command)
            body.remark("In the folder \(PathIdentity.canonical(".")), where paths without a slash in front begin.")
        }
    }

    private func stores(_ title: String, _ id: String, _ stores: [BatchResult], _ body: inout Markup) {
        guard !stores.isEmpty else { return }
        typealias Column = (name: String, cell: (BatchResult) -> String)
        func figure(_ name: String, _ count: @escaping (BatchResult) -> Int?) -> Column? {
            // A column of zeros only takes room.
            stores.contains { (count($0) ?? 0) > 0 } ? ("#" + name, { Figures.count(count($0) ?? 0) }) : nil
        }
        var columns: [Column?] = [("source", { PathIdentity.shortened($0.source) })]
        if id == "done" {
            columns += [
                ("#objects", { Figures.count($0.objects ?? 0) }), figure("rejected", \.rejected),
                figure("references nil", \.nilReferences), ("#time", { $0.seconds.map(Figures.duration) ?? "–" }),
                stores.contains { $0.losses != nil } ? ("left out", { $0.amountsLost ?? "–" }) : nil,
            ]
        } else {
            columns += [
                ("#exit code", { "\($0.exitCode)" }), ("why", { PathIdentity.shortened($0.message ?? "–") }),
            ]
        }
        columns.append(("destination", { PathIdentity.shortened($0.destination) }))
        let shown = columns.compactMap(\.self)
        body.table(
            title, id: id, header: shown.map(\.name), rows: stores.map { store in shown.map { $0.cell(store) } },
            most: Self.listed, stacks: true)
    }
}

/// A batch's report as JSON: the fields of the summary, and each store's last line.
private struct BatchReport: Encodable {
    /// The key of the format's version. It is the first key, because keys are sorted.
    static let version = "batchReport"

    let summary: BatchSummary
    let stores: [BatchResult]

    func encode(to encoder: any Encoder) throws {
        try summary.encode(to: encoder)
        try [Self.version: 1].encode(to: encoder)
        try ["stores": stores].encode(to: encoder)
    }
}
