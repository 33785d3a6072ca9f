import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Contexts, coordinators and stores as policies see them")
struct ObjectContextTests {
    typealias Steps = ClosurePolicy.Steps

    @Test("Registered and inserted objects of the destination are all objects made so far, in pages")
    func insertedObjects() throws {
        let fixture = try PolicyFixture(persons: 500)
        fixture.isTiny = false
        fixture.change = { $0.options.batchSize = 10 }
        var steps = Steps()
        var counts: [Int] = []
        steps.create = { source, _, manager, standard in
            try standard()
            if source.objectID.key % 100 == 0 { counts.append(manager.destinationContext.insertedObjects.count) }
        }
        steps.end = { _, manager in
            let context = manager.destinationContext
            #expect(context.hasChanges)
            #expect(context.insertedObjects.count == 1001)
            #expect(context.registeredObjects.count == 1001)
            #expect(Set(context.insertedObjects).count == 1001)
            let pets = context.registeredObjects.filter { $0.entity.name == "Pet" }
            #expect(pets.map(\.objectID.key) == Array(1...500))
            #expect(context.registeredObjects.first { $0.entity.name == "Pet" && $0.objectID.key == 7 } === pets[6])
            #expect(context.insertedObjects.contains(pets[3]))
            context.delete(pets[3])
            #expect(!context.insertedObjects.contains(pets[3]))
            #expect(Array(context.deletedObjects) == [pets[3]])
            #expect(context.insertedObjects.count == 1000)
            #expect(context.updatedObjects.isEmpty)
            // Objects inserted during the iteration are not shown: the loop ends.
            var seen = 0
            for object in context.insertedObjects where object.entity.name == "Person" {
                seen += 1
                EntityDescription.insertNewObject(forEntityName: "Person", into: context)
                    .setValue("copy", forKey: "name")
            }
            #expect(seen == 500)
            // Objects deleted during the iteration are not shown either.
            var left = 0
            let copies = request("Person", "name == 'copy'")
            for object in context.insertedObjects
            where object.entity.name == "Person" && object.value(forKey: "name") as? String == "copy" {
                left += 1
                if let last = try context.fetch(copies).last, last !== object { context.delete(last) }
            }
            #expect(left == 250)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(counts == [100, 200, 300, 400, 500])
        #expect(store.keys("Person").count == 750)
        #expect(store.keys("Pet").count == 499)
    }

    @Test("Objects are found by id, and are registered only if they exist")
    func ids() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let destination = manager.destinationContext
            let source = manager.sourceContext
            let person = try #require(try destination.fetch(request("Person", "name == 'person 2'")).first)
            #expect(destination.object(with: person.objectID) === person)
            #expect(try destination.existingObject(with: person.objectID) === person)
            #expect(destination.registeredObject(for: person.objectID) === person)
            let origin = try #require(try source.fetch(request("Person", "name == 'person 2'")).first)
            #expect(source.registeredObject(for: origin.objectID) === origin)
            #expect(destination.registeredObject(for: origin.objectID) == nil)
            #expect(throws: MigrationError.self) { try destination.existingObject(with: origin.objectID) }
            #expect(source.registeredObjects.contains(origin))
            #expect(!source.hasChanges)
            #expect(source.insertedObjects.isEmpty)
            #expect(person.objectID != origin.objectID)
            #expect(person.objectID.isTemporaryID == false)
            try destination.obtainPermanentIDs(for: [person])
            destination.delete(person)
            #expect(throws: MigrationError.self) { try destination.existingObject(with: person.objectID) }
            #expect(destination.registeredObject(for: person.objectID) == nil)
        }
    }

    @Test("A coordinator knows its model, its store, ids of URIs, URLs and metadata")
    func coordinators() throws {
        let fixture = try PolicyFixture()
        let (source, destination) = (fixture.sourceURL, fixture.destinationURL)
        try fixture.runInEnd { manager in
            for (context, url, model) in [
                (manager.sourceContext, source, manager.sourceModel),
                (manager.destinationContext, destination, manager.destinationModel),
            ] as [(ManagedObjectContext?, URL, ManagedObjectModel)] {
                let context = try #require(context)
                let coordinator = try #require(context.persistentStoreCoordinator)
                #expect(coordinator.managedObjectModel === model)
                #expect(coordinator.persistentStores.count == 1)
                let store = coordinator.persistentStores[0]
                #expect(store.url?.path == url.path)
                #expect(coordinator.url(for: store).path == url.path)
                #expect(coordinator.persistentStore(for: url) === store)
                #expect(coordinator.persistentStore(for: url.appendingPathExtension("x")) == nil)
                #expect(store.type == "SQLite")
                #expect(coordinator.metadata(for: store)["NSStoreUUID"] as? String == store.identifier)
                #expect(store.metadata["NSStoreType"] as? String == "SQLite")
                #expect(store.persistentStoreCoordinator === coordinator)
                let person = try #require(try context.fetch(request("Person", "name == 'person 4'")).first)
                let uri = person.objectID.uriRepresentation()
                #expect(coordinator.managedObjectID(forURIRepresentation: uri) == person.objectID)
                let id = try #require(coordinator.managedObjectID(forURIRepresentation: uri))
                #expect(context.object(with: id) === person)
                for wrong in ["x-coredata://other/Person/p1", "file:///Person/p1"] {
                    #expect(coordinator.managedObjectID(forURIRepresentation: try #require(URL(string: wrong))) == nil)
                }
                let base = "x-coredata://\(store.identifier ?? "")"
                for wrong in ["/Nobody/p1", "/Person/t1", "/Person/px", "/Person"] {
                    let url = try #require(URL(string: base + wrong))
                    #expect(coordinator.managedObjectID(forURIRepresentation: url) == nil)
                }
            }
        }
    }

    @Test("Saving, refreshing, resetting and undoing leave objects and changes as they are")
    func noOperations() throws {
        let fixture = try PolicyFixture()
        var steps = Steps()
        steps.create = { source, _, manager, standard in
            try standard()
            let context = manager.destinationContext
            let made = manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [source])[0]
            made.setValue("changed", forKey: "name")
            context.undoManager = nil
            context.mergePolicy = "NSMergeByPropertyObjectTrumpMergePolicy"
            context.name = "destination"
            context.userInfo["key"] = "value"
            #expect(context.userInfo["key"] as? String == "value")
            try context.save()
            context.processPendingChanges()
            context.refresh(made, mergeChanges: false)
            context.refreshAllObjects()
            context.reset()
            var wasRun = false
            context.perform { wasRun = true }
            #expect(wasRun)
            #expect(context.performAndWait { made.value(forKey: "name") as? String } == "changed")
            try manager.sourceContext.save()
            #expect(source.value(forKey: "age") as? Int64 == source.objectID.key * 10)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(store.column("Person", "name").values.allSatisfy { $0 == .text("changed") })
    }

    @Test("The source's context refuses new objects")
    func newSourceObjects() throws {
        let fixture = try PolicyFixture()
        let changes: [(ManagedObjectContext, ManagedObject) -> Void] = [
            { context, object in
                _ = EntityDescription.insertNewObject(forEntityName: "Person", into: context)
            },
            { context, object in _ = ManagedObject(entity: object.entity, insertInto: context) },
        ]
        for change in changes {
            #expect(throws: MigrationError.self) {
                try fixture.runInEnd { manager in
                    let context = manager.sourceContext
                    change(context, try #require(try context.fetch(request("Person", limit: 1)).first))
                }
            }
        }
    }

    @Test("Deleted objects are those of code and those of delete rules, held or not")
    func deletedByRules() throws {
        var definition = ModelDefinition()
        var parts = toMany("parts", "Part", inverse: "whole")
        parts.deleteRule = .cascade
        definition.entities = [
            entity("Whole", [attribute("n", .integer64)], [parts]),
            entity("Part", [attribute("n", .integer64)], [toOne("whole", "Whole", inverse: "parts")]),
        ]
        let model = try ManagedObjectModel(definition)
        let folder = try TemporaryFolder()
        try ReferenceStore.make(model) { store in
            for key in 1...Int64(2) { store.insert("Whole", key, ["n": .integer(key)]) }
            for key in 1...Int64(4) { store.insert("Part", key, ["n": .integer(key)]) }
            store.setMembers("Whole", 1, "parts", [1, 2])
            store.setMembers("Whole", 2, "parts", [3, 4])
        }.write(path: folder.file("old.sqlite"))
        let mapping = try MappingModel.inferred(from: model, to: model)
        let wholes = try #require(mapping.entityMappings.first { $0.destinationEntityName == "Whole" })
        wholes.entityMigrationPolicyClassName = "Deleting"
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = 8 << 30
        var seen: [[String]] = []
        var steps = ClosurePolicy.Steps()
        steps.end = { mapping, manager in
            for context in [manager.destinationContext, manager.sourceContext] {
                #expect(context.deletedObjects.isEmpty)
                context.delete(try #require(try context.fetch(request("Whole", "n == 1")).first))
                seen.append(context.deletedObjects.map { "\($0.entity.name ?? "")/\($0.objectID.key)" }.sorted())
                #expect(!context.deletedObjects.contains { !$0.isDeleted })
            }
        }
        let carried = Unchecked(steps)
        manager.policies.register("Deleting") {
            let policy = ClosurePolicy()
            policy.steps = carried.value
            return policy
        }
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("old.sqlite")), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: folder.file("new.sqlite")), type: .sqlite)
        #expect(seen == Array(repeating: ["Part/1", "Part/2", "Whole/1"], count: 2))
        #expect(try ReferenceStore.read(path: folder.file("new.sqlite"), model: model).keys("Part").count == 2)
    }
}
