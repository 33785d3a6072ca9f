import CSQLite
import CoreDataStore
import Foundation
import Glibc
import TestSupport
import Testing

@Suite("The built command: --append and several --mapping")
struct CommandAppendTests {
    private static func isSound(_ path: String) throws -> Bool {
        try StoreQuery.integer("SELECT count(*) = 1 FROM pragma_integrity_check WHERE integrity_check = 'ok'", in: path)
            == 1
    }

    /// The library, migrated, and the folder of another library whose books have numbers of their own.
    private static func scene() throws -> (source: String, folder: TemporaryFolder, inputs: TemporaryFolder) {
        let original = try CommandBinary.librarySource()
        let inputs = try TemporaryFolder()
        let source = try inputs.copyStore(URL(fileURLWithPath: original))
        try renumber(source, "second")
        let folder = try TemporaryFolder()
        let outcome = try CommandBinary.run(
            ["migrate", original, "new.sqlite", "--to", CommandBinary.models], in: folder.path)
        try #require(outcome.code == 0, "\(outcome.messages)")
        return (source, folder, inputs)
    }

    private static func renumber(_ source: String, _ word: String) throws {
        let connection = try Connection(path: source, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("UPDATE ZITEM SET ZISBN = '\(word) ' || Z_PK WHERE ZISBN IS NOT NULL")
        try connection.close()
    }

    @Test(
        "--append adds the objects twice, within 64 MiB; without it the destination is refused",
        .enabled(if: !Instrumentation.isSanitized, "a sanitizer's memory would count"))
    func twice() throws {
        let (source, folder, inputs) = try Self.scene()
        defer { withExtendedLifetime(inputs) {} }
        let path = folder.file("new.sqlite")
        let line = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--memory-limit", "64M"]
        let refused = try CommandBinary.run(line, in: folder.path)
        #expect(refused.code == 73, "\(refused.messages)")
        for round in 2...3 {
            try Self.renumber(source, "round \(round)")
            let outcome = try CommandBinary.run(
                line + ["--append", "--check", "full", "--json"], in: folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            let report = try #require(
                try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            let peak = try #require(report["peakMemory"] as? Int)
            print("append \(round): peak memory \(peak) bytes")
            #expect(peak <= 64 << 20)
            #expect(report["isAppended"] as? Bool == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
            #expect(try StoreQuery.integer("SELECT count(*) FROM ZITEM", in: path) == Int64(45_000 * round))
            #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: path) == Int64(5_000 * round))
            #expect(try StoreQuery.integer("SELECT max(Z_PK) FROM ZAUTHOR", in: path) == Int64(5_000 * round))
            #expect(
                try StoreQuery.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Author'", in: path)
                    == Int64(5_000 * round))
        }
        let twin = try CommandBinary.run(line + ["--append"], in: folder.path)
        #expect(twin.code == 65 && twin.messages.contains("isbn = 'round 3"), "\(twin.messages)")
        #expect(try Self.isSound(path))
        // Every copy of a section belongs to the copy of its book.
        #expect(
            try StoreQuery.integer(
                "SELECT count(*) FROM ZSECTION AS s LEFT JOIN ZITEM AS b ON b.Z_PK = s.ZBOOK WHERE s.ZBOOK IS NOT NULL AND b.Z_PK IS NULL",
                in: path) == 0)
    }

    @Test("--append without a destination makes the store; with --new-uuid it is a contradiction")
    func absent() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let line = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--append"]
        let contradiction = try CommandBinary.run(line + ["--new-uuid"], in: folder.path)
        #expect(contradiction.code == 64 && contradiction.messages.contains("exclude each other"))
        let outcome = try CommandBinary.run(line, in: folder.path)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["new.sqlite"])
    }

    @Test("A destination of another version is refused with the entities that differ")
    func otherVersion() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: source, toPath: folder.file("new.sqlite"))
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--append"], in: folder.path)
        #expect(outcome.code == 78, "\(outcome.messages)")
        #expect(outcome.messages.contains("another model version") && outcome.messages.contains("Book"))
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }

    @Test("A destination that another process writes or reads in WAL mode is busy", arguments: [false, true])
    func locked(isReader: Bool) throws {
        let (source, folder, inputs) = try Self.scene()
        defer { withExtendedLifetime(inputs) {} }
        let path = folder.file("new.sqlite")
        let user = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        if isReader {
            try user.execute("PRAGMA journal_mode = WAL; BEGIN")
            _ = try user.integer("SELECT count(*) FROM ZAUTHOR")
        } else {
            try user.execute("BEGIN IMMEDIATE")
        }
        let line = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--append"]
        let outcome = try CommandBinary.run(line, in: folder.path)
        #expect(outcome.code == 75, "\(outcome.messages)")
        #expect(outcome.messages.contains("Another process uses the destination"))
        try user.execute("ROLLBACK")
        #expect(try user.integer("SELECT count(*) FROM ZAUTHOR") == 5_000)
        try user.close()
        #expect(try CommandBinary.run(line, in: folder.path).code == 0)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: path) == 10_000)
    }

    @Test("A destination that its program died while writing is refused, and left to be rolled back")
    func interrupted() throws {
        let (source, folder, inputs) = try Self.scene()
        defer { withExtendedLifetime(inputs) {} }
        let other = try TemporaryFolder()
        let path = other.file("new.sqlite")
        try FileManager.default.moveItem(atPath: folder.file("new.sqlite"), toPath: path)
        let program = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        // So few pages are held that changed ones go to the file, after what they were went to the journal.
        try program.execute(
            "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE ZAUTHOR SET ZFULLNAME = hex(zeroblob(200))")
        for suffix in ["", "-journal"] {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.file("new.sqlite") + suffix)
        }
        try program.execute("ROLLBACK")
        try program.close()
        let before = try CommandBinary.contents(of: folder.path)
        let line = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--append"]
        let outcome = try CommandBinary.run(line, in: folder.path)
        #expect(outcome.code == 65, "\(outcome.messages)")
        #expect(outcome.messages.contains("A program was interrupted while writing the store"))
        #expect(try CommandBinary.contents(of: folder.path) == before)
        // The program rolls it back.
        let again = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        #expect(try again.integer("SELECT count(*) FROM ZAUTHOR WHERE ZFULLNAME LIKE '0000%'") == 0)
        try again.close()
        #expect(try CommandBinary.run(line, in: folder.path).code == 0)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: folder.file("new.sqlite")) == 10_000)
    }

    @Test("Killed at any moment, the old destination is whole, and the same command succeeds")
    func killed() throws {
        let (source, folder, inputs) = try Self.scene()
        defer { withExtendedLifetime(inputs) {} }
        let path = folder.file("new.sqlite")
        let line = ["migrate", source, "new.sqlite", "--to", CommandBinary.models, "--append", "--batch-size", "20"]
        let before = FileManager.default.contents(atPath: path)
        var generator = SeededGenerator(seed: 42)
        var isDone = false
        for _ in 0..<6 {
            let (process, output, messages) = try CommandBinary.start(line, in: folder.path)
            let work = folder.file(".new.sqlite.stagecoach/store.sqlite")
            while process.isRunning, !FileManager.default.fileExists(atPath: work) { usleep(1_000) }
            usleep(useconds_t(generator.below(600_000)))
            // Only a process that is still at work can be met in the middle.
            let isKilled = process.isRunning && kill(process.processIdentifier, SIGKILL) == 0
            let outcome = CommandBinary.finish(process, output, messages)
            isDone = outcome.code == 0
            guard !isDone else { break }
            #expect(isKilled, "\(outcome.messages)")
            #expect(try Self.isSound(path))
            // Killed after the rename, the new one is there, complete, and the same command only tidies up; killed after
            // that, at its last words, nothing is left to do, and the same command would append once more.
            if FileManager.default.contents(atPath: path) != before {
                #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: path) == 10_000)
                let work = folder.file(".new.sqlite.stagecoach")
                isDone = ![work, work + "-done"].contains(where: FileManager.default.fileExists)
                break
            }
        }
        if !isDone { #expect(try CommandBinary.run(line, in: folder.path).code == 0) }
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR", in: path) == 10_000)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left == ["new.sqlite"])
    }

    @Test("Several mapping models give what one gives; a name of no model is a load error")
    func severalMappings() throws {
        let source = try CommandBinary.librarySource()
        let folder = try TemporaryFolder()
        let fixture = SharedStores.repository.appendingPathComponent("Fixtures/Mappings/library.json")
        let whole = try #require(
            try JSONSerialization.jsonObject(with: try Data(contentsOf: fixture)) as? [String: Any])
        let mappings = try #require(whole["entityMappings"] as? [[String: Any]])
        func write(_ name: String, _ members: [[String: Any]]) throws {
            let json = try JSONSerialization.data(withJSONObject: ["formatVersion": 1, "entityMappings": members])
            try json.write(to: URL(fileURLWithPath: folder.file(name)))
        }
        func named(_ names: [String]) -> [[String: Any]] {
            names.compactMap { name in mappings.first { $0["name"] as? String == name } }
        }
        try write("people.json", named(["AuthorToAuthor", "AuthorToPublisher"]))
        try write("rest.json", named(["ArticleToArticle", "BookToBook", "ChapterToSection", "TagToTag"]))
        let limit = Instrumentation.limit("64M")
        let line = ["--to", CommandBinary.models, "--check", "full", "--memory-limit", limit]
        let outcome = try CommandBinary.run(
            ["migrate", source, "new.sqlite", "--mapping", "people.json", "--mapping", "rest.json"] + line,
            in: folder.path)
        #expect(outcome.code == 0, "\(outcome.messages)")
        #expect(!outcome.output.contains("no entity mapping reads them"))
        let one = try CommandBinary.run(
            ["migrate", source, "one.sqlite", "--mapping", fixture.path] + line, in: folder.path)
        #expect(one.code == 0, "\(one.messages)")
        for query in [
            "SELECT count(*), sum(ZAUTHOR), sum(ZPUBLISHER), sum(Z_PK) FROM ZITEM",
            "SELECT count(*), sum(Z_PK * ZBOOK), 0, 0 FROM ZSECTION",
            "SELECT count(*), sum(Z_PK), 0, 0 FROM ZPUBLISHER",
        ] {
            let rows = try ["new.sqlite", "one.sqlite"].map { name in
                let statement = try Connection(path: folder.file(name), flags: SQLITE_OPEN_READONLY).prepare(query)
                _ = try statement.step()
                return (0..<4).map { statement.integer(Int32($0)) }
            }
            #expect(rows[0] == rows[1], "\(query)")
        }
        let backwards = try CommandBinary.run(
            ["migrate", source, "no.sqlite", "--mapping", "rest.json", "--mapping", "people.json"] + line,
            in: folder.path)
        #expect(backwards.code == 78, "\(backwards.messages)")
        #expect(backwards.messages.contains("AuthorToAuthor"))
        let plan = try CommandBinary.run(
            [
                "plan", source, "no.sqlite", "--mapping=people.json", "--mapping=rest.json", "--to",
                CommandBinary.models,
            ],
            in: folder.path)
        #expect(plan.code == 0 && plan.output.contains("people.json, rest.json"), "\(plan.messages)")
    }
}
