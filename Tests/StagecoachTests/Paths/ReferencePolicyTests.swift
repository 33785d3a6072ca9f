import ManagedModel
import Mapping
import TestSupport
import Testing

@Suite("The reference: policies")
struct ReferencePolicyTests {
    /// Writes down its calls.
    final class Recorder: ReferencePolicy {
        final class Log { var lines: [String] = [] }
        let log: Log
        init(_ log: Log) { self.log = log }

        func begin(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) {
            log.lines.append("begin \(mapping.name!)")
        }
        func createDestinationInstances(
            forSource source: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
        ) throws {
            log.lines.append("create \(mapping.name!) \(source)")
            try migrator.createDestinationInstance(for: source, mapping)
        }
        func endInstanceCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) {
            log.lines.append("created \(mapping.name!)")
        }
        func createRelationships(
            forDestination destination: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
        ) {
            log.lines.append("relate \(mapping.name!) \(destination)")
        }
        func endRelationshipCreation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) {
            log.lines.append("related \(mapping.name!)")
        }
        func performCustomValidation(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) {
            log.lines.append("validate \(mapping.name!)")
        }
        func end(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) { log.lines.append("end \(mapping.name!)") }
    }

    /// Does what closures say.
    final class Custom: ReferencePolicy {
        var create: ((ReferenceObject, EntityMapping, ReferenceMigrator) throws -> Void)?
        var relate: ((ReferenceObject, EntityMapping, ReferenceMigrator) throws -> Void)?
        var atEnd: ((EntityMapping, ReferenceMigrator) throws -> Void)?

        func createDestinationInstances(
            forSource source: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
        ) throws {
            guard let create else { return try migrator.createDestinationInstance(for: source, mapping) }
            try create(source, mapping, migrator)
        }
        func createRelationships(
            forDestination destination: ReferenceObject, _ mapping: EntityMapping, _ migrator: ReferenceMigrator
        ) throws {
            try migrator.createRelationships(for: destination, mapping)
            try relate?(destination, mapping, migrator)
        }
        func end(_ mapping: EntityMapping, _ migrator: ReferenceMigrator) throws { try atEnd?(mapping, migrator) }
    }

    let family: ManagedObjectModel
    let store: ReferenceStore

    init() throws {
        family = try model(
            entity("Child", [attribute("n", .integer16)], [toOne("parent", "Parent", inverse: "kids")]),
            entity("Parent", [attribute("n", .integer16)], [toMany("kids", "Child", inverse: "parent", ordered: true)]))
        store = ReferenceStore.make(family) { store in
            store.insert("Parent", 2, lock: 4, ["n": .integer(2)])
            store.insert("Parent", 4, lock: 4, ["n": .integer(4)])
            store.setMaximum(6, of: "Parent")
            for key in [1, 3, 5] as [Int64] { store.insert("Child", key, lock: 6, ["n": .integer(key)]) }
            store.setMembers("Parent", 2, "kids", [3, 1], orders: [10, 20])
            store.setMembers("Parent", 4, "kids", [5], orders: [30])
        }
    }

    private func migrator(
        _ make: @escaping () -> any ReferencePolicy, parents: String? = nil, children: String? = nil
    ) throws -> ReferenceMigrator {
        ReferenceMigrator(
            source: store, destinationModel: family,
            mappingModel: mappings(
                try mapping(
                    "P", "Parent", "Parent", ["n": "$source.n"], relationships: ["kids": by("C", "$source.kids")],
                    policy: parents),
                try mapping(
                    "C", "Child", "Child", ["n": "$source.n"], relationships: ["parent": by("P", "$source.parent")],
                    policy: children)),
            policies: ["Policy": make])
    }

    @Test("The seven methods come stage by stage, mapping by mapping")
    func order() throws {
        let log = Recorder.Log()
        _ = try migrator({ Recorder(log) }, parents: "Policy", children: "Policy").migrate().get()
        #expect(
            log.lines == [
                "begin P", "create P Parent/p2", "create P Parent/p4", "created P",
                "begin C", "create C Child/p1", "create C Child/p3", "create C Child/p5", "created C",
                "relate P Parent/p1", "relate P Parent/p2", "related P",
                "relate C Child/p1", "relate C Child/p2", "relate C Child/p3", "related C",
                "validate P", "end P", "validate C", "end C",
            ])
    }

    @Test("A policy class makes its root sequential with Z_OPT 1; other roots keep keys and locks")
    func keys() throws {
        let outcome = try migrator({ Custom() }, parents: "Policy").migrate().get()
        let expected = ReferenceStore.make(family) { store in
            store.insert("Parent", 1, ["n": .integer(2)])
            store.insert("Parent", 2, ["n": .integer(4)])
            for key in [1, 3, 5] as [Int64] { store.insert("Child", key, lock: 6, ["n": .integer(key)]) }
            store.setMembers("Parent", 1, "kids", [3, 1], orders: [10, 20])
            store.setMembers("Parent", 2, "kids", [5], orders: [30])
        }
        #expect(outcome.store.differences(from: expected) == [])
    }

    @Test("An object that a policy inserts into a root with kept keys follows Z_MAX and the highest key")
    func inserted() throws {
        let custom = Custom()
        custom.create = { source, mapping, migrator in
            try migrator.createDestinationInstance(for: source, mapping)
            try migrator.insert("Parent")["n"] = source["n"]
        }
        let outcome = try migrator({ custom }, children: "Policy").migrate().get()
        #expect(outcome.store.tables[1].keys.sorted() == [2, 4, 7, 8, 9])
        #expect(outcome.store.value("Parent", 8, "n") == .integer(3))
        #expect(outcome.store.tables[1][7]?.values[1] == .integer(1))
        #expect(outcome.store.tables[1][2]?.values[1] == .integer(4))
        #expect(outcome.store.primaryKey[2]?.maximum == 9)
        #expect(outcome.report.createdByPolicy == ["Parent": 3])
    }

    @Test("A source that a policy does not associate is dropped; n:1 associations count one object")
    func dropped() throws {
        let custom = Custom()
        var first: ReferenceObject?
        var related: [String] = []
        custom.create = { source, mapping, migrator in
            guard source.key != 3 else { return }
            let object = try first ?? migrator.insert("Child")
            first = object
            try migrator.associate(source, object, mapping)
            try migrator.associate(source, object, mapping)
        }
        custom.relate = { object, mapping, migrator in
            related.append("\(try migrator.sourceInstances(mapping.name, destinations: [object]))")
        }
        let outcome = try migrator({ custom }, children: "Policy").migrate().get()
        #expect(outcome.report.droppedByPolicy == ["C": 1])
        #expect(outcome.report.migrated == ["P": 2, "C": 2])
        #expect(related == ["[Child/p1, Child/p5]"])
        // $source is the first: child 1's parent.
        #expect(outcome.store.tables[0].count == 1)
        #expect(outcome.store.tables[0][1]?.values[3] == .integer(2))
    }

    @Test("Links set by policy code apply after the declarative links, with the inverse")
    func setsAfterwards() throws {
        let custom = Custom()
        custom.create = { source, mapping, migrator in
            try migrator.createDestinationInstance(for: source, mapping)
            let object = try migrator.destinationInstances("C", sources: [source])[0]
            if source.key == 5 {
                try migrator.set(object, "parent", to: migrator.destinationInstances("P", sources: nil))
            }
            #expect(source.key != 5 || object.related("parent").map(\.key) == [2])
        }
        // The default method of stage 2 sets the expressions' values again; then child 1 goes to parent 4.
        custom.relate = { object, _, migrator in
            guard object["n"] == .integer(1) else { return }
            let parents = try migrator.destinationInstances("P", sources: nil)
            try migrator.set(object, "parent", to: [parents[1]])
            #expect(parents[1].related("kids").contains { $0 === object })
            #expect(!parents[0].related("kids").contains { $0 === object })
        }
        let outcome = try migrator({ custom }, children: "Policy").migrate().get()
        let parents = outcome.store.tables[0].sorted { $0.key < $1.key }.map { $0.value.values[3] }
        #expect(parents == [.integer(4), .integer(2), .integer(4)])
    }

    @Test("Changes, insertions and deletions in end are saved; a deleted object leaves its relationships")
    func changesInEnd() throws {
        let custom = Custom()
        custom.atEnd = { _, migrator in
            let parents = try migrator.destinationInstances("P", sources: nil)
            parents[1]["n"] = .integer(99)
            try migrator.delete(parents[0])
            try migrator.insert("Child")["n"] = .integer(50)
        }
        let outcome = try migrator({ custom }, children: "Policy").migrate().get()
        #expect(outcome.store.tables[1].keys.sorted() == [4])
        #expect(outcome.store.value("Parent", 4, "n") == .integer(99))
        #expect(outcome.store.tables[0][1]?.values[3] == .null)
        #expect(outcome.store.value("Child", 4, "n") == .integer(50))
    }

    @Test("A method that throws ends the run")
    func throwing() throws {
        struct Stop: Error {}
        let custom = Custom()
        custom.create = { _, _, _ in throw Stop() }
        let result = try migrator({ custom }, children: "Policy").migrate()
        guard case .failure(.policy) = result else {
            Issue.record("\(result)")
            return
        }
    }
}
