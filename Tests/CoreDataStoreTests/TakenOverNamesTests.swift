import CSQLite
import ManagedModel
import TestSupport
import Testing

@testable import CoreDataStore

/// Names that a destination takes over from the source, against what a rule would say.
@Suite("Schema: names taken over from a source")
struct TakenOverNamesTests {
    private typealias M = SchemaTestModel

    /// A pair of relationships on one entity, and one between two entities; another name for each, and for the entity.
    private static func model(
        _ entity: String = "Client", trusts: String = "trusts", extra: String? = nil
    ) throws -> ManagedObjectModel {
        var client = M.entity(
            entity, extra.map { [M.attribute($0)] } ?? [],
            [
                M.toMany(trusts, entity, inverse: "trustedBy", ordered: true),
                M.toMany("trustedBy", entity, inverse: trusts), M.toMany("teams", "Team", inverse: "clients"),
            ])
        client.renamingIdentifier = "Client"
        client.relationships[0].renamingIdentifier = "trusts"
        return try M.model(
            M.entity("Before"), client, M.entity("Team", [], [M.toMany("clients", entity, inverse: "teams")]))
    }

    /// A store of a model, changed by SQL.
    private static func store(
        _ model: ManagedObjectModel, _ folder: TemporaryFolder, _ changes: [String]
    ) throws -> SourceStore {
        let destination = try WritingTestStore.create(StoreSchema(model: model), folder.file("old.sqlite"))
        try WritingTestStore.finish(destination)
        let connection = try Connection(path: destination.path, flags: SQLITE_OPEN_READWRITE)
        for sql in changes { try connection.execute(sql) }
        try connection.close()
        return try SourceStore(
            path: destination.path, cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil)
    }

    @Test("The side that names a pair's table in the source names it in the destination, renamed and with its number")
    func pair() throws {
        let folder = try TemporaryFolder()
        let old = try Self.model()
        #expect(StoreSchema(model: old).joinTables.map(\.name) == ["Z_2TRUSTS", "Z_2TEAMS"])
        let store = try Self.store(
            old, folder, ["ALTER TABLE Z_2TRUSTS RENAME TO Z_2TRUSTEDBY"])
        // Another name for the relationship, and a number more for the entity: Another comes first.
        let new = try Self.model("Node", trusts: "believes", extra: "name")
        let byRule = StoreSchema(model: new)
        #expect(byRule.joinTables.map(\.name) == ["Z_2TRUSTEDBY", "Z_2TEAMS"])
        let taken = try store.namesTakenOver(by: byRule, from: store.layout(for: old))
        #expect(taken.joinTables.map(\.name) == ["Z_2TRUSTEDBY", "Z_2TEAMS"])
        let same = try store.namesTakenOver(by: StoreSchema(model: old), from: store.layout(for: old))
        #expect(same.joinTables.map(\.name) == ["Z_2TRUSTEDBY", "Z_2TEAMS"])
        #expect(same.joinTables[0].sides.map(\.column) == ["Z_2TRUSTS", "Z_2TRUSTEDBY"])
        #expect(same.joinTables[0].sides.map(\.orderColumn) == ["Z_FOK_2TRUSTS", nil])
        #expect(same.joinTables[0].alternativeName == "Z_2TRUSTS")
        #expect(same.storage("Client", "trustedBy") == .join(table: 0, ownerSide: 0))
        #expect(same.storage("Client", "trusts") == .join(table: 0, ownerSide: 1))
        #expect(same.notes == ["The join table Z_2TRUSTEDBY is named as in the source; a rule would say Z_2TRUSTS"])
        // A pair that the source does not have is named by rule, and said to be.
        let fresh = try M.model(
            M.entity(
                "Knot", [], [M.toMany("outs", "Knot", inverse: "ins"), M.toMany("ins", "Knot", inverse: "outs")]))
        let guessed = try store.namesTakenOver(by: StoreSchema(model: fresh), from: store.layout(for: old))
        #expect(guessed.joinTables.map(\.name) == ["Z_1OUTS"])
        #expect(
            guessed.notes == [
                "The join table Z_1OUTS is named by a rule without evidence: Core Data may look for Z_1INS"
            ])
        try store.close()
    }

    @Test("Digits at a column's name are the source's")
    func digits() throws {
        let folder = try TemporaryFolder()
        let model = try M.model(
            M.entity("A", [], [M.toMany("xs", "X", inverse: "owners"), M.toMany("ys", "Y", inverse: "owners")]),
            M.entity("X", [], [M.toMany("owners", "A", inverse: "xs")]),
            M.entity("Y", [], [M.toMany("owners", "A", inverse: "ys")]))
        let byRule = StoreSchema(model: model)
        #expect(byRule.joinTables.map(\.columnNames) == [["Z_1OWNERS", "Z_3YS"], ["Z_1OWNERS1", "Z_2XS"]])
        let store = try Self.store(
            model, folder,
            [
                "ALTER TABLE Z_1YS RENAME COLUMN Z_1OWNERS TO Z_1OWNERS1",
                "ALTER TABLE Z_1XS RENAME COLUMN Z_1OWNERS1 TO Z_1OWNERS",
            ])
        let taken = try store.namesTakenOver(by: byRule, from: store.layout(for: model))
        #expect(taken.joinTables.map(\.columnNames) == [["Z_1OWNERS1", "Z_3YS"], ["Z_1OWNERS", "Z_2XS"]])
        try store.close()
    }

    /// Two subentities with a property `name` each, of which one or both are relationships.
    private static func mixed(_ isMixed: Bool, extra: String? = nil) throws -> ManagedObjectModel {
        try M.model(
            M.entity("A", extra.map { [M.attribute($0)] } ?? []),
            M.entity("B", parent: "A", isMixed ? [M.attribute("name")] : [], isMixed ? [] : [M.toOne("name", "T")]),
            M.entity("C", parent: "A", [], [M.toOne("name", "T")]), M.entity("T"), M.entity("U", parent: "T"))
    }

    @Test(
        "Columns of one wanted name are read by their types, and keep the source's numbers with all that hangs on them")
    func columnNumbers() throws {
        let folder = try TemporaryFolder()
        let model = try Self.mixed(true)
        let byRule = StoreSchema(model: model)
        #expect(try byRule.columns("A") == ["ZNAME1 INTEGER", "Z4_NAME1 INTEGER", "ZNAME VARCHAR"])
        let note =
            "The columns ZNAME, ZNAME1 of ZA are numbered by a rule without evidence: "
            + "Core Data may number them otherwise"
        #expect(byRule.notes == [note])
        let store = try Self.store(
            model, folder,
            [
                "ALTER TABLE ZA RENAME COLUMN ZNAME TO X", "ALTER TABLE ZA RENAME COLUMN ZNAME1 TO ZNAME",
                "ALTER TABLE ZA RENAME COLUMN X TO ZNAME1", "ALTER TABLE ZA RENAME COLUMN Z4_NAME1 TO Z4_NAME",
            ])
        let layout = try store.layout(for: model)
        #expect(layout.tables[0].columns.dropFirst(2) == ["ZNAME", "Z4_NAME", "ZNAME1"])
        // Another attribute does not change what wants the name.
        let grown = try Self.mixed(true, extra: "more")
        let taken = try store.namesTakenOver(by: StoreSchema(model: grown), from: layout)
        #expect(
            try taken.columns("A") == ["ZNAME INTEGER", "Z4_NAME INTEGER", "ZMORE VARCHAR", "ZNAME1 VARCHAR"])
        #expect(taken.indexes[0].contains { $0.name == "ZA_ZNAME_INDEX" })
        #expect(
            taken.notes == [
                "The columns ZNAME1, ZNAME of ZA are numbered as in the source; a rule would say ZNAME, ZNAME1"
            ])
        // What wants the name is not the same: the source's numbers mean nothing.
        let other = try store.namesTakenOver(by: StoreSchema(model: try Self.mixed(false)), from: layout)
        #expect(other.notes == [note])
        #expect(try other.columns("A").first == "ZNAME INTEGER")
        try store.close()
    }

    @Test("Numbers that the source's types prove are not noted, those that they cannot tell are")
    func provenNumbers() throws {
        for isMixed in [true, false] {
            let folder = try TemporaryFolder()
            let model = try Self.mixed(isMixed)
            let byRule = StoreSchema(model: model)
            #expect(byRule.notes.count == 1)
            let store = try Self.store(model, folder, [])
            let taken = try store.namesTakenOver(by: byRule, from: store.layout(for: model))
            #expect(taken.notes == (isMixed ? [] : byRule.notes))
            #expect(try taken.columns("A") == byRule.columns("A"))
            try store.close()
        }
    }

    @Test("An index over Z_ENT that the source's table of the same entities lacks is left out")
    func entityIndex() throws {
        let folder = try TemporaryFolder()
        let model = try M.model(
            M.entity("A"), M.entity("B", parent: "A"), M.entity("C"), M.entity("D", parent: "C"))
        let byRule = StoreSchema(model: model)
        let store = try Self.store(model, folder, [])
        #expect(byRule.indexes.map { $0.map(\.name) } == [["ZA_Z_ENT_INDEX"], ["ZC_Z_ENT_INDEX"]])
        let without = try store.namesTakenOver(by: byRule, from: store.layout(for: model))
        #expect(without.indexes == [[], []])
        // A hierarchy that grew is another one.
        let grown = try M.model(
            M.entity("A"), M.entity("B", parent: "A"), M.entity("C"), M.entity("D", parent: "C"),
            M.entity("E", parent: "C"))
        let kept = try store.namesTakenOver(by: StoreSchema(model: grown), from: store.layout(for: model))
        #expect(kept.indexes.map { $0.map(\.name) } == [[], ["ZC_Z_ENT_INDEX"]])
        try store.close()
    }
}
