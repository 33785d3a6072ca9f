import Foundation
import Glibc

/// Resident memory of a process at a time of its run.
struct MemorySample: Codable {
    /// Since the run began.
    var seconds: Double
    /// The resident memory in bytes, from `/proc/PID/statm`; for drawings. Limits are judged by VmHWM.
    var bytes: Int
}

/// Looks at a process's resident memory while it runs: every 5 ms, in a long run less often.
///
/// Memory: 256 samples at most.
struct MemorySampler {
    private(set) var samples: [MemorySample] = []
    private var interval = 0.005

    /// Takes a sample where it is time for one, and the process runs.
    mutating func take(of process: pid_t, at seconds: Double) {
        if let last = samples.last, seconds - last.seconds < interval { return }
        guard let text = try? String(contentsOfFile: "/proc/\(process)/statm", encoding: .utf8) else { return }
        let fields = text.split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]), pages > 0 else { return }
        samples.append(MemorySample(seconds: seconds, bytes: pages * sysconf(Int32(_SC_PAGESIZE))))
        guard samples.count == 256 else { return }
        samples = samples.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        interval *= 2
    }
}
