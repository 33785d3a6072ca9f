import Glibc
import SpillStorage

/// Measures a run in laps. Each lap begins where the one before it ends.
///
/// Memory: one line for each stage and subject.
final class RunProfile {
    private let clock = RunClock()
    private let spilled: () -> Int
    /// The figures at the beginning of the current lap.
    private var last = ProfileLine(stage: "", subject: "")
    private var stage = ProgressCounter.Phase.opening.label
    private var subject = ""
    private(set) var lines: [ProfileLine] = []

    /// Creates a profile and begins the first lap.
    ///
    /// - Parameter spilled: returns the bytes written to spill files so far.
    init(spilled: @escaping () -> Int) {
        self.spilled = spilled
        last = now
    }

    /// Ends the current lap and begins the next.
    func begin(_ phase: ProgressCounter.Phase, _ subject: String) {
        end()
        (stage, self.subject) = (phase.label, subject)
    }

    /// Ends the current lap: adds its times and bytes to the line of its stage and subject. The next lap begins at this moment.
    func end() {
        let now = now
        let place =
            lines.firstIndex { $0.stage == stage && $0.subject == subject }
            ?? {
                lines.append(ProfileLine(stage: stage, subject: subject))
                return lines.count - 1
            }()
        lines[place].add(now, since: last)
        last = now
    }

    private var now: ProfileLine {
        var moment = ProfileLine(stage: "", subject: "")
        (moment.seconds, moment.processorSeconds) = (clock.seconds, clock.processorSeconds)
        (moment.bytesRead, moment.bytesWritten) = Self.transferred()
        moment.spilledBytes = spilled()
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
