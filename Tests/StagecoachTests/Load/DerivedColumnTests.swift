import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Derived attributes that Core Data computes when it saves: carried over where they are the same, else computed.
@Suite("Derived attributes of a destination")
struct DerivedColumnTests {
    private static func derived(_ name: String, _ type: AttributeType, _ expression: String) -> AttributeDefinition {
        attribute(name, type) { $0.derivationExpression = expression }
    }

    private static func note(_ derived: [AttributeDefinition], title: String = "title") -> EntityDefinition {
        entity(
            "Note", [attribute(title, .string) { $0.renamingIdentifier = "title" }] + derived,
            [toOne("author", "Author", inverse: "notes")])
    }

    private static func version(_ derived: [AttributeDefinition], title: String = "title") throws -> ManagedObjectModel
    {
        try model(
            note(derived, title: title),
            entity("Author", [attribute("name", .string)], [toMany("notes", "Note", inverse: "author")]))
    }

    private static func source(_ model: ManagedObjectModel, _ folder: TemporaryFolder) throws -> String {
        var store = ReferenceStore(model: model)
        store.insert("Author", 1, ["name": .text("Zoë")])
        store.insert("Note", 1, ["title": .text("Crème BRÛLÉE")], toOne: ["author": 1])
        store.insert("Note", 2, ["title": .text("plain")])
        store.insert("Note", 3)
        try store.write(path: folder.file("old.sqlite"))
        return folder.file("old.sqlite")
    }

    /// The model as Xcode keeps it.
    private static func contents(_ model: ManagedObjectModel) -> String {
        let entities = model.entities.map { entity in
            let attributes = entity.attributes.map { attribute in
                let derivation = attribute.definition.derivationExpression
                let type: String =
                    switch attribute.attributeType {
                    case .date: "Date"
                    case .integer32: "Integer 32"
                    default: "String"
                    }
                return "<attribute name=\"\(attribute.name)\" optional=\"YES\" attributeType=\"\(type)\""
                    + (derivation.map { " derived=\"YES\" derivationExpression=\"\($0)\"" } ?? "") + "/>"
            }
            let links = entity.relationships.map { link in
                "<relationship name=\"\(link.name)\" optional=\"YES\" \(link.isToMany ? "toMany=\"YES\"" : "maxCount=\"1\"") "
                    + "deletionRule=\"Nullify\" destinationEntity=\"\(link.destination.definition.name)\" "
                    + "inverseName=\"\(link.inverseRelationship?.name ?? "")\" "
                    + "inverseEntity=\"\(link.destination.definition.name)\"/>"
            }
            return "<entity name=\"\(entity.definition.name)\">\((attributes + links).joined())</entity>"
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">\(entities.joined())</model>
            """
    }

    private static func migrate(
        _ path: String, _ old: ManagedObjectModel, _ new: ManagedObjectModel, to destination: String,
        staged: Bool = false
    ) throws -> VerificationReport {
        var options = MigrationOptions()
        options.unknownHashes = .omit
        options.fullCheck = true
        options.usesStoreSpecificMigrationManager = !staged
        options.sourceIsKnownByTables = true
        let migration = Migration(
            from: path, model: old, mapping: try .inferred(from: old, to: new), to: destination, model: new,
            options: options)
        try migration.run()
        return try StoreVerification(migration).run()
    }

    private static let all = [
        derived("plain", .string, "canonical:(title)"), derived("loud", .string, "uppercase:(title)"),
        derived("low", .string, "lowercase:(author.name)"), derived("saved", .date, "now()"),
        derived("by", .string, "author.name"), derived("siblings", .integer32, "author.notes.@count"),
    ]

    @Test("New ones are computed for every row, in both paths", arguments: [false, true])
    func new(staged: Bool) throws {
        let folder = try TemporaryFolder()
        let (old, new) = (try Self.version([]), try Self.version(Self.all))
        let before = Date().timeIntervalSinceReferenceDate - 1
        let report = try Self.migrate(
            try Self.source(old, folder), old, new, to: folder.file("new.sqlite"), staged: staged)
        #expect(report.differences.isEmpty, "\(report.differences)")
        #expect(
            try StoreQuery.texts(
                """
                SELECT Z_PK || '|' || ifnull(ZPLAIN, 'nil') || '|' || ifnull(ZLOUD, 'nil') || '|' || ifnull(ZLOW, 'nil')
                || '|' || ifnull(ZBY, 'nil') || '|' || ZSIBLINGS || '|' || (ZSAVED > \(before)) FROM ZNOTE ORDER BY Z_PK
                """, in: folder.file("new.sqlite"))
                == ["1|creme brulee|CRÈME BRÛLÉE|zoë|Zoë|1|1", "2|plain|PLAIN|nil|nil|0|1", "3|nil|nil|nil|nil|0|1"])
    }

    /// The reason why an object is rejected.
    enum Reason: CaseIterable { case missing, duplicate, reference }

    @Test(
        "The load without rejected objects computes them like the first one, also of rows that are appended",
        arguments: Reason.allCases, [(false, false), (true, false), (false, true), (true, true)])
    func rejected(_ reason: Reason, _ way: (isStaged: Bool, appends: Bool)) throws {
        let folder = try TemporaryFolder()
        func version(_ derived: [AttributeDefinition], isNew: Bool) throws -> ManagedObjectModel {
            var note = Self.note(derived + [Self.code(isRequired: isNew && reason == .missing)])
            if isNew, reason == .duplicate { note.uniquenessConstraints = [["code"]] }
            if isNew, reason == .reference { note.relationships[0].isOptional = false }
            return try model(
                note, entity("Author", [attribute("name", .string)], [toMany("notes", "Note", inverse: "author")]))
        }
        let (old, new) = (try version([], isNew: false), try version(Self.all, isNew: true))
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("Author", 1, ["name": .text("Zoë")])
            store.insert("Note", 1, ["title": .text("Crème"), "code": .text("a")], toOne: ["author": 1])
            store.insert("Note", 2, reason == .duplicate ? ["code": .text("a")] : [:])
            store.insert("Note", 3, ["code": .text("c")], toOne: ["author": 1])
        }.write(path: path)
        var options = MigrationOptions()
        (options.unknownHashes, options.sourceIsKnownByTables) = (.omit, true)
        (options.fullCheck, options.onInvalid) = (true, .reject)
        options.usesStoreSpecificMigrationManager = !way.isStaged
        let destination = folder.file("new.sqlite")
        if way.appends {
            try ReferenceStore.make(old) { store in
                store.insert("Author", 9, ["name": .text("Before")])
                store.insert("Note", 9, ["code": .text("z")], toOne: ["author": 9])
            }.write(path: folder.file("before.sqlite"))
            _ = try Self.migrate(folder.file("before.sqlite"), old, new, to: destination)
            let connection = try Connection(path: destination, flags: SQLITE_OPEN_READWRITE)
            try connection.execute("UPDATE ZNOTE SET ZPLAIN = 'kept'")
            try connection.close()
            options.appendsToExisting = true
        }
        let migration = Migration(
            from: path, model: old, mapping: try .inferred(from: old, to: new), to: destination, model: new,
            options: options)
        #expect(try migration.run().rejects?.objects == 1)
        let rows = try StoreQuery.texts(
            """
            SELECT ZCODE || '|' || ifnull(ZPLAIN, 'nil') || '|' || ifnull(ZLOUD, 'nil') || '|' || ifnull(ZLOW, 'nil')
            || '|' || ifnull(ZBY, 'nil') || '|' || ZSIBLINGS || '|' || (ZSAVED > 0) FROM ZNOTE WHERE ZCODE < 'z'
            ORDER BY Z_PK
            """, in: destination)
        #expect(rows == ["a|creme|CRÈME|zoë|Zoë|2|1", "c|nil|nil|zoë|Zoë|2|1"])
        if way.appends {
            #expect(try StoreQuery.texts("SELECT ZPLAIN FROM ZNOTE WHERE ZCODE = 'z'", in: destination) == ["kept"])
        } else {
            let report = try StoreVerification(migration).run()
            #expect(report.differences.isEmpty, "\(report.differences)")
        }
    }

    private static func code(isRequired: Bool) -> AttributeDefinition {
        attribute("code", .string, required: isRequired)
    }

    @Test("A derived value is carried over if text and expression are the same, and computed otherwise")
    func carried() throws {
        let folder = try TemporaryFolder()
        let (plain, old) = (try Self.version([]), try Self.version(Self.all))
        let path = folder.file("derived.sqlite")
        _ = try Self.migrate(try Self.source(plain, folder), plain, old, to: path)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        // Core Data may take other characters away than Foundation.
        try connection.execute("UPDATE ZNOTE SET ZPLAIN = 'core data''s', ZLOUD = 'kept', ZSAVED = 5")
        try connection.close()
        // The text is renamed, the second one is derived by something else.
        let new = try Self.version(
            [
                Self.derived("plain", .string, "canonical:(heading)"),
                Self.derived("loud", .string, "lowercase:(heading)"),
                Self.derived("saved", .date, "now()"),
            ], title: "heading")
        let report = try Self.migrate(path, old, new, to: folder.file("new.sqlite"))
        #expect(report.differences.isEmpty, "\(report.differences)")
        #expect(
            try StoreQuery.texts(
                "SELECT ZPLAIN || '|' || ifnull(ZLOUD, 'nil') || '|' || ZSAVED FROM ZNOTE ORDER BY Z_PK",
                in: folder.file("new.sqlite"))
                == ["core data's|crème brûlée|5", "core data's|plain|5", "core data's|nil|5"])
    }

    @Test("Hashes that only Core Data knows are refused before anything is written, or left out when asked")
    func hashes() throws {
        let folder = try TemporaryFolder()
        let (old, new) = (try Self.version([]), try Self.version(Self.all))
        let path = try Self.source(old, folder)
        let migration = Migration(
            from: path, model: old, mapping: try .inferred(from: old, to: new), to: folder.file("new.sqlite"),
            model: new)
        for body in [{ _ = try migration.plan() }, { _ = try migration.run() }] {
            let error = #expect(throws: MigrationError.self) { try body() }
            #expect(error?.code == "metadata.missingHash" && error?.context.entity == "Note")
            #expect(error?.remedy?.contains("--unknown-hashes omit") == true)
        }
        _ = try Self.migrate(path, old, new, to: folder.file("new.sqlite"))
        let found = try StoreVersion.find(store: folder.file("new.sqlite"), bundle: nil)
        #expect(found.evidence == .cachedModel)
        // Among versions with and without derived attributes, and two of them alike but for names.
        for (name, version) in [("1", old), ("2", new), ("3", try Self.version(Self.all, title: "text"))] {
            let place = folder.file("Notes.xcdatamodeld/\(name).xcdatamodel")
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try Data(Self.contents(version).utf8).write(to: URL(fileURLWithPath: place + "/contents"))
        }
        let named = try StoreVersion.find(
            store: folder.file("new.sqlite"), bundle: folder.file("Notes.xcdatamodeld"), namesAll: true)
        #expect(named.evidence == .hashes && named.names == ["2"], "\(named)")
        // And on to the next version.
        let next = try Self.version(Self.all, title: "text")
        let later = Migration(
            from: folder.file("new.sqlite"), model: found.model, mapping: try .inferred(from: found.model, to: next),
            to: folder.file("next.sqlite"), model: next)
        #expect(throws: MigrationError.self) { try later.run() }
        let back = try Migration(
            from: folder.file("new.sqlite"), model: found.model, mapping: .inferred(from: found.model, to: old),
            to: folder.file("back.sqlite"), model: old
        ).run()
        #expect(back.counts.created["Note"] == 3)
        let store = try SourceStore(
            path: folder.file("back.sqlite"), cacheBytes: 1 << 16, valueLimit: 1 << 16, temporaryDirectory: nil)
        #expect(store.metadata.propertyList["StagecoachUnknownVersionHashes"] == nil)
        #expect(store.metadata.versionHashes.allSatisfy { $0.value.count == 32 })
    }

    /// A store of the derived attributes' version as Core Data leaves it: with a hash that nobody else can compute.
    private static func stated(_ hashes: [String: [UInt8]], _ folder: TemporaryFolder) throws -> String {
        let (old, new) = (try version([]), try version(all))
        let path = folder.file("stated.sqlite")
        _ = try migrate(try source(old, folder), old, new, to: path)
        try StatedHashes.write(hashes, to: path)
        return path
    }

    @Test("A store's cached model has the hashes that its metadata state, and what is made by it states them too")
    func hashesOfStore() throws {
        let folder = try TemporaryFolder()
        let hash = (1...32).map { UInt8($0) }
        let path = try Self.stated(["Note": hash], folder)
        let store = try SourceStore(path: path, cacheBytes: 1 << 16, valueLimit: 1 << 16, temporaryDirectory: nil)
        let model = try #require(try store.cachedModel())
        #expect(model.entityVersionHashesByName["Note"] == Data(hash))
        #expect(model.entityVersionHashesByName["Author"] != nil && model.versionChecksum != nil)
        try store.close()
        #expect(try StoreVersion.find(store: path, bundle: nil).model.entityVersionHashesByName["Note"] == Data(hash))

        // A source that says sums has them of the destination's hashes.
        let old = try Self.version([])
        try StatedHashes.write([:], to: folder.file("old.sqlite"), hasSums: true)
        try Migration(
            from: folder.file("old.sqlite"), model: old, mapping: .inferred(from: old, to: model),
            to: folder.file("made.sqlite"), model: model
        ).run()
        let made = try SourceStore(
            path: folder.file("made.sqlite"), cacheBytes: 1 << 16, valueLimit: 1 << 16, temporaryDirectory: nil)
        let hashes = made.metadata.versionHashes
        #expect(hashes["Note"] == hash && hashes.values.allSatisfy { $0.count == 32 })
        #expect(made.metadata.versionHashesDigest == VersionHash.digest(of: hashes))
        #expect(made.metadata.versionChecksum == VersionHash.checksum(of: hashes))
        try made.close()
    }

    @Test("Hashes of a store whose other hashes are not its cached model's are not trusted, and the refusal says so")
    func hashesOfAnother() throws {
        let folder = try TemporaryFolder()
        let path = try Self.stated(
            ["Note": (1...32).map { UInt8($0) }, "Author": Array(repeating: 7, count: 32)], folder)
        let store = try SourceStore(path: path, cacheBytes: 1 << 16, valueLimit: 1 << 16, temporaryDirectory: nil)
        let model = try #require(try store.cachedModel())
        try store.close()
        #expect(model.entityVersionHashesByName["Note"] == nil)
        let old = try Self.version([])
        let error = try #require(throws: MigrationError.self) {
            try Migration(
                from: folder.file("old.sqlite"), model: old, mapping: .inferred(from: old, to: model),
                to: folder.file("made.sqlite"), model: model
            ).run()
        }
        #expect(error.code == "metadata.missingHash")
        #expect(error.message.contains("the entity Author differs"), "\(error)")
    }

    @Test("A hash is carried over with an entity only if its parents are the same too")
    func inheritedHashes() throws {
        func version(_ more: AttributeDefinition...) throws -> ManagedObjectModel {
            try model(
                entity("Parent", [attribute("x", .string), Self.derived("y", .string, "uppercase:(x)")] + more),
                entity("Child", parent: "Parent", [attribute("z", .string)]))
        }
        let folder = try TemporaryFolder()
        let plain = try model(
            entity("Parent", [attribute("x", .string)]), entity("Child", parent: "Parent", [attribute("z", .string)]))
        let (old, new) = (try version(), try version(attribute("w", .string)))
        try ReferenceStore(model: plain).write(path: folder.file("plain.sqlite"))
        _ = try Self.migrate(folder.file("plain.sqlite"), plain, old, to: folder.file("old.sqlite"))
        try StatedHashes.write(
            ["Parent": Array(repeating: 1, count: 32), "Child": Array(repeating: 2, count: 32)],
            to: folder.file("old.sqlite"))
        func migrate(to model: ManagedObjectModel, _ name: String) throws {
            try Migration(
                from: folder.file("old.sqlite"), model: old, mapping: .inferred(from: old, to: model),
                to: folder.file(name), model: model
            ).run()
        }
        let error = try #require(throws: MigrationError.self) { try migrate(to: new, "new.sqlite") }
        #expect(error.code == "metadata.missingHash")
        try migrate(to: version(), "same.sqlite")
    }
}
