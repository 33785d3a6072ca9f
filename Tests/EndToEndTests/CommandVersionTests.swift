import CoreDataStore
import Foundation
import TestSupport
import Testing

/// Properties that inference refuses, chains with a saved plan, and stores that say nothing of their version, by the command.
@Suite("Versions by the built command")
struct CommandVersionTests {
    /// A store of version 1: the library's, of which nothing is migrated, with rows by SQL.
    private static func source(_ bundle: String, _ sql: String, in folder: TemporaryFolder) throws -> String {
        let made = try CommandBinary.run(
            ["migrate", try CommandBinary.librarySource(), "old.sqlite", "--to", bundle + ":1", "--on-loss", "allow"],
            in: folder.path)
        #expect(made.code == 0, "\(made.messages)")
        let connection = try Connection(path: folder.file("old.sqlite"), flags: 2)
        try connection.execute(sql)
        try connection.close()
        return folder.file("old.sqlite")
    }

    @Test("A store that lacks version hashes is not said to have equal ones")
    func leftOutHashes() throws {
        let folder = try TemporaryFolder()
        let text = VersionedInputs.attribute("text", "String")
        let derived =
            "<attribute name=\"loud\" optional=\"YES\" attributeType=\"String\" derived=\"YES\" derivationExpression=\"uppercase:(text)\"/>"
        let bundle = try VersionedInputs.bundle(
            [
                VersionedInputs.entity("Note", text), VersionedInputs.entity("Note", text + derived),
                VersionedInputs.entity("Note", text + derived) + VersionedInputs.entity("Plain", text),
            ], in: folder)
        _ = try Self.source(bundle, "INSERT INTO ZNOTE VALUES (1, 1, 1, 'a')", in: folder)
        for (version, words) in [
            ("2", "written by         2: the cached model is equal"),
            ("3", "written by         3: the version hashes that the store has are equal; it has none of Note"),
        ] {
            let made = try CommandBinary.run(
                [
                    "migrate", "old.sqlite", "new\(version).sqlite", "--to", "\(bundle):\(version)", "--unknown-hashes",
                    "omit",
                ], in: folder.path)
            #expect(made.code == 0, "\(made.messages)")
            let inspected = try CommandBinary.run(
                ["inspect", "new\(version).sqlite", "--model", bundle], in: folder.path)
            #expect(inspected.output.contains(words), "\(inspected.output)")
        }
    }

    @Test("A property that inference refuses is left on request, named in plan, report and JSON, and verified")
    func unmappable() throws {
        let folder = try TemporaryFolder()
        let bundle = try VersionedInputs.bundle(
            [
                VersionedInputs.entity(
                    "Note", VersionedInputs.attribute("year", "String"), VersionedInputs.attribute("text", "String")),
                VersionedInputs.entity(
                    "Note", VersionedInputs.attribute("year", "Integer 16"), VersionedInputs.attribute("text", "String")
                ),
            ], in: folder)
        _ = try Self.source(
            bundle,
            "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZYEAR, ZTEXT) VALUES (1, 1, 1, '1999', 'a'), (2, 1, 1, NULL, 'b')",
            in: folder)
        let arguments = ["old.sqlite", "new.sqlite", "--to", bundle + ":2"]
        let refused = try CommandBinary.run(["migrate"] + arguments, in: folder.path)
        #expect(refused.code == 78 && refused.messages.contains("--unmappable leave"))
        #expect(refused.messages.contains("\"year\": null"))
        let leaving = arguments + ["--unmappable", "leave"]
        let sentence =
            "Note.year is left unmapped, what Note.year has stays behind, and 1 object has a value there: Source and destination attribute types are incompatible: String became Integer 16"
        let plan = try CommandBinary.run(["plan"] + leaving, in: folder.path)
        #expect(plan.code == 0 && plan.output.contains(sentence), "\(plan.output)")
        let run = try CommandBinary.run(["migrate"] + leaving, in: folder.path)
        #expect(run.code == 0 && run.output.contains(sentence), "\(run.output) \(run.messages)")
        #expect(try CommandBinary.run(["verify"] + leaving, in: folder.path).code == 0)
        let inferred = try CommandBinary.run(
            ["infer", "--from", bundle + ":1", "--to", bundle + ":2", "--unmappable", "leave", "-o", "m.json"],
            in: folder.path)
        #expect(inferred.code == 0)
        let json = try String(contentsOfFile: folder.file("m.json"), encoding: .utf8)
        #expect(json.contains("\"unmappable\": \"Source and destination attribute types are incompatible"))
        let mapped = try CommandBinary.run(
            ["migrate", "old.sqlite", "mapped.sqlite", "--to", bundle + ":2", "--mapping", "m.json", "--json"],
            in: folder.path)
        #expect(mapped.code == 0 && mapped.output.contains("\"unmapped\""), "\(mapped.messages)")
    }

    @Test("A chain's plan is saved and run, and refused when the source was written since")
    func plans() throws {
        let folder = try TemporaryFolder()
        let bundle = try VersionedInputs.bundle(
            [
                VersionedInputs.entity("Note", VersionedInputs.attribute("text", "String")),
                VersionedInputs.entity(
                    "Memo", VersionedInputs.attribute("text", "String"), VersionedInputs.attribute("size", "Integer 16")
                ),
                VersionedInputs.entity(
                    "Memo", VersionedInputs.attribute("text", "String"), VersionedInputs.attribute("size", "Integer 32")
                ),
            ], in: folder)
        _ = try Self.source(bundle, "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (5, 1, 1, 'a')", in: folder)
        for (name, entity, value) in [("1to2.json", "Note", "2 + 3"), ("2to3.json", "Memo", "$source.size * 1000")] {
            let text = """
                {"formatVersion": 2, "entityMappings": [{"sourceEntity": "\(entity)", "destinationEntity": "Memo",
                 "attributes": {"size": "\(value)"}}]}
                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
        }
        let arguments = [
            "old.sqlite", "new.sqlite", "--to", bundle + ":3", "--via", "2", "--mapping", "1to2.json", "--mapping",
            "2to3.json",
        ]
        let saved = try CommandBinary.run(["plan"] + arguments + ["--save", "plan.json"], in: folder.path)
        #expect(saved.code == 0 && saved.output.contains("2 migrations"), "\(saved.output) \(saved.messages)")
        let run = try CommandBinary.run(["migrate"] + arguments + ["--plan", "plan.json"], in: folder.path)
        #expect(run.code == 0, "\(run.messages)")
        let connection = try Connection(path: folder.file("new.sqlite"), flags: 1)
        #expect(try connection.integer("SELECT ZSIZE FROM ZMEMO WHERE Z_PK = 5") == 5000)
        let written = try Connection(path: folder.file("old.sqlite"), flags: 2)
        try written.execute("UPDATE ZNOTE SET ZTEXT = 'b'")
        try written.close()
        var again = arguments
        again[1] = "other.sqlite"
        let stale = try CommandBinary.run(["migrate"] + again + ["--plan", "plan.json"], in: folder.path)
        #expect(stale.code == 78 && stale.messages.contains("it was written since"), "\(stale.messages)")
    }

    @Test("A store without version hashes goes by --from, and by its tables")
    func nothingSaid() throws {
        let folder = try TemporaryFolder()
        let bundle = try VersionedInputs.bundle(
            [
                VersionedInputs.entity("Note", VersionedInputs.attribute("text", "String")),
                VersionedInputs.entity(
                    "Note", VersionedInputs.attribute("text", "String"), VersionedInputs.attribute("size", "Integer 16")
                ),
            ], in: folder)
        _ = try Self.source(
            bundle,
            """
            INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT) VALUES (5, 1, 1, 'a'); DELETE FROM Z_MODELCACHE;
            UPDATE Z_METADATA SET Z_PLIST = X'62706c6973743030d0080000000000000101000000000000000100000000000000000000000000000009'
            """, in: folder)
        for (name, from) in [("by-tables.sqlite", []), ("by-name.sqlite", ["--from", bundle + ":1"])]
            as [(String, [String])]
        {
            let run = try CommandBinary.run(
                ["migrate", "old.sqlite", name, "--to", bundle + ":2"] + from, in: folder.path)
            #expect(run.code == 0, "\(run.messages)")
            #expect(run.output.contains("version hashes are missing"))
        }
    }
}
