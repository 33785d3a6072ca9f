import Foundation
import ManagedModel
import TestSupport
import Testing

/// What the built command says of files: models alone, texts, stores of other kinds, names that are not UTF-8.
@Suite("Files that the command recognises")
struct CommandRecognitionTests {
    private static func inputs() throws -> VersionedInputs {
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Note", VersionedInputs.text("a")),
            VersionedInputs.entity("Note", VersionedInputs.text("a"), VersionedInputs.text("b"))
        ) { $0.insert("Note", 1, ["a": .text("x")]) }
        for version in [1, 2] {
            try FileManager.default.copyItem(
                atPath: inputs.folder.file("M.xcdatamodeld/\(version).xcdatamodel"),
                toPath: inputs.folder.file("Lone\(version).xcdatamodel"))
        }
        let removed = try CommandBinary.run(
            ["migrate", "old.sqlite", "bare.sqlite", "--to", "Lone1.xcdatamodel"], in: inputs.folder.path)
        #expect(removed.code == 0, "\(removed.messages)")
        return inputs
    }

    @Test("A lone model is a candidate as the versions of a bundle are")
    func lone() throws {
        let inputs = try Self.inputs()
        func inspect(_ model: String) throws -> String {
            let outcome = try CommandBinary.run(["inspect", "old.sqlite", "--model", model], in: inputs.folder.path)
            #expect(outcome.code == 0, "\(outcome.messages)")
            return outcome.output
        }
        #expect(try inspect("Lone1.xcdatamodel").contains("Lone1: the version hashes are equal"))
        #expect(try inspect("Lone2.xcdatamodel").contains("not in Lone2.xcdatamodel: the version hashes are not equal"))
    }

    @Test("A text, a binary store and an XML store are called what they are")
    func kinds() throws {
        let inputs = try Self.inputs()
        try inputs.file("ReadMe.txt", "CoreData is a framework.\n")
        try inputs.file("binary.store", "CoreData\0\0\0\u{1}\u{8}\u{4}\u{8}\0\0\0\0")
        try inputs.file(
            "store.xml",
            """
            <?xml version="1.0"?>
            <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
            <database><databaseInfo><version>134481920</version></databaseInfo>
            <object type="NOTE" id="z102"><attribute name="a" type="string">x</attribute></object></database>
            """)
        for (file, words, remedy) in [
            ("ReadMe.txt", "it is a text", "main file"),
            ("binary.store", "The binary store is damaged: it ends within its header", "Copy the store again"),
            ("store.xml", "it is an XML store of Core Data", "have it written as an SQLite store"),
        ] {
            let outcome = try CommandBinary.run(["inspect", file], in: inputs.folder.path)
            #expect(outcome.code != 0 && outcome.messages.contains(words), "\(outcome.messages)")
            #expect(outcome.messages.contains(remedy), "\(outcome.messages)")
        }
    }

    @Test("A name that is not UTF-8 is not called missing")
    func names() throws {
        let inputs = try Self.inputs()
        let script = "cp old.sqlite \"$(printf 'b\\351.sqlite')\"; \"$0\" inspect \"$(printf 'b\\351.sqlite')\""
        let outcome = try CommandBinary.run(
            [], in: inputs.folder.path, through: ["/bin/sh", "-c", script, CommandBinary.path], command: nil)
        #expect(outcome.code == 64 && outcome.messages.contains("is not UTF-8"), "\(outcome.messages)")
        let batch = try inputs.run(["batch", "b*.sqlite", "--into", "all"])
        #expect(batch.code == 65 && batch.output.contains("The name of the file is not UTF-8"), "\(batch.output)")
        #expect(batch.output.contains("done"), "\(batch.output)")
    }

    @Test("What the filter of another entity mapping left out is said so")
    func filtered() throws {
        let to = { (name: String) in
            "<relationship name=\"category\" optional=\"YES\" maxCount=\"1\" destinationEntity=\"\(name)\"/>"
        }
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Item", VersionedInputs.text("cat")),
            VersionedInputs.entity("Item", VersionedInputs.text("cat"), to("Category"))
                + VersionedInputs.entity("Category", VersionedInputs.text("name"))
        ) {
            $0.insert("Item", 1, ["cat": .text("x")])
            $0.insert("Item", 2)
        }
        try inputs.file(
            "map.json",
            VersionedInputs.mapping(
                """
                {"sourceEntity": "Item", "destinationEntity": "Item", "relationships": {"category":
                 "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'Cat', $source)"}},
                {"name": "Cat", "sourceEntity": "Item", "destinationEntity": "Category", "sourceFilter": "cat != nil",
                 "attributes": {"name": "$source.cat"}}
                """))
        for arguments in [["check", "old.sqlite"], ["migrate", "old.sqlite", "new.sqlite"]] {
            let outcome = try inputs.run(arguments, ["--mapping", "map.json"])
            #expect(outcome.code == 0, "\(outcome.messages)")
            #expect(
                outcome.output.contains(
                    "Item.category: 1 reference became nil: the filter of entity mapping Cat left its object out (Item/p2)"
                ),
                "\(outcome.output)")
        }
    }
}
