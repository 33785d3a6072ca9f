import Diagnostics
import Foundation

/// `stagecoach merge-reports`.
enum MergeReportsCommand {
    /// Adds up results files and prints the outcome of all stores.
    ///
    /// - Complexity: O(lines) of time, O(destinations) of memory.
    static func run(_ arguments: ParsedArguments, commandLine: [String], console: Console) throws {
        let reports = arguments.all("report")
        try BatchPage.check(reports)
        var last: [String: BatchResult] = [:]
        var order: [String] = []
        for file in arguments.operands {
            try BatchLog.read(file) { result in
                let key = PathIdentity.canonical(result.destination)
                if let previous = last[key] {
                    if (previous.time ?? "") > (result.time ?? "") { return }
                } else {
                    order.append(key)
                }
                last[key] = result
            }
        }
        var summary = BatchSummary()
        var results: [BatchResult] = []
        for key in order {
            guard var result = last[key] else { continue }
            if result.status == .started {
                result.postpone("The migration began and has no end: killed, or still at work")
            }
            summary.add(result)
            if !reports.isEmpty { results.append(result) }
        }
        if let path = arguments[option: "manifest"] {
            for entry in try BatchManifest.read(path).map(\.absolute) where last[entry.destination] == nil {
                summary.missing.append(entry.source)
            }
        }
        if arguments.has("json") {
            console.output.write(try JSONText.text(summary))
        } else {
            console.output.write(BatchWording.summary(summary, results: arguments.operands))
        }
        // The sources may have been moved meanwhile. The results files have the permissions that the sources allowed.
        try BatchPage(summary: summary, results: results, command: ["stagecoach"] + commandLine)
            .write(reports, permissions: FilePermissions(ofSources: arguments.operands))
        try ToldFailure.check(summary.exitCode)
    }
}
