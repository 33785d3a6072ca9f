import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import TestSupport
import Testing

/// The migrations that are disturbed. Their stores are small: a thousand runs shall take minutes.
extension FaultFixture {
    /// Makes a fixture by its name, once a process.
    static let makers: [(name: String, make: @Sendable () throws -> FaultFixture)] = [
        ("inferred", inferred), ("mapping", mapping), ("models", severalModels), ("policy", policy), ("append", append),
        ("appendWAL", appendWAL), ("reject", reject), ("chain", chain), ("appendChain", appendChain),
        ("external", external),
        ("appendExternal", appendExternal), ("rejectModels", rejectModels), ("rejectAppend", rejectAppend),
        ("xml", xml), ("binary", binary),
    ]

    /// `STAGECOACH_FAULT_ROWS` makes the stores larger or smaller.
    static let rows =
        ProcessInfo.processInfo.environment["STAGECOACH_FAULT_ROWS"].flatMap(Int64.init) ?? 60

    static let models = SharedStores.repository.appendingPathComponent("Fixtures/Models")
    static let line = ["$/in/old.sqlite", "$/out/new.sqlite"] + settings
    private static let settings = ["--progress", "none", "--batch-size", "25"]

    static func copy(_ url: URL, into folder: TemporaryFolder, as name: String? = nil) throws {
        let target = try folder.file("in/" + (name ?? url.lastPathComponent), making: true)
        try FileManager.default.copyItem(atPath: url.path, toPath: target)
    }

    // MARK: - Libraries

    private static func library(_ folder: TemporaryFolder, numbered first: Int64 = 1) throws {
        try copy(models.appendingPathComponent("Library.xcdatamodeld"), into: folder)
        let model = try ModelLocator.load(folder.file("in/Library.xcdatamodeld") + ":Library").model
        try ReferenceStore.make(model) { store in
            for key in first..<(first + rows) {
                store.insert("Author", key, ["name": .text("author \(key)"), "bornOn": .real(Double(key))])
                store.insert("Tag", key, ["name": .text("tag \(key % 7)")])
            }
            for key in first..<(first + 3 * rows) {
                store.insert(
                    "Book", key,
                    [
                        "title": .text("book \(key)"), "isbn": .text("isbn \(key)"),
                        "pageCount": .integer(key % 900 + 1),
                        "identifier": .blob((0..<16).map { UInt8((key + $0) % 256) }),
                    ], toOne: ["author": first + key % rows])
                store.insert(
                    "Chapter", key, ["heading": .text("chapter \(key)"), "number": .integer(key % 9)],
                    toOne: ["book": key])
            }
            for key in first..<(first + 2 * rows) {
                store.setMembers("Book", key, "tags", [first + key % rows, first + (key + 3) % rows])
                store.insert(
                    "Article", 1_000_000 + key, ["title": .text("article \(key)"), "wordCount": .integer(key)])
            }
        }.write(path: folder.file("in/old.sqlite"))
    }

    @Sendable private static func inferred() throws -> FaultFixture {
        try FaultFixture("inferred", line + ["--to", "$/in/Library.xcdatamodeld", "--check", "full"]) {
            try library($0)
        }
    }

    /// An XML store becomes another, and a binary one.
    @Sendable private static func xml() throws -> FaultFixture { try atomic("xml") }
    @Sendable private static func binary() throws -> FaultFixture { try atomic("binary") }

    private static func atomic(_ type: String) throws -> FaultFixture {
        try FaultFixture(
            type,
            line + ["--from", "$/in/v1.mom", "--to", "$/in/v2.mom", "--destination-type", type]
                + ["--id-map", "$/out/ids.csv"]
        ) { folder in
            let xml = try AtomicFixture(in: folder, place: "in/", last: 10 + 3 * rows).make()
            let store = folder.file("in/old.sqlite")
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(atPath: xml, toPath: store)
        }
    }

    /// By a mapping model, with new keys, in passes, little memory, and every file of results.
    @Sendable private static func mapping() throws -> FaultFixture {
        try FaultFixture(
            "mapping",
            line + [
                "--to", "$/in/Library.xcdatamodeld", "--mapping", "$/in/library.json", "--keys", "sequential",
                "--passes", "3",
                "--id-map", "$/out/ids.csv", "--report", "$/out/report.json", "--memory-limit",
                Instrumentation.limit("64M"),
            ]
        ) { folder in
            try library(folder)
            try copy(SharedStores.repository.appendingPathComponent("Fixtures/Mappings/library.json"), into: folder)
        }
    }

    /// By three mapping models of the same two versions, in turn: the later ones refer to what the first has made.
    @Sendable private static func severalModels() throws -> FaultFixture {
        let parts = [["Author", "Tag"], ["Article", "Book"], ["Section"]]
        let files = parts.flatMap { ["--mapping", "$/in/\($0[0]).json"] }
        return try FaultFixture(
            "models", line + ["--to", "$/in/Library.xcdatamodeld", "--id-map", "$/out/ids.csv"] + files
        ) { folder in
            try library(folder)
            for part in parts {
                let mappings = part.map { name in
                    let source = name == "Section" ? "Chapter" : name
                    return
                        "{\"name\": \"\(name)\", \"sourceEntity\": \"\(source)\", \"destinationEntity\": \"\(name)\"}"
                }
                try "{\"formatVersion\": 1, \"entityMappings\": [\(mappings.joined(separator: ", "))]}".write(
                    toFile: folder.file("in/\(part[0]).json"), atomically: true, encoding: .utf8)
            }
        }
    }

    /// Migrates another library to where a fixture's rows are to be added.
    private static func destination(in folder: TemporaryFolder) throws {
        let first = try TemporaryFolder()
        for part in ["in", "out"] {
            try FileManager.default.createDirectory(atPath: first.file(part), withIntermediateDirectories: true)
        }
        try library(first)
        let outcome = try CommandBinary.run([
            "migrate", first.file("in/old.sqlite"), folder.file("out/new.sqlite"), "--to",
            first.file("in/Library.xcdatamodeld"),
        ])
        try #require(outcome.code == 0, "\(outcome.messages)")
    }

    @Sendable private static func append() throws -> FaultFixture {
        try FaultFixture(
            "append", line + ["--to", "$/in/Library.xcdatamodeld", "--append", "--id-map", "$/out/ids.csv"]
        ) {
            try destination(in: $0)
            try library($0, numbered: 5000)
        }
    }

    /// The old destination's last rows are in its `-wal`.
    @Sendable private static func appendWAL() throws -> FaultFixture {
        try FaultFixture("appendWAL", line + ["--to", "$/in/Library.xcdatamodeld", "--append"]) { folder in
            let first = try TemporaryFolder()
            try FileManager.default.createDirectory(atPath: first.file("out"), withIntermediateDirectories: true)
            try destination(in: first)
            let open = try Connection(path: first.file("out/new.sqlite"), flags: SQLITE_OPEN_READWRITE)
            try open.execute(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; UPDATE ZAUTHOR SET ZFULLNAME = 'late ' || Z_PK"
            )
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(
                    atPath: first.file("out/new.sqlite") + suffix, toPath: folder.file("out/new.sqlite") + suffix)
            }
            try open.close()
            try library(folder, numbered: 5000)
        }
    }

    /// Two steps that do not compose: the second reads what the first made.
    @Sendable private static func chain() throws -> FaultFixture {
        try FaultFixture(
            "chain", line + twoSteps("$") + ["--id-map", "$/out/ids.csv"]
        ) { folder in
            try library(folder)
            try thirdVersion(folder)
        }
    }

    /// The same steps to a store that exists, under the name of a link.
    @Sendable private static func appendChain() throws -> FaultFixture {
        try FaultFixture(
            "appendChain",
            ["$/in/old.sqlite", "$/out/link.sqlite"] + settings + twoSteps("$")
                + ["--append", "--id-map", "$/out/ids.csv"]
        ) { folder in
            let first = try TemporaryFolder()
            try library(first)
            try thirdVersion(first)
            let outcome = try CommandBinary.run(
                ["migrate", first.file("in/old.sqlite"), folder.file("out/new.sqlite")] + twoSteps(first.path))
            try #require(outcome.code == 0, "\(outcome.messages)")
            try FileManager.default.createSymbolicLink(
                atPath: folder.file("out/link.sqlite"), withDestinationPath: "new.sqlite")
            try library(folder, numbered: 5000)
            try thirdVersion(folder)
        }
    }

    /// The options of a migration to the third version, in a fixture's folder.
    private static func twoSteps(_ folder: String) -> [String] {
        [
            "--to", "\(folder)/in/Library.xcdatamodeld:Library 3", "--mapping",
            "Library..Library 2=\(folder)/in/library.json",
        ]
    }

    /// Adds a third version of the library's model, and the mapping model to the second.
    private static func thirdVersion(_ folder: TemporaryFolder) throws {
        try copy(SharedStores.repository.appendingPathComponent("Fixtures/Mappings/library.json"), into: folder)
        let bundle = folder.file("in/Library.xcdatamodeld")
        try FileManager.default.copyItem(
            atPath: bundle + "/Library 2.xcdatamodel", toPath: bundle + "/Library 3.xcdatamodel")
        let contents = bundle + "/Library 3.xcdatamodel/contents"
        let text = try String(contentsOfFile: contents, encoding: .utf8)
        try text.replacingOccurrences(of: "elementID=\"name\"", with: "").replacingOccurrences(
            of: "elementID=\"Chapter\"", with: ""
        ).replacingOccurrences(of: "elementID=\"chapters\"", with: "").replacingOccurrences(
            of: "name=\"fullName\"", with: "name=\"whole\" elementID=\"fullName\""
        ).replacingOccurrences(of: "property=\"fullName\"", with: "property=\"whole\"").write(
            toFile: contents, atomically: true, encoding: .utf8)
        let plan = try CommandBinary.run(
            ["plan", folder.file("in/old.sqlite"), folder.file("out/none.sqlite")] + twoSteps(folder.path))
        try #require(plan.output.contains("2 steps in 2 migrations"), "\(plan.output) \(plan.messages)")
    }

    // MARK: - Policies

    @Sendable private static func policy() throws -> FaultFixture {
        let library =
            try ProcessInfo.processInfo.environment["STAGECOACH_POLICIES"] ?? PolicyLibrary.exampleLibrary()
        return try FaultFixture(
            "policy",
            line + [
                "--to", "$/in/Contacts.xcdatamodeld", "--mapping", "$/in/contacts.json", "--policies", library,
                "--id-map",
                "$/out/ids.csv",
            ]
        ) { folder in
            let example = SharedStores.repository.appendingPathComponent("Fixtures/ExamplePolicies")
            for name in ["Contacts.xcdatamodeld", "contacts.json"] {
                try copy(example.appendingPathComponent(name), into: folder)
            }
            let model = try ModelLocator.load(folder.file("in/Contacts.xcdatamodeld") + ":Contacts").model
            try ReferenceStore.make(model) { store in
                for key in 1...(5 * rows) {
                    store.insert(
                        "Contact", key,
                        ["fullName": .text("First\(key) Last\(key % 9)"), "companyName": .text("Company \(key % 12)")])
                }
            }.write(path: folder.file("in/old.sqlite"))
        }
    }

    // MARK: - External binary data

    private static let album = """
        <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
        <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
            <entity name="Photo" representedClassName="Photo" syncable="YES">
                <attribute name="title" optional="YES" attributeType="String"/>
                <attribute name="image" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            </entity>
        </model>
        """

    /// Photos, some in files of their own, some in the row.
    private static func album(_ folder: TemporaryFolder, numbered first: Int64) throws {
        let bundle = "in/Album.xcdatamodeld/"
        let next = album.replacingOccurrences(of: "name=\"title\"", with: "name=\"caption\" elementID=\"title\"")
        for (name, text) in [("Album", album), ("Album 2", next)] {
            try text.write(
                toFile: folder.file(bundle + name + ".xcdatamodel/contents", making: true), atomically: true,
                encoding: .utf8)
        }
        let model = try ModelLocator.load(folder.file("in/Album.xcdatamodeld") + ":Album").model
        let path = folder.file("in/old.sqlite")
        let files = folder.file("in/.old_SUPPORT/_EXTERNAL_DATA") + "/"
        try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
        var generator = SeededGenerator(seed: UInt64(first))
        try ReferenceStore.make(model) { store in
            for key in first..<(first + rows / 3) {
                let image: [UInt8]
                if key % 2 == 0 {
                    let name = String(format: "0000%04X-0000-4000-8000-0000000000AB", Int(key))
                    image = [2] + Array(name.utf8) + [0]
                    let bytes = (0..<(1000 + generator.below(9000))).map { UInt8(($0 * 7 + Int(key)) % 256) }
                    try? Data(bytes).write(to: URL(fileURLWithPath: files + name))
                } else {
                    image = [1] + (0..<(500 + generator.below(4000))).map { UInt8(($0 + Int(key)) % 256) }
                }
                store.insert("Photo", key, ["title": .text("photo \(key)"), "image": .blob(image)])
            }
        }.write(path: path)
    }

    @Sendable private static func external() throws -> FaultFixture {
        try FaultFixture("external", line + ["--to", "$/in/Album.xcdatamodeld:Album 2", "--external-threshold", "2K"]) {
            try album($0, numbered: 1)
        }
    }

    @Sendable private static func appendExternal() throws -> FaultFixture {
        let options = ["--to", "$/in/Album.xcdatamodeld:Album 2", "--external-threshold", "2K", "--append"]
        return try FaultFixture("appendExternal", line + options) { folder in
            let first = try TemporaryFolder()
            try album(first, numbered: 1)
            let outcome = try CommandBinary.run([
                "migrate", first.file("in/old.sqlite"), folder.file("out/new.sqlite"), "--to",
                first.file("in/Album.xcdatamodeld") + ":Album 2", "--external-threshold", "2K",
            ])
            try #require(outcome.code == 0, "\(outcome.messages)")
            try album(folder, numbered: 500)
        }
    }
}
