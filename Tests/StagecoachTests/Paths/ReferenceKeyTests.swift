import ManagedModel
import Mapping
import TestSupport
import Testing

@Suite("The reference: keys, locks and Z_MAX")
struct ReferenceKeyTests {
    let old: ManagedObjectModel
    let new: ManagedObjectModel
    let store: ReferenceStore

    init() throws {
        old = try model(entity("A", [attribute("x", .integer32)]), entity("B", [attribute("x", .integer32)]))
        new = try model(entity("T", [attribute("x", .integer32)]), entity("U", [attribute("x", .integer32)]))
        store = ReferenceStore.make(old) { store in
            store.insert("A", 3, lock: 4, ["x": .integer(30)])
            store.insert("A", 9, lock: 2, ["x": .integer(90)])
            store.setMaximum(12, of: "A")
            store.insert("B", 3, lock: 7, ["x": .integer(-3)])
            store.insert("B", 5, ["x": .integer(-5)])
        }
    }

    private func run(
        _ mapping: MappingModel, keys: ReferenceKeys = .auto, destination: ReferenceStore? = nil,
        filters: [String: (ReferenceObject) -> Bool] = [:]
    ) -> Result<ReferenceOutcome, ReferenceFailure> {
        ReferenceMigrator(
            source: store, destinationModel: new, mappingModel: mapping, keys: keys, destination: destination,
            filters: filters
        ).migrate()
    }

    @Test("One source table, no entity twice: keys, locks and Z_MAX are kept")
    func kept() throws {
        let outcome = try run(mappings(mapping("M", "A", "T", ["x": "$source.x"]))).get()
        let expected = ReferenceStore.make(new) { store in
            store.insert("T", 3, lock: 4, ["x": .integer(30)])
            store.insert("T", 9, lock: 2, ["x": .integer(90)])
            store.setMaximum(12, of: "T")
        }
        #expect(outcome.store.differences(from: expected) == [])
        #expect(outcome.report.keysKept == ["T": true])
        #expect(outcome.report.withoutMapping == ["B": 2])
    }

    @Test("Filtered rows leave gaps in kept keys, and none in sequential ones")
    func filtered() throws {
        let model = mappings(try mapping("M", "A", "T", ["x": "$source.x"]))
        let filters: [String: (ReferenceObject) -> Bool] = ["M": { $0.key > 3 }]
        let kept = try run(model, filters: filters).get()
        #expect(kept.store.tables[0].keys.sorted() == [9])
        #expect(kept.report.filtered == ["M": 1])
        let sequential = try run(model, keys: .sequential, filters: filters).get()
        let expected = ReferenceStore.make(new) { $0.insert("T", 1, ["x": .integer(90)]) }
        #expect(sequential.store.differences(from: expected) == [])
    }

    @Test("Two source tables into one: numbered in mapping order, then by source key; Z_OPT 1, Z_MAX the highest")
    func merge() throws {
        let outcome = try run(
            mappings(mapping("MB", "B", "T", ["x": "$source.x"]), mapping("MA", "A", "T", ["x": "$source.x"]))
        ).get()
        let expected = ReferenceStore.make(new) { store in
            store.insert("T", 1, ["x": .integer(-3)])
            store.insert("T", 2, ["x": .integer(-5)])
            store.insert("T", 3, ["x": .integer(30)])
            store.insert("T", 4, ["x": .integer(90)])
        }
        #expect(outcome.store.differences(from: expected) == [])
        #expect(outcome.report.keysKept == ["T": false])
    }

    @Test("A source entity twice into one table is sequential; into two tables each keeps its keys")
    func split() throws {
        let same = try run(mappings(mapping("M1", "A", "T"), mapping("M2", "A", "T"))).get()
        #expect(same.store.tables[0].keys.sorted() == [1, 2, 3, 4])
        let two = try run(mappings(mapping("M1", "A", "T"), mapping("M2", "A", "U"))).get()
        #expect(two.store.tables[0].keys.sorted() == [3, 9])
        #expect(two.store.tables[1].keys.sorted() == [3, 9])
        #expect(two.report.keysKept == ["T": true, "U": true])
    }

    @Test("Forced keys: kept is refused if it is impossible, sequential is always possible")
    func forced() throws {
        let merge = mappings(try mapping("MB", "B", "T"), try mapping("MA", "A", "T"))
        guard case .failure(.keysCannotBeKept("T")) = run(merge, keys: .kept) else {
            Issue.record("not refused")
            return
        }
        let single = mappings(try mapping("MA", "A", "T"))
        #expect(try run(single, keys: .sequential).get().store.tables[0].keys.sorted() == [1, 2])
        #expect(try run(single, keys: .kept).get().store.tables[0].keys.sorted() == [3, 9])
    }

    @Test("An append is numbered from the destination's Z_MAX + 1 and leaves what is there")
    func append() throws {
        let before = ReferenceStore.make(new) { store in
            store.insert("T", 2, lock: 9, ["x": .integer(1)])
            store.setMaximum(40, of: "T")
        }
        let outcome = try run(mappings(mapping("MA", "A", "T", ["x": "$source.x"])), destination: before).get()
        let expected = ReferenceStore.make(new) { store in
            store.insert("T", 2, lock: 9, ["x": .integer(1)])
            store.insert("T", 41, ["x": .integer(30)])
            store.insert("T", 42, ["x": .integer(90)])
        }
        #expect(outcome.store.differences(from: expected) == [])
    }

    @Test("Add mappings make nothing, Remove mappings take away, an abstract destination with rows is refused")
    func withoutRows() throws {
        let outcome = try run(mappings(mapping("Add", nil, "U"), mapping("Remove", "B", nil))).get()
        #expect(outcome.store.rowCount == 0)
        #expect(outcome.report.removed == ["B": 2])
        #expect(outcome.report.withoutMapping == ["A": 2])
        #expect(outcome.store.maximum(of: try #require(new.entity(named: "U"))) == 0)
        let abstract = try model(entity("T", abstract: true))
        let refused = ReferenceMigrator(
            source: store, destinationModel: abstract, mappingModel: mappings(try mapping("M", "A", "T"))
        ).migrate()
        guard case .failure(.abstractDestination("M")) = refused else {
            Issue.record("not refused")
            return
        }
    }

    @Test("An entity is read without its subentities")
    func subentities() throws {
        let old = try model(entity("P", [attribute("x", .integer16)]), entity("C", parent: "P"))
        let new = try model(entity("Zed", [attribute("x", .integer16)]), entity("Leaf", parent: "Zed"), entity("B"))
        let store = ReferenceStore.make(old) { store in
            store.insert("C", 1, lock: 3, ["x": .integer(1)])
            store.insert("P", 2, lock: 5, ["x": .integer(2)])
        }
        let outcome = try ReferenceMigrator(
            source: store, destinationModel: new,
            mappingModel: mappings(
                mapping("P", "P", "Zed", ["x": "$source.x"]), mapping("C", "C", "Leaf", ["x": "$source.x"]))
        ).migrate().get()
        // B is 1, Zed 2, Leaf 3.
        let table = outcome.store.tables[1]
        #expect(table[1]?.values == [.integer(3), .integer(3), .integer(1)])
        #expect(table[2]?.values == [.integer(2), .integer(5), .integer(2)])
        #expect(outcome.store.primaryKey[2] == ReferencePrimaryKey(name: "Zed", parent: 0, maximum: 2))
        #expect(outcome.store.primaryKey[3] == ReferencePrimaryKey(name: "Leaf", parent: 2, maximum: 0))
    }
}
