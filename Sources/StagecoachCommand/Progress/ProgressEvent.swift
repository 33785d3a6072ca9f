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
        try line.encode(1, forKey: .schema)
        try line.encode(run, forKey: .run)
        try line.encode(sequence, forKey: .sequence)
        try line.encode(event, forKey: .event)
        try line.encode(counts.phase.label, forKey: .phase)
        try line.encode(counts.pass, forKey: .pass)
        try line.encode(counts.passes, forKey: .passes)
        try line.encode(counts.rows, forKey: .rows)
        try line.encode(counts.totalRows, forKey: .totalRows)
        try line.encode(counts.destinationBytes, forKey: .bytes)
        try line.encode(counts.expectedBytes, forKey: .totalBytes)
        try line.encode(event == .finished ? 1 : counts.fraction, forKey: .fraction)
        try line.encode(rounded(figures.elapsed), forKey: .elapsed)
        try line.encode(figures.rate.rounded(), forKey: .rowsPerSecond)
        // An estimate is absent before 1 % is done, and at the end.
        if event == .progress { try line.encodeIfPresent(figures.timeLeft.map(rounded), forKey: .secondsLeft) }
        try line.encodeIfPresent(figures.memory, forKey: .memory)
        try line.encode(counts.spilledBytes, forKey: .spilledBytes)
        // Absent while the run works.
        try line.encodeIfPresent(counts.waitsFor, forKey: .waitsFor)
        try line.encodeIfPresent(exitCode, forKey: .exitCode)
        try line.encodeIfPresent(error, forKey: .error)
        try line.encodeIfPresent(message, forKey: .message)
    }
}
