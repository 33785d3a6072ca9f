import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Fetches over objects that were in the destination before, of an appended store or of a previous mapping model, beside
/// new ones: random predicates between random changes against dictionaries, and what is saved in the end.
@Suite("Fetches of stored objects: against an in-memory reference")
struct StoredFetchRandomTests {
    /// The origin of the objects that the policy finds.
    enum Ground: CaseIterable {
        /// All are made in this run.
        case fresh
        /// The store of an earlier call is appended to.
        case appended
        /// A mapping model that ran before in the same run made them.
        case severalModels
    }

    static let seeds: [UInt64] =
        ProcessInfo.processInfo.environment["STAGECOACH_SEED"].flatMap(UInt64.init).map { first in
            let runs = ProcessInfo.processInfo.environment["STAGECOACH_RUNS"].flatMap(UInt64.init) ?? 1
            return (0..<runs).map { first &+ $0 }
        } ?? [21, 22, 23]

    /// The expected contents of the destination.
    private struct World {
        var persons: [Int64: FetchRandomTests.Person] = [:]
        var pets: [Int64: FetchRandomTests.Pet] = [:]
        /// Members in their order, by owner.
        var order: [Int64: [Int64]] = [:]

        /// Gives a pet another owner: it comes last there.
        mutating func move(_ pet: Int64, to owner: Int64?) {
            guard let old = pets[pet]?.owner, old != owner else {
                if pets[pet]?.owner == nil, let owner {
                    pets[pet]?.owner = owner
                    order[owner, default: []].append(pet)
                }
                return
            }
            order[old]?.removeAll { $0 == pet }
            pets[pet]?.owner = owner
            if let owner { order[owner, default: []].append(pet) }
        }
    }

    @Test(
        "Random fetches between inserts, changes and deletions, and what is saved", arguments: Ground.allCases, seeds)
    func random(ground: Ground, seed: UInt64) throws {
        print("fetches of stored objects, \(ground), seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try PolicyFixture()
        let sources = try Self.source(&random, fixture)
        let first = try #require(fixture.mapping.copy() as? MappingModel)
        var before: ReferenceStore?
        if ground != .fresh {
            let plain = fixture.manager()
            before = try fixture.run(plain)
        }
        var world = try before.map(Self.world) ?? World()
        let stored = world
        var steps = ClosurePolicy.Steps()
        let carried = Unchecked(random)
        steps.end = { _, manager in
            var random = carried.value
            try Self.addNew(sources, to: &world, manager)
            try Self.change(&world, manager, &random, "\(ground), seed \(seed)")
        }
        fixture.policy("Persons", steps)
        let manager = fixture.manager()
        let path = fixture.destinationURL.path
        switch ground {
        case .fresh:
            _ = try fixture.run(manager)
        case .appended:
            try manager.migrateStore(
                from: fixture.sourceURL, type: .sqlite, mapping: fixture.mapping, to: fixture.destinationURL,
                type: .sqlite)
        case .severalModels:
            try FileManager.default.removeItem(atPath: path)
            _ = try Migration(
                from: fixture.sourcePath, model: fixture.source, mappings: [first, fixture.mapping], to: path,
                model: fixture.destination, options: manager.options, manager: manager
            ).run()
        }
        let saved = try ReferenceStore.read(path: path, model: fixture.destination)
        try Self.check(saved, world, stored, before, "\(ground), seed \(seed)")
    }

    /// Persons as in the fetches of one store, and pets whose names are shared.
    private static func source(
        _ random: inout SeededGenerator, _ fixture: PolicyFixture
    ) throws -> (persons: [Int64: FetchRandomTests.Person], pets: [Int64: FetchRandomTests.Pet]) {
        let persons = try FetchRandomTests.source(&random, fixture)
        var store = try ReferenceStore.read(path: fixture.sourcePath, model: fixture.source)
        var pets: [Int64: FetchRandomTests.Pet] = [:]
        var members: [Int64: [Int64]] = [:]
        for key in 1...40 as ClosedRange<Int64> {
            let owner = random.chance(4) ? nil : persons.keys.sorted().randomElement(using: &random)
            pets[key] = FetchRandomTests.Pet(key: key, name: "p\(random.below(6))", owner: owner)
            store.insert("Pet", key, ["name": .text(pets[key]?.name ?? "")])
            if let owner { members[owner, default: []].append(key) }
        }
        for (owner, own) in members { store.setMembers("Person", owner, "pets", own) }
        store.complete()
        try FileManager.default.removeItem(atPath: fixture.sourcePath)
        try store.write(path: fixture.sourcePath)
        return (persons, pets)
    }

    /// Returns the contents of a store, read from its file.
    private static func world(_ store: ReferenceStore) throws -> World {
        var world = World()
        for (key, object) in store.objects("Person") {
            world.persons[key] = person(object)
            world.order[key] = object.related("pets").map(\.key)
        }
        for (key, object) in store.objects("Pet") {
            guard case .text(let name) = object["name"] else { continue }
            world.pets[key] = FetchRandomTests.Pet(key: key, name: name, owner: object.related("owner").first?.key)
        }
        return world
    }

    private static func person(_ object: ReferenceObject) -> FetchRandomTests.Person {
        var person = FetchRandomTests.Person(key: object.key)
        if case .text(let name) = object["name"] { person.name = name }
        if case .integer(let age) = object["age"] { person.age = Int(age) }
        person.best = object.related("best").first?.key
        return person
    }

    /// Adds the objects that the current mapping model made.
    private static func addNew(
        _ sources: (persons: [Int64: FetchRandomTests.Person], pets: [Int64: FetchRandomTests.Pet]),
        to world: inout World, _ manager: MigrationManager
    ) throws {
        func keys(_ entity: String, _ mapping: String) throws -> [Int64: Int64] {
            var keys: [Int64: Int64] = [:]
            for source in try manager.sourceContext.fetch(request(entity)) {
                let made = manager.destinationInstances(forEntityMappingName: mapping, sourceInstances: [source])
                keys[source.objectID.key] = try #require(made.last).objectID.key
            }
            return keys
        }
        let (persons, pets) = (try keys("Person", "Persons"), try keys("Pet", "Pets"))
        for source in sources.persons.values {
            let key = try #require(persons[source.key])
            world.persons[key] = FetchRandomTests.Person(
                key: key, name: source.name, age: source.age, best: source.best.flatMap { persons[$0] })
        }
        for source in sources.pets.values.sorted(by: { $0.key < $1.key }) {
            let key = try #require(pets[source.key])
            world.pets[key] = FetchRandomTests.Pet(key: key, name: source.name, owner: nil)
            if let owner = source.owner { world.move(key, to: persons[owner]) }
        }
    }

    private static func change(
        _ world: inout World, _ manager: MigrationManager, _ random: inout SeededGenerator, _ place: String
    ) throws {
        let context = manager.destinationContext
        // Every object is found by a fetch.
        var persons: [Int64: ManagedObject] = [:]
        for object in try context.fetch(request("Person")) { persons[object.objectID.key] = object }
        var pets: [Int64: ManagedObject] = [:]
        for object in try context.fetch(request("Pet")) { pets[object.objectID.key] = object }
        #expect(persons.keys.sorted() == world.persons.keys.sorted(), "\(place)")
        #expect(pets.keys.sorted() == world.pets.keys.sorted(), "\(place)")
        for round in 0..<120 {
            for _ in 0..<random.below(4) {
                let key = try #require(world.persons.keys.sorted().randomElement(using: &random))
                let pet = try #require(world.pets.keys.sorted().randomElement(using: &random))
                let object = try #require(persons[key])
                switch random.below(9) {
                case 0:
                    let new = EntityDescription.insertNewObject(forEntityName: "Person", into: context)
                    persons[new.objectID.key] = new
                    world.persons[new.objectID.key] = .init(key: new.objectID.key, age: 5)
                case 1:
                    let name = random.chance(4) ? nil : "n\(random.below(4))"
                    object.setValue(name, forKey: "name")
                    world.persons[key]?.name = name
                case 2:
                    let age = random.chance(4) ? nil : random.below(6)
                    object.setValue(age, forKey: "age")
                    world.persons[key]?.age = age
                case 3:
                    let best = random.chance(3) ? nil : world.persons.keys.sorted().randomElement(using: &random)
                    object.setValue(best.flatMap { persons[$0] }, forKey: "best")
                    world.persons[key]?.best = best
                case 4:
                    let owner = random.chance(3) ? nil : key
                    pets[pet]?.setValue(owner.flatMap { persons[$0] }, forKey: "owner")
                    world.move(pet, to: owner)
                case 5:
                    object.mutableOrderedSetValue(forKey: "pets").add(try #require(pets[pet]))
                    world.move(pet, to: key)
                case 6:
                    // The same members in another order.
                    let members = (world.order[key] ?? []).sorted { $0 % 7 < $1 % 7 || $0 % 7 == $1 % 7 && $0 < $1 }
                    object.setValue(NSOrderedSet(array: members.compactMap { pets[$0] }), forKey: "pets")
                    world.order[key] = members
                case 7:
                    guard world.pets.count > 10 else { continue }
                    context.delete(try #require(pets[pet]))
                    world.move(pet, to: nil)
                    world.pets[pet] = nil
                    pets[pet] = nil
                default:
                    guard world.persons.count > 20 else { continue }
                    context.delete(object)
                    for own in world.order[key] ?? [] { world.move(own, to: nil) }
                    world.order[key] = nil
                    world.persons[key] = nil
                    persons[key] = nil
                    for other in world.persons.keys where world.persons[other]?.best == key {
                        world.persons[other]?.best = nil
                    }
                }
            }
            let (present, animals) = (persons, pets)
            var generator = FetchRandomTests.Generator(
                random: SeededGenerator(seed: random.next()), persons: world.persons,
                object: { try #require(present[$0]) }, pets: world.pets, pet: { try #require(animals[$0]) })
            try generator.compare(context, "\(place), fetch \(round)")
            try generator.comparePets(context, "\(place), fetch \(round)")
        }
        for (key, object) in persons {
            let members = (object.value(forKey: "pets") as? NSOrderedSet)?.array as? [ManagedObject]
            #expect(members?.map(\.objectID.key) == world.order[key] ?? [], "\(place), pets of \(key)")
        }
    }

    /// Checks that the saved values are those that were set, and that Z_OPT of changed existing objects is raised by one.
    private static func check(
        _ saved: ReferenceStore, _ world: World, _ stored: World, _ before: ReferenceStore?, _ place: String
    ) throws {
        let found = try Self.world(saved)
        #expect(found.persons.keys.sorted() == world.persons.keys.sorted(), "\(place)")
        #expect(found.pets.keys.sorted() == world.pets.keys.sorted(), "\(place)")
        for (key, person) in world.persons {
            let one = found.persons[key]
            #expect(one?.name == person.name && one?.age == person.age && one?.best == person.best, "\(place), \(key)")
            #expect(found.order[key] ?? [] == world.order[key] ?? [], "\(place), pets of \(key)")
            guard let before, let old = stored.persons[key], case .integer(let lock) = before.lock("Person", key) else {
                #expect(saved.lock("Person", key) == .integer(1), "\(place), person \(key)")
                continue
            }
            let isChanged =
                old.name != person.name || old.age != person.age || old.best != person.best
                || stored.order[key] ?? [] != world.order[key] ?? []
            raised(saved.lock("Person", key), lock, isChanged, "\(place), person \(key)")
        }
        for (key, pet) in world.pets {
            #expect(found.pets[key]?.owner == pet.owner, "\(place), pet \(key)")
            guard let before, let old = stored.pets[key], case .integer(let lock) = before.lock("Pet", key) else {
                continue
            }
            raised(saved.lock("Pet", key), lock, old.owner != pet.owner, "\(place), pet \(key)")
        }
    }

    /// Z_OPT may be raised of an object that was changed and changed back, never of one that nobody changed.
    private static func raised(_ found: ReferenceValue, _ lock: Int64, _ isChanged: Bool, _ place: String) {
        if isChanged {
            #expect(found == .integer(lock + 1), "\(place)")
        } else {
            #expect(found == .integer(lock) || found == .integer(lock + 1), "\(place)")
        }
    }
}
