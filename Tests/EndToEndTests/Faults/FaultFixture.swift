import Foundation
import TestSupport
import Testing

/// One migration that is disturbed again and again: its inputs, its command line, and what an unbroken run leaves.
///
/// A trial works on a copy of the folder: `in` holds all that is read, `out` gets the destination and other results,
/// `cwd` and `tmp` are the current directory and the one for temporary files, and must stay empty.
final class FaultFixture: Sendable {
    let name: String
    /// After `migrate`; `$` stands for the folder.
    let arguments: [String]
    /// The folder that trials copy.
    let template: TemporaryFolder
    /// The files in `out` before the run, by path.
    let before: [String: Data]
    /// The rows of the store at the destination before the run; nil if there is none.
    let rowsBefore: StoreImage?
    /// The result of an undisturbed run.
    let after: FaultResult
    /// Calls that an unbroken run makes on the folder's files, by kind.
    let calls: [String: Int]
    /// Peak resident memory of the unbroken run, in bytes.
    let peak: Int

    /// Makes the inputs and runs the command twice: both must leave the same.
    ///
    /// - Parameters:
    ///   - arguments: the source is `$/in/old.sqlite`, the destination `$/out/new.sqlite`.
    ///   - fill: puts files into the folder.
    init(_ name: String, _ arguments: [String], _ fill: (TemporaryFolder) throws -> Void) throws {
        self.name = name
        self.arguments = arguments
        template = try TemporaryFolder()
        for part in ["in", "out", "cwd", "tmp"] {
            try FileManager.default.createDirectory(
                atPath: template.file(part), withIntermediateDirectories: true)
        }
        try fill(template)
        before = try FaultResult.files(in: template.file("out"))
        let store = template.file("out/new.sqlite")
        rowsBefore = FileManager.default.fileExists(atPath: store) ? try StoreImage(of: store) : nil
        var results: [FaultResult] = []
        var counts: FaultReport?
        for _ in 0..<2 {
            let trial = try FaultFolder(copyOf: template, arguments: arguments)
            let run = try trial.run(plan: FaultPlan(deed: "EIO", kinds: "all", at: [0]))
            try #require(run.code == 0, "\(name), undisturbed: \(run.code) \(run.messages)")
            results.append(try FaultResult(out: trial.path("out")))
            counts = run.report
        }
        try #require(
            results[0] == results[1], "\(name): two unbroken runs differ: \(results[0].differences(results[1]))")
        after = results[0]
        let report = try #require(counts, "the preloaded library wrote no report")
        calls = report.counts
        peak = report.peak << 10
    }
}

/// The files that a run leaves in the folder of results: the store's rows and schema, and the bytes of every other file.
struct FaultResult: Equatable, Sendable {
    /// Nil if there is no destination.
    let store: StoreImage?
    /// Reports hold times and are left out.
    let files: [String: Data]

    init(out: String) throws {
        let path = out + "/new.sqlite"
        let isSQLite =
            (try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).read(upToCount: 6)) == Data("SQLite".utf8)
        store = isSQLite ? try StoreImage(of: path) : nil
        files = try Self.files(in: out).filter { $0.key != "new.sqlite" || !isSQLite }
    }

    /// Names of what differs.
    func differences(_ other: FaultResult) -> [String] {
        var found = Set(files.keys).symmetricDifference(other.files.keys).sorted()
        found += files.keys.filter { other.files[$0] != nil && files[$0] != other.files[$0] }.sorted()
        return found + (store?.differences(other.store) ?? (other.store == nil ? [] : ["new.sqlite"]))
    }

    /// Files below a folder by path, without a work directory and files that are being written.
    static func files(in folder: String) throws -> [String: Data] {
        // A run that fails writes a report too. A link's content is that of another file.
        try CommandBinary.contents(of: folder).filter {
            !isUnfinished($0.key) && !$0.key.hasPrefix("report.")
                && (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0.key)")) == nil
        }
    }

    /// Tells whether a path belongs to a work directory, or to a result that has not got its final name.
    static func isUnfinished(_ path: String) -> Bool {
        let first = path.prefix { $0 != "/" }
        return first.hasPrefix(".stagecoach-source-")
            || first.hasPrefix(".")
                && [
                    ".stagecoach", ".stagecoach-done", ".stagecoach-part", ".stagecoach-chain",
                    ".stagecoach-chain-done", ".stagecoach-xml", ".stagecoach-binary",
                ].contains { first.hasSuffix($0) }
    }
}
