import Foundation
import Glibc
import Synchronization

/// A process of this program that migrates one store after the other, as the batch tells it.
///
/// It reads the index of an entry a line from its standard input, and answers with a ``BatchResult`` a line on its standard
/// output. A store that crashes the process does not affect the batch.
final class BatchWorker {
    /// The beginning of the program's name in a worker. The worker's memory limit in bytes follows.
    private static let name = "stagecoach-worker:"

    /// Returns the memory limit in bytes of a worker, from the program's name; nil in another process.
    static func memory(of program: String) -> Int? {
        program.hasPrefix(name) ? Int(program.dropFirst(name.count)) : nil
    }

    /// The suffix of an entry's index for an entry that an earlier run started.
    static let begunMark = " begun"

    let process: pid_t
    private let input: Int32
    private let output: UnsafeMutablePointer<FILE>

    /// Starts a worker.
    ///
    /// - Parameters:
    ///   - arguments: the command line of the batch, without the program's name.
    ///   - memory: the memory limit in bytes.
    /// - Returns: nil if the system cannot start a process.
    init?(arguments: [String], memory: Int) {
        // Workers start one at a time: a pipe inherited by another worker would never reach its end.
        guard let started = Self.starting.withLock({ _ in Self.start(arguments, memory) }) else {
            return nil
        }
        process = started.process
        input = started.input
        output = started.output
    }

    private static let starting = Mutex(())

    /// The process, with its standard input to write to and its standard output to read from.
    private struct Started: @unchecked Sendable {
        let process: pid_t
        let input: Int32
        let output: UnsafeMutablePointer<FILE>
    }

    private static func start(_ arguments: [String], _ memory: Int) -> Started? {
        guard let toWorker = closingPipe() else { return nil }
        guard let fromWorker = closingPipe() else {
            for end in toWorker { close(end) }
            return nil
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toWorker[0], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, fromWorker[1], STDOUT_FILENO)
        // Its own process group, so that the terminal's Ctrl-C reaches only the batch, which passes it on once.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var unmasked = sigset_t()
        sigemptyset(&unmasked)
        posix_spawnattr_setsigmask(&attributes, &unmasked)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))
        let words = (["\(name)\(memory)"] + arguments).map { strdup($0) } + [nil]
        let settings = ProcessInfo.processInfo.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + settings { free(text) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, words, settings)
        close(toWorker[0])
        close(fromWorker[1])
        guard failure == 0, let stream = fdopen(fromWorker[0], "r") else {
            close(toWorker[1])
            close(fromWorker[0])
            return nil
        }
        return Started(process: process, input: toWorker[1], output: stream)
    }

    /// Makes a pipe that no program inherits: the end to read from and the end to write to.
    private static func closingPipe() -> [Int32]? {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return ends
    }

    /// Lets the worker migrate an entry, and waits for the result.
    ///
    /// - Parameters:
    ///   - place: the index of the entry in the batch.
    ///   - wasBegun: as ``StoreMigration/wasBegun``.
    /// - Returns: nil if the worker has ended.
    func migrate(_ place: Int, wasBegun: Bool) -> BatchResult? {
        var line = Array("\(place)\(wasBegun ? Self.begunMark : "")\n".utf8)[...]
        while !line.isEmpty {
            let count = line.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            line = line.dropFirst(count)
        }
        var buffer: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(buffer) }
        let count = getline(&buffer, &room, output)
        guard count > 0, let buffer else { return nil }
        return try? JSONDecoder().decode(BatchResult.self, from: Data(bytes: buffer, count: count))
    }

    /// Waits for the end of a worker that stopped answering, and describes its cause.
    func end() -> String {
        close(input)
        fclose(output)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        if signal == 0 { return "ended with exit code \(status >> 8 & 0xff)" }
        return "was ended by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
}
