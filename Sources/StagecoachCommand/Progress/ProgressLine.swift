import Stagecoach

/// The figures of a migration at one moment, and the progress line that shows them.
struct ProgressFigures {
    /// The counts; the rows and passes of a chain are those of its current migration.
    var counts: ProgressCounter.Snapshot
    /// The share done by an interrupted run that this one resumed.
    var doneBefore = 0.0
    /// The seconds since the start.
    var elapsed = 0.0
    /// The recent rate in rows per second.
    var rate = 0.0
    /// The resident memory in bytes.
    var memory: Int?

    /// The estimated seconds left; nil before this run has done 1 %, when an estimate would be a guess.
    var timeLeft: Double? {
        let own = counts.fraction - doneBefore
        guard own >= 0.01, counts.phase != .done else { return nil }
        return elapsed * (1 - counts.fraction) / own
    }

    /// The line for a log, with all figures.
    var plainLine: String { parts(hasBar: false).map(\.text).joined(separator: ", ") }

    /// Returns the line for a terminal, cut to its width by leaving out the least important figures first.
    ///
    /// - Parameter width: the columns of the terminal. The last stays free, because a full line wraps on some.
    func line(width: Int) -> String {
        let room = max(1, width - 1)
        var shown = parts(hasBar: true)
        func joined() -> String { shown.map(\.text).joined(separator: "  ") }
        while joined().count > room, shown.count > 1,
            let least = shown.indices.max(by: { shown[$0].rank < shown[$1].rank })
        {
            shown.remove(at: least)
        }
        return String(joined().prefix(room))
    }

    /// Returns the figures in order of appearance. Those with higher ranks are left out first.
    private func parts(hasBar: Bool) -> [(text: String, rank: Int)] {
        var parts: [(String, Int)] = [(counts.phase.label, 1)]
        if let waitsFor = counts.waitsFor { parts.append(("waiting for \(waitsFor)", 1)) }
        if counts.totalRows > 0 {
            if hasBar { parts.append((bar, 2)) }
            parts.append(("\(Int(counts.fraction * 100)) %", 0))
        }
        if counts.steps > 1 { parts.append(("migration \(counts.step)/\(counts.steps)", 4)) }
        if counts.passes > 0 { parts.append(("pass \(counts.pass)/\(counts.passes)", 4)) }
        if counts.totalRows > 0 {
            let (rows, total) = (counts.rows, max(counts.rows, counts.totalRows))
            parts.append(("\(Figures.count(rows)) of \(Figures.count(total, "row"))", 6))
        }
        if counts.expectedBytes > 0 {
            let (bytes, total) = (counts.destinationBytes, max(counts.destinationBytes, counts.expectedBytes))
            parts.append(("\(Figures.size(bytes)) of \(Figures.size(total))", 7))
        }
        if rate >= 1 { parts.append(("\(Figures.count(Int(min(rate, 1e15)))) rows/s", 5)) }
        if let timeLeft { parts.append(("\(Self.coarse(timeLeft)) left", 3)) }
        if let memory { parts.append(("memory \(Figures.size(memory))", 8)) }
        if counts.spilledBytes > 0 { parts.append(("spilled \(Figures.size(counts.spilledBytes))", 9)) }
        return parts
    }

    private var bar: String {
        let cells = 20
        let full = min(cells, max(0, Int(counts.fraction * Double(cells))))
        return "[" + String(repeating: "#", count: full) + String(repeating: "-", count: cells - full) + "]"
    }

    /// Returns a time in whole seconds, because an estimate has no tenths.
    private static func coarse(_ seconds: Double) -> String {
        seconds < 60 ? "\(max(1, Int(seconds.rounded()))) s" : Figures.duration(seconds)
    }
}
