/// The words for a batch.
enum BatchWording {
    static func line(_ result: BatchResult) -> String {
        let way = "\(result.source) → \(result.destination)"
        let text =
            switch result.status {
            case .started: "started    \(way)"
            case .done:
                "\(result.losses == nil ? "done     " : "done, left out")  \(way)  "
                    + (result.objects.map { Figures.count($0, "object") } ?? "by a run that was killed after it")
                    + (result.isAtTarget == true ? ", at the target version already" : "")
                    + (result.losses.map { ", \($0)" } ?? "")
                    + ((result.rejected ?? 0) > 0 ? ", \(Figures.count(result.rejected ?? 0)) rejected" : "")
                    + nilReferences(result)
                    + (result.seconds.map { ", \(Figures.duration($0))" } ?? "")
            case .skipped: "skipped    \(way)  done before" + (result.losses.map { ", \($0)" } ?? "")
            case .failed: "failed \(result.exitCode)  \(way)  \(result.message ?? "")"
            case .crashed: "crashed \(result.exitCode)  \(way)  \(result.message ?? "")"
            case .postponed: "postponed  \(way)  \(result.message ?? "")"
            }
        return PathIdentity.shortened(text).printable + "\n"
    }

    private static func nilReferences(_ result: BatchResult) -> String {
        let count = result.nilReferences ?? 0
        return count > 0 ? ", \(Figures.count(count, "reference")) became nil" : ""
    }

    /// Returns the message for an existing destination that differs from what the batch would make now.
    ///
    /// - Parameters:
    ///   - result: the failed attempt.
    ///   - now: the entry's present state and configuration.
    ///   - previous: the last migration to the destination; nil if no results file has one.
    static func outdated(_ result: BatchResult, _ now: BatchResult, previous: BatchResult?) -> String? {
        guard let previous, previous.status == .done else { return result.message }
        let change =
            if previous.fingerprint != now.fingerprint {
                "the source has changed since it was migrated to it"
            } else if previous.configuration != now.configuration {
                "it was made with other models, mapping models, policies or options"
            } else {
                "it has changed since it was made"
            }
        return "\(result.destination.printable): The destination exists already, and \(change). "
            + "Move it away to migrate the store again"
    }

    static func summary(_ summary: BatchSummary, results: [String]) -> String {
        func counted(_ count: Int) -> String? { count > 0 ? Figures.count(count) : nil }
        let facts = [[String]](facts: [
            "done": counted(summary.done), "skipped, done before": counted(summary.skipped),
            "failed": counted(summary.failed), "postponed to another run": counted(summary.postponed),
            "without a result": counted(summary.missing.count),
            "stores in all": Figures.count(summary.stores + summary.missing.count),
            "objects": Figures.count(summary.objects), "rejected objects": counted(summary.rejected),
            "with losses": summary.losses.map { "\(Figures.count(summary.storesWithLosses, "store")), \($0)" },
            "references nil": counted(summary.nilReferences), "destinations": Figures.size(summary.destinationBytes),
            "at the target version already": counted(summary.atTarget),
            "time": summary.wallSeconds.map(Figures.duration),
            "time of all stores":
                "\(Figures.duration(summary.seconds)), \(Figures.duration(summary.processorSeconds)) of processor",
            "peak memory of a process": Figures.size(summary.peakMemory),
        ])
        var lines = facts.lines()
        func list(_ title: String, _ stores: [String]) {
            lines += Array(stores.prefix(20)).titled(title, indent: 2)
            if stores.count > 20 { lines.append("  and \(Figures.count(stores.count - 20)) more") }
        }
        list("Not done", summary.failures.map { "\($0.exitCode)  \(PathIdentity.shortened(reason($0)))" })
        list("Without a result", summary.missing.map(PathIdentity.shortened))
        let files = results.map { PathIdentity.shortened(PathIdentity.canonical($0)) }
        lines += ["", "Results: \(files.joined(separator: ", "))"]
        return lines.printableText
    }

    /// Returns the reason why a store is not done, with its name if the reason does not contain it.
    private static func reason(_ result: BatchResult) -> String {
        guard let message = result.message else { return result.source }
        let isNamed = [result.source, result.destination].contains { message.contains($0) }
        return isNamed ? message : "\(result.source): \(message)"
    }

    /// Returns the line that is redrawn while the batch runs.
    static func progress(_ summary: BatchSummary, of count: Int) -> String {
        "\(Figures.count(summary.stores)) of \(Figures.count(count, "store"))"
            + (summary.failed > 0 ? ", \(Figures.count(summary.failed)) failed" : "")
            + (summary.postponed > 0 ? ", \(Figures.count(summary.postponed)) postponed" : "")
    }
}
