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

    var schema = 1
    /// An identifier that tells runs apart.
    let run: String
    /// The number of the line, from 1 without gaps.
    let sequence: Int
    let event: Kind
    let phase: String
    let pass: Int
    let passes: Int
    let rows: Int
    let totalRows: Int
    /// The size of the destination's file so far and its estimated final size, in bytes.
    let bytes: Int
    let totalBytes: Int
    /// The share of work done, 0 to 1.
    let fraction: Double
    /// The seconds since the run began.
    let elapsed: Double
    let rowsPerSecond: Double
    /// The estimated seconds left. Absent before 1 % is done, and at the end.
    let secondsLeft: Double?
    /// The resident memory in bytes.
    let memory: Int?
    let spilledBytes: Int
    /// The reason for waiting, in words; absent while the run works.
    let waitsFor: String?
    /// The exit code, in the last line.
    var exitCode: Int32?
    /// The error's stable code.
    var error: String?
    var message: String?

    init(_ event: Kind, run: String, sequence: Int, _ figures: ProgressFigures) {
        self.run = run
        self.sequence = sequence
        self.event = event
        phase = figures.phase.label
        pass = figures.pass
        passes = figures.passes
        rows = figures.rows
        totalRows = figures.totalRows
        bytes = figures.bytes
        totalBytes = figures.totalBytes
        fraction = event == .finished ? 1 : figures.share
        elapsed = Self.rounded(figures.elapsed)
        rowsPerSecond = figures.rate.rounded()
        secondsLeft = event == .progress ? figures.timeLeft.map(Self.rounded) : nil
        memory = figures.memory
        spilledBytes = figures.spilledBytes
        waitsFor = figures.waitsFor
    }

    /// The line with its line end; nil if a figure is not finite.
    var line: String? { try? JSONText.line(self) }

    private static func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }
}
