import Glibc
import SpillStorage

/// Time and bytes used by one stage, for one entity mapping if the stage works on a single one.
public struct ProfileLine: Sendable, Codable, Equatable {
    /// The phase's name: `keys`, `create`, `relate`, `validate`, `load`, `indexes`, `publish`; `opening` before them.
    public var stage: String
    /// The entity mappings at work, separated by commas, or the name of a join table; empty if the stage works on all.
    public var subject: String
    /// Wall time in seconds.
    public var seconds: Double
    /// Processor time in seconds.
    public var processorSeconds: Double
    /// Bytes that the process read from files, including reads from the system's cache; 0 if the system does not tell.
    public var bytesRead: Int
    /// Bytes that the process wrote to files.
    public var bytesWritten: Int
    /// The part of the written bytes that went to spill files and association tables.
    public var spilledBytes: Int

    /// Creates a line with all figures zero.
    init(stage: String, subject: String) {
        self.stage = stage
        self.subject = subject
        (seconds, processorSeconds) = (0, 0)
        (bytesRead, bytesWritten, spilledBytes) = (0, 0, 0)
    }

    /// Returns the sum of a profile's lines.
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

/// Measures a run in laps. Each lap begins where the one before it ends.
///
/// Memory: one line for each stage and subject.
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

    /// Creates a profile and begins the first lap.
    ///
    /// - Parameter spilled: returns the bytes written to spill files so far.
    init(spilled: @escaping () -> Int) {
        self.spilled = spilled
        last = Moment(seconds: 0, processorSeconds: 0)
        last = now
    }

    /// Ends the current lap and begins the next.
    func begin(_ phase: ProgressCounter.Phase, _ subject: String) {
        end()
        (stage, self.subject) = (phase.label, subject)
    }

    /// Ends the current lap and adds its figures to the line of its stage and subject.
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

    /// Returns the bytes that this process read and wrote so far: `rchar` and `wchar` of `/proc/self/io`.
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
    /// Begins a stage.
    ///
    /// - Parameter subjects: the names of the mappings or tables that the stage works on.
    func begin(_ phase: ProgressCounter.Phase, _ subjects: @autoclosure () -> [String] = []) {
        // Stages leave holes in the heap that the next stage does not fill: 7 MB at the load of 10 GB. Short stages
        // leave few, and memory given back would be asked for again.
        let now = ContinuousClock.now
        if trimmed.duration(to: now) > .milliseconds(100) {
            ProcessMemory.trim()
            trimmed = now
        }
        progress.begin(phase, subjects().joined(separator: ", "))
        profile?.begin(phase, subjects().joined(separator: ", "))
    }
}
