import Diagnostics
import Foundation

/// `plot --folder FOLDER RESULTS.json …`: draws what `run --json` wrote, for one store or several: ratios to hand-written
/// SQL as bars, processor time and peak memory against size, and memory against time, as SVG.
enum PlotCommand {
    static func run(_ list: [String]) throws {
        let arguments = try Arguments(list, options: ["folder"])
        let folder = try arguments.required("folder")
        guard !arguments.plain.isEmpty else { throw Arguments.usage("Name the results to draw") }
        let results = try arguments.plain.map { path in
            try JSONDecoder().decode(BenchmarkSummary.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        }.sorted { $0.storeBytes < $1.storeBytes }
        let drawings = [
            ("ratios", ratios(results)),
            ("time", lines(results, "processor seconds") { BenchmarkSummary.median($0.runs.map(\.processorSeconds)) }),
            ("memory", lines(results, "peak memory, MiB") { Double($0.peakMemory) / 1_048_576 }),
        ]
        for (name, drawing) in drawings + (timeline(results).map { [("timeline", $0)] } ?? []) {
            try drawing.write(toFile: "\(folder)/\(name).svg", atomically: true, encoding: .utf8)
            print("\(folder)/\(name).svg")
        }
    }

    private static let colors = [
        "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f",
    ]

    /// Bars of each way's processor time over that of the first, a group for each store.
    private static func ratios(_ results: [BenchmarkSummary]) -> String {
        var parts: [String] = []
        var top = 30.0
        // Rivals may take a hundred times as long: their bars end at the edge, their numbers tell.
        let most = 1.5
        for result in results {
            parts.append(text(10, top, "\(result.storeBytes >> 20) MiB", weight: "bold"))
            top += 8
            for (index, way) in result.results.enumerated() {
                let ratio = result.ratio(way, \.processorSeconds) ?? 0
                let width = min(ratio, most) / most * 300
                parts.append(text(10, top + 13, way.name))
                parts.append(
                    "<rect x=\"270\" y=\"\(top)\" width=\"\(decimal(width))\" height=\"16\" fill=\"\(color(index))\"/>"
                )
                parts.append(text(276 + width, top + 13, decimal(ratio)))
                top += 22
            }
            top += 26
        }
        return svg(width: 640, height: top, "Processor time over that of the sqlite3 shell", parts)
    }

    /// A line for each way over the stores' sizes.
    private static func lines(
        _ results: [BenchmarkSummary], _ label: String, _ figure: (WayResult) -> Double
    ) -> String {
        var names: [String] = []
        for way in results.flatMap(\.results) where !names.contains(way.name) { names.append(way.name) }
        let widest = Double(results.last?.storeBytes ?? 1)
        let highest = max(1e-9, results.flatMap(\.results).map(figure).max() ?? 1)
        func place(_ bytes: Int, _ value: Double) -> (x: Double, y: Double) {
            (60 + Double(bytes) / widest * 340, 300 - value / highest * 250)
        }
        var parts = axes(label, upTo: highest, "size of the source, MiB")
        for result in results {
            let x = place(result.storeBytes, 0).x
            parts.append(text(x - 14, 318, "\(result.storeBytes >> 20)"))
        }
        for (index, name) in names.enumerated() {
            let points = results.compactMap { result in
                result.results.first { $0.name == name }.map { place(result.storeBytes, figure($0)) }
            }
            let color = color(index)
            let path = points.map { "\(decimal($0.x)),\(decimal($0.y))" }.joined(separator: " ")
            parts.append("<polyline points=\"\(path)\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>")
            for point in points {
                parts.append(
                    "<circle cx=\"\(decimal(point.x))\" cy=\"\(decimal(point.y))\" r=\"3\" fill=\"\(color)\"/>")
            }
            parts += legend(index, name)
        }
        return svg(width: 760, height: 340, label + " against size", parts)
    }

    /// The two axes from (60, 300) on, 340 wide and 250 high, and what they are of.
    static func axes(_ upright: String, upTo highest: Double, _ level: String) -> [String] {
        [
            "<path d=\"M60 40V300H410\" fill=\"none\" stroke=\"#888\"/>", text(10, 36, upright),
            text(20, 56, decimal(highest)), text(30, 304, "0"), text(250, 322, level),
        ]
    }

    /// Draws the entry of one line's colour, beside the axes.
    static func legend(_ index: Int, _ name: String) -> [String] {
        let y = 60 + Double(index) * 20
        return [
            "<rect x=\"430\" y=\"\(y - 9)\" width=\"10\" height=\"10\" fill=\"\(color(index))\"/>", text(446, y, name),
        ]
    }

    static func color(_ index: Int) -> String { colors[index % colors.count] }

    static func svg(width: Int, height: Double, _ title: String, _ parts: [String]) -> String {
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"\(width)\" height=\"\(Int(height))\" font-family=\"sans-serif\" "
            + "font-size=\"12\">\n<title>\(title)</title>\n"
            + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
            + ([text(10, 16, title, weight: "bold")] + parts).joined(separator: "\n") + "\n</svg>\n"
    }

    static func text(_ x: Double, _ y: Double, _ words: String, weight: String = "normal") -> String {
        let escaped = words.split(separator: "&", omittingEmptySubsequences: false).joined(separator: "&amp;")
            .split(separator: "<", omittingEmptySubsequences: false).joined(separator: "&lt;")
        return "<text x=\"\(decimal(x))\" y=\"\(decimal(y))\" font-weight=\"\(weight)\">\(escaped)</text>"
    }

    static func decimal(_ value: Double) -> String { String(format: "%.2f", value) }
}
