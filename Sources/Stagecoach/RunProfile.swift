import Glibc
import SpillStorage

/// Where a run's time and bytes went: the figures of one stage, for one entity mapping where it works on one.
public struct ProfileLine: Sendable, Codable, Equatable {
    /// The word of the phase: `keys`, `create`, `relate`, `validate`, `load`, `indexes`, `publish`; `opening` before them.
    public var stage: String
    /// The entity mappings at work, separated by commas; a join table's name; empty where the stage is of all.
    public var subject: String
    /// Seconds of wall time.
    public var seconds: Double
    /// Seconds of processor time.
    public var processorSeconds: Double
    /// Bytes that the process read from files, those in the system's cache included; 0 where the system does not tell.
    public var bytesRead: Int
    /// Bytes that the process wrote to files.
    public var bytesWritten: Int
    /// Bytes of them that went to spill files and association tables.
    public var spilledBytes: Int

    /// A line that has taken nothing yet.
    init(stage: String, subject: String) {
        self.stage = stage
        self.subject = subject
        (seconds, processorSeconds) = (0, 0)
        (bytesRead, bytesWritten, spilledBytes) = (0, 0, 0)
    }

    /// The sum of a profile's lines.
    public static func sum(_ lines: [ProfileLine]) -> ProfileLine {
        var whole = ProfileLine(stage: "in all", subject: "")
        for line in lines { whole.add(line) }
        return whole
    }

    private mutating func add(_ other: ProfileLine) {
        seconds += other.seconds
        processorSeconds += other.processorSeconds
        bytesRead += other.bytesRead
        bytesWritten += other.bytesWritten
        spilledBytes += other.spilledBytes
    }
}

/// Measures a run lap by lap: each begins where the one before it ends.
///
/// Memory: a line for each stage and subject.
final class RunProfile {
    /// The figures at one moment.
    private struct Moment {
        var seconds: Double
        var processorSeconds: Double
        var read = 0
        var written = 0
        var spilled = 0
    }

    private let clock = RunClock()
    private let spilled: () -> Int
    private var last: Moment
    private var stage = ProgressCounter.Phase.opening.label
    private var subject = ""
    private(set) var lines: [ProfileLine] = []

    /// - Parameter spilled: bytes written to spill files so far.
    init(spilled: @escaping () -> Int) {
        self.spilled = spilled
        last = Moment(seconds: 0, processorSeconds: 0)
        last = now
    }

    /// Ends a lap and begins the next.
    func begin(_ phase: ProgressCounter.Phase, _ subject: String) {
        end()
        (stage, self.subject) = (phase.label, subject)
    }

    /// Ends a lap: its figures are added to those of its stage and subject.
    func end() {
        let now = now
        let place =
            lines.firstIndex { $0.stage == stage && $0.subject == subject }
            ?? {
                lines.append(ProfileLine(stage: stage, subject: subject))
                return lines.count - 1
            }()
        lines[place].seconds += now.seconds - last.seconds
        lines[place].processorSeconds += now.processorSeconds - last.processorSeconds
        lines[place].bytesRead += now.read - last.read
        lines[place].bytesWritten += now.written - last.written
        lines[place].spilledBytes += now.spilled - last.spilled
        last = now
    }

    private var now: Moment {
        var moment = Moment(seconds: clock.seconds, processorSeconds: clock.processorSeconds)
        moment.spilled = spilled()
        (moment.read, moment.written) = Self.transferred()
        return moment
    }

    /// What the system has counted of this process: `rchar` and `wchar` of its I/O account.
    private static func transferred() -> (read: Int, written: Int) {
        let descriptor = open("/proc/self/io", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return (0, 0) }
        defer { close(descriptor) }
        var text = [UInt8](repeating: 0, count: 512)
        let count = read(descriptor, &text, text.count)
        guard count > 0 else { return (0, 0) }
        var found: [String: Int] = [:]
        for line in String(decoding: text.prefix(count), as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: ":")
            if parts.count == 2 { found[String(parts[0])] = Int(parts[1].drop { $0 == " " }) }
        }
        return (found["rchar"] ?? 0, found["wchar"] ?? 0)
    }
}

extension MigrationSession {
    /// A stage begins.
    ///
    /// - Parameter subjects: names of what it works on.
    func begin(_ phase: ProgressCounter.Phase, _ subjects: @autoclosure () -> [String] = []) {
        // Stages leave holes in the heap that the next ones do not fill: 7 MB at the load of 10 GB. Short ones leave few, and
        // what is given back is asked for again.
        let now = ContinuousClock.now
        if trimmed.duration(to: now) > .milliseconds(100) {
            ProcessMemory.trim()
            trimmed = now
        }
        progress.begin(phase, subjects().joined(separator: ", "))
        profile?.begin(phase, subjects().joined(separator: ", "))
    }
}
