import Foundation

/// All runs of one way.
struct WayResult: Codable {
    var name: String
    var runs: [WayRun] = []
    /// ``ContentChecksum`` of its destination.
    var contents: [String] = []

    /// True if the way was given the memory limit.
    var isBounded: Bool { runs.contains { $0.spilledBytes != nil } }
    /// The highest of all runs, in bytes.
    var peakMemory: Int { runs.map(\.peakMemory).max() ?? 0 }
}

/// The results of a benchmark, for people and for programs.
struct BenchmarkSummary: Codable {
    var store: String
    var storeBytes: Int
    var memoryLimit: Int
    var rounds: Int
    var results: [WayResult]
    var notes: [String]
    /// The expectations that fail; empty if all hold.
    var failures: [String]

    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }

    /// Medians side by side; ratios are medians of each round's own ratio to the first way. The last column sets the median of
    /// the processor time of each of our paths against that of the row path.
    func table() -> String {
        var lines = [
            "\(storeBytes >> 20) MiB, \(rounds) rounds, memory limit \(memoryLimit >> 20) MiB",
            Self.row(["", "CPU s", "ratio", "wall s", "ratio", "VmHWM MiB", "spilled MiB", "CPU to (b)"]),
        ]
        for result in results {
            lines.append(
                Self.row([
                    result.name, Self.text(Self.median(result.runs.map(\.processorSeconds))),
                    text(ratio(result, \.processorSeconds)), Self.text(Self.median(result.runs.map(\.wallSeconds))),
                    text(ratio(result, \.wallSeconds)), Self.text(Double(result.peakMemory) / 1_048_576),
                    result.runs.last?.spilledBytes.map { Self.text(Double($0) / 1_048_576) } ?? "-",
                    ratioToRowPath(result).map { String(format: "%.3f", $0) } ?? "-",
                ]))
        }
        lines += notes
        let contents = results.contains { !$0.contents.isEmpty } ? "Contents are equal" : "Contents were not compared"
        lines +=
            failures.isEmpty ? ["\(contents), memory is within the limit."] : failures.map { "FAILED " + $0 }
        return lines.joined(separator: "\n")
    }

    /// The median of a way's ratios to the shell, round by round; nil if there is no shell.
    func ratio(_ result: WayResult, _ figure: KeyPath<WayRun, Double>) -> Double? {
        guard let first = results.first, !first.isBounded else { return nil }
        return Self.median(zip(result.runs, first.runs).map { $0[keyPath: figure] / max(1e-9, $1[keyPath: figure]) })
    }

    /// The median of a path's processor time over that of the row path; nil if it is none of ours, or (b) was not run.
    func ratioToRowPath(_ result: WayResult) -> Double? {
        guard result.isBounded, let path = results.first(where: { $0.name.hasPrefix("(b)") }) else { return nil }
        return Self.median(result.runs.map(\.processorSeconds))
            / max(1e-9, Self.median(path.runs.map(\.processorSeconds)))
    }

    private func text(_ ratio: Double?) -> String { ratio.map(Self.text) ?? "-" }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    private static func text(_ value: Double) -> String { String(format: "%.2f", value) }

    private static func row(_ cells: [String]) -> String {
        cells.enumerated().map { index, cell in
            let space = String(repeating: " ", count: max(0, (index == 0 ? 42 : 12) - cell.count))
            return index == 0 ? cell + space : space + cell
        }.joined()
    }
}
