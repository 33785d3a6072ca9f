import Diagnostics
import Glibc

/// A finished program: what it printed, how it ended, and what the kernel says it used.
struct ChildProcess {
    /// Standard output; errors go to the caller's.
    let output: String
    /// The exit code; 128 and the signal's number where one ended it.
    let code: Int32
    /// User and system seconds, by `wait4`. Its peak memory is not taken from there: a child of a large parent is
    /// charged with the parent's.
    let processorSeconds: Double
    let wallSeconds: Double
    /// Its resident memory while it ran, where that was asked for.
    let memory: [MemorySample]

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: a path, or a name to look up in PATH.
    ///   - arguments: without the program's name.
    ///   - input: a file for standard input; nil: nothing.
    ///   - watchesMemory: whether to look at its resident memory all the time.
    ///   - isOver: asked every few milliseconds; once it says so, the program is killed.
    /// - Throws: `benchmark.spawn` (70).
    init(
        _ program: String, _ arguments: [String], input: String? = nil, watchesMemory: Bool = false,
        endingAt isOver: (() -> Bool)? = nil
    ) throws(MigrationError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Self.failure("pipe", program, errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input ?? "/dev/null", O_RDONLY, 0)
        var vector: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in vector { free(pointer) } }
        let start = Self.now
        var child: pid_t = 0
        let spawned = posix_spawnp(&child, program, &actions, nil, &vector, environ)
        close(ends[1])
        defer { close(ends[0]) }
        guard spawned == 0 else { throw Self.failure("start", program, spawned) }
        var sampler = MemorySampler()
        output = Self.readAll(ends[0], lookingUp: watchesMemory || isOver != nil) {
            if let isOver, isOver() { kill(child, SIGKILL) }
            if watchesMemory { sampler.take(of: child, at: Self.now - start) }
        }
        memory = sampler.samples
        var status: Int32 = 0
        var usage = rusage()
        while wait4(child, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw Self.failure("wait for", program, errno) }
        }
        wallSeconds = Self.now - start
        let signal = status & 0x7f
        code = signal == 0 ? (status >> 8) & 0xff : 128 + signal
        processorSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
    }

    /// Reads to the end.
    ///
    /// - Parameter looksUp: whether to call the body every 5 ms while nothing comes.
    private static func readAll(_ descriptor: Int32, lookingUp looksUp: Bool, _ body: () -> Void) -> String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 4096)
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            if looksUp, poll(&waiting, 1, 5) == 0 {
                body()
                continue
            }
            let count = part.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            bytes.append(contentsOf: part.prefix(count))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func failure(_ doing: String, _ program: String, _ number: Int32) -> MigrationError {
        MigrationError(
            "benchmark.spawn", .internal, "Could not \(doing) \(program): \(String(cString: strerror(number)))")
    }
}
