import Stagecoach

/// A moment's figures of a migration, and their one line.
struct ProgressFigures {
    var phase = ProgressCounter.Phase.opening
    /// From 1; 0 before the first.
    var pass = 0
    var passes = 0
    /// Migration of a chain of versions, from 1.
    var step = 1
    var steps = 1
    var rows = 0
    var totalRows = 0
    /// Bytes of the destination so far, and of the whole, about.
    var bytes = 0
    var totalBytes = 0
    /// 0 to 1.
    var share = 0.0
    /// What an earlier run had done of it, from which this one goes on.
    var doneBefore = 0.0
    /// Seconds since the start.
    var elapsed = 0.0
    /// Rows a second lately.
    var rate = 0.0
    /// Bytes resident now.
    var memory: Int?
    var spilledBytes = 0
    /// In words; nil while the run works.
    var waitsFor: String?

    /// Seconds left; nil before this run has done 1 %, when any figure would be a guess.
    var timeLeft: Double? {
        let own = share - doneBefore
        guard own >= 0.01, phase != .done else { return nil }
        return elapsed * (1 - share) / own
    }

    /// The line for a log: all figures.
    var plainLine: String { parts(hasBar: false).map(\.text).joined(separator: ", ") }

    /// The line for a terminal: what fits into its width, the least important figures left out first.
    ///
    /// - Parameter width: columns of the terminal; the last stays free, because a full line wraps on some.
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

    /// The figures in order of appearance; a higher rank is left out earlier.
    private func parts(hasBar: Bool) -> [(text: String, rank: Int)] {
        var parts: [(String, Int)] = [(phase.label, 1)]
        if let waitsFor { parts.append(("waiting for \(waitsFor)", 1)) }
        if totalRows > 0 {
            if hasBar { parts.append((bar, 9)) }
            parts.append(("\(Int(share * 100)) %", 0))
        }
        if steps > 1 { parts.append(("migration \(step)/\(steps)", 2)) }
        if passes > 0 { parts.append(("pass \(pass)/\(passes)", 2)) }
        if totalRows > 0 {
            parts.append(("\(Figures.count(rows)) of \(Figures.count(max(rows, totalRows))) rows", 5))
        }
        if totalBytes > 0 {
            parts.append(("\(Figures.size(bytes)) of \(Figures.size(max(bytes, totalBytes)))", 6))
        }
        if rate >= 1 { parts.append(("\(Figures.count(Int(min(rate, 1e15)))) rows/s", 4)) }
        if let timeLeft { parts.append(("\(Self.coarse(timeLeft)) left", 3)) }
        if let memory { parts.append(("memory \(Figures.size(memory))", 7)) }
        if spilledBytes > 0 { parts.append(("spilled \(Figures.size(spilledBytes))", 8)) }
        return parts
    }

    private var bar: String {
        let cells = 20
        let full = min(cells, max(0, Int(share * Double(cells))))
        return "[" + String(repeating: "#", count: full) + String(repeating: "-", count: cells - full) + "]"
    }

    /// Whole seconds: a remaining time has no tenths.
    private static func coarse(_ seconds: Double) -> String {
        seconds < 60 ? "\(max(1, Int(seconds.rounded()))) s" : Figures.duration(seconds)
    }
}
