import CoreDataStore
import Foundation
import TestSupport
import Testing

/// Inputs that are told by name, taken from another store, or damaged, by the command.
@Suite("Inputs by the built command")
struct CommandInputTests {
    private static func run(_ folder: TemporaryFolder, _ arguments: String...) throws -> CommandBinary.Outcome {
        try CommandBinary.run(arguments, in: folder.path)
    }

    /// A store of a version with rows by SQL: `old.sqlite`.
    private static func store(_ version: String, _ sql: String, in folder: TemporaryFolder) throws {
        let made = try run(
            folder, "migrate", try CommandBinary.librarySource(), "old.sqlite", "--to", version, "--unknown-hashes",
            "omit", "--on-loss", "allow")
        #expect(made.code == 0, "\(made.messages)")
        try execute(folder.file("old.sqlite"), sql)
    }

    private static func execute(_ path: String, _ sql: String) throws {
        let connection = try Connection(path: path, flags: 2)
        try connection.execute(sql)
        try connection.close()
    }

    /// Lines of a report without what two runs differ in.
    private static func report(_ text: String) -> [String] {
        // Times, memory, and the names of the two runs' files.
        let volatile = [
            "seconds", "processorSeconds", "peakMemory", "destination\"", "spilledBytes", "mapping\"", "path\"",
            "inf.json\"",
        ]
        return text.split(separator: "\n").map(String.init).filter { line in
            !volatile.contains { line.contains("\"\($0)") }
        }
    }

    @Test("The unedited file of infer does what inference does; without its line the error says which line helps")
    func inferredFile() throws {
        let folder = try TemporaryFolder()
        let age = VersionedInputs.attribute("age", "Integer 32", "maxValueString=\"30\"")
        let bundle = "M.xcdatamodeld"
        try VersionedInputs.bundle(
            [
                ("M", VersionedInputs.entity("U", age)),
                ("M 2", VersionedInputs.entity("U", age, VersionedInputs.attribute("neu"))),
            ], in: folder)
        try Self.store(bundle + ":M", "INSERT INTO ZU (Z_PK, Z_ENT, Z_OPT, ZAGE) VALUES (1, 1, 1, 1000)", in: folder)
        let inferred = try Self.run(folder, "migrate", "old.sqlite", "one.sqlite", "--to", bundle + ":M 2", "--json")
        #expect(inferred.code == 0, "\(inferred.messages)")
        let wrote = try Self.run(folder, "infer", "--from", bundle + ":M", "--to", bundle + ":M 2", "-o", "inf.json")
        #expect(wrote.code == 0, "\(wrote.messages)")
        let text = try String(contentsOfFile: folder.file("inf.json"), encoding: .utf8)
        #expect(text.contains("\"rulesOfTheSource\": \"warn\""))
        #expect(text.contains("\"from\": \"M\"") && text.contains("\"to\": \"M 2\""))
        let mapped = try Self.run(
            folder, "migrate", "old.sqlite", "two.sqlite", "--to", bundle + ":M 2", "--mapping", "inf.json", "--json")
        #expect(mapped.code == 0, "\(mapped.messages)")
        #expect(Self.report(mapped.output) == Self.report(inferred.output))

        // Converted it says the same.
        let converted = try Self.run(
            folder, "convert", "inf.json", "--from", bundle + ":M", "--to", bundle + ":M 2")
        #expect(converted.output == text)
        let inspected = try Self.run(folder, "inspect", "inf.json")
        #expect(inspected.output.contains("rules of the source  warn") && inspected.output.contains("M → M 2"))

        let short = #"{"formatVersion": 2, "entityMappings": [{"sourceEntity": "U", "destinationEntity": "U"}]}"#
        try Data(short.utf8).write(to: URL(fileURLWithPath: folder.file("short.json")))
        for command in ["migrate", "check"] {
            let refused = try Self.run(
                folder, command, "old.sqlite", "three.sqlite", "--to", bundle + ":M 2", "--mapping", "short.json")
            #expect(refused.code == 65)
            #expect(
                refused.messages.contains(
                    "write \"rulesOfTheSource\": \"warn\" beside \"formatVersion\" (short.json, line 1)"),
                "\(refused.messages)")
        }
    }

    @Test("A mapping model that fits several pairs of versions is told its own by option and by key")
    func versions() throws {
        let folder = try TemporaryFolder()
        let (sku, name) = (VersionedInputs.attribute("sku"), VersionedInputs.attribute("name"))
        let bundle = "M.xcdatamodeld"
        try VersionedInputs.bundle(
            [
                ("M 39", VersionedInputs.entity("Product", sku)),
                ("M 40", VersionedInputs.entity("Product", sku, name)),
                ("M 41", VersionedInputs.entity("Product", sku, name, VersionedInputs.attribute("price"))),
            ], in: folder)
        try Self.store(
            bundle + ":M 39", "INSERT INTO ZPRODUCT (Z_PK, Z_ENT, Z_OPT, ZSKU) VALUES (1, 1, 1, 'a')", in: folder)
        let text =
            #"{"formatVersion": 2, "entityMappings": [{"sourceEntity": "Product", "destinationEntity": "Product"}]}"#
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file("39to40.json")))
        func way(_ mapping: String, to destination: String) -> [String] {
            ["migrate", "old.sqlite", destination, "--to", bundle + ":M 41", "--via", "M 40", "--mapping", mapping]
        }
        let refused = try CommandBinary.run(way("39to40.json", to: "one.sqlite"), in: folder.path)
        #expect(refused.code == 78 && refused.messages.contains("fits several pairs"), "\(refused.messages)")
        #expect(refused.messages.contains("--mapping \"M 39..M 40=39to40.json\""), "\(refused.messages)")
        #expect(!refused.messages.contains("--via"), "\(refused.messages)")
        let told = try CommandBinary.run(way("M 39..M 40=39to40.json", to: "one.sqlite"), in: folder.path)
        #expect(told.code == 0, "\(told.messages)")
        let keyed = text.replacing("\"entity", with: "\"from\": \"M 39\", \"to\": \"M 40\", \"entity")
        try Data(keyed.utf8).write(to: URL(fileURLWithPath: folder.file("keyed.json")))
        let again = try CommandBinary.run(way("keyed.json", to: "two.sqlite"), in: folder.path)
        #expect(again.code == 0, "\(again.messages)")

        // A version hash that inspect prints is one that the file takes.
        let shown = try Self.run(folder, "inspect", bundle + ":M 40")
        let hash = try #require(
            shown.output.split(separator: "\n").first { $0.contains("version hash") }?.split(separator: " ").last)
        let hashed = text.replacing(
            "\"sourceEntity", with: "\"destinationEntityVersionHash\": \"\(hash)\", \"sourceEntity")
        try Data(hashed.utf8).write(to: URL(fileURLWithPath: folder.file("hashed.json")))
        let third = try CommandBinary.run(way("hashed.json", to: "three.sqlite"), in: folder.path)
        #expect(third.code == 0, "\(third.messages)")
        #expect(try Self.run(folder, "inspect", "hashed.json").output.contains(hash))

        // A batch whose manifest is in another folder.
        try FileManager.default.createDirectory(atPath: folder.file("lists"), withIntermediateDirectories: true)
        let line =
            #"{"source": "../old.sqlite", "destination": "../batch.sqlite", "mapping": ["M 39..M 40=../39to40.json"]}"#
        try Data(line.utf8).write(to: URL(fileURLWithPath: folder.file("lists/stores.jsonl")))
        let batch = try Self.run(
            folder, "batch", "lists/stores.jsonl", "--to", bundle + ":M 41", "--via", "M 40")
        #expect(batch.code == 0, "\(batch.output) \(batch.messages)")
    }

    @Test("A model that is a store has the version hashes of its metadata")
    func storeAsModel() throws {
        let folder = try TemporaryFolder()
        let text = VersionedInputs.attribute("text")
        let derived = VersionedInputs.attribute(
            "loud", "String", "derived=\"YES\" derivationExpression=\"uppercase:(text)\"")
        let bundle = "M.xcdatamodeld"
        try VersionedInputs.bundle(
            [
                ("1", VersionedInputs.entity("Note", text)),
                ("2", VersionedInputs.entity("Note", text, derived) + VersionedInputs.entity("Plain", text)),
            ],
            in: folder)
        try Self.store(bundle + ":1", "INSERT INTO ZNOTE VALUES (1, 1, 1, 'a')", in: folder)
        let refused = try Self.run(folder, "migrate", "old.sqlite", "new.sqlite", "--to", bundle + ":2")
        #expect(refused.code == 78 && refused.messages.contains("or as a store of that version"))
        let made = try Self.run(
            folder, "migrate", "old.sqlite", "model.sqlite", "--to", bundle + ":2", "--unknown-hashes", "omit")
        #expect(made.code == 0, "\(made.messages)")
        try StatedHashes.write(["Note": (1...32).map { UInt8($0) }], to: folder.file("model.sqlite"))
        for command in ["plan", "migrate", "verify"] {
            let run = try Self.run(folder, command, "old.sqlite", "new.sqlite", "--to", "model.sqlite")
            #expect(run.code == 0, "\(command): \(run.messages)")
        }
        let fidelity = try Self.run(folder, "inspect", "--fidelity", "new.sqlite", "--model", "model.sqlite")
        #expect(fidelity.code == 0, "\(fidelity.output)")
        let store = try SourceStore(
            path: folder.file("new.sqlite"), cacheBytes: 1 << 16, valueLimit: 1 << 16, temporaryDirectory: nil)
        #expect(store.metadata.versionHashes["Note"] == (1...32).map { UInt8($0) })
    }

    @Test("A damaged store is refused by every command, and repaired by every command on request")
    func damaged() throws {
        let folder = try TemporaryFolder()
        let (text, size) = (VersionedInputs.attribute("text"), VersionedInputs.attribute("size", "Integer 32"))
        let bundle = "M.xcdatamodeld"
        try VersionedInputs.bundle(
            [
                ("1", VersionedInputs.entity("Note", text, size) + VersionedInputs.entity("Tag", text)),
                (
                    "2",
                    VersionedInputs.entity("Note", text, size, VersionedInputs.attribute("more"))
                        + VersionedInputs.entity("Tag", text)
                ),
            ], in: folder)
        try Self.store(
            bundle + ":1",
            """
            INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZSIZE, ZTEXT) VALUES (1, 1, 1, 5, 'a'), (2, 1, 1, 6, 'b');
            DROP TABLE ZTAG; ALTER TABLE ZNOTE DROP COLUMN ZSIZE
            """, in: folder)
        let sentences = [
            "The table ZTAG is missing", "The column ZNOTE.ZSIZE is missing: Note.size is read as nil, for 2",
        ]
        let end = ["old.sqlite", "new.sqlite", "--to", bundle + ":2"]
        for command in ["plan", "check", "migrate", "verify"] {
            let refused = try CommandBinary.run([command] + end, in: folder.path)
            #expect(refused.code == 65, "\(command): \(refused.messages)")
            #expect(refused.messages.contains("the table ZTAG is missing"), "\(command): \(refused.messages)")
            #expect(refused.messages.contains("--repair"), "\(command): \(refused.messages)")
            let repaired = try CommandBinary.run([command, "--repair"] + end, in: folder.path)
            #expect(repaired.code == 0, "\(command): \(repaired.messages)")
            for sentence in sentences { #expect(repaired.output.contains(sentence), "\(command): \(repaired.output)") }
        }
        let json = try Self.run(
            folder, "migrate", "old.sqlite", "json.sqlite", "--to", bundle + ":2", "--repair", "--json", "--report",
            "page.html")
        #expect(json.output.contains("\"repairs\"") && json.output.contains("\"rows\" : 2"), "\(json.output)")
        let page = try String(contentsOfFile: folder.file("page.html"), encoding: .utf8)
        for sentence in sentences { #expect(page.contains(sentence)) }
        let inspected = try Self.run(folder, "inspect", "old.sqlite")
        #expect(inspected.code == 0 && inspected.output.contains("the table ZTAG is missing"), "\(inspected.output)")
        let counted = try Self.run(folder, "inspect", "old.sqlite", "--repair")
        #expect(counted.output.contains("Note.size is read as nil, for 2"), "\(counted.output)")
        let batch = try Self.run(
            folder, "batch", "old.sqlite", "--into", "strict", "--to", bundle + ":2")
        #expect(batch.code == 65)
        let repaired = try Self.run(
            folder, "batch", "old.sqlite", "--into", "repaired", "--to", bundle + ":2", "--repair")
        #expect(repaired.code == 0, "\(repaired.output) \(repaired.messages)")
    }
}
