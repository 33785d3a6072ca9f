import Foundation
import Stagecoach
import TestSupport
import Testing

/// Everything that Foundation's mutable sets can do, on the relationships of destination objects.
@Suite("Mutable sets of relationships")
struct MutableViewTests {
    /// Runs a body at the end of a migration, on person 1, whose pets are 3 and 1, with all pets by number.
    private func run(
        persons: Int64 = 6, _ body: @escaping (ManagedObject, [Int: ManagedObject]) throws -> Void
    ) throws -> [Int64] {
        let fixture = try PolicyFixture(persons: persons)
        fixture.isTiny = persons < 100
        var steps = ClosurePolicy.Steps()
        steps.end = { mapping, manager in
            var pets: [Int: ManagedObject] = [:]
            for pet in try manager.destinationContext.fetch(FetchRequest<ManagedObject>(entityName: "Pet")) {
                let name = pet.value(forKey: "name") as? String ?? ""
                pets[Int(name.dropFirst(4)) ?? 0] = pet
            }
            let request = FetchRequest<ManagedObject>(entityName: "Person")
            request.predicate = FormatPredicate(format: "name == 'person 1'")
            try body(try #require(try manager.destinationContext.fetch(request).first), pets)
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        return store.objects("Person")[1]?.related("pets").map(\.key) ?? []
    }

    private static func names(_ objects: [Any]) -> [String] {
        objects.map { ($0 as? ManagedObject)?.value(forKey: "name") as? String ?? "?" }
    }

    @Test("An ordered one can be read in every way")
    func orderedReads() throws {
        let result = try run { person, pets in
            let view = person.mutableOrderedSetValue(forKey: "pets")
            let expected = ["pet 3", "pet 1"]
            #expect(Self.names(view.array) == expected && view.count == 2)
            #expect(Self.names(view.reversed.array) == expected.reversed())
            #expect(Self.names(view.map { $0 }) == expected)
            #expect(Self.names(view.objectEnumerator().allObjects) == expected)
            #expect(Self.names([try #require(view.firstObject), try #require(view.lastObject)]) == expected)
            let one = try #require(pets[1])
            #expect(view.set.count == 2 && view.index(of: one) == 1)
            #expect(Self.names(view.objects(at: [1])) == ["pet 1"])
            #expect(NSOrderedSet(orderedSet: view).count == 2 && (view.copy() as? NSOrderedSet)?.count == 2)
            var seen: [Any] = []
            view.enumerateObjects { object, _, _ in seen.append(object) }
            #expect(Self.names(seen) == expected)
            // Changes by the view and by others are seen.
            view.add(try #require(pets[5]))
            #expect(Self.names(view.array) == expected + ["pet 5"])
            pets[6]?.setValue(person, forKey: "owner")
            #expect(Self.names(person.mutableOrderedSetValue(forKey: "pets").array) == expected + ["pet 5", "pet 6"])
        }
        #expect(result == [3, 1, 5, 6])
    }

    @Test(
        "An ordered one can be changed in every way",
        arguments: [
            ("reverse", [5, 1, 3]), ("insert", [5, 3, 1]), ("sort", [1, 3, 5]), ("replace", [3, 6, 5]),
            ("exchange", [5, 1, 3]), ("removeIn", [1]), ("intersect", [3]), ("minus", [1, 5]), ("union", [3, 1, 5, 6]),
            ("all", []), ("move", [1, 5, 3]), ("filter", [1, 5]),
        ] as [(String, [Int64])])
    func orderedChanges(way: String, expected: [Int64]) throws {
        let result = try run { person, pets in
            let view = person.mutableOrderedSetValue(forKey: "pets")
            view.add(try #require(pets[5]))
            let (three, one, six) = (try #require(pets[3]), try #require(pets[1]), try #require(pets[6]))
            func number(_ object: Any) -> Int { Int(Self.names([object])[0].dropFirst(4)) ?? 0 }
            switch way {
            case "reverse":
                let reversed = view.reversed.array
                view.removeAllObjects()
                view.addObjects(from: reversed)
            case "insert":
                view.remove(try #require(pets[5]))
                view.insert(try #require(pets[5]), at: 0)
            case "sort":
                view.sort { number($0) < number($1) ? .orderedAscending : .orderedDescending }
            case "replace": view.replaceObject(at: 1, with: six)
            case "exchange": view.exchangeObject(at: 0, withObjectAt: 2)
            case "removeIn": view.removeObjects(in: [three, try #require(pets[5])])
            case "intersect": view.intersect(NSOrderedSet(array: [three, six]))
            case "minus": view.minus(NSOrderedSet(array: [three, six]))
            case "union": view.union(NSOrderedSet(array: [one, six]))
            case "all": view.removeAllObjects()
            case "move": view.moveObjects(at: [0], to: 2)
            default: view.filter(using: Foundation.NSPredicate { object, _ in number(object as Any) != 3 })
            }
            #expect(view.map { Int64(number($0)) } == expected, "\(way)")
            #expect(view.array.map { Int64(number($0)) } == expected, "\(way)")
        }
        #expect(result == expected)
    }

    @Test("An unordered one can be read and changed")
    func unordered() throws {
        let result = try run { person, pets in
            let view = person.mutableSetValue(forKey: "pets")
            #expect((person.value(forKey: "pets") as? NSOrderedSet)?.count == 2 && view.count == 2)
            let three = try #require(pets[3])
            #expect(view.contains(three) && view.anyObject() != nil)
            view.add(try #require(pets[4]))
            view.remove(try #require(pets[3]))
            #expect(Set(Self.names(view.allObjects)) == ["pet 1", "pet 4"])
            pets[5]?.setValue(person, forKey: "owner")
            #expect(view.count == 3)
            view.minus([try #require(pets[1])])
            view.union([try #require(pets[6])])
            #expect(Set(Self.names(Array(view))) == ["pet 4", "pet 5", "pet 6"])
        }
        #expect(Set(result) == [4, 5, 6])
    }

    @Test("Members that are too many to be held can be added and counted; reading them all says so")
    func large() throws {
        let error = try #require(throws: MigrationError.self) {
            _ = try run(persons: 17_000) { person, pets in
                for number in 1...17_000 {
                    person.mutableOrderedSetValue(forKey: "pets").add(try #require(pets[number]))
                }
                let view = person.mutableOrderedSetValue(forKey: "pets")
                let late = try #require(pets[16_999])
                #expect(view.count == 17_000 && view.contains(late))
                #expect((view.object(at: 0) as? ManagedObject) === pets[3])
                for case let pet as ManagedObject in view { _ = pet.value(forKey: "name") }
            }
        }
        #expect(error.code == "object.tooManyMembers", "\(error)")
    }
}
