extension PlotCommand {
    /// Resident memory of each way while it runs, over the largest store that it was looked at for; nil if it never was.
    ///
    /// The shell and our paths set the scales. What rivals take beyond them is cut off.
    static func timeline(_ results: [BenchmarkSummary]) -> String? {
        func samples(_ way: WayResult) -> [MemorySample] { way.runs.lazy.compactMap(\.memory).first ?? [] }
        guard let result = results.last(where: { $0.results.contains { !samples($0).isEmpty } }) else { return nil }
        let shown = result.results.filter { !samples($0).isEmpty }
        let own = shown.filter { $0.name.hasPrefix("(") }.flatMap(samples)
        guard let longest = own.map(\.seconds).max(), let highest = own.map(\.bytes).max(), longest > 0 else {
            return nil
        }
        let most = Double(max(highest, result.memoryLimit))
        let limit = 300 - Double(result.memoryLimit) / most * 250
        var parts = axes("resident memory, MiB", upTo: most / 1_048_576, "wall seconds")
        parts += [
            "<path d=\"M60 \(decimal(limit))H410\" fill=\"none\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>",
            text(64, limit - 4, "memory limit"), text(380, 318, decimal(longest)),
        ]
        for (index, way) in shown.enumerated() {
            let points = samples(way).filter { $0.seconds <= longest }.map { sample in
                let height = min(1, Double(sample.bytes) / most)
                return "\(decimal(60 + sample.seconds / longest * 340)),\(decimal(300 - height * 250))"
            }
            parts.append(
                "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" stroke=\"\(color(index))\" "
                    + "stroke-width=\"1.5\"/>")
            parts += legend(index, way.name)
        }
        return svg(width: 760, height: 340, "Memory against time, \(result.storeBytes >> 20) MiB", parts)
    }
}
