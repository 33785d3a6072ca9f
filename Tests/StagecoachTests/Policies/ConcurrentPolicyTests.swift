import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import Synchronization
import TestSupport
import Testing

/// Policies that two threads call at a time: the destination, the counts and the errors are those of one thread.
@Suite("Policies that may be called at the same time", .serialized)
struct ConcurrentPolicyTests {
    /// The work of a call beyond the default method.
    enum Deed: Int, CaseIterable {
        // Deeds that the second thread does ahead.
        case nothing, drops, sets, makes, splits, readsBack, repeats, detaches
        // Deeds that wait for their turn.
        case relates, counts, saysID, fetches, deletes, hashes, associatesOther, looksElsewhere, orders, finds

        static let ahead = 8
    }

    /// The choice of deeds: every `rarity`th call does any of them, the other calls one that can be done ahead.
    struct Course: Sendable {
        var seed: UInt64 = 0
        var rarity: UInt64 = 1

        func deed(_ key: Int64) -> Deed {
            var generator = SeededGenerator(seed: seed &* 0x9E37_79B9 &+ UInt64(bitPattern: key))
            let isAny = generator.below(Int(rarity)) == 0
            return Deed(rawValue: generator.below(isAny ? Deed.allCases.count : Deed.ahead)) ?? .nothing
        }
    }

    static let course = Mutex(Course())
    static let ahead = Mutex(0)
    /// The expression to which the policy's `begin` changes an attribute's.
    static let edit = Mutex<String?>(nil)
    static let trouble = Mutex<(key: Int64, kind: Trouble)?>(nil)

    enum Trouble: CaseIterable, Sendable { case throwing, recording, recordingOnManager, cancelling, wrongType }

    struct Failure: Error, Equatable { let key: Int64 }

    /// Without stored properties, so that a state of it can be kept.
    class IsolatedPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            let key = source.objectID.key
            let name = source.value(forKey: "name") as? String ?? "?"
            if let (at, kind) = ConcurrentPolicyTests.trouble.withLock({ $0 }), at == key {
                try fail(kind, source, manager)
            }
            let context = manager.destinationContext
            func standard() throws {
                try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            }
            func made() -> ManagedObject? {
                manager.destinationInstances(forEntityMappingName: mapping.name ?? "", sourceInstances: [source]).last
            }
            func byHand() -> ManagedObject {
                let object = EntityDescription.insertNewObject(forEntityName: "Person", into: context)
                object.setValue("hand \(name)", forKey: "name")
                manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
                return object
            }
            switch ConcurrentPolicyTests.course.withLock({ $0 }).deed(key) {
            case .nothing: try standard()
            case .drops: return
            case .sets:
                try standard()
                made()?.setValue(String(repeating: "set \(name) ", count: Int(key % 40)), forKey: "name")
                made()?.setValue(NSNumber(value: key % 100), forKey: "age")
            case .makes: _ = byHand()
            case .splits:
                try standard()
                let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: context)
                badge.setValue("code \(key)", forKey: "code")
                _ = byHand()
            case .readsBack:
                let object = byHand()
                let age = (object.value(forKey: "age") as? NSNumber)?.intValue ?? -1
                object.setValue("\(object.value(forKey: "name") ?? "nil") \(age) \(object.isInserted)", forKey: "name")
            case .repeats:
                try standard()
                if let object = made() {
                    manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
                }
                try standard()
            case .detaches:
                guard let entity = manager.destinationModel.entity(named: "Person") else { return }
                let object = ManagedObject(entity: entity, insertInto: nil)
                object.setValue("detached \(name)", forKey: "name")
                context.insert(object)
                manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
            case .relates:
                try standard()
                let object = byHand()
                object.setValue(made(), forKey: "best")
                let pets = (source.value(forKey: "pets") as? NSOrderedSet)?.count ?? -1
                object.setValue("pets \(pets) of \(name)", forKey: "name")
            case .counts:
                let all = manager.destinationInstances(forEntityMappingName: mapping.name ?? "", sourceInstances: nil)
                byHand().setValue("after \(all.count)", forKey: "name")
            case .saysID:
                let object = byHand()
                object.setValue("id \(object.objectID.key) \(object)", forKey: "name")
                try standard()
            case .fetches:
                let object = byHand()
                let request = FetchRequest<ManagedObject>(entityName: "Person")
                request.predicate = FormatPredicate(format: "name == %@", "hand \(name)")
                let found = try context.fetch(request)
                object.setValue("found \(found.count) of \(context.insertedObjects.count)", forKey: "name")
            case .deletes:
                try standard()
                let object = byHand()
                context.delete(object)
                made()?.setValue("left", forKey: "name")
            case .hashes:
                try standard()
                let objects = Set([byHand(), byHand(), made()].compactMap { $0 })
                for object in objects { object.setValue("one of \(objects.count)", forKey: "name") }
            case .associatesOther:
                let object = byHand()
                guard key > 1,
                    let id = manager.sourceContext.persistentStoreCoordinator.managedObjectID(
                        forURIRepresentation: source.objectID.uriRepresentation().deletingLastPathComponent()
                            .appendingPathComponent("p\(key - 1)"))
                else { return }
                let other = manager.sourceContext.object(with: id)
                manager.associate(sourceInstance: other, withDestinationInstance: object, for: mapping)
            case .looksElsewhere:
                let all = manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil)
                let back = manager.sourceInstances(
                    forEntityMappingName: mapping.name ?? "", destinationInstances: [byHand()])
                byHand().setValue("\(all.count) pets, of \(back.map(\.objectID.key))", forKey: "name")
            case .orders:
                try standard()
                let object = byHand()
                object.mutableSetValue(forKey: "friends").add(made() ?? object)
                object.setValue("\(object.mutableSetValue(forKey: "friends").count) friends", forKey: "name")
            case .finds:
                let object = byHand()
                let again = context.registeredObject(for: object.objectID)
                let byID = context.object(with: object.objectID)
                object.setValue("found \(again === object) \(byID === object)", forKey: "name")
            }
        }

        private func fail(_ kind: Trouble, _ source: ManagedObject, _ manager: MigrationManager) throws {
            let key = source.objectID.key
            switch kind {
            case .throwing: throw Failure(key: key)
            case .recording: _ = source.value(forKey: "nothing of that name")
            case .recordingOnManager:
                _ = manager.destinationInstances(forEntityMappingName: "No such", sourceInstances: [source])
            case .cancelling: manager.cancelMigrationWithError(Failure(key: key))
            case .wrongType:
                EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext)
                    .setValue(NSNumber(value: key), forKey: "name")
            }
        }

        override func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {
            guard let edit = ConcurrentPolicyTests.edit.withLock({ $0 }) else { return }
            mapping.attributeMapping(named: "age")?.valueExpression = try ValueExpression(parsing: edit)
        }

        override func end(_ mapping: EntityMapping, manager: MigrationManager) throws {
            ConcurrentPolicyTests.ahead.withLock { $0 += manager.sourceContext.objectsAhead }
        }
    }

    final class ConcurrentPolicy: IsolatedPolicy {
        override var execution: PolicyExecution { .concurrent }
    }

    private let fixture: PolicyFixture

    init() throws {
        fixture = try PolicyFixture(persons: 300)
        fixture.isTiny = false
        fixture.mapping.entityMappingsByName["Persons"]?.entityMigrationPolicyClassName = "P"
    }

    private func run(
        _ isConcurrent: Bool, threads: Int = 2, _ change: (MigrationManager) -> Void = { _ in }
    ) -> PolicyEnding {
        let manager = fixture.manager()
        manager.policies.register("P") { isConcurrent ? ConcurrentPolicy() : IsolatedPolicy() }
        change(manager)
        return RunConditions.$current.withValue(.calling(threads: threads)) { PolicyEnding(of: fixture, by: manager) }
    }

    private func differences(_ change: (MigrationManager) -> Void = { _ in }) throws -> [String] {
        let expected = run(false, change)
        return run(true, change).differences(from: expected)
    }

    private func reset() {
        Self.course.withLock { $0 = Course() }
        Self.trouble.withLock { $0 = nil }
        Self.edit.withLock { $0 = nil }
        Self.ahead.withLock { $0 = 0 }
    }

    @Test("In random migrations the destination is that of one thread", arguments: RandomSeeds.seeds(24))
    func random(seed: UInt64) throws {
        reset()
        var generator = SeededGenerator(seed: seed)
        let rarity = [1, 4, 20, 100][generator.below(4)]
        let batch = [nil, 7, 33, 100][generator.below(4)]
        let isSequential = generator.chance(2)
        Self.course.withLock { $0 = Course(seed: seed, rarity: UInt64(rarity)) }
        let found = try differences { manager in
            manager.options.batchSize = batch
            if isSequential { manager.options.keys = .sequential }
        }
        #expect(found == [], "rarity \(rarity), batch \(batch.map(String.init) ?? "auto"): \(found.prefix(5))")
        // Isolated policies are never called ahead; this one is unless it waits all the time.
        if rarity > 4 { #expect(Self.ahead.withLock { $0 } > 0) }
    }

    @Test("Nobody is called ahead who has not said so")
    func isolated() throws {
        reset()
        _ = run(false)
        #expect(Self.ahead.withLock { $0 } == 0)
        _ = run(true, threads: 1)
        #expect(Self.ahead.withLock { $0 } == 0)
        _ = run(true)
        #expect(Self.ahead.withLock { $0 } > 0)
    }

    @Test("An error ends the run as it does with one thread", arguments: Trouble.allCases, [1, 9, 40, 77, 300])
    func errors(kind: Trouble, key: Int64) throws {
        reset()
        Self.course.withLock { $0 = Course(seed: 5, rarity: 30) }
        Self.trouble.withLock { $0 = (key, kind) }
        let (expected, found) = (run(false), run(true))
        let error = try #require(expected.error)
        #expect(found.error == error)
        #expect(try fixture.leftovers() == [])
    }

    @Test("Values that cannot be computed end the run, or are rejected, as with one thread", arguments: [false, true])
    func values(rejects: Bool) throws {
        reset()
        Self.course.withLock { $0 = Course(seed: 3, rarity: 50) }
        let ages = try #require(
            fixture.mapping.entityMappingsByName["Persons"]?.attributeMapping(named: "age"))
        ages.valueExpression = try ValueExpression(parsing: "$source.age * 20")
        let found = try differences { manager in
            if rejects { manager.options.onInvalid = .reject }
        }
        #expect(found == [])
        let ending = run(true) { if rejects { $0.options.onInvalid = .reject } }
        #expect((ending.error == nil) == rejects)
        if rejects { #expect((ending.report?.rejects?.objects ?? 0) > 0) }
    }

    @Test(
        "A mapping that begin has changed is what calls ahead use too",
        arguments: ["$source.age + 1", "median({1, 2, $source.age})"])
    func edited(expression: String) throws {
        reset()
        Self.course.withLock { $0 = Course(seed: 4, rarity: 50) }
        let plain = try #require(run(false).store)
        Self.edit.withLock { $0 = expression }
        #expect(try differences() == [])
        #expect(try #require(run(true).store).differences(from: plain) != [])
    }

    @Test("Filtered objects are counted, and never seen")
    func filtered() throws {
        reset()
        Self.course.withLock { $0 = Course(seed: 8, rarity: 60) }
        let mapping = try #require(fixture.mapping.entityMappingsByName["Persons"])
        mapping.sourceFilter = try SourcePredicate(format: "age > 500 AND name ENDSWITH '7'")
        #expect(try differences() == [])
        #expect(run(true).report?.counts.mappings.first { $0.name == "Persons" }?.filtered == 275)
    }

    @Test("A run that loses its journal is resumed inside the entity", arguments: RandomSeeds.seeds(6))
    func resumed(seed: UInt64) throws {
        reset()
        Self.course.withLock { $0 = Course(seed: seed, rarity: 40) }
        var generator = SeededGenerator(seed: seed)
        let expected = try #require(run(false).store)
        var attempts = 0
        var ending = PolicyEnding()
        try? FileManager.default.removeItem(at: fixture.destinationURL)
        while ending.store == nil {
            attempts += 1
            let manager = fixture.manager()
            manager.policies.register("P") { ConcurrentPolicy() }
            manager.options.batchSize = 60
            var conditions = RunConditions.savingOften(failingAfter: 1 + generator.below(4 + attempts))
            (conditions.processorCount, conditions.leastConcurrentCall) = (2, .zero)
            do {
                let migration = Migration(
                    from: fixture.sourcePath, model: fixture.source, mapping: fixture.mapping,
                    to: fixture.destinationURL.path, model: fixture.destination, options: manager.options,
                    manager: manager)
                let report = try RunConditions.$current.withValue(conditions) { try migration.run() }
                ending.report = report
                ending.store = try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
            } catch let error as MigrationError where error.code == "journal.io" {
                continue
            }
        }
        #expect(try #require(ending.store).differences(from: expected) == [])
        if attempts > 3 { #expect(ending.report?.notes.contains { $0.contains("resumed one") } == true) }
    }
}
