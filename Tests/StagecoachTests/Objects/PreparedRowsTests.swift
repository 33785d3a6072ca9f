import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Rows that are prepared for the default method: what policies see, and what becomes of them, is as where each call makes
/// its own. A filter that lets everything pass keeps rows from being prepared.
@Suite("Rows that are prepared for the default method")
struct PreparedRowsTests {
    /// The work of a call beyond the default method.
    enum Deed: Int, CaseIterable {
        case drops, sets, insertsBefore, insertsAfter, twice, previous, looksAtOwn, looksAtAll, looksAtPrevious,
            fetches,
            counts, deletes, readsBack, associatesPrevious
    }

    private let fixture: PolicyFixture

    init() throws {
        fixture = try PolicyFixture(persons: 700)
        fixture.isTiny = false
    }

    private static func source(
        _ key: Int64, like object: ManagedObject, _ manager: MigrationManager
    ) throws -> ManagedObject {
        let uri = object.objectID.uriRepresentation().deletingLastPathComponent().appendingPathComponent("p\(key)")
        let context = manager.sourceContext
        return context.object(
            with: try #require(context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: uri)))
    }

    /// A policy whose deeds follow from a seed: of every `rarity`th object one.
    private func steps(_ seed: UInt64, _ rarity: Int) -> ClosurePolicy.Steps {
        var steps = ClosurePolicy.Steps()
        steps.create = { source, mapping, manager, standard in
            let key = source.objectID.key
            var generator = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ UInt64(bitPattern: key))
            guard generator.below(rarity) == 0, let deed = Deed(rawValue: generator.below(Deed.allCases.count)) else {
                return try standard()
            }
            let name = mapping.name ?? ""
            func made(of source: ManagedObject) -> [ManagedObject] {
                manager.destinationInstances(forEntityMappingName: name, sourceInstances: [source])
            }
            func insert(_ text: String) -> ManagedObject {
                let object = EntityDescription.insertNewObject(
                    forEntityName: "Person", into: manager.destinationContext)
                object.setValue("\(text) \(key)", forKey: "name")
                return object
            }
            switch deed {
            case .drops: return
            case .sets:
                try standard()
                made(of: source).last?.setValue("set \(key)", forKey: "name")
            case .insertsBefore:
                manager.associate(
                    sourceInstance: source, withDestinationInstance: insert("before"), for: mapping)
                try standard()
            case .insertsAfter:
                try standard()
                _ = insert("after")
            case .twice:
                try standard()
                try standard()
            case .previous:
                // Another object's row: its pair is a late one.
                if key > 1 {
                    try EntityMigrationPolicy().createDestinationInstances(
                        forSource: try Self.source(key - 1, like: source, manager), in: mapping, manager: manager)
                }
                try standard()
            case .looksAtOwn:
                try standard()
                let own = try #require(made(of: source).last)
                own.setValue("own \(own.objectID.key) \(own.value(forKey: "age") ?? "nil")", forKey: "name")
            case .looksAtAll:
                let all = manager.destinationInstances(forEntityMappingName: name, sourceInstances: nil)
                try standard()
                insert("all").setValue("all \(all.count) \(all.last?.objectID.key ?? 0)", forKey: "name")
            case .looksAtPrevious:
                try standard()
                guard key > 1 else { return }
                for object in made(of: try Self.source(key - 1, like: source, manager)) {
                    object.setValue("seen from \(key): \(object.value(forKey: "name") ?? "nil")", forKey: "name")
                }
            case .fetches:
                try standard()
                let request = FetchRequest<ManagedObject>(entityName: "Person")
                request.predicate = FormatPredicate(format: "age == %@", NSNumber(value: (key - 3) * 10))
                let found = try manager.destinationContext.fetch(request)
                found.first?.setValue("fetched \(found.count) for \(key)", forKey: "name")
            case .counts:
                let request = FetchRequest<ManagedObject>(entityName: "Person")
                let count = try manager.destinationContext.count(for: request)
                try standard()
                insert("count").setValue("counted \(count)", forKey: "name")
            case .deletes:
                try standard()
                if let own = made(of: source).first { manager.destinationContext.delete(own) }
            case .readsBack:
                try standard()
                let own = try #require(made(of: source).last)
                let sources = manager.sourceInstances(forEntityMappingName: name, destinationInstances: [own])
                insert("back").setValue("back \(sources.map(\.objectID.key)) \(own.isInserted)", forKey: "name")
            case .associatesPrevious:
                try standard()
                guard key > 1, let own = made(of: source).last else { return }
                manager.associate(
                    sourceInstance: try Self.source(key - 1, like: source, manager), withDestinationInstance: own,
                    for: mapping)
            }
        }
        return steps
    }

    private func ending(_ isPrepared: Bool, _ change: (MigrationManager) -> Void = { _ in }) throws -> PolicyEnding {
        let persons = try #require(fixture.mapping.entityMappingsByName["Persons"])
        persons.sourceFilter = isPrepared ? nil : try SourcePredicate(format: "age > -1 OR age == nil")
        let manager = fixture.manager()
        change(manager)
        return PolicyEnding(of: fixture, by: manager)
    }

    private func differences(_ change: (MigrationManager) -> Void = { _ in }) throws -> [String] {
        let expected = try ending(false, change)
        return try ending(true, change).differences(from: expected)
    }

    @Test("In random migrations nothing shows that rows were prepared", arguments: RandomSeeds.seeds(24))
    func random(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let rarity = [1, 3, 30, 200][generator.below(4)]
        let batch = [nil, 5, 64, 333][generator.below(4)]
        fixture.policy("Persons", steps(seed, rarity))
        let found = try differences { $0.options.batchSize = batch }
        #expect(found == [], "rarity \(rarity), batch \(batch.map(String.init) ?? "auto"): \(found.prefix(5))")
    }

    @Test("Where every call lets the default method work, the objects are those of no policy")
    func untouched() throws {
        let plain = try #require(try ending(true).store)
        fixture.policy("Persons", ClosurePolicy.Steps())
        let ending = try ending(true)
        #expect(ending.error == nil)
        let line = try #require(ending.report?.counts.mappings.first { $0.name == "Persons" })
        #expect((line.created, line.migrated, line.droppedByPolicy, line.createdByPolicy) == (700, 700, 0, 0))
        let store = try #require(ending.store)
        #expect(store.column("Person", "name") == plain.column("Person", "name"))
        #expect(store.column("Person", "age") == plain.column("Person", "age"))
        #expect(store.maximum("Person") == 700)
    }

    @Test(
        "A value that cannot be computed is refused in its own call, whether texts are made or not",
        arguments: ["$source.name", "FUNCTION($source.name, 'stringByAppendingString:', '!')"], [false, true])
    func values(name: String, rejects: Bool) throws {
        let persons = try #require(fixture.mapping.entityMappingsByName["Persons"])
        try #require(persons.attributeMapping(named: "name")).valueExpression = try ValueExpression(parsing: name)
        // Beyond 32,767 from 546 on.
        try #require(persons.attributeMapping(named: "age")).valueExpression =
            try ValueExpression(parsing: "$source.age * 6")
        var called: [Int64] = []
        var steps = ClosurePolicy.Steps()
        steps.create = { source, _, _, standard in
            called.append(source.objectID.key)
            try standard()
        }
        fixture.policy("Persons", steps)
        let found = try differences { if rejects { $0.options.onInvalid = .reject } }
        #expect(found == [])
        // The call that failed is the last one.
        #expect(called.max() == (rejects ? 700 : 547))
        called = []
        let ending = try ending(true) { if rejects { $0.options.onInvalid = .reject } }
        #expect((ending.error == nil) == rejects)
        #expect(called == Array(1...(rejects ? 700 : 547)))
    }

    @Test("An expression that a call changes is what the calls after it use")
    func edited() throws {
        var steps = ClosurePolicy.Steps()
        steps.create = { source, mapping, _, standard in
            if source.objectID.key == 300 {
                mapping.attributeMapping(named: "age")?.valueExpression = try ValueExpression(
                    parsing: "$source.age + 1")
            }
            try standard()
        }
        fixture.policy("Persons", steps)
        let persons = try #require(fixture.mapping.entityMappingsByName["Persons"])
        let before = try #require(persons.attributeMapping(named: "age")).valueExpression
        let store = try #require(try ending(true).store)
        let ages = store.column("Person", "age")
        #expect(ages[299] == .integer(2990))
        #expect(ages[300] == .integer(3001))
        #expect(ages[700] == .integer(7001))
        try #require(persons.attributeMapping(named: "age")).valueExpression = before
    }

    @Test("A run that loses its journal is resumed inside the entity", arguments: RandomSeeds.seeds(6))
    func resumed(seed: UInt64) throws {
        // Without stored properties, so that a state of it can be kept.
        final class RarePolicy: EntityMigrationPolicy {
            override func createDestinationInstances(
                forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
            ) throws {
                let key = source.objectID.key
                if key % 50 == 7 { return }
                try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
                guard key % 90 == 11 else { return }
                let all = manager.destinationInstances(forEntityMappingName: mapping.name ?? "", sourceInstances: nil)
                all.last?.setValue("number \(all.count)", forKey: "name")
            }
        }
        fixture.mapping.entityMappingsByName["Persons"]?.entityMigrationPolicyClassName = "R"
        func manager() -> MigrationManager {
            let manager = fixture.manager()
            manager.policies.register("R") { RarePolicy() }
            return manager
        }
        let expected = try fixture.run(manager())
        try FileManager.default.removeItem(at: fixture.destinationURL)
        var generator = SeededGenerator(seed: seed)
        var attempts = 0
        while true {
            attempts += 1
            let manager = manager()
            manager.options.batchSize = [40, 150, 700][generator.below(3)]
            let conditions = RunConditions.savingOften(failingAfter: 1 + generator.below(4 + attempts))
            do {
                let migration = Migration(
                    from: fixture.sourcePath, model: fixture.source, mapping: fixture.mapping,
                    to: fixture.destinationURL.path, model: fixture.destination, options: manager.options,
                    manager: manager)
                try RunConditions.$current.withValue(conditions) { try migration.run() }
                break
            } catch let error as MigrationError where error.code == "journal.io" {
                continue
            }
        }
        let store = try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
        #expect(store.differences(from: expected) == [])
        #expect(attempts > 1)
    }
}
