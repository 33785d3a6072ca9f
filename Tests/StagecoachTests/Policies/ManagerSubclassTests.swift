import Foundation
import ManagedModel
import Mapping
import TestSupport
import Testing

@testable import Stagecoach

/// What a subclass of the manager sees of a run, and what objects show of the model.
@Suite("Subclasses of the manager, and objects in a run")
struct ManagerSubclassTests {
    private class Watching: MigrationManager {
        var associations: [String] = []
        var lookups: [String] = []
    }

    private final class Associating: Watching {
        override func associate(
            sourceInstance: ManagedObject, withDestinationInstance destinationInstance: ManagedObject,
            for entityMapping: EntityMapping
        ) {
            associations.append(
                "\(entityMapping.name ?? "") \(sourceInstance.objectID.key) \(destinationInstance.objectID.key)")
            super.associate(
                sourceInstance: sourceInstance, withDestinationInstance: destinationInstance, for: entityMapping)
        }
    }

    private final class LookingUp: Watching {
        override func destinationInstances(
            forEntityMappingName mappingName: String, sourceInstances: [ManagedObject]?
        ) -> [ManagedObject] {
            lookups.append("\(mappingName) \(sourceInstances?.map(\.objectID.key).sorted() ?? [])")
            return super.destinationInstances(forEntityMappingName: mappingName, sourceInstances: sourceInstances)
        }
    }

    private func run<Manager: Watching>(
        _ make: (ManagedObjectModel, ManagedObjectModel) -> Manager, _ fixture: PolicyFixture
    ) throws -> (manager: Manager, store: ReferenceStore) {
        let registered = fixture.manager()
        let manager = make(fixture.source, fixture.destination)
        (manager.policies, manager.options) = (registered.policies, registered.options)
        return (manager, try fixture.run(manager))
    }

    @Test("Overrides are told from each other, and a subclass without any keeps its speed")
    func overrides() throws {
        let fixture = try PolicyFixture()
        #expect(fixture.manager().observedCalls.isEmpty)
        #expect(Watching(sourceModel: fixture.source, destinationModel: fixture.destination).observedCalls.isEmpty)
        #expect(
            Associating(sourceModel: fixture.source, destinationModel: fixture.destination).observedCalls
                == .associations)
        #expect(LookingUp(sourceModel: fixture.source, destinationModel: fixture.destination).observedCalls == .lookups)
        let plain = try run(Watching.init(sourceModel:destinationModel:), fixture)
        #expect(plain.manager.report?.isStaged == false)
    }

    @Test("Default creation associates through a subclass, with and without a policy", arguments: [false, true])
    func associations(_ hasPolicy: Bool) throws {
        let fixture = try PolicyFixture()
        if hasPolicy { fixture.policy("Persons", .init()) }
        // A standard policy runs each mapping then.
        let standard = try PolicyFixture()
        for name in ["Persons", "Pets", "Things"] { standard.policy(name, .init()) }
        let expected = try standard.run()
        let (manager, store) = try run(Associating.init(sourceModel:destinationModel:), fixture)
        #expect(manager.associations.filter { $0.hasPrefix("Persons") } == (1...6).map { "Persons \($0) \($0)" })
        #expect(manager.associations.count == 13)
        #expect(store.differences(from: expected) == [])
    }

    @Test("Default relating looks up through a subclass, with and without a policy", arguments: [false, true])
    func lookups(_ hasPolicy: Bool) throws {
        let fixture = try PolicyFixture()
        if hasPolicy { fixture.policy("Persons", .init()) }
        let expected = try fixture.run()
        let (manager, store) = try run(LookingUp.init(sourceModel:destinationModel:), fixture)
        for call in ["Pets [1, 3]", "Persons [2, 3]", "Persons [2]", "Persons [1]"] {
            #expect(manager.lookups.contains(call), "\(call): \(manager.lookups)")
        }
        #expect(store.differences(from: expected) == [])
    }

    @Test("Objects in a run have the class NSManagedObject, whatever the model says")
    func classNames() throws {
        let fixture = try PolicyFixture()
        var definition = fixture.source.definition
        for index in definition.entities.indices { definition.entities[index].managedObjectClassName = "App.Thing" }
        let model = try ManagedObjectModel(definition)
        var seen: [String] = []
        var steps = ClosurePolicy.Steps()
        steps.create = { source, _, manager, standard in
            try standard()
            let made = EntityDescription.insertNewObject(forEntityName: "Pet", into: manager.destinationContext)
            #expect(type(of: source) == NSManagedObject.self && type(of: made) == NSManagedObject.self)
            let found = EntityDescription.entity(forEntityName: "Pet", in: manager.sourceContext)
            seen += [source.entity, made.entity, found].map { $0?.managedObjectClassName ?? "none" }
            #expect(source.entity == manager.sourceModel.entitiesByName["Person"])
        }
        fixture.policy("Persons", steps)
        let registered = fixture.manager()
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        (manager.policies, manager.options) = (registered.policies, registered.options)
        try? FileManager.default.removeItem(at: fixture.destinationURL)
        try manager.migrateStore(
            from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: .sqlite)
        #expect(seen.count == 18 && Set(seen) == ["NSManagedObject"])
        #expect(model.entitiesByName["Pet"]?.managedObjectClassName == "App.Thing")
    }

    @Test("A transient value can be read until the end of the run, also of thousands of objects")
    func transients() throws {
        let fixture = try PolicyFixture(persons: 3000)
        fixture.isTiny = false
        var definition = fixture.destination.definition
        let person = try #require(definition.entities.firstIndex { $0.name == "Person" })
        definition.entities[person].attributes += [
            attribute("note", .string) { $0.isTransient = true },
            attribute("rank", .integer32) { $0.isTransient = true },
            attribute("any", .undefined) { $0.isTransient = true },
        ]
        let model = try ManagedObjectModel(definition)
        final class Kept: NSObject {}
        let kept = Unchecked(Kept())
        var steps = ClosurePolicy.Steps()
        steps.create = { source, mapping, manager, standard in
            try standard()
            let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])[0]
            #expect(made.value(forKey: "note") == nil)
            made.setValue("note \(source.objectID.key)", forKey: "note")
            made.setValue(Int(source.objectID.key), forKey: "rank")
            if source.objectID.key == 7 { made.setValue(kept.value, forKey: "any") }
        }
        var checked = 0
        steps.end = { mapping, manager in
            for object in manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: nil) {
                let key = object.objectID.key
                guard object.value(forKey: "note") as? String == "note \(key)",
                    object.value(forKey: "rank") as? Int == Int(key),
                    (object.value(forKey: "any") as? Kept === kept.value) == (key == 7)
                else { continue }
                object.setValue(nil, forKey: "note")
                if object.value(forKey: "note") == nil { checked += 1 }
            }
        }
        fixture.policy("Persons", steps)
        let registered = fixture.manager()
        let manager = MigrationManager(sourceModel: fixture.source, destinationModel: model)
        (manager.policies, manager.options) = (registered.policies, registered.options)
        try manager.migrateStore(
            from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: .sqlite)
        #expect(checked == 3000)
        #expect(try fixture.leftovers() == ["destination.sqlite"])
        // Its type counts, as that of a stored attribute.
        fixture.policy(
            "Persons",
            .init(begin: { _, manager in
                EntityDescription.insertNewObject(forEntityName: "Person", into: manager.destinationContext)
                    .setValue("x", forKey: "rank")
            }))
        let wrong = MigrationManager(sourceModel: fixture.source, destinationModel: model)
        (wrong.policies, wrong.options) = (fixture.manager().policies, registered.options)
        try FileManager.default.removeItem(at: fixture.destinationURL)
        let error = #expect(throws: MigrationError.self) {
            try wrong.migrateStore(
                from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL,
                type: .sqlite)
        }
        #expect(error?.code == "value.type" && error?.context.property == "rank")
    }

    @Test("reset() within a run ends the run with an error that names it")
    func reset() throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.endCreation = { $1.reset() }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        let error = #expect(throws: MigrationError.self) { try fixture.run(manager) }
        #expect(error?.code == "manager.reset")
        #expect(error?.message.contains("reset()") == true)
        #expect(error?.context.policy == "Tests.PersonsPolicy.endInstanceCreation")
        #expect(try fixture.leftovers() == [])
        for mapping in fixture.mapping.entityMappings { mapping.entityMigrationPolicyClassName = nil }
        manager.reset()
        #expect(try fixture.run(manager).keys("Person").count == 6)
    }
}
