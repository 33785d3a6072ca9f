import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Contexts by Core Data's names")
struct ContextNameTests {
    typealias Steps = ClosurePolicy.Steps

    @Test("A context whose parent is the migration's has the migration's objects")
    func parent() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let child = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
            child.parent = manager.destinationContext
            let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
            context.parent = child
            #expect(context.concurrencyType == .mainQueueConcurrencyType)
            #expect(context.persistentStoreCoordinator === manager.destinationContext.persistentStoreCoordinator)
            let made = NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context)
            made.setValue("made", forKey: "name")
            #expect(made.managedObjectContext === manager.destinationContext)
            let request = NSFetchRequest<NSManagedObject>(entityName: "Pet")
            request.predicate = NSPredicate(format: "name == 'made'")
            #expect(try context.fetch(request) == [made] && context.count(for: request) == 1)
            #expect(try context.existingObject(with: made.objectID) === made)
            #expect(context.object(with: made.objectID) === made)
            #expect(context.registeredObject(for: made.objectID) === made)
            #expect(context.insertedObjects.contains(made) && context.registeredObjects.contains(made))
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Badge", in: context))
            let badge = NSManagedObject(entity: entity, insertInto: context)
            #expect(badge.isInserted && context.hasChanges)
            context.delete(badge)
            #expect(badge.isDeleted)
            try context.save()
        }
        let store = try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
        #expect(store.texts("Pet", "name").last == "made")
        #expect(store.keys("Badge").isEmpty)
    }

    @Test("A context with a migration's coordinator has the objects of that side")
    func coordinator() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = NSManagedObjectContext(.privateQueue)
            context.persistentStoreCoordinator = manager.destinationContext.persistentStoreCoordinator
            let made = NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context)
            made.setValue("made", forKey: "name")
            #expect(made.managedObjectContext === manager.destinationContext)
            #expect(made.objectID.persistentStore === context.persistentStoreCoordinator.persistentStores[0])
            let request = NSFetchRequest<NSManagedObject>(entityName: "Pet")
            request.predicate = NSPredicate(format: "name == 'made'")
            #expect(try context.fetch(request) == [made] && context.count(for: request) == 1)
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Badge", in: context))
            let badge = NSManagedObject(entity: entity, insertInto: context)
            #expect(context.insertedObjects.contains(badge) && context.hasChanges)
            context.delete(badge)
            #expect(try context.existingObject(with: made.objectID) === made)
            #expect(throws: MigrationError.self) { try context.existingObject(with: badge.objectID) }
            // A child of it works through it.
            let child = NSManagedObjectContext(.mainQueue)
            child.parent = context
            #expect(try child.fetch(request) == [made])
            try child.save()
            try context.save()

            let sources = NSManagedObjectContext()
            sources.persistentStoreCoordinator = manager.sourceContext.persistentStoreCoordinator
            #expect(sources.concurrencyType == .confinement)
            let pet = try #require(
                try sources.fetch(NSFetchRequest<NSManagedObject>(entityName: "Pet")).first)
            #expect(pet.managedObjectContext === manager.sourceContext && sources.object(with: pet.objectID) === pet)
            sources.delete(pet)
            #expect(pet.isDeleted && sources.registeredObject(for: pet.objectID) === pet)
        }
        let store = try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
        #expect(store.texts("Pet", "name").last == "made")
        #expect(store.keys("Badge").isEmpty)
    }

    @Test("Without a migration nothing traps: objects keep their values, and saving throws", arguments: [false, true])
    func idle(isOver: Bool) throws {
        let fixture = try PolicyFixture()
        var context = NSManagedObjectContext(.mainQueue)
        var kept: NSManagedObject?
        if isOver {
            let manager = try fixture.runInEnd { manager in
                context.persistentStoreCoordinator = manager.destinationContext.persistentStoreCoordinator
                kept = NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context)
            }
            #expect(kept?.managedObjectContext == nil && manager.destinationContext.insertedObjects.isEmpty)
        }
        func expectIdle(_ body: () throws -> Void) {
            #expect { try body() } throws: { ($0 as? MigrationError)?.code == "manager.idle" }
        }
        func expectRecorded(_ body: (NSManagedObjectContext) -> Void) throws {
            body(context)
            expectIdle { try context.save() }
            try context.save()
            body(context)
            context.rollback()
            try context.save()
        }
        let pet = try #require(fixture.destination.entitiesByName["Pet"])
        for name in ["Pet", "None", ""] {
            try expectRecorded { context in
                let made = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
                made.setValue("value", forKey: "name")
                #expect(made.value(forKey: "name") as? String == "value" && made.managedObjectContext == nil)
            }
        }
        try expectRecorded {
            #expect(NSManagedObject(entity: pet, insertInto: $0).primitiveValue(forKey: "name") == nil)
        }
        try expectRecorded { _ = NSManagedObject(context: $0).objectID }
        let detached = NSManagedObject(entity: pet, insertInto: nil)
        #expect(detached.objectID.persistentStore == nil && detached.primitiveValue(forKey: "none") == nil)
        try expectRecorded { $0.insert(detached) }
        try expectRecorded { $0.delete(detached) }
        try expectRecorded { #expect($0.object(with: detached.objectID).value(forKey: "name") == nil) }
        if let kept {
            #expect(kept.primitiveValue(forKey: "name") == nil && kept.value(forKey: "owner") == nil)
            try expectRecorded { #expect($0.object(with: kept.objectID).objectID == kept.objectID || !isOver) }
        }
        expectIdle { _ = try context.existingObject(with: detached.objectID) }
        expectIdle { _ = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Pet")) }
        expectIdle { _ = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Pet")) }
        expectIdle { _ = try context.execute(NSBatchUpdateRequest(entityName: "Pet")) }
        #expect(context.registeredObject(for: detached.objectID) == nil)
        context = NSManagedObjectContext(.privateQueue)
        #expect(NSEntityDescription.entity(forEntityName: "Pet", in: context) == nil)
        #expect(NSEntityDescription.insertNewObject(forEntityName: "Pet", into: context).entity.name == "Pet")
    }

    @Test("A context of its own has no objects")
    func alone() throws {
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        #expect(context.persistentStoreCoordinator == nil)
        let model = try PolicyFixture().destination
        context.persistentStoreCoordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        #expect(NSEntityDescription.entity(forEntityName: "Pet", in: context)?.name == "Pet")
        let error = #expect(throws: MigrationError.self) {
            try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Pet"))
        }
        #expect(error?.code == "manager.idle")
        #expect(!context.hasChanges && context.insertedObjects.isEmpty)
        context.rollback()
        try context.save()
    }

    @Test("rollback() ends the migration with an error that names it")
    func rollback() throws {
        let fixture = try PolicyFixture()
        let error = #expect(throws: MigrationError.self) {
            try fixture.runInEnd { $0.destinationContext.rollback() }
        }
        #expect(error?.code == "context.rollback" && error?.category == .data)
        #expect(error?.message.contains("rollback()") == true)
    }

    @Test("perform gives its closure's value, and throws its error")
    func perform() async throws {
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        #expect(await context.perform { 1 } == 1)
        #expect(await context.perform(schedule: .enqueued) { "text" } == "text")
        await #expect(throws: CancellationError.self) {
            try await context.perform { () throws -> Int in throw CancellationError() }
        }
        #expect(context.performAndWait { 2 } == 2)
        let container = NSPersistentContainer(name: "None", managedObjectModel: NSManagedObjectModel())
        #expect(await container.performBackgroundTask { $0 === container.viewContext })
    }

    @Test("A fetch request is executed in the context that performs, and by a context as a store's request")
    func executing() throws {
        let fixture = try PolicyFixture()
        let request = NSFetchRequest<NSManagedObject>(entityName: "Pet")
        try fixture.runInEnd { manager in
            let (source, destination) = (manager.sourceContext, manager.destinationContext)
            let badge = NSEntityDescription.insertNewObject(forEntityName: "Badge", into: destination)
            let badges = NSFetchRequest<NSFetchRequestResult>(entityName: "Badge")
            #expect(try destination.performAndWait { try badges.execute() } as? [NSManagedObject] == [badge])
            source.perform {
                #expect(throws: MigrationError.self) { try badges.execute() }
                #expect((try? request.execute())?.first?.managedObjectContext === source)
                destination.performAndWait {
                    #expect((try? request.execute())?.first?.managedObjectContext === destination)
                }
                #expect((try? request.execute())?.count == 6)
            }
            #expect { try request.execute() } throws: { ($0 as? MigrationError)?.code == "fetch.noContext" }
            let result = try destination.execute(badges) as? NSAsynchronousFetchResult<NSFetchRequestResult>
            #expect(result?.finalResult as? [NSManagedObject] == [badge] && result?.fetchRequest === badges)
            var count = 0
            let asynchronous = NSAsynchronousFetchRequest(fetchRequest: request) { count = $0.finalResult?.count ?? 0 }
            #expect(asynchronous.fetchRequest === request)
            try destination.execute(asynchronous)
            #expect(count == 6)
        }
    }

    @Test("Parts of a context that change nothing")
    func withoutEffect() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            let pet = try #require(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Pet")).first)
            pet.setValue("kept", forKey: "name")
            context.transactionAuthor = "migration"
            context.stalenessInterval = 0
            context.undoManager = UndoManager()
            context.undoManager?.disableUndoRegistration()
            #expect(context.undoManager == nil && context.transactionAuthor == "migration")
            context.undo()
            context.redo()
            context.propagatesDeletesAtEndOfEvent = false
            context.shouldDeleteInaccessibleFaults = false
            context.automaticallyMergesChangesFromParent = true
            context.detectConflicts(for: pet)
            context.mergeChanges(fromContextDidSave: Notification(name: .NSManagedObjectContextDidSave))
            NSManagedObjectContext.mergeChanges(fromRemoteContextSave: [NSInsertedObjectsKey: [pet]], into: [context])
            #expect(NSManagedObjectContext.didSaveObjectsNotification == .NSManagedObjectContextDidSave)
            #expect(NSManagedObjectContext.willSaveObjectsNotification == .NSManagedObjectContextWillSave)
            #expect(context == manager.destinationContext && context != manager.sourceContext)
            let all: Set<NSManagedObject> = context.insertedObjects.union(context.updatedObjects)
            #expect(all.contains(pet) && context.insertedObjects.intersection([pet]) == [pet])
            #expect(all.count == context.insertedObjects.count)
            #expect(context.insertedObjects.subtracting([pet]).count == all.count - 1)
            #expect(pet.value(forKey: "name") as? String == "kept")
        }
    }

    private final class KeepNewer: NSMergePolicy, @unchecked Sendable {
        init() { super.init(merge: .mergeByPropertyObjectTrumpMergePolicyType) }
        override func resolve(optimisticLockingConflicts list: [NSMergeConflict]) throws {
            try super.resolve(optimisticLockingConflicts: list.filter { $0.newVersionNumber > $0.oldVersionNumber })
        }
        override func resolve(constraintConflicts list: [NSConstraintConflict]) throws {
            try super.resolve(constraintConflicts: list.filter { $0.databaseObject == nil })
        }
        override func resolve(mergeConflicts list: [Any]) throws { try super.resolve(mergeConflicts: list) }
    }

    @Test("A merge policy of its own, and conflicts")
    func ownMergePolicy() throws {
        let fixture = try PolicyFixture()
        let entity = try #require(fixture.source.entitiesByName["Pet"])
        let pet = NSManagedObject(entity: entity, insertInto: nil)
        pet.setValue("a", forKey: "name")
        let conflict = NSMergeConflict(
            source: pet, newVersion: 2, oldVersion: 1, cachedSnapshot: ["name": "b"], persistedSnapshot: nil)
        let constraint = NSConstraintConflict(
            constraint: ["name"], databaseObject: nil, databaseSnapshot: nil, conflictingObjects: [pet],
            conflictingSnapshots: [["name": "a"]])
        #expect(conflict.sourceObject === pet && constraint.constraintValues["name"] as? String == "a")
        let policy = KeepNewer()
        try policy.resolve(optimisticLockingConflicts: [conflict])
        try policy.resolve(constraintConflicts: [constraint])
    }

    @Test("Merge policies compile, and change nothing")
    func mergePolicies() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
            context.mergePolicy = NSMergePolicy.overwrite
            context.mergePolicy = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
            #expect(NSErrorMergePolicy === NSMergePolicy.error && NSRollbackMergePolicy === NSMergePolicy.rollback)
            #expect(NSOverwriteMergePolicy.mergeType.rawValue == 3)
            #expect(NSMergeByPropertyStoreTrumpMergePolicy.mergeType == .mergeByPropertyStoreTrumpMergePolicyType)
        }
    }
}
