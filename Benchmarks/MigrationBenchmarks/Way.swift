import Diagnostics
import Foundation
import Glibc
import PersistentStore

/// One way of doing the work, run as a child process.
struct Way {
    let name: String
    private let kind: Kind

    private enum Kind {
        /// A script for the sqlite3 shell.
        case sqlite(String)
        /// Python's own sqlite3 module.
        case python(StoreSchema)
        /// Further arguments of ``MigrateCommand``.
        case stagecoach([String])
    }

    static func sqlite(_ script: String) -> Way { Way(name: "(a) sqlite3 shell", kind: .sqlite(script)) }

    static func python(_ schema: StoreSchema) -> Way { Way(name: "Python, executemany", kind: .python(schema)) }

    static let stagecoach = [
        Way(name: "(b) row path", kind: .stagecoach([])),
        Way(name: "(c) staged path", kind: .stagecoach(["--staged"])),
        Way(name: "(d) row path, new keys", kind: .stagecoach(["--keys", "sequential"])),
        Way(name: "(e) row path, source read through SQLite", kind: .stagecoach(["--reader", "sqlite"])),
        Way(name: "(f) row path, invalid objects rejected", kind: .stagecoach(["--on-invalid", "reject"])),
        Way(name: "(g) policy on every object", kind: .stagecoach(["--policy", "create"])),
    ]

    /// Does the work once.
    ///
    /// - Throws: `benchmark.failed` (70) where the child fails.
    func run(store: String, output: String, limit: Int) throws -> WayRun {
        switch kind {
        case .sqlite(let script):
            let path = output + ".sql"
            try script.write(toFile: path, atomically: false, encoding: .utf8)
            defer { unlink(path) }
            let child = try check(try ChildProcess("sqlite3", ["-bail", output], input: path))
            let peak = child.output.split(separator: "\n").last { $0.hasPrefix("VmHWM") }
            let kilobytes = peak.flatMap { Int($0.filter(\.isNumber)) } ?? 0
            return WayRun(child, peakMemory: kilobytes << 10, spilledBytes: nil)
        case .python(let schema):
            let path = output + ".py"
            let script = PythonRival.script(
                source: store, output: output, script: HandWrittenSQL.statements(schema))
            try script.write(toFile: path, atomically: false, encoding: .utf8)
            defer { unlink(path) }
            let child = try check(try ChildProcess("python3", [path]))
            let kilobytes = Int(child.output.filter(\.isNumber)) ?? 0
            return WayRun(child, peakMemory: kilobytes << 10, spilledBytes: nil)
        case .stagecoach(let arguments):
            let own = try ownPath()
            let child = try check(
                try ChildProcess(
                    own,
                    ["migrate", "--store", store, "--output", output, "--memory-limit", "\(limit >> 10)K"] + arguments))
            let outcome = try JSONDecoder().decode(MigrateCommand.Outcome.self, from: Data(child.output.utf8))
            return WayRun(child, peakMemory: outcome.peakMemory, spilledBytes: outcome.spilledBytes)
        }
    }

    private func check(_ child: ChildProcess) throws(MigrationError) -> ChildProcess {
        guard child.code == 0 else {
            throw MigrationError("benchmark.failed", .internal, "\(name) ended with exit code \(child.code)")
        }
        return child
    }

    private func ownPath() throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    }
}

/// What one run took.
struct WayRun: Codable {
    /// User and system time of the process.
    var processorSeconds: Double
    var wallSeconds: Double
    /// VmHWM in bytes, said by the process itself (of the shell, by its child).
    var peakMemory: Int
    /// Bytes written to spill files and association tables; nil where there are none.
    var spilledBytes: Int?

    init(_ child: ChildProcess, peakMemory: Int, spilledBytes: Int?) {
        processorSeconds = child.processorSeconds
        wallSeconds = child.wallSeconds
        self.peakMemory = peakMemory
        self.spilledBytes = spilledBytes
    }
}
