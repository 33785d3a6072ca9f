import CSQLite
import CoreDataStore
import Foundation
import TestSupport
import Testing

/// `show` and `explain`, by the command.
@Suite("Objects shown and explained by the built command")
struct CommandLookTests {
    private static let mapping = SharedStores.repository.appendingPathComponent("Fixtures/Mappings/library.json").path

    private static func run(_ arguments: String...) throws -> CommandBinary.Outcome {
        try CommandBinary.run(arguments)
    }

    private static func explain(_ object: String, _ more: String...) throws -> CommandBinary.Outcome {
        try CommandBinary.run(
            ["explain", try CommandBinary.librarySource(), object, "--to", CommandBinary.models] + more)
    }

    @Test("show prints an object by its key, in words and as JSON")
    func show() throws {
        let source = try CommandBinary.librarySource()
        let text = try Self.run("show", source, "Book/p1", "Author/p1")
        #expect(text.code == 0 && text.messages.isEmpty, "\(text.messages)")
        let lines = text.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(lines.first == "Book/p1")
        #expect(lines.contains { $0.hasPrefix("  title ") && $0.hasSuffix("\"On Comets, vol. 1\"") }, "\(text.output)")
        #expect(lines.contains { $0.hasPrefix("  author ") && $0.contains("Author/p") })
        #expect(lines.contains { $0.hasPrefix("  chapters ") && $0.hasSuffix("in this order") })
        #expect(lines.contains("Author/p1"))
        let json = try Self.run("show", source, "Item/p1", "--json")
        #expect(json.output.split(separator: "\n").count == 1)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        #expect(object["id"] as? String == "Book/p1")
        #expect((object["attributes"] as? [String: Any])?["title"] as? String == "On Comets, vol. 1")
    }

    @Test("An error about an object names the store as it was given")
    func givenPath() throws {
        let inputs = try Self.typed()
        for (asked, words) in [("U/p9", "The store has no object U/p9"), ("V/p1", "The store has no entity V")] {
            for command in [
                ["show", "old.sqlite", asked, "--model", "M.xcdatamodeld:1"],
                ["explain", "old.sqlite", asked, "--to", "M.xcdatamodeld"],
            ] {
                let outcome = try CommandBinary.run(command, in: inputs.folder.path)
                #expect(outcome.code == 66, "\(command): \(outcome)")
                #expect(outcome.messages.hasPrefix("stagecoach: old.sqlite: \(words)"), "\(outcome.messages)")
            }
        }
    }

    @Test("show lists the first objects of an entity, and those that satisfy a predicate")
    func list() throws {
        let source = try CommandBinary.librarySource()
        let first = try Self.run("show", source, "Tag", "--limit", "2", "--json")
        #expect(first.code == 0 && first.output.split(separator: "\n").count == 2)
        #expect(first.messages.contains("more objects of Tag than the 2 shown"))
        let chosen = try Self.run(
            "show", source, "Book", "--where", "author.name BEGINSWITH 'Clara' AND chapters.@count > 0", "--members",
            "1")
        #expect(chosen.code == 0, "\(chosen.messages)")
        #expect(chosen.output.split(separator: "\n").count { $0.hasPrefix("Book/p") } == 10)
        #expect(chosen.output.contains(", …"))
        let none = try Self.run("show", source, "Book", "--where", "title == 'none'")
        #expect(none.code == 0 && none.output.isEmpty && none.messages.contains("no object of Book that satisfies"))
    }

    /// A store of one object with a value of each of some types.
    private static func typed() throws -> VersionedInputs {
        let attributes = [
            ("token", "UUID"), ("n", "Integer 16"), ("day", "Date"), ("home", "URI"), ("title", "String"),
        ].map { "<attribute name=\"\($0.0)\" optional=\"YES\" attributeType=\"\($0.1)\"/>" }.joined()
        let entity = VersionedInputs.entity("U", attributes)
        return try VersionedInputs(entity, VersionedInputs.entity("U", attributes, VersionedInputs.text("more"))) {
            $0.insert(
                "U", 1,
                [
                    "token": .blob([UInt8](repeating: 0, count: 15) + [3]), "n": .integer(3), "day": .real(0),
                    "home": .text("https://example.com"), "title": .text("3"),
                ])
        }
    }

    @Test(
        "--where refuses what a source filter refuses, in the same words; the remedy finds the object",
        arguments: [
            (
                "token == '00000000-0000-0000-0000-000000000003'",
                "token == CAST('00000000-0000-0000-0000-000000000003', 'NSUUID')"
            ),
            ("n == '3'", "n == 3"), ("title == 3", "title == CAST(3, 'NSString')"),
            ("day == '2001-01-01'", "day == CAST(0, 'NSDate')"),
            ("day == 0", "day == CAST(0, 'NSDate')"),
            ("home == 'https://example.com'", "home == CAST('https://example.com', 'NSURL')"),
            ("nn == 3", "n == 3"), ("title > token", "title > 'a' OR n > 2"), ("self.n == 'x'", "self.n == 3"),
        ])
    func types(wrong: String, right: String) throws {
        let inputs = try Self.typed()
        let shown = try CommandBinary.run(
            ["show", "old.sqlite", "U", "--model", "M.xcdatamodeld", "--where", wrong], in: inputs.folder.path)
        try inputs.file(
            "m.json",
            VersionedInputs.mapping(
                "{\"name\": \"U\", \"sourceEntity\": \"U\", \"destinationEntity\": \"U\", \"sourceFilter\": \"\(wrong)\"}"
            ))
        let filtered = try inputs.run(["plan", "old.sqlite", "new.sqlite"], ["--mapping", "m.json"])
        #expect(shown.code == 78 && filtered.code == 78, "\(shown) \(filtered)")
        // The filter's sentence begins with the file and the entity mapping.
        let sentence = shown.messages.split(separator: "\n")[0].dropFirst("stagecoach: ".count)
        let words = sentence.prefix { $0 != "(" && $0 != "," }
        #expect(filtered.messages.contains(words), "\(shown.messages)\(filtered.messages)")
        if wrong.contains("== ") { #expect(shown.messages.split(separator: "\n").count == 2, "\(shown.messages)") }
        let found = try CommandBinary.run(
            ["show", "old.sqlite", "U", "--model", "M.xcdatamodeld", "--where", right], in: inputs.folder.path)
        #expect(found.code == 0 && found.output.hasPrefix("U/p1\n"), "\(found)")
    }

    @Test("Of several objects each is answered, and the exit code tells that one is missing")
    func several() throws {
        let inputs = try Self.typed()
        let outcome = try CommandBinary.run(
            ["show", "old.sqlite", "U/p7", "U/p1", "V", "U", "--model", "M.xcdatamodeld"], in: inputs.folder.path)
        #expect(outcome.code == 66)
        #expect(outcome.output.ranges(of: "U/p1\n").count == 2, "\(outcome.output)")
        #expect(outcome.messages.contains("no object U/p7") && outcome.messages.contains("no entity V"))
        #expect(outcome.messages.split(separator: "\n").count == 3, "\(outcome.messages)")
    }

    @Test("--limit all shows every object")
    func all() throws {
        let source = try CommandBinary.librarySource()
        let some = try Self.run("show", source, "Tag")
        #expect(some.messages.contains("--limit all shows them"), "\(some.messages)")
        let every = try Self.run("show", source, "Tag", "--limit", "all", "--json")
        let count = try Connection(path: source, flags: SQLITE_OPEN_READONLY).integer("SELECT count(*) FROM ZTAG") ?? 0
        #expect(every.code == 0 && every.messages.isEmpty)
        #expect(every.output.split(separator: "\n").count == Int(count))
        let wrong = try Self.run("show", source, "Tag", "--limit", "none")
        #expect(wrong.code == 64 && wrong.messages.contains("at least 1, or all"), "\(wrong.messages)")
    }

    @Test("A store that is written by way of a -wal, without one, may lack rows: show says so")
    func withoutLog() throws {
        let inputs = try Self.typed()
        let arguments = ["show", "old.sqlite", "U/p1", "--model", "M.xcdatamodeld"]
        #expect(try CommandBinary.run(arguments, in: inputs.folder.path).messages.isEmpty)
        let path = inputs.folder.file("old.sqlite")
        try Connection(path: path, flags: SQLITE_OPEN_READWRITE).execute("PRAGMA journal_mode = WAL")
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        let alone = try CommandBinary.run(arguments, in: inputs.folder.path)
        #expect(
            alone.code == 0 && alone.messages.contains("old.sqlite-wal, and that file is not beside it"),
            "\(alone.messages)")
        try Data().write(to: URL(fileURLWithPath: path + "-wal"))
        #expect(try CommandBinary.run(arguments, in: inputs.folder.path).messages.isEmpty)
    }

    @Test("Wrong names end in a sentence and the documented code")
    func wrong() throws {
        let source = try CommandBinary.librarySource()
        let entity = try Self.run("show", source, "Bok/p1")
        #expect(entity.code == 66 && entity.messages.contains("Did you mean 'Book'?"), "\(entity.messages)")
        let key = try Self.run("show", source, "Book/p99999999")
        #expect(key.code == 66 && key.messages.contains("no object Book/p99999999"), "\(key.messages)")
        #expect(try Self.run("show", source, "Book/p1", "--where", "title == ''").code == 64)
        #expect(try Self.run("show", source).code == 64)
        #expect(try Self.run("show", source + "x", "Book/p1").code == 66)
        let explained = try Self.explain("Boook/p1")
        #expect(explained.code == 66 && explained.messages.contains("Did you mean 'Book'?"), "\(explained.messages)")
    }

    @Test("explain prints filter, values, lookups and outcome, in words and as JSON")
    func explain() throws {
        let text = try Self.explain("Book/p1", "--mapping", Self.mapping)
        #expect(text.code == 0 && text.messages.isEmpty, "\(text.messages)")
        for part in [
            "Book/p1, Library → Library 2", "BookToBook → Book", "citation = \"Clara Keller 32, On Comets, vol. 1\"",
            "$source.author.name is \"Clara Keller 32\"", "Author/p32 by AuthorToPublisher: Publisher/p32",
            "depends on other objects: isbn must be unique", "By itself it becomes Book/p1.",
        ] {
            #expect(text.output.contains(part), "\(part) in\n\(text.output)")
        }
        let chapter = try Self.explain("Chapter/p449", "--mapping", Self.mapping, "--on-invalid", "reject")
        #expect(
            chapter.output.contains("book must have an object: if Book/p136 is rejected, so is this one"),
            "\(chapter.output)")
        let json = try Self.explain("Book/p1", "--json")
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
        // Another book may have the same ISBN.
        #expect(object["outcome"] as? String == "undecided")
        let mappings = try #require(object["mappings"] as? [[String: Any]])
        #expect(mappings.map { $0["outcomeByItself"] as? String } == ["migrated"])
    }

    @Test("A read-only folder is enough, rows in the -wal are seen, and nothing is put beside the store")
    func untouched() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        try FileManager.default.copyItem(atPath: try CommandBinary.librarySource(), toPath: path)
        let writer = try Connection(path: path, flags: 2)
        try writer.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
        try writer.execute("UPDATE ZITEM SET ZTITLE = 'from the wal' WHERE Z_PK = 1")
        let before = try CommandBinary.contents(of: folder.path)
        #expect(before.keys.contains("store.sqlite-wal"))
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: folder.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: folder.path) }
        let shown = try Self.run("show", path, "Book/p1", "--memory-limit", Instrumentation.limit("32M"))
        #expect(shown.code == 0 && shown.output.contains("\"from the wal\""), "\(shown.messages)")
        let explained = try Self.run("explain", path, "Book/p1", "--to", CommandBinary.models)
        #expect(explained.code == 0 && explained.output.contains("\"from the wal\""), "\(explained.messages)")
        let after = try CommandBinary.contents(of: folder.path)
        #expect(Set(after.keys) == Set(before.keys))
        #expect(
            after["store.sqlite"] == before["store.sqlite"] && after["store.sqlite-wal"] == before["store.sqlite-wal"])
        try writer.close()
    }

    @Test("The model is the cached one, a named version, or the version of a bundle that wrote the store")
    func models() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store.sqlite")
        try FileManager.default.copyItem(atPath: try CommandBinary.librarySource(), toPath: path)
        let connection = try Connection(path: path, flags: 2)
        try connection.execute("DROP TABLE Z_MODELCACHE")
        try connection.close()
        let without = try Self.run("show", path, "Book/p1")
        #expect(without.code == 78 && without.messages.contains("--model"), "\(without.messages)")
        #expect(!without.messages.contains("--from"))
        #expect(try Self.run("show", path, "Book/p1", "--model", CommandBinary.models).code == 0)
        #expect(try Self.run("show", path, "Book/p1", "--model", CommandBinary.models + ":Library").code == 0)
        let other = try Self.run("show", path, "Book/p1", "--model", CommandBinary.models + ":Library 2")
        #expect(other.code == 78 && other.messages.contains("--model"), "\(other.messages)")
    }
}
