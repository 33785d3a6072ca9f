import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Destination objects in later stages, source objects by the window")
struct ObjectStageTests {
    typealias Steps = ClosurePolicy.Steps

    /// The method in which a change is made.
    enum Place: String, CaseIterable {
        case begin, endCreation, relate, endRelating, validate, end
    }

    @Test(
        "Attributes, relationships and order can be changed in every stage, also of earlier mappings",
        arguments: Place.allCases)
    func everyStage(place: Place) throws {
        let fixture = try PolicyFixture(persons: 50)
        var kept: [Int64: ManagedObject] = [:]
        func change(_ manager: MigrationManager) {
            for (key, person) in kept {
                person.setValue("\(place) \(key)", forKey: "name")
                person.setValue(kept[key % 50 + 1], forKey: "best")
            }
            let persons = kept.keys.sorted().compactMap { kept[$0] }
            kept[50]?.setValue(NSSet(array: Array(persons[9...11])), forKey: "friends")
            kept[49].map { manager.destinationContext.delete($0) }
            #expect(kept[48]?.value(forKey: "best") == nil)
            #expect(kept[49]?.isDeleted == true)
        }
        var persons = Steps()
        persons.create = { source, mapping, manager, standard in
            try standard()
            kept[source.objectID.key] =
                manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source])[0]
        }
        fixture.policy("Persons", persons)
        var pets = Steps()
        switch place {
        case .begin: pets.begin = { change($1) }
        case .endCreation: pets.endCreation = { change($1) }
        case .relate:
            pets.relate = { object, _, manager, standard in
                if object.objectID.key == 1 { change(manager) }
                try standard()
            }
        case .endRelating: pets.endRelating = { change($1) }
        case .validate: pets.validate = { change($1) }
        case .end: pets.end = { change($1) }
        }
        // The order of an ordered to-many, always at the end: pets 5, 3, 9 of person 7.
        let last = pets.end
        pets.end = { mapping, manager in
            try last?(mapping, manager)
            let made = manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil)
            kept[7]?.setValue(NSOrderedSet(array: [made[4], made[2], made[8]]), forKey: "pets")
        }
        fixture.policy("Pets", pets)
        let store = try fixture.run()
        let objects = store.objects("Person")
        #expect(objects.count == 49)
        for key in store.keys("Person") {
            #expect(store.value("Person", key, "name") == .text("\(place) \(key)"))
        }
        // Relationships set before stage 2 give way to the persons' own mapping, which relates them then.
        let isEarly = place == .begin || place == .endCreation
        #expect(objects[10]?.related("best").map(\.key) == (isEarly ? [] : [11]))
        #expect(objects[48]?.related("best").isEmpty == true)
        #expect(objects[50]?.related("best").map(\.key) == (isEarly ? [] : [1]))
        #expect(Set(objects[50]?.related("friends").map(\.key) ?? []) == (isEarly ? [] : [10, 11, 12]))
        #expect(objects[7]?.related("pets").map(\.key) == [5, 3, 9])
        #expect(objects[1]?.related("pets").map(\.key) == [1])
    }

    @Test("Relationships of the objects of a window are read together, and give what single reads give")
    func windows() throws {
        let fixture = try PolicyFixture()
        try fixture.fill(persons: 400)
        fixture.isTiny = false
        fixture.change = { $0.options.batchSize = 100 }
        var (toMany, toOne): ([Int64: [Int64]], [Int64: Int64]) = ([:], [:])
        var reads = 0
        var persons = Steps()
        persons.create = { source, _, manager, standard in
            try standard()
            toMany[source.objectID.key] = source.objectIDs(forRelationshipNamed: "pets").map(\.key)
            reads = manager.sourceContext.groupedReads
        }
        fixture.policy("Persons", persons)
        var pets = Steps()
        pets.create = { source, _, manager, standard in
            try standard()
            let owner = try #require(source.value(forKey: "owner") as? ManagedObject)
            toOne[source.objectID.key] = owner.objectID.key
            #expect(owner.value(forKey: "age") as? Int64 == owner.objectID.key % 10)
        }
        pets.endCreation = { _, manager in
            #expect(manager.sourceContext.groupedReads - reads <= 8)
        }
        fixture.policy("Pets", pets)
        try fixture.run()
        #expect(reads <= 8, "\(reads) grouped reads for 400 objects")
        for key in 1...400 as ClosedRange<Int64> {
            let owner = key % 10 == 0 ? key : key % 10
            #expect(toOne[key] == owner)
            let expected: [Int64] = key < 10 ? (0..<40).map { $0 * 10 + key } : key % 10 == 0 ? [key] : []
            #expect(toMany[key] == expected, "person \(key)")
        }
    }

    @Test("Many-to-many and ordered members of a window come in their order")
    func windowOrder() throws {
        let fixture = try PolicyFixture()
        var store = ReferenceStore.make(fixture.source) { store in
            for key in 1...30 as ClosedRange<Int64> {
                store.insert("Person", key)
                store.insert("Pet", key)
            }
            for key in 1...15 as ClosedRange<Int64> {
                store.setMembers("Person", key, "pets", [31 - key, key])
                store.setMembers("Person", key, "friends", [key + 3, key + 1, 30])
            }
        }
        store.complete()
        try FileManager.default.removeItem(atPath: fixture.sourcePath)
        try store.write(path: fixture.sourcePath)
        fixture.isTiny = false
        var persons = Steps()
        persons.create = { source, _, _, standard in
            try standard()
            let key = source.objectID.key
            #expect(source.objectIDs(forRelationshipNamed: "pets").map(\.key) == (key <= 15 ? [31 - key, key] : []))
            let friends = Set(source.objectIDs(forRelationshipNamed: "friends").map(\.key))
            #expect(friends == (key <= 15 ? [key + 1, key + 3, 30] : []))
        }
        fixture.policy("Persons", persons)
        try fixture.run()
    }
}
