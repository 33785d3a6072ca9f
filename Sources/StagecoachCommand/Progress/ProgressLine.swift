import Stagecoach

/// The figures of a migration at one moment, and the progress line that shows them.
struct ProgressFigures {
    var phase = ProgressCounter.Phase.opening
    /// The number of the pass, from 1; 0 before the first.
    var pass = 0
    var passes = 0
    /// The number of the migration in a chain of versions, from 1.
    var step = 1
    var steps = 1
    var rows = 0
    var totalRows = 0
    /// The destination's size so far and its estimated final size, in bytes.
    var bytes = 0
    var totalBytes = 0
    /// The share of work done, 0 to 1.
    var share = 0.0
    /// The share done by an interrupted run that this one resumed.
    var doneBefore = 0.0
    /// The seconds since the start.
    var elapsed = 0.0
    /// The recent rate in rows per second.
    var rate = 0.0
    /// The resident memory in bytes.
    var memory: Int?
    var spilledBytes = 0
    /// The reason for waiting, in words; nil while the run works.
    var waitsFor: String?

    /// The estimated seconds left; nil before this run has done 1 %, when an estimate would be a guess.
    var timeLeft: Double? {
        let own = share - doneBefore
        guard own >= 0.01, phase != .done else { return nil }
        return elapsed * (1 - share) / own
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

    /// Returns a time in whole seconds, because an estimate has no tenths.
    private static func coarse(_ seconds: Double) -> String {
        seconds < 60 ? "\(max(1, Int(seconds.rounded()))) s" : Figures.duration(seconds)
    }
}
