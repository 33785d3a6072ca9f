import CoreDataStore
import Diagnostics
import Foundation
import Glibc

/// One way of doing the work, run as a child process.
struct Way {
    let name: String
    private let kind: Kind

    private enum Kind {
        /// A script for the sqlite3 shell.
        case sqlite(String)
        /// A program in Python.
        case python(PythonRival, StoreSchema)
        /// Further arguments of ``MigrateCommand``.
        case stagecoach([String])
        /// The row path, killed at half of its work and run again.
        case resumed
        /// The verification of what the row path made; only itself is measured.
        case verified
    }

    /// True if the destination is of the first version, a copy of the source.
    var copies: Bool {
        if case .stagecoach(let arguments) = kind { arguments.contains("--from") } else { false }
    }

    static func sqlite(_ script: String) -> Way { Way(name: "(a) sqlite3 shell", kind: .sqlite(script)) }

    static func python(_ rival: PythonRival, _ schema: StoreSchema) -> Way {
        Way(name: rival.rawValue, kind: .python(rival, schema))
    }

    static let stagecoach = [
        Way(name: "(b) row path", kind: .stagecoach([])),
        Way(name: "(c) policy path", kind: .stagecoach(["--staged"])),
        Way(name: "(d) row path, new keys", kind: .stagecoach(["--keys", "sequential"])),
        Way(name: "(e) row path, source read through SQLite", kind: .stagecoach(["--reader", "sqlite"])),
        Way(name: "(f) row path, invalid objects rejected", kind: .stagecoach(["--on-invalid", "reject"])),
        Way(name: "(g) policy on every object", kind: .stagecoach(["--policy", "create"])),
        Way(name: "(h) row path, killed at half and resumed", kind: .resumed),
        Way(
            name: "(i) copy only, one version to the same",
            kind: .stagecoach(["--from", Catalogue.sourcePath, "--to", Catalogue.sourcePath])),
        Way(name: "(j) verify, of the row path's destination", kind: .verified),
        Way(name: "(k) policy, super in all methods", kind: .stagecoach(["--policy", "super"])),
        Way(name: "(l) policy, two fetches for each object", kind: .stagecoach(["--policy", "fetch"])),
    ]

    /// Does the work once.
    ///
    /// - Parameter watchesMemory: whether the run gets its memory over time.
    /// - Throws: `benchmark.failed` (70) where the child fails.
    func run(store: String, output: String, limit: Int, watchesMemory: Bool) throws -> WayRun {
        switch kind {
        case .sqlite(let script):
            let path = output + ".sql"
            try script.write(toFile: path, atomically: false, encoding: .utf8)
            defer { unlink(path) }
            let child = try check(
                try ChildProcess("sqlite3", ["-bail", output], input: path, watchesMemory: watchesMemory))
            let peak = child.output.split(separator: "\n").last { $0.hasPrefix("VmHWM") }
            let kilobytes = peak.flatMap { Int($0.filter(\.isNumber)) } ?? 0
            return WayRun(child, peakMemory: kilobytes << 10, spilledBytes: nil)
        case .python(let rival, let schema):
            let path = output + ".py"
            let script = rival.script(
                source: store, output: output, script: HandWrittenSQL.statements(schema))
            try script.write(toFile: path, atomically: false, encoding: .utf8)
            defer { unlink(path) }
            let child = try check(try ChildProcess("python3", [path], watchesMemory: watchesMemory))
            let kilobytes = Int(child.output.filter(\.isNumber)) ?? 0
            return WayRun(child, peakMemory: kilobytes << 10, spilledBytes: nil)
        case .stagecoach(let arguments): return try migrate(store, output, limit, arguments, watchesMemory)
        case .verified:
            _ = try migrate(store, output, limit, [], false)
            let arguments = ["verify"] + Self.arguments(store, output, limit).dropFirst()
            return try outcome(of: try check(try ChildProcess(try ownPath(), arguments, watchesMemory: watchesMemory)))
        case .resumed:
            let killed = try ChildProcess(
                try ownPath(), Self.arguments(store, output, limit), watchesMemory: watchesMemory,
                endingAt: try half(of: store, output))
            // It may have been done before.
            if killed.code == 0 { return try outcome(of: killed) }
            guard killed.code == 128 + SIGKILL else { return try outcome(of: try check(killed)) }
            var run = try migrate(store, output, limit, [], watchesMemory)
            run.memory = run.memory.map { resumed in
                killed.memory
                    + resumed.map { MemorySample(seconds: $0.seconds + killed.wallSeconds, bytes: $0.bytes) }
            }
            run.processorSeconds += killed.processorSeconds
            run.wallSeconds += killed.wallSeconds
            return run
        }
    }

    private func migrate(
        _ store: String, _ output: String, _ limit: Int, _ arguments: [String], _ watchesMemory: Bool
    ) throws -> WayRun {
        try outcome(
            of: try check(
                try ChildProcess(
                    try ownPath(), Self.arguments(store, output, limit) + arguments, watchesMemory: watchesMemory)))
    }

    private func outcome(of child: ChildProcess) throws -> WayRun {
        let outcome = try JSONDecoder().decode(MigrateCommand.Outcome.self, from: Data(child.output.utf8))
        return WayRun(child, peakMemory: outcome.peakMemory, spilledBytes: outcome.spilledBytes)
    }

    private static func arguments(_ store: String, _ output: String, _ limit: Int) -> [String] {
        ["migrate", "--store", store, "--output", output, "--memory-limit", "\(limit >> 10)K"]
    }

    /// Says when half of the destination stands: its private file has half of the source's bytes.
    private func half(of store: String, _ output: String) throws -> () -> Bool {
        let bytes = try FileManager.default.attributesOfItem(atPath: store)[.size] as? Int ?? 0
        let place = URL(fileURLWithPath: output)
        let built = place.deletingLastPathComponent()
            .appendingPathComponent(".\(place.lastPathComponent).stagecoach/store.sqlite").path
        return {
            var status = stat()
            return stat(built, &status) == 0 && Int(status.st_size) >= bytes / 2
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

/// The measurements of one run.
struct WayRun: Codable {
    /// User and system time of the process.
    var processorSeconds: Double
    var wallSeconds: Double
    /// VmHWM in bytes, said by the process itself (of the shell, by its child).
    var peakMemory: Int
    /// Bytes written to spill files and association tables; nil if there are none.
    var spilledBytes: Int?
    /// Resident memory while it ran; nil if nobody looked.
    var memory: [MemorySample]?

    init(_ child: ChildProcess, peakMemory: Int, spilledBytes: Int?) {
        processorSeconds = child.processorSeconds
        wallSeconds = child.wallSeconds
        self.peakMemory = peakMemory
        self.spilledBytes = spilledBytes
        memory = child.memory.isEmpty ? nil : child.memory
    }
}
