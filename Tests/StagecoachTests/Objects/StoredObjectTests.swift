import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Objects that were in the destination before the mapping model: found by fetches, changed, related, deleted, saved.
@Suite("Objects of the destination's store")
struct StoredObjectTests {
    typealias Steps = ClosurePolicy.Steps

    /// Migrates to the existing destination.
    private static func append(_ fixture: PolicyFixture) throws -> ReferenceStore {
        let manager = fixture.manager()
        try manager.migrateStore(
            from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL, type: .sqlite)
        return try ReferenceStore.read(path: fixture.destinationURL.path, model: fixture.destination)
    }

    /// Finds the destination's object with the source's name, else inserts it, and associates it.
    private static func findOrCreate(_ entity: String) -> Steps {
        var steps = Steps()
        steps.create = { source, mapping, manager, _ in
            let context = manager.destinationContext
            let name = try #require(source.value(forKey: "name") as? String)
            let found = try context.fetch(request(entity, "name == %@", name, limit: 1)).first
            let object = found ?? EntityDescription.insertNewObject(forEntityName: entity, into: context)
            if found == nil { object.setValue(name, forKey: "name") }
            if entity == "Person" { object.setValue(source.value(forKey: "age"), forKey: "age") }
            manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
        }
        return steps
    }

    @Test(
        "Find or create by a fetch: appending the same store again and again makes no doubles",
        arguments: [true, false])
    func findOrCreate(isTiny: Bool) throws {
        let fixture = try PolicyFixture(persons: 40)
        fixture.isTiny = isTiny
        fixture.policy("Persons", Self.findOrCreate("Person"))
        fixture.policy("Pets", Self.findOrCreate("Pet"))
        fixture.mapping.entityMappingsByName["Things"]?.destinationEntityName = nil
        fixture.mapping.entityMappingsByName["Things"]?.mappingType = .removeEntityMappingType
        let first = try fixture.run()
        #expect(first.keys("Person").count == 40 && first.keys("Pet").count == 40)
        let second = try Self.append(fixture)
        let third = try Self.append(fixture)
        #expect(third.differences(from: second) == [])
        // Nothing was new, nothing has changed: the file holds what it held.
        #expect(second.differences(from: first) == [])
        #expect(second.objects("Person")[1]?.related("pets").map(\.key) == [3, 1])
    }

    @Test("Find or create in a second mapping model finds what the first one made, related as it was")
    func severalModels() throws {
        let fixture = try PolicyFixture(persons: 12)
        let first = try #require(fixture.mapping.copy() as? MappingModel)
        fixture.policy("Persons", Self.findOrCreate("Person"))
        fixture.policy("Pets", Self.findOrCreate("Pet"))
        let manager = fixture.manager()
        let path = fixture.destinationURL.path
        _ = try Migration(
            from: fixture.sourcePath, model: fixture.source, mappings: [first, fixture.mapping], to: path,
            model: fixture.destination, options: manager.options, manager: manager
        ).run()
        let store = try ReferenceStore.read(path: path, model: fixture.destination)
        #expect(store.keys("Person") == Array(1...12) && store.keys("Pet") == Array(1...12))
        #expect(store.objects("Person")[1]?.related("pets").map(\.key) == [3, 1])
        // The first model kept them, the second changed nothing.
        #expect(store.lock("Person", 1) == .integer(3) && store.lock("Pet", 1) == .integer(4))
    }

    @Test("A fetch for each of many appended objects reads rows that grow with the objects, with and without an index")
    func linear() throws {
        let fixture = try PolicyFixture(persons: 500)
        fixture.isTiny = false
        try fixture.run()
        var statistics: FetchStatistics?
        var steps = Self.findOrCreate("Person")
        let create = steps.create
        steps.create = { source, mapping, manager, standard in
            try create?(source, mapping, manager, standard)
            statistics = manager.destinationContext.fetchStatistics
        }
        fixture.policy("Persons", steps)
        #expect(try Self.append(fixture).keys("Person").count == 500)
        let read = try #require(statistics)
        #expect(read.indexesBuilt == 1)
        #expect(read.scannedRows + read.probedRows <= 4 * 500, "\(read)")
    }

    @Test("Z_OPT is raised by one if an object changed, and stays otherwise")
    func locks() throws {
        let fixture = try PolicyFixture()
        let before = try fixture.run()
        var steps = Steps()
        steps.create = { _, _, _, _ in }
        steps.end = { _, manager in
            let context = manager.destinationContext
            func person(_ key: Int64) throws -> ManagedObject {
                try #require(try context.fetch(request("Person", "name == %@", "person \(key)")).first)
            }
            func pet(_ key: Int64) throws -> ManagedObject {
                try #require(try context.fetch(request("Pet", "name == %@", "pet \(key)")).first)
            }
            let same = try person(1)
            same.setValue("person 1", forKey: "name")
            same.setValue(10, forKey: "age")
            #expect(!same.isInserted && !same.isUpdated && !same.hasChanges && !context.hasChanges)
            let changed = try person(2)
            changed.setValue(99, forKey: "age")
            changed.setValue(98, forKey: "age")
            #expect(!changed.isInserted && changed.isUpdated && context.hasChanges)
            // There and back: the save finds nothing to write.
            let back = try person(5)
            back.setValue(1, forKey: "age")
            #expect(back.isUpdated)
            back.setValue(50, forKey: "age")
            let name = try person(3)
            name.setValue("somebody", forKey: "name")
            name.setValue(nil, forKey: "name")
            name.setValue("person 3", forKey: "name")
            // An owner and a member; the other owner too.
            try pet(4).setValue(try person(3), forKey: "owner")
            try pet(1).setValue(try person(4), forKey: "owner")
            // There and back.
            try pet(2).setValue(nil, forKey: "owner")
            try pet(2).setValue(try person(2), forKey: "owner")
            #expect(context.insertedObjects.isEmpty && context.insertedObjects.count == 0)
            let new = EntityDescription.insertNewObject(forEntityName: "Person", into: context)
            #expect(new.isInserted && !new.isUpdated)
            #expect(context.insertedObjects.count == 1)
            #expect(try context.count(for: request("Person")) == 7)
            new.setValue(try person(5), forKey: "best")
            context.delete(try person(6))
            #expect(try context.count(for: request("Person")) == 6)
        }
        fixture.policy("Persons", steps)
        var nothing = Steps()
        nothing.create = { _, _, _, _ in }
        for name in ["Pets", "Things"] { fixture.policy(name, nothing) }
        let after = try Self.append(fixture)
        func raised(_ entity: String) -> [Int64] {
            after.keys(entity).filter { key in
                guard case .integer(let now) = after.lock(entity, key),
                    case .integer(let then) = before.keys(entity).contains(key) ? before.lock(entity, key) : .null
                else { return false }
                #expect(now == then || now == then + 1)
                return now == then + 1
            }
        }
        #expect(after.keys("Person") == [1, 2, 3, 4, 5, 7])
        // Person 1 lost a pet, 2 changed, 3 and 4 got a pet; who is somebody's best without inverse has not changed.
        #expect(raised("Person") == [1, 2, 3, 4])
        #expect(raised("Pet") == [1, 4])
        #expect(after.lock("Person", 7) == .integer(1))
    }
}
