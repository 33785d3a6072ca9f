import CSQLite
import CoreDataStore
import ManagedModel
import Mapping
import TestSupport
import Testing

/// Old keys are 1, 2, 3 …; new ones are sequential where a test wants to see that they are translated: a first mapping
/// from `Filler`, of another table, then takes the key 1.
@Suite("The reference: relationships")
struct ReferenceLinkTests {
    private func run(_ store: ReferenceStore, _ new: ManagedObjectModel, _ entityMappings: [EntityMapping]) throws
        -> ReferenceOutcome
    {
        let model = MappingModel()
        model.entityMappings = entityMappings
        return try ReferenceMigrator(source: store, destinationModel: new, mappingModel: model).migrate().get()
    }

    private func family(ordered: Bool, extra: [RelationshipDefinition] = []) throws -> ManagedObjectModel {
        try model(
            entity("Child", [], [toOne("parent", "Parent", inverse: "kids")]),
            entity("Parent", [], [toMany("kids", "Child", inverse: "parent", ordered: ordered)] + extra))
    }

    @Test("One-to-many: the to-one side's mapping decides, also when it gives nil")
    func toOneDecides() throws {
        let old = try model(
            entity("Child", [], [toOne("parent", "Parent", inverse: "kids"), toOne("other", "Parent")]),
            entity("Parent", [], [toMany("kids", "Child", inverse: "parent")]))
        let new = try family(ordered: false)
        let store = ReferenceStore.make(old) { store in
            store.insert("Parent", 1)
            store.insert("Parent", 2)
            store.insert("Child", 1, toOne: ["parent": 1, "other": 2])
            store.insert("Child", 2, toOne: ["parent": 1])
        }
        let outcome = try run(
            store, new,
            [
                mapping("P", "Parent", "Parent", relationships: ["kids": by("C", "$source.kids")]),
                mapping("C", "Child", "Child", relationships: ["parent": by("P", "$source.other")]),
            ])
        let expected = ReferenceStore.make(new) { store in
            store.insert("Parent", 1)
            store.insert("Parent", 2)
            store.insert("Child", 1, toOne: ["parent": 2])
            store.insert("Child", 2)
        }
        #expect(outcome.store.differences(from: expected) == [])
    }

    @Test("One-to-many without an expression on the to-one side: the last owner in creation order wins")
    func lastOwner() throws {
        let old = try model(
            entity("Child", [], [toMany("owners", "Parent", inverse: "kids")]),
            entity("Parent", [], [toMany("kids", "Child", inverse: "owners")]))
        let new = try family(ordered: false)
        let store = ReferenceStore.make(old) { store in
            for key in 1...3 { store.insert("Parent", Int64(key)) }
            store.insert("Child", 1)
            store.insert("Child", 2)
            store.setMembers("Parent", 1, "kids", [1, 2])
            store.setMembers("Parent", 3, "kids", [1])
        }
        for untouched in [["parent": nil], [:]] as [KeyValuePairs<String, String?>] {
            let outcome = try run(
                store, new,
                [
                    mapping("P", "Parent", "Parent", relationships: ["kids": by("C", "$source.kids")]),
                    mapping("C", "Child", "Child", relationships: untouched),
                ])
            let expected = ReferenceStore.make(new) { store in
                for key in 1...3 { store.insert("Parent", Int64(key)) }
                store.insert("Child", 1, toOne: ["parent": 3])
                store.insert("Child", 2, toOne: ["parent": 1])
            }
            #expect(outcome.store.differences(from: expected) == [])
        }
    }

    @Test("Ordering keys are copied from an ordered relationship, gaps of filtered members stay")
    func copiedOrder() throws {
        let old = try family(ordered: true)
        let store = ReferenceStore.make(old) { store in
            store.insert("Parent", 1)
            for key in 1...4 { store.insert("Child", Int64(key)) }
            store.setMembers("Parent", 1, "kids", [4, 1, 3, 2], orders: [5, 700, 701, 9000])
        }
        let model = mappings(
            try mapping("P", "Parent", "Parent", relationships: ["kids": by("C", "$source.kids")]),
            try mapping("C", "Child", "Child", relationships: ["parent": by("P", "$source.parent")]))
        let outcome = try ReferenceMigrator(
            source: store, destinationModel: old, mappingModel: model, filters: ["C": { $0.key != 1 }]
        ).migrate().get()
        let expected = ReferenceStore.make(old) { store in
            store.insert("Parent", 1)
            for key in [2, 3, 4] as [Int64] { store.insert("Child", key) }
            store.setMembers("Parent", 1, "kids", [4, 3, 2], orders: [5, 701, 9000])
        }
        #expect(outcome.store.differences(from: expected) == [])
    }

    @Test("From an unordered relationship the order is by destination key, 2048 + 1024·i")
    func freshOrder() throws {
        let old = try family(ordered: false)
        let new = try family(ordered: true)
        let store = ReferenceStore.make(old) { store in
            store.insert("Parent", 1)
            store.insert("Parent", 2)
            for key in 1...5 { store.insert("Child", Int64(key), toOne: ["parent": key == 4 ? 2 : 1]) }
        }
        for kids in [by("C", "$source.kids"), nil] {
            let outcome = try run(
                store, new,
                [
                    mapping("P", "Parent", "Parent", relationships: ["kids": kids]),
                    mapping("C", "Child", "Child", relationships: ["parent": by("P", "$source.parent")]),
                ])
            let expected = ReferenceStore.make(new) { store in
                store.insert("Parent", 1)
                store.insert("Parent", 2)
                for key in 1...5 { store.insert("Child", Int64(key)) }
                store.setMembers("Parent", 1, "kids", [1, 2, 3, 5], orders: [2048, 3072, 4096, 5120])
                store.setMembers("Parent", 2, "kids", [4], orders: [2048])
            }
            #expect(outcome.store.differences(from: expected) == [])
        }
    }

    @Test("An ordered relationship behind a to-one keeps its order with fresh keys; members of the other side follow")
    func listOrder() throws {
        let old = try family(ordered: true, extra: [toOne("twin", "Parent")])
        let new = try family(ordered: true)
        let store = ReferenceStore.make(old) { store in
            store.insert("Parent", 1, toOne: ["twin": 2])
            store.insert("Parent", 2)
            for key in 1...4 { store.insert("Child", Int64(key)) }
            store.setMembers("Parent", 2, "kids", [3, 1, 2], orders: [10, 20, 30])
        }
        let outcome = try run(
            store, new,
            [
                mapping("C", "Child", "Child"),
                mapping("P", "Parent", "Parent", relationships: ["kids": by("C", "$source.twin.kids")]),
            ])
        let expected = ReferenceStore.make(new) { store in
            store.insert("Parent", 1)
            store.insert("Parent", 2)
            for key in 1...4 { store.insert("Child", Int64(key)) }
            store.setMembers("Parent", 1, "kids", [3, 1, 2], orders: [2048, 3072, 4096])
        }
        #expect(outcome.store.differences(from: expected) == [])
    }

    @Test("Many-to-many is the union of both sides, each side in its own order")
    func manyToMany() throws {
        let old = try model(
            entity("A", [], [toMany("bs", "B", inverse: "as", ordered: true), toMany("more", "B", inverse: "less")]),
            entity("B", [], [toMany("as", "A", inverse: "bs"), toMany("less", "A", inverse: "more")]))
        let new = try model(
            entity("A", [], [toMany("bs", "B", inverse: "as", ordered: true)]),
            entity("B", [], [toMany("as", "A", inverse: "bs", ordered: true)]))
        let store = ReferenceStore.make(old) { store in
            for key in 1...2 { store.insert("A", Int64(key)) }
            for key in 1...3 { store.insert("B", Int64(key)) }
            store.setMembers("A", 1, "bs", [3, 1], orders: [100, 200])
            store.setMembers("B", 2, "less", [1, 2])
        }
        let outcome = try run(
            store, new,
            [
                mapping("A", "A", "A", relationships: ["bs": by("B", "$source.bs")]),
                mapping("B", "B", "B", relationships: ["as": by("A", "$source.less")]),
            ])
        // Z_1BS (Z_1AS, Z_2BS): the first key is of A, the second of B; order columns: place of the key's object.
        // A 1 has 3 and 1 with copied keys, then 2 that only the other side linked; A 2 has 2.
        let rows: [ReferencePair: ReferenceOrders] = [
            ReferencePair(1, 3): ReferenceOrders(first: 2048, second: 100),
            ReferencePair(1, 1): ReferenceOrders(first: 2048, second: 200),
            ReferencePair(1, 2): ReferenceOrders(first: 2048, second: 1224),
            ReferencePair(2, 2): ReferenceOrders(first: 3072, second: 2048),
        ]
        #expect(outcome.store.joins == [rows])
    }

    @Test("One-to-one: links by creation, then property name; a later link unlinks both earlier partners")
    func oneToOne() throws {
        let old = try model(
            entity("A", [], [toOne("b", "B")]), entity("B", [], [toOne("a", "A")]))
        let new = try model(
            entity("A", [], [toOne("b", "B", inverse: "a")]), entity("B", [], [toOne("a", "A", inverse: "b")]))
        // A1>B1, A2>B1 (unlinks A1), A3>B3; then B2>A2 (unlinks B1), B3 says nothing.
        let store = ReferenceStore.make(old) { store in
            store.insert("A", 1, toOne: ["b": 1])
            store.insert("A", 2, toOne: ["b": 1])
            store.insert("A", 3, toOne: ["b": 3])
            store.insert("B", 1)
            store.insert("B", 2, toOne: ["a": 2])
            store.insert("B", 3)
        }
        let outcome = try run(
            store, new,
            [
                mapping("A", "A", "A", relationships: ["b": by("B", "$source.b")]),
                mapping("B", "B", "B", relationships: ["a": by("A", "$source.a")]),
            ])
        let expected = ReferenceStore.make(new) { store in
            store.insert("A", 1)
            store.insert("A", 2, toOne: ["b": 2])
            store.insert("A", 3, toOne: ["b": 3])
            store.insert("B", 1)
            store.insert("B", 2, toOne: ["a": 2])
            store.insert("B", 3, toOne: ["a": 3])
        }
        #expect(outcome.store.differences(from: expected) == [])
    }

    @Test("A to-one takes the first in mapping order, then by association; further ones are counted")
    func firstOfMany() throws {
        let old = try model(entity("A", [], [toOne("b", "B")]), entity("B"))
        let new = try model(entity("A", [], [toOne("b", "B")]), entity("B"))
        let store = ReferenceStore.make(old) { store in
            store.insert("A", 1, toOne: ["b": 1])
            store.insert("A", 2)
            store.insert("B", 1)
            store.insert("B", 2)
        }
        let outcome = try run(
            store, new,
            [
                mapping("A", "A", "A", relationships: ["b": via("b", "$source.b")]),
                mapping("B1", "B", "B"), mapping("B2", "B", "B"),
            ])
        #expect(outcome.store.tables[0][1]?.values == [.integer(1), .integer(1), .integer(1)])
        #expect(outcome.store.tables[0][2]?.values == [.integer(1), .integer(1), .null])
        #expect(outcome.store.tables[1].keys.sorted() == [1, 2, 3, 4])
        #expect(outcome.report.furtherDestinations == 1)
    }

    @Test("Lookups give only objects that fit the relationship; the concrete entity is beside the key")
    func filteredByEntity() throws {
        let old = try model(entity("A", [], [toOne("b", "B")]), entity("B"))
        let new = try model(
            entity("A", [], [toOne("b", "Base")]), entity("Base"), entity("Sub", parent: "Base"), entity("Z"))
        let store = ReferenceStore.make(old) { store in
            store.insert("A", 1, toOne: ["b": 7])
            store.insert("B", 7)
        }
        let outcome = try run(
            store, new,
            [
                mapping("BZ", "B", "Z"), mapping("BS", "B", "Sub"),
                mapping("A", "A", "A", relationships: ["b": via("b", "$source.b")]),
            ])
        // A 1, Base 2, Sub 3, Z 4: Z_ENT, Z_OPT, ZB, Z2_B.
        #expect(outcome.store.tables[0][1]?.values == [.integer(1), .integer(1), .integer(7), .integer(3)])
        #expect(outcome.report.furtherDestinations == 0)
    }

    @Test("A reference to a row that does not exist becomes nil and is counted; so do members of join rows")
    func dangling() throws {
        let old = try model(
            entity("A", [], [toOne("b", "B"), toMany("bs", "B", inverse: "as")]),
            entity("B", [], [toMany("as", "A", inverse: "bs")]))
        let store = ReferenceStore.make(old) { store in
            store.insert("A", 1, toOne: ["b": 99])
            store.insert("A", 2, toOne: ["b": 1])
            store.insert("B", 1)
            store.setMembers("A", 1, "bs", [1, 98])
        }
        let outcome = try run(
            store, old,
            [
                mapping("A", "A", "A", relationships: ["b": by("B", "$source.b"), "bs": by("B", "$source.bs")]),
                mapping("B", "B", "B"),
            ])
        let expected = ReferenceStore.make(old) { store in
            store.insert("A", 1)
            store.insert("A", 2, toOne: ["b": 1])
            store.insert("B", 1)
            store.setMembers("A", 1, "bs", [1])
        }
        #expect(outcome.store.differences(from: expected) == [])
        #expect(outcome.report.danglingReferences == 2)
    }

    @Test("To-many without inverse: one owner a member, the last in creation order; ordering keys are copied")
    func withoutInverse() throws {
        let old = try model(entity("Album", [], [toMany("photos", "Photo", ordered: true)]), entity("Photo"))
        let new = try model(
            entity("Album", [], [toMany("photos", "Photo", ordered: true)]), entity("Photo"), entity("Aaa"))
        let store = ReferenceStore.make(old) { store in
            store.insert("Album", 5)
            for key in 1...3 { store.insert("Photo", Int64(key)) }
            store.setMembers("Album", 5, "photos", [3, 1], orders: [20, 10])
        }
        let outcome = try run(
            store, new,
            [
                mapping("P", "Photo", "Photo"),
                mapping("A1", "Album", "Album", relationships: ["photos": by("P", "$source.photos")]),
                mapping("A2", "Album", "Album", relationships: ["photos": by("P", "$source.photos")]),
            ])
        // Aaa 1, Album 2, Photo 3; the second album wins. ZPHOTO: Z_ENT, Z_OPT, Z2PHOTOS, Z_FOK_2PHOTOS.
        #expect(outcome.store.schema.tables[2].columns.map(\.name) == ["Z_ENT", "Z_OPT", "Z2PHOTOS", "Z_FOK_2PHOTOS"])
        let photo: [ReferenceValue] = [.integer(3), .integer(1)]
        #expect(outcome.store.tables[2][1]?.values == photo + [.integer(2), .integer(10)])
        #expect(outcome.store.tables[2][2]?.values == photo + [.null, .null])
        #expect(outcome.store.tables[2][3]?.values == photo + [.integer(2), .integer(20)])
    }

    @Test("A relationship that is its own inverse links both ways")
    func selfInverse() throws {
        let both = try model(
            entity("P", [], [toMany("friends", "P", inverse: "friends"), toOne("spouse", "P", inverse: "spouse")]))
        let store = ReferenceStore.make(both) { store in
            for key in 1...3 { store.insert("P", Int64(key)) }
            store.setMembers("P", 1, "friends", [2, 3])
            store.setToOne("P", 1, "spouse", 3)
            store.setToOne("P", 3, "spouse", 1)
        }
        let outcome = try run(
            store, both,
            [
                mapping(
                    "P", "P", "P",
                    relationships: ["friends": by("P", "$source.friends"), "spouse": by("P", "$source.spouse")])
            ])
        #expect(outcome.store.differences(from: store) == [])
        #expect(
            Set(outcome.store.joins[0].keys)
                == [ReferencePair(1, 2), ReferencePair(2, 1), ReferencePair(1, 3), ReferencePair(3, 1)])
    }

    @Test("The file has the columns that plain SQL expects")
    func file() throws {
        let family = try family(ordered: true)
        let store = ReferenceStore.make(family) { store in
            store.insert("Parent", 8, lock: 3)
            store.insert("Child", 1)
            store.insert("Child", 2)
            store.setMembers("Parent", 8, "kids", [2, 1])
        }
        let folder = try TemporaryFolder()
        let path = folder.file("family.sqlite")
        try store.write(path: path)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        #expect(try connection.integer("SELECT Z_FOK_PARENT FROM ZCHILD WHERE Z_PK = 1 AND ZPARENT = 8") == 3072)
        #expect(try connection.integer("SELECT Z_FOK_PARENT FROM ZCHILD WHERE Z_PK = 2 AND ZPARENT = 8") == 2048)
        #expect(try connection.integer("SELECT Z_OPT FROM ZPARENT WHERE Z_PK = 8 AND Z_ENT = 2") == 3)
        #expect(try connection.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Parent' AND Z_ENT = 2") == 8)
        #expect(try connection.integer("SELECT length(Z_PLIST) > 100 FROM Z_METADATA WHERE Z_VERSION = 1") == 1)
    }

    @Test("Differences name table, key, column and both values")
    func differences() throws {
        let family = try family(ordered: true)
        let first = ReferenceStore.make(family) { store in
            store.insert("Parent", 1)
            store.insert("Child", 1, toOne: ["parent": 1])
        }
        var second = first
        second.set(table: "ZCHILD", 1, "ZPARENT", .integer(2))
        second.setMaximum(5, of: "Parent")
        second.insert("Child", 2)
        #expect(
            second.differences(from: first) == [
                "ZCHILD 1 ZPARENT: 2, expected 1",
                "ZCHILD 2: not expected, [1, 1, NULL, NULL]",
                "Z_PRIMARYKEY 2: \(ReferencePrimaryKey(name: "Parent", parent: 0, maximum: 5)), "
                    + "expected \(ReferencePrimaryKey(name: "Parent", parent: 0, maximum: 1))",
            ])
    }
}

extension ReferenceStore {
    /// Damages a cell, as a defective engine would.
    fileprivate mutating func set(table: String, _ key: Int64, _ column: String, _ value: ReferenceValue) {
        guard let index = schema.tables.firstIndex(where: { $0.name == table }),
            let position = schema.tables[index].columns.firstIndex(where: { $0.name == column })
        else { return }
        tables[index][key]?.values[position] = value
    }
}
