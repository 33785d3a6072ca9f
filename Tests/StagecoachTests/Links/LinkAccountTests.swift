import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

/// Links that are not made and orders that are not kept, in cases by hand. ``LinkLawRandomTests`` has the rest.
@Suite("The account of links")
struct LinkAccountTests {
    private static func friends() throws -> ManagedObjectModel {
        try model(entity("Contact", [attribute("name", .string)], [toMany("friends", "Contact", inverse: "friends")]))
    }

    @Test(
        "A join row of a relationship that is its own inverse is counted, whichever end is missing", arguments: [0, 1])
    func danglingReflexive(missing side: Int) throws {
        let version = try Self.friends()
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: version)
        for key in 1...Int64(3) { store.insert("Contact", key) }
        store.setMembers("Contact", 2, "friends", [3])
        store.joins[0][side == 0 ? ReferencePair(99, 1) : ReferencePair(1, 99)] = ReferenceOrders()
        try store.write(path: folder.file("old.sqlite"))
        let migration = Migration(
            from: folder.file("old.sqlite"), model: version,
            mapping: try MappingModel.inferred(from: version, to: version), to: folder.file("new.sqlite"),
            model: version)
        let check = try migration.check()
        #expect(check.danglingReferences.map(\.samples) == [["Contact/p1"]])
        #expect(check.danglingReferences.map(\.count) == [1])
        let report = try migration.run()
        #expect(report.notes.contains("Contact.friends: 1 reference to rows that do not exist became nil (Contact/p1)"))
        let lines = try #require(report.linksNotMade)
        #expect(lines.map(\.cause) == [.dangling])
        #expect(lines.map(\.objects) == [["Contact/p1"]])
        #expect(lines.map(\.links) == [1])
    }

    private static func clubs() throws -> ManagedObjectModel {
        try model(
            entity("Person", [], [toMany("clubs", "Club", inverse: "members")]),
            entity("Club", [], [toMany("members", "Person", inverse: "clubs")]))
    }

    @Test("A join row of which both ends are missing is one link in the account")
    func danglingTwice() throws {
        let version = try Self.clubs()
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: version)
        for key in 1...Int64(3) { for name in ["Person", "Club"] { store.insert(name, key) } }
        store.setMembers("Person", 2, "clubs", [3, 1])
        for pair in [ReferencePair(99, 1), ReferencePair(1, 99), ReferencePair(98, 99)] {
            store.joins[0][pair] = ReferenceOrders()
        }
        try store.write(path: folder.file("old.sqlite"))
        let report = try Migration(
            from: folder.file("old.sqlite"), model: version,
            mapping: try MappingModel.inferred(from: version, to: version), to: folder.file("new.sqlite"),
            model: version
        ).run()
        #expect(report.linksNotMade?.reduce(0) { $0 + $1.links } == 3, "\(report.linksNotMade ?? [])")
    }

    @Test("The sum of a set that needs no comparison is wrong if a link is gone, in a join table and in a column")
    func sums() throws {
        let version = try model(
            entity(
                "Person", [], [toMany("clubs", "Club", inverse: "members"), toOne("home", "Club", inverse: "hosts")]),
            entity(
                "Club", [],
                [toMany("members", "Person", inverse: "clubs"), toMany("hosts", "Person", inverse: "home")]))
        let folder = try TemporaryFolder()
        var store = ReferenceStore(model: version)
        for key in 1...Int64(3) { for name in ["Person", "Club"] { store.insert(name, key) } }
        store.setMembers("Person", 2, "clubs", [3, 1])
        store.setMembers("Club", 2, "hosts", [3, 1])
        try store.write(path: folder.file("old.sqlite"))
        let migration = Migration(
            from: folder.file("old.sqlite"), model: version,
            mapping: try MappingModel.inferred(from: version, to: version), to: folder.file("new.sqlite"),
            model: version)
        _ = try migration.run()
        let place = DestinationPath(path: folder.file("again.sqlite"))
        let area = try WorkArea(beside: place, spills: nil)
        defer { area.close() }
        let prepared = try migration.prepare(place, appends: false)
        let run = migration.migrationRun(prepared, nil, area)
        func isRight(_ relationship: String, missing: Int = 0) throws -> Bool {
            let destination = try DestinationStore(
                resuming: folder.file("new.sqlite"), schema: prepared.schema, knowledge: .init(), stamp: 0,
                cuttingTo: nil, cacheBytes: 1 << 16, vfs: nil)
            defer { try? destination.connection.close() }
            let set = try #require(
                SourceLinkSet.all(in: prepared.layout.schema).first { $0.relationship.label == relationship })
            let naming = try #require(LinkReadings(set, among: prepared.mappings).naming)
            return try LinkSums(run: run, destination: destination, census: prepared.census)
                .isRight(set, naming, missing: missing)
        }
        #expect(try isRight("Person.home") && isRight("Club.members"))
        #expect(try !isRight("Person.home", missing: 1) && !isRight("Club.members", missing: 1))
        let database = try Connection(path: folder.file("new.sqlite"))
        try database.execute("UPDATE ZPERSON SET ZHOME = NULL WHERE Z_PK = 3")
        try database.execute("DELETE FROM \(prepared.schema.joinTables[0].name) WHERE rowid = 1")
        try database.close()
        #expect(try !isRight("Person.home") && !isRight("Club.members"))
        #expect(try isRight("Person.home", missing: 1) && isRight("Club.members", missing: 1))
    }

    /// The clubs of a person become one club, and the songs of a playlist lose their order.
    private static func lossy() throws -> (old: ManagedObjectModel, new: ManagedObjectModel, mapping: MappingModel) {
        let old = try model(
            entity("Person", [], [toMany("clubs", "Club", inverse: "members")]),
            entity(
                "Club", [],
                [
                    toMany("members", "Person", inverse: "clubs"),
                    toMany("songs", "Song", inverse: "club", ordered: true),
                ]),
            entity("Song", [], [toOne("club", "Club", inverse: "songs")]))
        let new = try model(
            entity("Person", [], [toOne("club", "Club", inverse: "members")]),
            entity(
                "Club", [],
                [toMany("members", "Person", inverse: "club"), toMany("songs", "Song", inverse: "club")]),
            entity("Song", [], [toOne("club", "Club", inverse: "songs")]))
        let mapping = mappings(
            try mapping("PersonToPerson", "Person", "Person", relationships: [:]),
            try mapping(
                "ClubToClub", "Club", "Club",
                relationships: ["members": via("members", "$source.members"), "songs": via("songs", "$source.songs")]),
            try mapping("SongToSong", "Song", "Song", relationships: ["club": via("club", "$source.club")]))
        return (old, new, mapping)
    }

    private func lossy(_ change: (inout MigrationOptions) -> Void) throws -> (Migration, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let (old, new, mapping) = try Self.lossy()
        try ReferenceStore.make(old) { store in
            for key in 1...Int64(2) { for name in ["Person", "Club", "Song"] { store.insert(name, key) } }
            store.setMembers("Person", 1, "clubs", [1, 2])
            store.setMembers("Person", 2, "clubs", [1])
            store.setMembers("Club", 1, "songs", [2, 1])
        }.write(path: folder.file("old.sqlite"))
        var options = MigrationOptions()
        change(&options)
        let migration = Migration(
            from: folder.file("old.sqlite"), model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new,
            options: options)
        return (migration, folder)
    }

    @Test("Links without room and lost orders are told by run, check and plan, with their objects")
    func told() throws {
        let (migration, folder) = try lossy { _ in }
        _ = folder
        let (plan, check, report) = (try migration.plan(), try migration.check(), try migration.run())
        let line = try #require(report.linksNotMade?.first)
        #expect(line.relationship == "Person.club" && line.cause == .taken && line.objects == ["Person/p1"])
        #expect(line.links == 1 && line.ofLinks == 3)
        #expect(check.linksNotMade == report.linksNotMade && check.ordersNotKept == report.ordersNotKept)
        #expect(plan.linksNotMade?.map(\.links) == [1] && plan.ordersNotKept == report.ordersNotKept)
        #expect(report.ordersNotKept?.map(\.relationship) == ["Club.songs"])
        #expect(report.ordersNotKept?.map(\.lists) == [1])
    }

    @Test(
        "refuse refuses them, unless the losses are declared",
        arguments: [[], ["Club.members"], ["Person.clubs", "Club.songs"]])
    func declared(names: [String]) throws {
        let (migration, folder) = try lossy {
            $0.onLoss = .refuse
            $0.allowedLosses = Set(names)
        }
        _ = folder
        var code: MigrationError.Code?
        do { _ = try migration.run() } catch let error as MigrationError { code = error.code }
        #expect(code == (names.count == 2 ? nil : "migration.loss"))
        #expect(try migration.check().refusal(migration.options)?.code == code)
    }

    // MARK: - Objects that do not come along

    /// People and their cars; the new version requires a name. Person 2 has none and names car 2, which does not name it back.
    private func rejecting(_ car: RelationshipDefinition, _ owner: RelationshipDefinition) throws -> [LinksNotMade]? {
        func version(required: Bool) throws -> ManagedObjectModel {
            try model(
                entity("Person", [attribute("name", .string, required: required)], [car]), entity("Car", [], [owner]))
        }
        let (old, new) = (try version(required: false), try version(required: true))
        let folder = try TemporaryFolder()
        try ReferenceStore.make(old) { store in
            for key in 1...Int64(2) {
                store.insert("Person", key, key == 1 ? ["name": .text("one")] : [:])
                store.insert("Car", key)
                store.setToOne("Person", key, "car", key)
            }
        }.write(path: folder.file("old.sqlite"))
        var options = MigrationOptions()
        options.onInvalid = .reject
        // Inference refuses the new rule; the mapping model is made as inference would make it.
        let mapping = mappings(
            try mapping(
                "Person", "Person", "Person", ["name": "$source.name"],
                relationships: ["car": via("car", "$source.car")]),
            try mapping("Car", "Car", "Car", relationships: ["owner": via("owner", "$source.owner")]), inferred: true)
        return try Migration(
            from: folder.file("old.sqlite"), model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new,
            options: options
        ).run().linksNotMade
    }

    @Test("A link of a rejected object says so, in a pair whose columns are both kept too", arguments: [true, false])
    func rejected(isOneToOne: Bool) throws {
        let owner = isOneToOne ? toOne("owner", "Person", inverse: "car") : toMany("owner", "Person", inverse: "car")
        let lines = try rejecting(toOne("car", "Car", inverse: "owner"), owner)
        #expect((lines ?? []).map { "\($0.cause.rawValue) \($0.links)" } == ["rejected 1"])
    }

    @Test("The order of a list goes with its owner")
    func removedOwner() throws {
        let old = try model(
            entity("Club", [attribute("name", .string)], [toMany("songs", "Song", inverse: "club", ordered: true)]),
            entity("Song", [], [toOne("club", "Club", inverse: "songs")]))
        let new = try model(entity("Song", [attribute("of", .string)]))
        let folder = try TemporaryFolder()
        try ReferenceStore.make(old) { store in
            store.insert("Club", 1, ["name": .text("a")])
            for key in 1...Int64(2) { store.insert("Song", key) }
            store.setMembers("Club", 1, "songs", [2, 1])
        }.write(path: folder.file("old.sqlite"))
        let removal = try mapping("Club", "Club", nil)
        removal.mappingType = .removeEntityMappingType
        var options = MigrationOptions()
        options.onLoss = .refuse
        let report = try Migration(
            from: folder.file("old.sqlite"), model: old,
            mapping: mappings(removal, try mapping("Song", "Song", "Song", ["of": "$source.club.name"])),
            to: folder.file("new.sqlite"), model: new, options: options
        ).run()
        #expect(report.ordersNotKept == nil)
    }
}
