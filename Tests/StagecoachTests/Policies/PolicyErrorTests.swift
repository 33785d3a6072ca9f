import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Policies: errors, cancellation and progress")
struct PolicyErrorTests {
    typealias Steps = ClosurePolicy.Steps

    /// An error with an identity.
    final class Stop: Error {}

    enum Method: String, CaseIterable, Sendable {
        case begin, createDestinationInstances, endInstanceCreation, createRelationships, endRelationshipCreation
        case performCustomValidation, end
    }

    private func steps(_ method: Method, _ body: @escaping (MigrationManager) throws -> Void) -> Steps {
        var steps = Steps()
        switch method {
        case .begin: steps.begin = { try body($1) }
        case .createDestinationInstances:
            steps.create = { _, _, manager, standard in
                try standard()
                try body(manager)
            }
        case .endInstanceCreation: steps.endCreation = { try body($1) }
        case .createRelationships:
            steps.relate = { _, _, manager, standard in
                try standard()
                try body(manager)
            }
        case .endRelationshipCreation: steps.endRelating = { try body($1) }
        case .performCustomValidation: steps.validate = { try body($1) }
        case .end: steps.end = { try body($1) }
        }
        return steps
    }

    @Test(
        "An error thrown from any method reaches the caller as itself, and leaves nothing", arguments: Method.allCases)
    func throwing(_ method: Method) throws {
        let fixture = try PolicyFixture()
        let stop = Stop()
        let log = PolicyLog()
        var steps = steps(method) { _ in throw stop }
        steps.log = log
        fixture.policy("Persons", steps)
        fixture.policy("Pets", Steps(log: log))
        let before = try Data(contentsOf: fixture.sourceURL)
        let manager = fixture.manager()
        let thrown = #expect(throws: Stop.self) { try fixture.run(manager) }
        #expect(thrown === stop)
        let error = manager.failure
        #expect(error?.code == "policy.failed")
        #expect(error?.cause as? Stop === stop)
        #expect(error?.context.entityMapping == "Persons")
        #expect(error?.context.policy == "Tests.PersonsPolicy.\(method.rawValue)")
        let isPerObject = method == .createDestinationInstances || method == .createRelationships
        #expect((error?.context.objectID != nil) == isPerObject)
        #expect(try fixture.leftovers() == [])
        #expect(try Data(contentsOf: fixture.sourceURL) == before)
        // No method is called after the one that threw.
        let last: [Method: String] = [
            .begin: "begin Persons", .createDestinationInstances: "create Persons p1",
            .endInstanceCreation: "created Persons", .createRelationships: "relate Persons p1",
            .endRelationshipCreation: "related Persons", .performCustomValidation: "validate Persons",
            .end: "end Persons",
        ]
        #expect(log.lines.last == last[method])
    }

    @Test("An NSError is the same instance for the caller, and the failure says its description")
    func foundationErrors() throws {
        let fixture = try PolicyFixture()
        let stop = NSError(
            domain: "App", code: 7,
            userInfo: [
                NSLocalizedDescriptionKey: "The person has no licence.",
                NSLocalizedRecoverySuggestionErrorKey: "Give it one",
            ])
        let carried = Unchecked(stop)
        fixture.policy("Persons", steps(.createRelationships) { _ in throw carried.value })
        let manager = fixture.manager()
        do {
            try fixture.run(manager)
            Issue.record("The run succeeded")
        } catch let error as NSError {
            #expect(error === stop)
        }
        #expect(manager.failure?.remedy == "Give it one")
        #expect(manager.failure?.description.contains("failed (entity mapping Persons") == true)
        #expect(manager.failure?.description.contains("): The person has no licence. Give it one") == true)
        // The next run forgets it.
        for mapping in fixture.mapping.entityMappings { mapping.entityMigrationPolicyClassName = nil }
        try fixture.run(manager)
        #expect(manager.failure == nil)
    }

    @Test("An error that does not fit fails the run when the method returns", arguments: Method.allCases)
    func settingFailures(_ method: Method) throws {
        let fixture = try PolicyFixture()
        fixture.policy(
            "Persons",
            steps(method) { manager in
                let object = EntityDescription.insertNewObject(forEntityName: "Pet", into: manager.destinationContext)
                object.setValue(Date(), forKey: "name")
            })
        let error = #expect(throws: MigrationError.self) { try fixture.run() }
        #expect(error?.code == "value.type")
        #expect(error?.context.entity == "Pet")
        #expect(error?.context.property == "name")
        #expect(error?.context.objectID?.hasPrefix("Pet/p") == true)
        #expect(error?.context.entityMapping == "Persons")
        #expect(error?.context.policy == "Tests.PersonsPolicy.\(method.rawValue)")
        #expect(try fixture.leftovers() == [])
    }

    /// One wrong thing that a policy can do where it cannot throw.
    struct Misuse: CustomStringConvertible, @unchecked Sendable {
        var description: String
        var code: MigrationError.Code
        var body: (ManagedObject, ManagedObject, MigrationManager) -> Void
    }

    static let misuses: [Misuse] = [
        Misuse(description: "unknown key set", code: "object.unknownKey") { _, object, _ in
            object.setValue(1, forKey: "nothing")
        },
        Misuse(description: "unknown key read", code: "object.unknownKey") { _, object, _ in
            _ = object.value(forKey: "nothing")
        },
        Misuse(description: "unknown key of the source", code: "object.unknownKey") { source, _, _ in
            _ = source.value(forKey: "nothing")
        },
        Misuse(description: "text for a number", code: "value.type") { _, object, _ in
            object.setValue("7", forKey: "age")
        },
        Misuse(description: "a number for a text", code: "value.type") { _, object, _ in
            object.setValue(7, forKey: "name")
        },
        Misuse(description: "out of range", code: "value.outOfRange") { _, object, _ in
            object.setValue(70_000, forKey: "age")
        },
        Misuse(description: "not a number", code: "value.outOfRange") { _, object, _ in
            object.setValue(Double.nan, forKey: "age")
        },
        Misuse(description: "a source object in a to-one", code: "value.type") { source, object, _ in
            object.setValue(source, forKey: "best")
        },
        Misuse(description: "a source object in a to-many", code: "value.type") { source, object, _ in
            object.setValue([source], forKey: "friends")
        },
        Misuse(description: "an object of another entity", code: "value.type") { _, object, manager in
            let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: manager.destinationContext)
            object.setValue(badge, forKey: "best")
        },
        Misuse(description: "two objects in a to-one", code: "value.type") { _, object, manager in
            let other = EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext)
            object.setValue([object, other], forKey: "best")
        },
        Misuse(description: "a text in a relationship", code: "value.type") { _, object, _ in
            object.setValue("somebody", forKey: "best")
        },
        Misuse(description: "texts in a to-many", code: "value.type") { _, object, _ in
            object.setValue(["somebody"], forKey: "friends")
        },
        Misuse(description: "a source object is deleted in the destination", code: "value.type") { source, _, manager in
            manager.destinationContext.delete(source)
        },
        Misuse(description: "inserted into the source", code: "object.readOnly") { _, _, manager in
            _ = EntityDescription.insertNewObject(forEntityName: "Person", into: manager.sourceContext)
        },
        Misuse(description: "an unknown entity", code: "object.unknownEntity") { _, _, manager in
            _ = EntityDescription.insertNewObject(forEntityName: "Nobody", into: manager.destinationContext)
        },
        Misuse(description: "associated the wrong way round", code: "manager.associate") { source, object, manager in
            manager.associate(
                sourceInstance: object, withDestinationInstance: source, for: manager.currentEntityMapping)
        },
        Misuse(description: "an unknown mapping name", code: "manager.unknownMapping") { source, _, manager in
            _ = manager.destinationInstances(forEntityMappingName: "Nobody", sourceInstances: [source])
        },
    ]

    @Test("Misuse that cannot throw fails the run, with the place named", arguments: misuses)
    func misuse(_ misuse: Misuse) throws {
        let fixture = try PolicyFixture()
        var calls = 0
        var steps = Steps()
        steps.create = { source, mapping, manager, standard in
            calls += 1
            try standard()
            let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])
            misuse.body(source, made[0], manager)
        }
        fixture.policy("Persons", steps)
        let error = #expect(throws: MigrationError.self) { try fixture.run() }
        #expect(error?.code == misuse.code, "\(String(describing: error))")
        #expect(error?.context.entityMapping == "Persons" || misuse.code == "manager.unknownMapping")
        #expect(calls == 1)
        #expect(try fixture.leftovers() == [])
    }

    @Test("A policy that nobody registered is an error before anything is written")
    func unknownPolicy() throws {
        let fixture = try PolicyFixture()
        fixture.policy("Persons", Steps())
        fixture.mapping.entityMappings[1].entityMigrationPolicyClassName = "App.Unknown"
        let manager = fixture.manager()
        let error = #expect(throws: MigrationError.self) { try fixture.run(manager) }
        #expect(error?.code == "policy.unknown")
        #expect(error?.description.contains("App.Unknown") == true)
        #expect(error?.remedy?.contains("--policies") == true && error?.remedy?.contains("PersonsPolicy") == true)
        #expect(error?.context.entityMapping == "Pets")
        #expect(try fixture.leftovers() == [])
        fixture.mapping.entityMappings[1].entityMigrationPolicyClassName = "PersonPolicy"
        let slip = #expect(throws: MigrationError.self) { try fixture.run(fixture.manager()) }
        #expect(slip?.remedy == "Did you mean 'PersonsPolicy'? Registered are: PersonsPolicy")
    }

    @Test("Policies are found by class name with and without module")
    func registeredClasses() throws {
        let registry = PolicyRegistry()
        registry.register(ClosurePolicy.self)
        #expect(registry.names == ["ClosurePolicy", "StagecoachTests.ClosurePolicy"])
        for name in ["ClosurePolicy", "StagecoachTests.ClosurePolicy", "OtherModule.ClosurePolicy"] {
            let fixture = try PolicyFixture()
            fixture.mapping.entityMappings[0].entityMigrationPolicyClassName = name
            let manager = fixture.manager()
            manager.policies = registry
            #expect(try fixture.run(manager).keys("Person").count == 6)
        }
    }

    @Test("Cancelled from a policy, the run ends with the given error and leaves nothing", arguments: Method.allCases)
    func cancelled(_ method: Method) throws {
        let fixture = try PolicyFixture()
        let stop = Stop()
        fixture.policy("Persons", steps(method) { $0.cancelMigrationWithError(stop) })
        let manager = fixture.manager()
        let error = #expect(throws: Stop.self) { try fixture.run(manager) }
        #expect(error === stop)
        #expect(try fixture.leftovers() == [])
        #expect(manager.migrationProgress == 1)
        #expect(manager.mappingModel.entityMappings.isEmpty)
        // The manager may run again.
        for mapping in fixture.mapping.entityMappings { mapping.entityMigrationPolicyClassName = nil }
        #expect(try fixture.run(manager).keys("Person").count == 6)
    }

    @Test("Cancelled from another thread")
    func cancelledFromOutside() throws {
        let fixture = try PolicyFixture(persons: 400)
        let started = DispatchSemaphore(value: 0)
        let cancelled = DispatchSemaphore(value: 0)
        var steps = Steps()
        steps.create = { source, _, _, standard in
            try standard()
            guard source.objectID.key == 10 else { return }
            started.signal()
            cancelled.wait()
        }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        let stop = Stop()
        let carried = Unchecked((manager, stop))
        let thread = Thread {
            started.wait()
            carried.value.0.cancelMigrationWithError(carried.value.1)
            cancelled.signal()
        }
        thread.start()
        let error = #expect(throws: Stop.self) { try fixture.run(manager) }
        #expect(error === stop)
        #expect(try fixture.leftovers() == [])
    }

    @Test("Progress only grows; the manager's state is there during the run and gone afterwards")
    func progress() throws {
        let fixture = try PolicyFixture(persons: 200)
        var seen: [Float] = []
        var current: [String] = []
        // The fixture holds the policies: they hold its mapping model, not the fixture.
        let model = fixture.mapping
        func look(_ mapping: EntityMapping, _ manager: MigrationManager) {
            seen.append(manager.migrationProgress)
            #expect(manager.currentEntityMapping === mapping)
            if current.last != mapping.name { current.append(mapping.name) }
            #expect(manager.mappingModel === model)
            #expect(manager.sourceContext.persistentStoreCoordinator != nil)
            #expect(manager.sourceEntity(for: mapping)?.name == mapping.sourceEntityName)
            #expect(manager.destinationEntity(for: mapping)?.name == mapping.destinationEntityName)
        }
        var steps = Steps()
        steps.begin = { look($0, $1) }
        steps.create = { _, mapping, manager, standard in
            look(mapping, manager)
            try standard()
        }
        steps.relate = { _, mapping, manager, standard in
            look(mapping, manager)
            try standard()
        }
        steps.validate = { look($0, $1) }
        steps.end = { look($0, $1) }
        fixture.policy("Persons", steps)
        fixture.policy("Pets", steps)
        let manager = fixture.manager()
        for _ in 0..<2 {
            seen = []
            current = []
            #expect(manager.migrationProgress == 1)
            try fixture.run(manager)
            #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 <= $1 })
            #expect(seen.allSatisfy { $0 >= 0 && $0 < 1 })
            #expect(Set(seen).count > 100)
            #expect(current == ["Persons", "Pets", "Persons", "Pets", "Persons", "Pets"])
            #expect(manager.migrationProgress == 1)
            #expect(manager.mappingModel.entityMappings.isEmpty)
            #expect(manager.currentEntityMapping.name == nil)
            for context in [manager.sourceContext, manager.destinationContext] {
                #expect(context.persistentStoreCoordinator == nil && context.insertedObjects.isEmpty)
                #expect(throws: MigrationError.self) {
                    try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
                }
            }
        }
    }
}
