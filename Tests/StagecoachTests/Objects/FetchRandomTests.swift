import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Fetches against arrays that are filtered and sorted: random predicates, orders and limits, between random changes.
@Suite("Fetches: against an in-memory reference")
struct FetchRandomTests {
    /// A person as the reference has it.
    struct Person {
        var key: Int64
        var name: String?
        var age: Int?
        var best: Int64?
    }

    /// A pet as the reference has it.
    struct Pet {
        var key: Int64
        var name: String
        var owner: Int64?
    }

    /// A condition with its meaning in SQL's logic: nil is unknown.
    struct Condition {
        var format: String
        var arguments: [Any?] = []
        var holds: (Person) -> Bool?
    }

    /// Makes conditions and orders over the persons there are.
    struct Generator {
        var random: SeededGenerator
        var persons: [Int64: Person]
        let object: (Int64) throws -> ManagedObject
        /// The pets; if there are none, no question is asked about them.
        var pets: [Int64: Pet] = [:]
        var pet: (Int64) throws -> ManagedObject = { throw UnknownPet(key: $0) }

        struct UnknownPet: Error { let key: Int64 }

        mutating func person() -> Int64 { persons.keys.sorted().randomElement(using: &random) ?? 1 }
        mutating func name() -> String { "n\(random.below(4))" }
        mutating func age() -> Int { random.below(6) }

        mutating func condition(depth: Int) throws -> Condition {
            guard depth > 0, !random.chance(3) else { return try atom() }
            let one = try condition(depth: depth - 1)
            switch random.below(3) {
            case 0:
                return Condition(format: "NOT (\(one.format))", arguments: one.arguments) { one.holds($0).map { !$0 } }
            case 1:
                let other = try condition(depth: depth - 1)
                return Condition(
                    format: "(\(one.format)) AND (\(other.format))", arguments: one.arguments + other.arguments
                ) {
                    let (left, right) = (one.holds($0), other.holds($0))
                    if left == false || right == false { return false }
                    return left == nil || right == nil ? nil : true
                }
            default:
                let other = try condition(depth: depth - 1)
                return Condition(
                    format: "(\(one.format)) OR (\(other.format))", arguments: one.arguments + other.arguments
                ) {
                    let (left, right) = (one.holds($0), other.holds($0))
                    if left == true || right == true { return true }
                    return left == nil || right == nil ? nil : false
                }
            }
        }

        mutating func atom() throws -> Condition {
            let (name, age, key) = (name(), age(), person())
            let others = [key, person()]
            let persons = persons
            func best(_ person: Person) -> Person? { person.best.flatMap { persons[$0] } }
            if !pets.isEmpty, random.chance(4) { return try petAtom() }
            switch random.below(17) {
            case 0: return Condition(format: "name == %@", arguments: [name]) { $0.name.map { $0 == name } }
            case 1: return Condition(format: "name != %@", arguments: [name]) { $0.name.map { $0 != name } }
            case 2:
                return Condition(format: "name ==[c] %@", arguments: [name.uppercased()]) { $0.name.map { $0 == name } }
            case 3:
                return Condition(format: "name IN %@", arguments: [[name, "n1"]]) {
                    $0.name.map { $0 == name || $0 == "n1" }
                }
            case 4: return Condition(format: "name == nil") { $0.name == nil }
            case 5: return Condition(format: "age == %d", arguments: [age]) { $0.age.map { $0 == age } }
            case 6:
                return Condition(format: "age >= %@", arguments: [NSNumber(value: age)]) { $0.age.map { $0 >= age } }
            case 7: return Condition(format: "age BETWEEN {1, 3}") { $0.age.map { (1...3).contains($0) } }
            case 8: return Condition(format: "age != nil") { $0.age != nil }
            case 9: return Condition(format: "best == %@", arguments: [try object(key)]) { $0.best.map { $0 == key } }
            case 10: return Condition(format: "best != %@", arguments: [try object(key)]) { $0.best.map { $0 != key } }
            case 11:
                return Condition(format: "best IN %@", arguments: [try others.map(object)]) {
                    $0.best.map(others.contains)
                }
            case 12: return Condition(format: "best == nil") { $0.best == nil }
            case 13:
                return Condition(format: "best.name == %@", arguments: [name]) { best($0)?.name.map { $0 == name } }
            case 14: return Condition(format: "best.age < %d", arguments: [age]) { best($0)?.age.map { $0 < age } }
            case 15: return Condition(format: "SELF == %@", arguments: [try object(key)]) { $0.key == key }
            default:
                return Condition(format: "SELF IN %@", arguments: [try others.map(object)]) { others.contains($0.key) }
            }
        }

        /// A condition about the pets of a person.
        private mutating func petAtom() throws -> Condition {
            let pets = pets
            let key = pets.keys.sorted().randomElement(using: &random) ?? 1
            let name = pets[key]?.name ?? ""
            let number = random.below(3)
            func own(_ person: Person) -> [Pet] { pets.values.filter { $0.owner == person.key } }
            switch random.below(4) {
            case 0:
                return Condition(format: "ANY pets.name == %@", arguments: [name]) { person in
                    own(person).contains { $0.name == name }
                }
            case 1:
                return Condition(format: "ANY pets == %@", arguments: [try pet(key)]) { person in
                    own(person).contains { $0.key == key }
                }
            case 2: return Condition(format: "pets.@count == %d", arguments: [number]) { own($0).count == number }
            default: return Condition(format: "pets.@count > 0") { !own($0).isEmpty }
            }
        }

        /// Compares one random fetch of pets.
        mutating func comparePets(_ context: ManagedObjectContext, _ place: String) throws {
            let (pets, persons) = (pets, persons)
            let owner = person()
            let name = name()
            let pet = pets.values.sorted { $0.key < $1.key }.randomElement(using: &random)?.name ?? ""
            let fetch: FetchRequest<ManagedObject>
            let holds: (Pet) -> Bool
            switch random.below(5) {
            case 0: (fetch, holds) = (request("Pet", "owner == %@", try object(owner)), { $0.owner == owner })
            case 1:
                (fetch, holds) = (
                    request("Pet", "owner.name == %@", name), { $0.owner.flatMap { persons[$0]?.name } == name }
                )
            case 2: (fetch, holds) = (request("Pet", "owner == nil"), { $0.owner == nil })
            case 3: (fetch, holds) = (request("Pet", "name == %@", pet), { $0.name == pet })
            default:
                (fetch, holds) = (
                    request("Pet", "name IN %@ AND owner != nil", [pet, "p1"]),
                    { [pet, "p1"].contains($0.name) && $0.owner != nil }
                )
            }
            var expected = pets.values.filter(holds).map(\.key).sorted()
            if random.chance(2) {
                fetch.fetchLimit = 1 + random.below(4)
                expected = Array(expected.prefix(fetch.fetchLimit))
            }
            #expect(try context.keys(fetch) == expected, "\(place): \(fetch.predicate?.predicateFormat ?? "")")
            #expect(try context.count(for: fetch) == expected.count, "\(place)")
        }

        /// A sort key and its order: nil first.
        mutating func order() -> (key: String, compare: (Person, Person) -> Int) {
            let persons = persons
            func compare<Value: Comparable>(_ left: Value?, _ right: Value?) -> Int {
                switch (left, right) {
                case (nil, nil): 0
                case (nil, _): -1
                case (_, nil): 1
                case (let one?, let other?): one < other ? -1 : one == other ? 0 : 1
                }
            }
            switch random.below(3) {
            case 0: return ("name", { compare($0.name, $1.name) })
            case 1: return ("age", { compare($0.age, $1.age) })
            default:
                return (
                    "best.age",
                    { left, right in
                        compare(left.best.flatMap { persons[$0]?.age }, right.best.flatMap { persons[$0]?.age })
                    }
                )
            }
        }

        /// Compares one random fetch.
        mutating func compare(_ context: ManagedObjectContext, _ place: String) throws {
            let condition = try condition(depth: 2)
            let request = FetchRequest<ManagedObject>(entityName: "Person")
            request.predicate = FormatPredicate(format: condition.format, arguments: condition.arguments)
            var expected = persons.values.filter { condition.holds($0) == true }.sorted { $0.key < $1.key }
            if random.chance(2) {
                let orders = (0...random.below(2)).map { _ in (order: order(), isAscending: random.chance(2)) }
                request.sortDescriptors = orders.map { KeySortDescriptor(key: $0.order.key, ascending: $0.isAscending) }
                expected.sort { left, right in
                    for (order, isAscending) in orders {
                        let result = order.compare(left, right)
                        if result != 0 { return isAscending ? result < 0 : result > 0 }
                    }
                    return left.key < right.key
                }
            }
            if random.chance(2) {
                request.fetchOffset = random.below(3)
                request.fetchLimit = 1 + random.below(5)
                expected = Array(expected.dropFirst(request.fetchOffset).prefix(request.fetchLimit))
            }
            let found = try context.keys(request)
            #expect(found == expected.map(\.key), "\(place): \(request.predicate?.predicateFormat ?? "")")
            #expect(try context.count(for: request) == expected.count, "\(place): \(condition.format)")
        }
    }

    static func source(_ random: inout SeededGenerator, _ fixture: PolicyFixture) throws -> [Int64: Person] {
        var persons: [Int64: Person] = [:]
        for key in 1...60 as ClosedRange<Int64> where !random.chance(8) {
            persons[key] = Person(
                key: key, name: random.chance(5) ? nil : "n\(random.below(4))",
                age: random.chance(5) ? nil : random.below(6))
        }
        for key in persons.keys.sorted() where !random.chance(4) {
            let best = persons.keys.sorted().randomElement(using: &random)
            persons[key]?.best = best
        }
        var store = ReferenceStore.make(fixture.source) { store in
            for person in persons.values {
                store.insert(
                    "Person", person.key,
                    [
                        "name": person.name.map { .text($0) } ?? .null,
                        "age": person.age.map { .integer(Int64($0)) } ?? .null,
                    ],
                    toOne: person.best.map { ["best": $0] } ?? [:])
            }
        }
        store.complete()
        try FileManager.default.removeItem(atPath: fixture.sourcePath)
        try store.write(path: fixture.sourcePath)
        return persons
    }

    @Test("Random fetches of the source", arguments: [1, 2, 3, 4] as [UInt64])
    func sources(seed: UInt64) throws {
        print("fetches of the source, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try PolicyFixture()
        let persons = try Self.source(&random, fixture)
        try fixture.runInEnd { manager in
            let context = manager.sourceContext
            let objects = Dictionary(
                uniqueKeysWithValues: try context.fetch(request("Person")).map { ($0.objectID.key, $0) })
            var generator = Generator(random: random, persons: persons) { try #require(objects[$0]) }
            for round in 0..<100 { try generator.compare(context, "seed \(seed), fetch \(round)") }
        }
    }

    @Test(
        "Random fetches of the destination between inserts, changes and deletions", arguments: [1, 2, 3, 4] as [UInt64])
    func destinations(seed: UInt64) throws {
        print("fetches of the destination, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try PolicyFixture()
        let sources = try Self.source(&random, fixture)
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            var objects: [Int64: ManagedObject] = [:]
            var persons: [Int64: Person] = [:]
            var keys: [Int64: Int64] = [:]
            for source in try manager.sourceContext.fetch(request("Person")) {
                let made = try #require(
                    manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [source]).first)
                keys[source.objectID.key] = made.objectID.key
                objects[made.objectID.key] = made
            }
            for source in sources.values {
                let key = try #require(keys[source.key])
                persons[key] = Person(
                    key: key, name: source.name, age: source.age, best: source.best.flatMap { keys[$0] })
            }
            for round in 0..<100 {
                for _ in 0..<random.below(4) {
                    let key = try #require(persons.keys.sorted().randomElement(using: &random))
                    switch random.below(6) {
                    case 0:
                        let new = EntityDescription.insertNewObject(forEntityName: "Person", into: context)
                        objects[new.objectID.key] = new
                        persons[new.objectID.key] = Person(key: new.objectID.key, age: 5)
                    case 1:
                        let name = random.chance(4) ? nil : "n\(random.below(4))"
                        objects[key]?.setValue(name, forKey: "name")
                        persons[key]?.name = name
                    case 2:
                        let age = random.chance(4) ? nil : random.below(6)
                        objects[key]?.setValue(age, forKey: "age")
                        persons[key]?.age = age
                    case 3, 4:
                        let best = random.chance(3) ? nil : persons.keys.sorted().randomElement(using: &random)
                        objects[key]?.setValue(best.flatMap { objects[$0] }, forKey: "best")
                        persons[key]?.best = best
                    default:
                        guard persons.count > 20, let object = objects[key] else { continue }
                        context.delete(object)
                        persons[key] = nil
                        objects[key] = nil
                        for other in persons.keys where persons[other]?.best == key { persons[other]?.best = nil }
                    }
                }
                let present = objects
                var generator = Generator(
                    random: SeededGenerator(seed: random.next()), persons: persons,
                    object: { try #require(present[$0]) })
                try generator.compare(context, "seed \(seed), fetch \(round)")
            }
        }
    }
}
