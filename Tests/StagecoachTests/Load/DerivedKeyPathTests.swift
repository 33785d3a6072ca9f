import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Counts and key paths over one to-one relationship in a migrated store: what Core Data's triggers would have made of them.
@Suite("Derived counts and key paths after a migration")
struct DerivedKeyPathTests {
    private static func version(longest: Int? = nil) throws -> ManagedObjectModel {
        var count = attribute("songs", .integer64)
        count.derivationExpression = "tracks.@count"
        var title = attribute("albumName", .string)
        title.derivationExpression = "album.name"
        var name = attribute("name", .string)
        name.maximumLength = longest
        return try model(
            entity("Album", [name, count], [toMany("tracks", "Track", inverse: "album")]),
            entity("Track", [attribute("length", .integer32), title], [toOne("album", "Album", inverse: "tracks")]))
    }

    /// Two albums with two tracks and one; the derived columns are stale.
    private static func source(_ folder: TemporaryFolder) throws -> String {
        var store = ReferenceStore(model: try version())
        store.insert("Album", 1, ["name": .text("Blue"), "songs": .integer(9)])
        store.insert("Album", 4, ["name": .text("A very long name"), "songs": .integer(9)])
        for (key, album) in [(1, 1), (2, 1), (3, 4)] as [(Int64, Int64)] {
            store.insert("Track", key, ["albumName": .text("stale")], toOne: ["album": album])
        }
        store.insert("Track", 7, ["albumName": .text("stale")])
        try store.write(path: folder.file("old.sqlite"))
        return folder.file("old.sqlite")
    }

    private static func values(_ path: String) throws -> [String] {
        try [
            "SELECT ZNAME || ' ' || ZSONGS FROM ZALBUM ORDER BY Z_PK",
            "SELECT Z_PK || ' ' || ifnull(ZALBUMNAME, '-') FROM ZTRACK ORDER BY Z_PK",
        ].flatMap { try StoreQuery.texts($0, in: path) }
    }

    private static func migrate(
        _ path: String, to new: ManagedObjectModel, _ folder: TemporaryFolder, _ options: MigrationOptions = .init()
    ) throws -> [String] {
        let old = try version()
        let mapping = try MappingModel.inferred(from: old, to: new)
        mapping.rulesOfTheSource = .error
        let migration = Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options)
        try migration.run()
        let verified = try StoreVerification(migration).run()
        #expect(verified.differences.isEmpty, "\(verified.differences)")
        return try values(folder.file("new.sqlite"))
    }

    @Test("Stale values are brought up to date, on both paths", arguments: [true, false])
    func refreshed(usesRows: Bool) throws {
        let folder = try TemporaryFolder()
        var options = MigrationOptions()
        options.usesStoreSpecificMigrationManager = usesRows
        let found = try Self.migrate(try Self.source(folder), to: try Self.version(), folder, options)
        #expect(
            found == ["Blue 2", "A very long name 1", "1 Blue", "2 Blue", "3 A very long name", "7 -"])
    }

    @Test("The tracks of a rejected album have no album's name")
    func rejected() throws {
        let folder = try TemporaryFolder()
        var options = MigrationOptions()
        options.onInvalid = .reject
        let found = try Self.migrate(try Self.source(folder), to: try Self.version(longest: 6), folder, options)
        #expect(found == ["Blue 2", "1 Blue", "2 Blue", "3 -", "7 -"])
    }

    @Test("An append brings its own objects and those before up to date")
    func appended() throws {
        let folder = try TemporaryFolder()
        let path = try Self.source(folder)
        _ = try Self.migrate(path, to: try Self.version(), folder)
        var options = MigrationOptions()
        options.appendsToExisting = true
        let found = try Self.migrate(path, to: try Self.version(), folder, options)
        #expect(found.prefix(4) == ["Blue 2", "A very long name 1", "Blue 2", "A very long name 1"])
        #expect(found.suffix(4) == ["8 Blue", "9 Blue", "10 A very long name", "11 -"])
    }
}
