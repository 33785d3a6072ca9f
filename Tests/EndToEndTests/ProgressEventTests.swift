import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

@Suite("Progress as lines of JSON")
struct ProgressEventTests {
    private typealias Event = [String: Any]

    private func events(_ messages: String) throws -> [Event] {
        try messages.split(separator: "\n").filter { $0.hasPrefix("{") }.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? Event)
        }
    }

    @Test("Each line is an object of one run, numbered without gaps, and nothing goes back")
    func lines() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--progress", "json"], in: folder.path)
        #expect(outcome.code == 0)
        #expect(outcome.messages.split(separator: "\n").allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") })
        let events = try events(outcome.messages)
        #expect(events.count >= 3)
        #expect(events.map { $0["sequence"] as? Int } == Array(1...events.count))
        #expect(Set(events.map { $0["run"] as? String }).count == 1)
        #expect(events.allSatisfy { $0["schema"] as? Int == 1 })
        let kinds = events.map { $0["event"] as? String }
        #expect(kinds.first == "started" && kinds.last == "finished")
        #expect(kinds.dropFirst().dropLast().allSatisfy { $0 == "progress" })
        for name in ["elapsed", "rows", "bytes", "fraction", "pass", "spilledBytes"] {
            let values = try events.map { try #require(($0[name] as? NSNumber)?.doubleValue, "\(name)") }
            #expect(zip(values, values.dropFirst()).allSatisfy { $0 <= $1 }, "\(name): \(values)")
        }
        let last = try #require(events.last)
        #expect(last["exitCode"] as? Int == 0 && last["fraction"] as? Double == 1 && last["phase"] as? String == "done")
        #expect(last["rows"] as? Int == last["totalRows"] as? Int)
        #expect(events.allSatisfy { ($0["fraction"] as? Double ?? 0) >= 0.01 || $0["secondsLeft"] == nil })
    }

    @Test("While another process locks the source, the lines say so, and the run continues afterwards")
    func waiting() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: CommandBinary.librarySource(), toPath: folder.file("old.sqlite"))
        let writer = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        try writer.execute("BEGIN EXCLUSIVE")
        let (process, output, messages) = try CommandBinary.start(
            [
                "migrate", "old.sqlite", "new.sqlite", "--to", CommandBinary.models, "--progress", "json",
                "--progress-file", "events.jsonl",
            ], in: folder.path)
        usleep(1_200_000)
        try writer.execute("ROLLBACK")
        try writer.close()
        let outcome = CommandBinary.finish(process, output, messages)
        // A machine that takes a second to begin has nothing to wait for, one that stops for two gives up.
        let events = try events(String(contentsOfFile: folder.file("events.jsonl"), encoding: .utf8))
        let waits = events.compactMap { $0["waitsFor"] as? String }
        #expect(outcome.code == 0 || outcome.code == 75, "\(outcome.messages)")
        if outcome.code == 0 { #expect(outcome.messages.isEmpty) }
        #expect(waits.allSatisfy { $0 == "another process to release its lock on the source" })
        #expect(!waits.isEmpty || events.count < 3)
        #expect(events.last?["waitsFor"] == nil)
    }

    @Test("Lines of JSON are added to a file, and only they")
    func file() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let refused = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--progress-file", "e"], in: folder.path)
        #expect(refused.code == 64 && refused.messages.contains("'--progress-file' needs '--progress json'"))
        for name in ["1.sqlite", "2.sqlite"] {
            let outcome = try CommandBinary.run(
                [
                    "migrate", source, name, "--to", CommandBinary.models, "--progress", "json", "--progress-file=e",
                ], in: folder.path)
            #expect(outcome.code == 0 && outcome.messages.isEmpty)
        }
        let events = try events(String(contentsOfFile: folder.file("e"), encoding: .utf8))
        #expect(events.filter { $0["event"] as? String == "started" }.count == 2)
        #expect(Set(events.compactMap { $0["run"] as? String }).count == 2)
        let last = try #require(events.last)
        #expect(last["bytes"] as? Int == last["totalBytes"] as? Int)
        let size = try FileManager.default.attributesOfItem(atPath: folder.file("2.sqlite"))[.size] as? Int
        #expect(last["bytes"] as? Int == size)
    }

    @Test("A run that fails says so in its last line, and as ever beneath")
    func failure() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            [
                "migrate", source, "new.sqlite", "--to", CommandBinary.models, "--progress", "json", "--memory-limit",
                "1M",
            ], in: folder.path)
        #expect(outcome.code == 78)
        let last = try #require(try events(outcome.messages).last)
        #expect(last["event"] as? String == "failed" && last["exitCode"] as? Int == 78)
        #expect(last["error"] as? String == "memory.limitTooLow")
        #expect(outcome.messages.contains("\nstagecoach: The memory limit of 1 MiB cannot be kept"))
    }
}
