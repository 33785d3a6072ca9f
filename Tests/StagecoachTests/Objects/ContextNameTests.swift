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
    }

    @Test("Merge policies compile, and change nothing")
    func mergePolicies() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            #expect((context.mergePolicy as? NSMergePolicy)?.mergeType == .errorMergePolicyType)
            context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
            context.mergePolicy = NSMergePolicy.overwrite
            context.mergePolicy = NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
            #expect(NSErrorMergePolicy === NSMergePolicy.error && NSRollbackMergePolicy === NSMergePolicy.rollback)
            #expect(NSOverwriteMergePolicy.mergeType.rawValue == 3)
            #expect(NSMergeByPropertyStoreTrumpMergePolicy.mergeType == .mergeByPropertyStoreTrumpMergePolicyType)
        }
    }
}
