import Foundation
import ManagedModel
import TestSupport
import Testing

/// A folder with the bundle M.xcdatamodeld (versions 1, 2, …; the last is current) and old.sqlite of version 1.
struct VersionedInputs {
    let folder: TemporaryFolder

    init(_ versions: String..., rows: (inout ReferenceStore) -> Void) throws {
        folder = try TemporaryFolder()
        try Self.bundle(versions, in: folder)
        let current = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>_XCCurrentVersionName</key>
            <string>\(versions.count).xcdatamodel</string></dict></plist>
            """
        try file("M.xcdatamodeld/.xccurrentversion", current)
        try store("old", ofVersion: 1, rows)
    }

    /// Writes the bundle `M.xcdatamodeld` with a model for each list of entities, and returns its path.
    @discardableResult
    static func bundle(_ versions: [(name: String, entities: String)], in folder: TemporaryFolder) throws -> String {
        for (name, entities) in versions {
            let place = folder.file("M.xcdatamodeld/\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try Data(model(entities).utf8).write(to: URL(fileURLWithPath: place + "/contents"))
        }
        return folder.file("M.xcdatamodeld")
    }

    /// Writes a bundle with versions 1, 2, …
    @discardableResult
    static func bundle(_ versions: [String], in folder: TemporaryFolder) throws -> String {
        try bundle(versions.enumerated().map { ("\($0.offset + 1)", $0.element) }, in: folder)
    }

    static func model(_ entities: String) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\(entities)</model>
        """
    }

    func store(_ name: String, ofVersion version: Int, _ rows: (inout ReferenceStore) -> Void) throws {
        let model = try ModelLocator.load(folder.file("M.xcdatamodeld") + ":\(version)").model
        try? FileManager.default.removeItem(atPath: folder.file("\(name).sqlite"))
        try ReferenceStore.make(model) { rows(&$0) }.write(path: folder.file("\(name).sqlite"))
    }

    func file(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: folder.file(name)))
    }

    func run(_ arguments: [String], _ options: [String] = []) throws -> CommandBinary.Outcome {
        try CommandBinary.run(arguments + ["--to", "M.xcdatamodeld"] + options, in: folder.path)
    }

    /// Converts a mapping file, and what was written of it, and returns the text, which must be the same both times.
    func convertedTwice(_ name: String) throws -> String {
        var texts: [String] = []
        for (from, to) in [(name, "first.json"), ("first.json", "second.json")] {
            let outcome = try run(["convert", from, "-o", to, "--from", "M.xcdatamodeld:1"])
            #expect(outcome.code == 0, "\(outcome.messages)")
            texts.append(try String(contentsOfFile: folder.file(to), encoding: .utf8))
        }
        #expect(texts[0] == texts[1])
        return texts[0]
    }

    /// Migrates by the file mapping.json, which must be refused in one of some lines of it; nothing is written.
    func expectRefusal(saying says: String, inLines lines: ClosedRange<Int>) throws {
        let outcome = try run(["migrate", "old.sqlite", "new.sqlite", "--mapping", "mapping.json"])
        #expect(outcome.code == 78, "\(outcome.messages)")
        #expect(outcome.messages.contains(says), "\(outcome.messages)")
        #expect(lines.contains { outcome.messages.contains("mapping.json:\($0):") }, "\(outcome.messages)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("new.sqlite")))
    }

    /// The outcomes of all commands, by name. The code of a batch is that of its store.
    func all(_ object: String, _ options: [String] = []) throws -> [String: (code: Int32, words: String)] {
        var found: [String: (code: Int32, words: String)] = [:]
        for (name, arguments) in [
            ("plan", ["plan", "old.sqlite", "new.sqlite"]), ("check", ["check", "old.sqlite"]),
            ("dry run", ["migrate", "old.sqlite", "new.sqlite", "--dry-run"]),
            ("explain", ["explain", "old.sqlite", object]), ("migrate", ["migrate", "old.sqlite", "new.sqlite"]),
        ] {
            let outcome = try run(arguments, options)
            found[name] = (outcome.code, outcome.code == 0 ? outcome.output : outcome.messages)
        }
        try? FileManager.default.removeItem(atPath: folder.file("all"))
        let batch = try run(["batch", "o*d.sqlite", "--into", "all"], options)
        let failure = batch.output.split(separator: "\n").first { $0.hasPrefix("failed ") }?.split(separator: " ")
        let code = failure.flatMap { Int32($0[1]) } ?? batch.code
        found["batch"] = (code, batch.messages + batch.output)
        return found
    }
}

/// The XML of models and the JSON of mapping models.
extension VersionedInputs {
    static func entity(_ name: String, _ properties: String..., attributes: String = "") -> String {
        "<entity name=\"\(name)\" \(attributes)>\(properties.joined())</entity>"
    }

    static func attribute(
        _ name: String, _ type: String = "String", _ more: String = "", optional: Bool = true
    ) -> String {
        "<attribute name=\"\(name)\" attributeType=\"\(type)\" \(optional ? "optional=\"YES\" " : "")\(more)/>"
    }

    static func text(_ name: String, _ more: String = "optional=\"YES\"") -> String {
        "<attribute name=\"\(name)\" \(more) attributeType=\"String\"/>"
    }

    static func mapping(_ entities: String, _ keys: String = "") -> String {
        "{\"formatVersion\": 2,\(keys) \"entityMappings\": [\n\(entities)\n]}"
    }
}
