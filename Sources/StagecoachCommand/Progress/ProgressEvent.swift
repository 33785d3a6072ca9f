import Foundation

/// A line of `--progress json`: one JSON object.
///
/// `schema` rises when a field changes its meaning or goes; new fields may come at any time.
struct ProgressEvent: Encodable {
    /// What a line tells.
    enum Kind: String, Encodable {
        /// The first line of a run.
        case started
        /// The run goes on from where an earlier one was that did not end: from here its figures count.
        case resumed
        /// Figures, every second and where the phase, the pass or what is waited for changes.
        case progress
        /// The last line: the run has ended well.
        case finished
        /// The last line: the run has ended with an error.
        case failed
    }

    var schema = 1
    /// Tells runs apart.
    let run: String
    /// From 1, without gaps.
    let sequence: Int
    let event: Kind
    let phase: String
    let pass: Int
    let passes: Int
    let rows: Int
    let totalRows: Int
    /// Bytes of the destination's file so far, and how many it is expected to have, about.
    let bytes: Int
    let totalBytes: Int
    /// 0 to 1.
    let fraction: Double
    /// Seconds since the run began.
    let elapsed: Double
    let rowsPerSecond: Double
    /// Missing before 1 % are done, and at the end.
    let secondsLeft: Double?
    /// Resident bytes.
    let memory: Int?
    let spilledBytes: Int
    /// What the run waits for, in words; missing while it works.
    let waitsFor: String?
    /// Of the last line.
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

    /// The line, with its end; nil where a figure is no number.
    var line: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return nil }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    private static func rounded(_ seconds: Double) -> Double { (seconds * 1000).rounded() / 1000 }
}
