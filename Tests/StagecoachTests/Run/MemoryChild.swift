import Foundation
import TestSupport

/// The benchmark program's `migrate` in a process of its own, so that its peak memory is its own.
struct MemoryChild {
    /// The figures that the program prints as its last act.
    struct Outcome: Codable {
        var peakMemory: Int
        var baseMemory: Int
        var spilledBytes: Int
        var rows: Int
    }

    let code: Int32
    let errors: String
    let outcome: Outcome?

    /// The program beside the tests' own; nil if it is not built.
    static let program: String? = {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let path = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("MigrationBenchmarks")
        return FileManager.default.isExecutableFile(atPath: path.path) ? path.path : nil
    }()

    init(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program ?? "/nonexistent")
        process.arguments = ["migrate"] + arguments
        let output = Pipe()
        let complaints = Pipe()
        process.standardOutput = output
        process.standardError = complaints
        try process.run()
        // The child says one line at most on either.
        let said = output.fileHandleForReading.readDataToEndOfFile()
        errors = String(decoding: complaints.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        code = process.terminationStatus
        outcome = try? JSONDecoder().decode(Outcome.self, from: said)
    }
}
