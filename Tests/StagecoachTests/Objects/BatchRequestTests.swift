import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Batch requests")
struct BatchRequestTests {
    /// Runs a closure in a policy's `end`, and reads the destination.
    private func run(_ body: @escaping (NSManagedObjectContext) throws -> Void) throws -> ReferenceStore {
        let fixture = try PolicyFixture(persons: 60)
        try fixture.runInEnd { try body($0.destinationContext) }
        return try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
    }

    @Test("Objects are deleted by a fetch request and by their ids")
    func deletes() throws {
        let store = try run { context in
            let request = NSFetchRequest<NSFetchRequestResult>(entityName: "Pet")
            request.predicate = NSPredicate(format: "name != 'pet 2'")
            let delete = NSBatchDeleteRequest(fetchRequest: request)
            delete.resultType = .resultTypeCount
            let result = try context.execute(delete) as? NSBatchDeleteResult
            #expect(result?.result as? Int == 59)
            #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Pet")) == 1)
            let persons = NSFetchRequest<NSManagedObject>(entityName: "Person")
            persons.predicate = NSPredicate(format: "age > 100")
            let ids = try context.fetch(persons).map(\.objectID)
            let byID = NSBatchDeleteRequest(objectIDs: ids + ids)
            byID.resultType = .resultTypeObjectIDs
            let coordinator = try #require(context.persistentStoreCoordinator)
            let deleted = try coordinator.execute(byID, with: context) as? NSBatchDeleteResult
            #expect(deleted?.result as? [NSManagedObjectID] == ids)
        }
        #expect(store.keys("Pet") == [2] && store.keys("Person") == Array(1...10))
        // The links of deleted objects are gone.
        #expect(store.objects("Person")[1]?.related("pets").isEmpty == true)
    }

    @Test("Properties are set to values and to expressions over the old values")
    func updates() throws {
        let store = try run { context in
            let update = NSBatchUpdateRequest(entityName: "Person")
            update.predicate = NSPredicate(format: "age <= 30")
            update.propertiesToUpdate = ["name": "young", "age": NSExpression(format: "age + 1")]
            update.resultType = .updatedObjectIDsResultType
            let result = try context.execute(update) as? NSBatchUpdateResult
            #expect((result?.result as? [NSManagedObjectID])?.count == 3)
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Pet", in: context))
            let all = NSBatchUpdateRequest(entity: entity)
            all.propertiesToUpdate = [try #require(entity.propertiesByName["name"]): NSNull()]
            #expect((try context.execute(all) as? NSBatchUpdateResult)?.result as? Bool == true)
        }
        #expect(store.texts("Person", "age").prefix(4) == ["11", "21", "31", "40"])
        #expect(store.texts("Person", "name").prefix(4) == ["young", "young", "young", "person 4"])
        #expect(Set(store.texts("Pet", "name")) == ["-"])
    }

    @Test("Objects are inserted from dictionaries, and by closures until they end")
    func inserts() throws {
        let store = try run { context in
            let given = NSBatchInsertRequest(entityName: "Badge", objects: [["code": "a"], ["code": "b"]])
            given.resultType = .count
            #expect((try context.execute(given) as? NSBatchInsertResult)?.result as? Int == 2)
            var number = 0
            try context.execute(
                NSBatchInsertRequest(entityName: "Badge") { (values: NSMutableDictionary) in
                    guard number < 3 else { return true }
                    number += 1
                    values["code"] = "c\(number)"
                    return false
                })
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Badge", in: context))
            let last = NSBatchInsertRequest(entity: entity) { (object: NSManagedObject) in
                guard number < 5 else { return true }
                number += 1
                object.setValue("d\(number)", forKey: "code")
                return false
            }
            last.resultType = .objectIDs
            #expect(((try context.execute(last) as? NSBatchInsertResult)?.result as? [NSManagedObjectID])?.count == 2)
        }
        #expect(store.texts("Badge", "code") == ["a", "b", "c1", "c2", "c3", "d4", "d5"])
    }

    @Test("Source objects are changed and deleted by batches, for the mappings that follow")
    func sources() throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.begin = { _, manager in
            let update = NSBatchUpdateRequest(entityName: "Pet")
            update.predicate = NSPredicate(format: "name != 'pet 2'")
            update.propertiesToUpdate = ["name": "changed"]
            update.resultType = .updatedObjectsCountResultType
            let updated = try manager.sourceContext.execute(update) as? NSBatchUpdateResult
            #expect(updated?.result as? Int == 5)
            let persons = NSFetchRequest<NSFetchRequestResult>(entityName: "Person")
            persons.predicate = NSPredicate(format: "age > 20")
            let delete = NSBatchDeleteRequest(fetchRequest: persons)
            delete.resultType = .resultTypeCount
            let deleted = try manager.sourceContext.execute(delete) as? NSBatchDeleteResult
            #expect(deleted?.result as? Int == 4)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(store.texts("Pet", "name").sorted() == Array(repeating: "changed", count: 5) + ["pet 2"])
        #expect(store.texts("Person", "name") == ["person 1", "person 2"])
    }

    @Test("Insertions into the source, and batches without a migration, are refused; wrong properties are named")
    func refusals() throws {
        func code(_ body: @escaping (NSMigrationManager) throws -> Void) throws -> String? {
            do { try PolicyFixture().runInEnd(body) } catch { return (error as? MigrationError)?.code.rawValue }
            return nil
        }
        let request = NSBatchUpdateRequest(entityName: "Person")
        let insert = NSBatchInsertRequest(entityName: "Person", objects: [[:]])
        #expect(try code { try $0.sourceContext.execute(insert) } == "context.batchOfSource")
        request.propertiesToUpdate = ["none": 1]
        #expect(try code { try $0.destinationContext.execute(request) } == "object.unknownKey")
        request.propertiesToUpdate = [1: 1]
        #expect(try code { try $0.destinationContext.execute(request) } == "fetch.unsupported")
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        let error = #expect(throws: MigrationError.self) {
            try context.execute(NSBatchInsertRequest(entityName: "Person", objects: [[:]]))
        }
        #expect(error?.code == "manager.idle")
    }
}
