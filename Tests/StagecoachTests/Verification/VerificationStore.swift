import CSQLite
import CoreDataStore
import Foundation
import Mapping
import Stagecoach
import TestSupport

@testable import ManagedModel

/// A migration with every kind of property, its destination, and copies of that to damage.
final class VerificationStore {
    let folder: TemporaryFolder
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    let mapping: MappingModel
    let sourcePath: String
    let destinationPath: String
    private var copies = 0

    private static func library(isNew: Bool) throws -> ManagedObjectModel {
        var author = [
            attribute("name", .string, required: true) { if isNew { $0.maximumLength = 40 } },
            attribute("score", .integer32) { if isNew { $0.maximum = .integer(1000) } },
            attribute("photo", .binaryData) { $0.allowsExternalBinaryDataStorage = true },
        ]
        if isNew { author.append(attribute("rank", .integer32)) }
        var shelf = [attribute("place", .string)]
        shelf.append(
            attribute("slotCount", .integer64) { $0.derivationExpression = "slots.@count" })
        return try model(
            entity(
                "Author", author,
                [
                    toMany("books", "Book", inverse: "author", ordered: true), toOne("card", "Card", inverse: "author"),
                    toMany("friends", "Reader", ordered: true),
                ], unique: isNew ? [["name"]] : []),
            entity(
                "Book",
                [attribute("title", .string), attribute("price", .decimal), attribute("printed", .date)],
                [toOne("author", "Author", inverse: "books"), toMany("tags", "Tag", inverse: "books", ordered: true)]),
            entity("Novel", parent: "Book", [attribute("genre", .string)]),
            entity("Card", [attribute("number", .integer64)], [toOne("author", "Author", inverse: "card")]),
            entity("Reader", [attribute("name", .string)]),
            entity("Shelf", shelf, [toMany("slots", "Slot", inverse: "shelf")]),
            entity("Slot", [attribute("position", .integer16)], [toOne("shelf", "Shelf", inverse: "slots")]),
            entity("Tag", [attribute("word", .string)], [toMany("books", "Book", inverse: "tags")]))
    }

    init(keys: KeyChoice = .auto) throws {
        folder = try TemporaryFolder()
        for name in ["in", "out"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        sourcePath = folder.file("in/old.sqlite")
        destinationPath = folder.file("out/new.sqlite")
        source = try Self.library(isNew: false)
        destination = try Self.library(isNew: true)
        mapping = try MappingModel.inferred(from: source, to: destination)
        // A computed attribute; the mapping model is then one that somebody wrote.
        mapping.rulesOfTheSource = .error
        let author = mapping.entityMappings.first { $0.destinationEntityName == "Author" }
        author?.attributeMappings?.first { $0.name == "rank" }?.valueExpression = try ValueExpression(
            parsing: "$source.score * 2 + 1")
        let files = ExternalFolder(store: sourcePath).path
        try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
        let reference = ExternalReference(uuid: (0..<16).map { UInt8($0 + 1) })
        try Data((0..<200_000).map { UInt8($0 % 251) }).write(to: URL(fileURLWithPath: "\(files)/\(reference.name)"))
        try ReferenceStore.make(source) { store in
            for key in 1...6 as ClosedRange<Int64> {
                store.insert(
                    "Author", key, lock: key, ["name": .text("Author \(key)"), "score": .integer(key * 10)])
                store.set("Author", key, "photo", .blob(key == 2 ? reference.stored : [1, 7, UInt8(key)]))
                store.insert("Card", key * 2, ["number": .integer(key)])
                store.insert("Reader", key, ["name": .text("Reader \(key)")])
                store.insert("Tag", key, ["word": .text("tag \(key)")])
            }
            for key in 1...12 as ClosedRange<Int64> {
                store.insert(
                    key % 3 == 0 ? "Novel" : "Book", key,
                    ["title": .text("Book \(key)"), "price": .real(Double(key) + 0.25), "printed": .real(Double(key))])
            }
            for key in 1...6 as ClosedRange<Int64> {
                store.setMembers("Author", key, "books", [key, key + 6])
                store.setToOne("Author", key, "card", key * 2)
                store.setToOne("Card", key * 2, "author", key)
                store.setMembers("Author", key, "friends", [key])
                store.setMembers("Book", key, "tags", [key, key % 6 + 1])
            }
            for key in 1...2 as ClosedRange<Int64> {
                store.insert("Shelf", key, ["place": .text("here"), "slotCount": .integer(2)])
                for slot in [key * 2 - 1, key * 2] {
                    store.insert("Slot", slot, ["position": .integer(slot)], toOne: ["shelf": key])
                }
            }
        }.write(path: sourcePath)
        var options = options
        options.keys = keys
        try migration(to: destinationPath, options).run()
    }

    var options: MigrationOptions {
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.fullCheck = true
        return options
    }

    func migration(to path: String, _ options: MigrationOptions) -> Migration {
        Migration(
            from: sourcePath, model: source, mapping: mapping, to: path, model: destination, options: options)
    }

    /// Verifies a destination.
    func verify(_ path: String, _ options: MigrationOptions? = nil) throws -> VerificationReport {
        try Self.verify(migration(to: path, options ?? self.options))
    }

    static func verify(_ migration: Migration) throws -> VerificationReport {
        try StoreVerification(migration).run()
    }

    /// A copy of the destination with its external files.
    func copy() throws -> String {
        copies += 1
        let place = folder.file("copy-\(copies)")
        try FileManager.default.copyItem(atPath: folder.file("out"), toPath: place)
        return place + "/new.sqlite"
    }

    /// A copy that SQL has changed.
    func copy(changedBy sql: String) throws -> String {
        let path = try copy()
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(sql)
        try connection.close()
        return path
    }

    /// Writes bytes into a page of a table or index.
    func damagePage(of name: String, in path: String, at offset: UInt64, _ bytes: [UInt8]) throws {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let root = try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = '\(name)'") ?? 0
        try connection.close()
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
        try file.seek(toOffset: UInt64(root - 1) * 4096 + offset)
        try file.write(contentsOf: Data(bytes))
        try file.close()
    }
}
