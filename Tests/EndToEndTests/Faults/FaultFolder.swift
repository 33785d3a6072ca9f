import Foundation
import Synchronization
import TestSupport

/// The report of the preloaded library.
struct FaultReport {
    /// Calls by kind, and `all`.
    var counts: [String: Int] = [:]
    /// The first call that failed: its number, kind and file; nil if none did.
    var fired: String?
    /// Peak resident memory in KiB.
    var peak = 0

    init(_ text: String) {
        for line in text.split(separator: "\n") {
            if line.hasPrefix("fired ") { fired = String(line.dropFirst(6)) }
            guard line.hasPrefix("counts ") else { continue }
            for word in line.dropFirst(7).split(separator: " ") {
                let parts = word.split(separator: "=")
                guard parts.count == 2, let number = Int(parts[1]) else { continue }
                counts[String(parts[0])] = number
            }
            peak = counts.removeValue(forKey: "peak") ?? 0
        }
    }
}

/// A copy of a fixture's folder, in which the command runs.
final class FaultFolder {
    /// The ending of a run.
    struct Run {
        let code: Int32
        let output: String
        let messages: String
        let report: FaultReport
        let isHung: Bool
    }

    /// `STAGECOACH_COMMAND` names another command, as one built for release.
    static let command = ProcessInfo.processInfo.environment["STAGECOACH_COMMAND"] ?? CommandBinary.path
    /// True if the command can resume an interrupted run. It then keeps the work directory of a failed run, and ends well if a
    /// run was killed after it had published.
    static let resumes: Bool = {
        guard let outcome = try? CommandBinary.run(["migrate", "--help"]) else { return false }
        return outcome.output.contains("--restart")
    }()
    /// No run takes a second.
    private static let patience = 120.0

    private let folder: TemporaryFolder
    private let arguments: [String]

    init(copyOf template: TemporaryFolder, arguments: [String]) throws {
        folder = try TemporaryFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: template.path) {
            try FileManager.default.copyItem(
                atPath: template.file(name), toPath: folder.file("case/" + name, making: true))
        }
        self.arguments = arguments
    }

    /// A path in the copy.
    func path(_ name: String) -> String { folder.file("case/" + name) }

    /// Runs the command; the plan's call of that run fails.
    ///
    /// - Parameter through: a program, with its arguments, that runs the command.
    func run(_ number: Int = 0, plan: FaultPlan, through: [String] = []) throws -> Run {
        let report = folder.file("report")
        let stash = folder.file("stash")
        try? FileManager.default.removeItem(atPath: report)
        try FileManager.default.createDirectory(atPath: stash, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: stash) }
        // States as often as can be: else runs as short as these take none, and a repeat only begins anew.
        let clock = ProcessInfo.processInfo.environment["STAGECOACH_FAULT_CLOCK"].flatMap(Int.init) ?? 1000
        var environment = FaultInjection.environment(clock: clock, plan.environment(run: number))
        environment["FAULT_ROOTS"] = path("in") + ":" + path("out") + ":" + path("cwd") + ":" + path("tmp")
        environment["FAULT_REPORT"] = report
        environment["FAULT_STASH"] = stash
        environment["TMPDIR"] = path("tmp")
        let line = ["migrate"] + arguments.map { $0.replacingOccurrences(of: "$", with: folder.file("case")) }
        let (process, output, messages) = try CommandBinary.start(
            line, in: path("cwd"), environment: environment, through: through, command: Self.command)
        let isHung = Mutex(false)
        let watchdog = DispatchWorkItem {
            isHung.withLock { $0 = true }
            kill(process.processIdentifier, SIGKILL)
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience, execute: watchdog)
        let outcome = CommandBinary.finish(process, output, messages)
        watchdog.cancel()
        let text = (try? String(contentsOfFile: report, encoding: .utf8)) ?? ""
        return Run(
            code: outcome.code, output: outcome.output, messages: outcome.messages, report: FaultReport(text),
            isHung: isHung.withLock { $0 })
    }
}

extension TemporaryFolder {
    /// The path of a file; with `making` the folder that it is in is made.
    func file(_ name: String, making: Bool) throws -> String {
        let path = file(name)
        if making {
            try FileManager.default.createDirectory(
                atPath: String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]), withIntermediateDirectories: true
            )
        }
        return path
    }
}
