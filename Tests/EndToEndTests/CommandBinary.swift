import Foundation
import Synchronization
import TestSupport
import Testing

/// Runs the built `stagecoach`, as a person would.
enum CommandBinary {
    /// The result of a run.
    struct Outcome {
        let code: Int32
        let output: String
        let messages: String
    }

    /// The program beside the test bundle.
    static let path: String = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let folders =
            [own, CommandLine.arguments[0]].map { URL(fileURLWithPath: $0).deletingLastPathComponent().path }
            + [SharedStores.repository.appendingPathComponent(".build/debug").path]
        let found = folders.map { $0 + "/stagecoach" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        return found ?? "stagecoach"
    }()

    /// The folder of the build: the program, its libraries, and the folder of the modules.
    static var products: String { (path as NSString).deletingLastPathComponent }

    static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models/Library.xcdatamodeld").path

    /// A library of 200,000 objects that `demo --keep` left, made once; read only.
    static let library: Result<TemporaryFolder, any Error> = Result {
        let folder = try TemporaryFolder()
        // A static is never released: the folder goes with the process.
        atexit {
            if let folder = try? CommandBinary.library.get() { try? FileManager.default.removeItem(at: folder.url) }
        }
        let outcome = try run(
            ["demo", "--keep", folder.file("library"), "--memory-limit", Instrumentation.limit("64M")])
        // Not an expectation: its error is recorded once, and every later test that met it would pass.
        guard outcome.code == 0 else { throw Unmade(code: outcome.code, messages: outcome.messages) }
        return folder
    }
    private struct Unmade: Error {
        let code: Int32
        let messages: String
    }
    static func librarySource() throws -> String { try library.get().file("library/Library.sqlite") }

    /// A process that was started and not waited for.
    static func start(
        _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:],
        through: [String] = [], command: String? = path
    ) throws -> (process: Process, output: Pipe, messages: Pipe) {
        let process = Process()
        let line = through + (command.map { [$0] } ?? []) + arguments
        process.executableURL = URL(fileURLWithPath: line[0])
        process.arguments = Array(line.dropFirst())
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        let output = Pipe()
        let messages = Pipe()
        process.standardOutput = output
        process.standardError = messages
        process.standardInput = FileHandle.nullDevice
        try process.run()
        return (process, output, messages)
    }

    /// Runs to the end.
    ///
    /// - Parameters:
    ///   - through: a program, with its arguments, that runs the command.
    ///   - command: nil if `through` is all there is to run.
    static func run(
        _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:], through: [String] = [],
        command: String? = path
    ) throws -> Outcome {
        let (process, output, messages) = try start(
            arguments, in: folder, environment: environment, through: through, command: command)
        return finish(process, output, messages)
    }

    /// Waits for the end and reads what was printed. Both streams are read at once, because a pipe holds no more than 64 KiB.
    static func finish(_ process: Process, _ output: Pipe, _ messages: Pipe) -> Outcome {
        let said = Mutex(Data())
        let reader = Thread { said.withLock { $0 = messages.fileHandleForReading.readDataToEndOfFile() } }
        reader.start()
        let printed = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        while !reader.isFinished { usleep(100) }
        let code = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        return Outcome(
            code: code, output: String(decoding: printed, as: UTF8.self),
            messages: String(decoding: said.withLock { $0 }, as: UTF8.self))
    }

    /// Every file below a folder with its bytes, folders with none: what must not change.
    static func contents(of folder: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            found[name] = FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()
        }
        return found
    }
}
