import Diagnostics
import Foundation

/// A process of this program that migrates one store after the other, as the batch tells it.
///
/// It reads the index of an entry a line from its standard input, and answers with a ``BatchResult`` a line on its standard
/// output. A store that crashes the process does not affect the batch.
final class BatchWorker {
    /// The word before the batch's own command line in a worker. The worker's memory limit in bytes follows it.
    private static let word = "batch-worker"

    /// Removes the words before the command line of the batch, and returns the memory limit in bytes; nil if the process is no
    /// worker.
    static func takeMemory(from arguments: inout [String]) -> Int? {
        guard arguments.count > 1, arguments[0] == word, let memory = Int(arguments[1]) else { return nil }
        arguments.removeFirst(2)
        return memory
    }

    /// The suffix of an entry's index for an entry that a previous run started.
    static let begunMark = " begun"

    private let child: ChildProcess
    private let output: UnsafeMutablePointer<FILE>
    /// The line that a crash of the worker left, without the program's name; nil if it left none.
    private(set) var crashLine: String?

    var process: pid_t { child.process }

    /// Starts a worker.
    ///
    /// - Parameters:
    ///   - arguments: the command line of the batch, without the program's name.
    ///   - memory: the memory limit in bytes.
    /// - Returns: nil with `errno` set if the system cannot start a process.
    init?(arguments: [String], memory: Int) {
        guard
            let child = ChildProcess(
                "/proc/self/exe", ["stagecoach", Self.word, "\(memory)"] + arguments,
                environment: ProcessInfo.processInfo.environment.map { "\($0.key)=\($0.value)" }),
            let output = fdopen(child.output, "r")
        else { return nil }
        self.child = child
        self.output = output
    }

    /// Lets the worker migrate an entry, and waits for the result.
    ///
    /// - Parameters:
    ///   - place: the index of the entry in the batch.
    ///   - wasBegun: as ``StoreMigration/wasBegun``.
    /// - Returns: nil if the worker has ended.
    func migrate(_ place: Int, wasBegun: Bool) -> BatchResult? {
        let sink = DescriptorSink(child.input)
        sink.write("\(place)\(wasBegun ? Self.begunMark : "")\n")
        guard sink.failure == 0, let answer = FileBytes.line(of: output) else { return nil }
        crashLine = CrashLine.text(of: answer)
        return try? JSONDecoder().decode(BatchResult.self, from: Data(answer))
    }

    /// The way in which a worker ended.
    struct End {
        /// The end in words, behind "the process".
        let text: String
        /// True if a signal ended it.
        let isSignal: Bool
        /// True if it is what follows a SIGTERM, handled or not.
        let isTermination: Bool
    }

    /// Waits for the end of a worker that stopped answering, and describes its cause.
    func end() -> End {
        close(child.input)
        fclose(output)
        let status = child.wait()
        let (signal, code) = (status & 0x7f, status >> 8 & 0xff)
        if signal == 0 {
            return End(
                text: "ended with exit code \(code)", isSignal: false,
                isTermination: code == MigrationError.Category.temporary.rawValue)
        }
        return End(
            text: "was ended by signal \(signal) (\(String(cString: strsignal(signal))))", isSignal: true,
            isTermination: signal == SIGTERM)
    }
}
