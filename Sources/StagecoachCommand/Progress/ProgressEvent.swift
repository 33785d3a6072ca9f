import Foundation

/// A line of `--progress json`: one JSON object.
///
/// `schema` rises when a field changes its meaning or is removed; new fields may be added at any time.
struct ProgressEvent: Encodable {
    /// The kinds of line.
    enum Kind: String, Encodable {
        /// The first line of a run.
        case started
        /// The run resumes an interrupted one. The figures count from here.
        case resumed
        /// Figures, every second and at a change of the phase, the pass or the reason for waiting.
        case progress
        /// The last line of a run that succeeded.
        case finished
        /// The last line of a run that failed.
        case failed
    }

    /// An identifier that tells runs apart.
    let run: String
    /// The number of the line, from 1 without gaps.
    let sequence: Int
    let event: Kind
    let figures: ProgressFigures
    /// The exit code, in the last line.
    var exitCode: Int32?
    /// The error's stable code.
    var error: String?
    var message: String?

    /// The line with its line end; nil if a figure is not finite.
    var line: String? { try? JSONText.line(self) }

    private enum Key: CodingKey {
        case schema, run, sequence, event, phase, pass, passes, rows, totalRows, bytes, totalBytes, fraction, elapsed
        case rowsPerSecond, secondsLeft, memory, spilledBytes, waitsFor, exitCode, error, message
    }

    func encode(to encoder: any Encoder) throws {
        func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }
        let counts = figures.counts
        var line = encoder.container(keyedBy: Key.self)
        let known: [(Key, any Encodable)] = [
            (.schema, 1), (.run, run), (.sequence, sequence), (.event, event), (.phase, counts.phase.label),
            (.pass, counts.pass), (.passes, counts.passes), (.rows, counts.rows), (.totalRows, counts.totalRows),
            (.bytes, counts.destinationBytes), (.totalBytes, counts.expectedBytes),
            (.fraction, event == .finished ? 1 : counts.fraction), (.elapsed, rounded(figures.elapsed)),
            (.rowsPerSecond, figures.rate.rounded()), (.spilledBytes, counts.spilledBytes),
        ]
        for (key, value) in known { try line.encode(value, forKey: key) }
        // An estimate is absent before 1 % is done, and at the end.
        if event == .progress { try line.encodeIfPresent(figures.timeLeft.map(rounded), forKey: .secondsLeft) }
        try line.encodeIfPresent(figures.memory, forKey: .memory)
        // Absent while the run works.
        try line.encodeIfPresent(counts.waitsFor, forKey: .waitsFor)
        try line.encodeIfPresent(exitCode, forKey: .exitCode)
        try line.encodeIfPresent(error, forKey: .error)
        try line.encodeIfPresent(message, forKey: .message)
    }
}
