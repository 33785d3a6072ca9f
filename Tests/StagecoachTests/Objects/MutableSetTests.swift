import Foundation
import Stagecoach
import TestSupport
import Testing

/// What `mutableSetValue(forKey:)` returns is a set like any other: it keeps its members through casts, copies and prints, and
/// follows the relationship.
@Suite("Mutable sets of relationships as values")
struct MutableSetTests {
    /// The ways in which Swift copies or casts a set, and code gives it back to an object.
    enum Way: String, CaseIterable {
        case proxy, cast, forced, elements, objects, copy, mutableCopy, array, primitive, keysAndValues, keyPath
        case longKeyPath, read, readCast, dictionary

        /// Gives the members of a relationship back to the object.
        func give(_ set: NSMutableSet, _ object: ManagedObject, _ key: String) throws {
            switch self {
            case .proxy: object.setValue(set, forKey: key)
            case .cast: object.setValue(set as? Set<NSManagedObject>, forKey: key)
            case .forced: object.setValue(try #require(set as Any as? Set<NSObject>), forKey: key)
            case .elements: object.setValue(try #require(set as? Set<AnyHashable>), forKey: key)
            case .objects: object.setValue(NSSet(array: set.allObjects), forKey: key)
            case .copy: object.setValue(NSSet(set: try #require(set as? Set<AnyHashable>)), forKey: key)
            case .mutableCopy: object.setValue(set.mutableCopy(), forKey: key)
            case .array: object.setValue(Array(set), forKey: key)
            case .primitive: object.setPrimitiveValue(set, forKey: key)
            case .keysAndValues: object.setValuesForKeys([key: set])
            case .keyPath: object.setValue(set, forKeyPath: key)
            case .longKeyPath: object.setValue(set, forKeyPath: "self.\(key)")
            case .read: object.setValue(object.value(forKey: key), forKey: key)
            case .readCast: object.setValue(object.value(forKey: key) as? Set<NSManagedObject>, forKey: key)
            case .dictionary: object.setValuesForKeys(object.dictionaryWithValues(forKeys: [key]))
            }
        }
    }

    private static func persons(_ context: ManagedObjectContext) throws -> [ManagedObject] {
        let request = FetchRequest<ManagedObject>(entityName: "Person")
        request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
        return try context.fetch(request)
    }

    /// Checks that a set has as many members, whatever it is cast to.
    private static func check(_ set: NSMutableSet, _ count: Int) {
        #expect(set.count == count && set.allObjects.count == count && Array(set).count == count)
        #expect((set as? Set<NSManagedObject>)?.count == count)
        #expect((set as NSSet as? Set<ManagedObject>)?.count == count)
        #expect((set as Any as? Set<NSObject>)?.count == count)
        #expect((set as Any as? Set<AnyHashable>)?.count == count)
        #expect((set as? Set<NSString>) == (count == 0 ? [] : nil))
        #expect((set.copy() as? Set<NSManagedObject>)?.count == count)
        #expect((set.mutableCopy() as? NSSet)?.count == count)
        #expect(NSSet(set: set as? Set<AnyHashable> ?? []).count == count)
        #expect("\(set)".contains("Person") == (count > 0) && set.description.contains("Person") == (count > 0))
    }

    @Test("It keeps its members in the destination, whatever they are given back as", arguments: Way.allCases)
    func destination(way: Way) throws {
        for isEarly in [false, true] {
            let fixture = try PolicyFixture()
            var steps = ClosurePolicy.Steps()
            let step: ClosurePolicy.Step = { _, manager in
                let persons = try Self.persons(manager.destinationContext)
                let set = persons[3].mutableSetValue(forKey: "friends")
                Self.check(set, 0)
                set.add(persons[4])
                set.addObjects(from: [persons[5]])
                Self.check(set, 2)
                try way.give(set, persons[3], "friends")
                Self.check(set, 2)
                #expect((persons[3].value(forKey: "friends") as? Set<ManagedObject>) == [persons[4], persons[5]])
                #expect((persons[5].value(forKey: "friendOf") as? Set<ManagedObject>) == [persons[3]])
            }
            if isEarly { steps.endCreation = step } else { steps.end = step }
            fixture.policy("Things", steps)
            let store = try fixture.run()
            // In stage 2 the mapping sets the friends of the source, of whom person 4 has none.
            let expected: Set<Int64> = isEarly ? [] : [5, 6]
            #expect(Set(store.objects("Person")[4]?.related("friends").map(\.key) ?? []) == expected, "\(way)")
        }
    }

    @Test("It keeps its members in the source", arguments: Way.allCases)
    func source(way: Way) throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.begin = { _, manager in
            let persons = try Self.persons(manager.sourceContext)
            let set = persons[0].mutableSetValue(forKey: "friends")
            Self.check(set, 2)
            set.add(persons[4])
            set.remove(persons[1])
            Self.check(set, 2)
            try way.give(set, persons[0], "friends")
            persons[3].mutableSetValue(forKey: "friends").add(persons[5])
            persons[0].mutableSetValue(forKey: "friends").add(persons[3])
            Self.check(set, 3)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(Set(store.objects("Person")[1]?.related("friends").map(\.key) ?? []) == [3, 4, 5], "\(way)")
        #expect(store.objects("Person")[4]?.related("friends").map(\.key) == [6], "\(way)")
    }

    @Test("An ordered one keeps its members, whatever they are given back as")
    func ordered() throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.end = { _, manager in
            let persons = try Self.persons(manager.destinationContext)
            let pets = try manager.destinationContext.fetch(request("Pet")).sorted {
                $0.objectID.key < $1.objectID.key
            }
            for (index, person) in persons.enumerated() {
                let set = person.mutableOrderedSetValue(forKey: "pets")
                set.removeAllObjects()
                set.add(pets[index])
                #expect((set.set as? Set<NSManagedObject>) == [pets[index]] && set.array.count == 1)
                #expect("\(set)".contains("Pet") && set.description.contains("Pet"))
                let array = person.mutableArrayValue(forKey: "pets")
                #expect((array as? [NSManagedObject]) == [pets[index]] && Array(array).count == 1)
                #expect("\(array)".contains("Pet"))
                switch index {
                case 0: person.setValue(set, forKey: "pets")
                case 1: person.setValue(NSOrderedSet(orderedSet: set), forKey: "pets")
                case 2: person.setValue(set.set, forKey: "pets")
                case 3: person.setValue(array as? [NSManagedObject], forKey: "pets")
                case 4: person.setPrimitiveValue(person.mutableSetValue(forKey: "pets"), forKey: "pets")
                default: person.setValue(person.mutableSetValue(forKey: "pets") as? Set<ManagedObject>, forKey: "pets")
                }
            }
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        for key in 1...Int64(6) { #expect(store.objects("Person")[key]?.related("pets").map(\.key) == [key]) }
    }

    @Test("An object without a context keeps the members of its set")
    func detached() throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.end = { _, manager in
            let context = manager.destinationContext
            let persons = try Self.persons(context)
            let entity = try #require(EntityDescription.entity(forEntityName: "Person", in: context))
            let new = ManagedObject(entity: entity, insertInto: nil)
            let set = new.mutableSetValue(forKey: "friends")
            set.add(persons[0])
            Self.check(set, 1)
            new.setValue(set as? Set<ManagedObject>, forKey: "friends")
            new.mutableSetValue(forKey: "friends").add(persons[1])
            #expect((new.value(forKey: "friends") as? Set<ManagedObject>) == [persons[0], persons[1]])
            context.insert(new)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(Set(store.objects("Person")[7]?.related("friends").map(\.key) ?? []) == [1, 2])
    }

    @Test("What does not fit is an error, as for setValue", arguments: ["other", "text", "detached", "source"])
    func misfits(what: String) throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.end = { _, manager in
            let context = manager.destinationContext
            let persons = try Self.persons(context)
            let set = persons[0].mutableSetValue(forKey: "friends")
            // As many members as before.
            set.remove(persons[1])
            switch what {
            case "other": set.add(try #require(try context.fetch(request("Pet")).first))
            case "text": set.add("text")
            case "detached": set.add(ManagedObject(entity: persons[0].entity, insertInto: nil))
            default: set.add(try Self.persons(manager.sourceContext)[3])
            }
        }
        fixture.policy("Persons", steps)
        let error = try #require(throws: MigrationError.self) { try fixture.run() }
        #expect(error.code == "value.type", "\(error)")
    }

    @Test("An empty set in place of too many members is an error")
    func large() throws {
        let fixture = try PolicyFixture(persons: 17_000)
        fixture.isTiny = false
        var steps = ClosurePolicy.Steps()
        steps.end = { _, manager in
            let persons = try Self.persons(manager.destinationContext)
            for person in persons { persons[0].mutableSetValue(forKey: "friends").add(person) }
            let set = persons[0].mutableSetValue(forKey: "friends")
            #expect(set.count == 17_000 && "\(set)".contains("Person"))
            persons[0].setValue(set, forKey: "friends")
            #expect(persons[0].mutableSetValue(forKey: "friends").count == 17_000)
            persons[0].setValue(set as? Set<ManagedObject>, forKey: "friends")
        }
        fixture.policy("Persons", steps)
        let error = try #require(throws: MigrationError.self) { try fixture.run() }
        #expect(error.code == "object.tooManyMembers", "\(error)")
    }

    /// Sets that are held, sets that are asked for each time, and changes by other means, beside a plain model of the links.
    @Test("It follows the relationship, and the relationship follows it", arguments: [1, 2, 3] as [UInt64])
    func random(seed: UInt64) throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.end = { _, manager in
            var random = SeededGenerator(seed: seed)
            let persons = try Self.persons(manager.destinationContext)
            var friends: [Set<Int>] = [[1, 2], [], [], [], [], []]
            let held = persons[0].mutableSetValue(forKey: "friends")
            let others = persons[1].mutableSetValue(forKey: "friends")
            let inverse = persons[2].mutableSetValue(forKey: "friendOf")
            func numbers(_ set: NSSet) -> Set<Int> {
                Set(set.allObjects.compactMap { member in persons.firstIndex { $0 === member as AnyObject } })
            }
            for step in 0..<400 {
                let (owner, member) = (random.below(6), random.below(6))
                // What was changed in one set is seen in another after a call.
                _ = persons[0].isDeleted
                let set =
                    switch owner {
                    case 0: held
                    case 1: others
                    default: persons[owner].mutableSetValue(forKey: "friends")
                    }
                switch random.below(8) {
                case 0, 1:
                    set.add(persons[member])
                    friends[owner].insert(member)
                case 2:
                    set.remove(persons[member])
                    friends[owner].remove(member)
                case 3:
                    persons[owner].setValue(Set([persons[member]]), forKey: "friends")
                    friends[owner] = [member]
                case 4:
                    inverse.add(persons[owner])
                    friends[owner].insert(2)
                case 5:
                    set.removeAllObjects()
                    set.add(persons[member])
                    friends[owner] = [member]
                case 6:
                    set.setSet([persons[member], persons[2]])
                    friends[owner] = [member, 2]
                default:
                    persons[member].mutableSetValue(forKey: "friendOf").remove(persons[owner])
                    friends[owner].remove(member)
                }
                // Often nothing looks in between.
                guard random.chance(2) else { continue }
                #expect(
                    numbers(persons[owner].value(forKey: "friends") as? NSSet ?? NSSet()) == friends[owner],
                    "seed \(seed) step \(step)")
                #expect(numbers(held) == friends[0] && numbers(others) == friends[1], "seed \(seed) step \(step)")
                #expect(
                    numbers(inverse) == Set((0..<6).filter { friends[$0].contains(2) }), "seed \(seed) step \(step)")
            }
            for owner in 0..<6 {
                #expect(numbers(persons[owner].value(forKey: "friends") as? NSSet ?? NSSet()) == friends[owner])
            }
        }
        fixture.policy("Persons", steps)
        try fixture.run()
    }
}
