import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// These tests count rows read, never time: one fetch per object must not read the table once per object.
@Suite("Fetches: temporary indexes")
struct FetchIndexTests {
    typealias Steps = ClosurePolicy.Steps

    private static let persons: Int64 = 600

    private func fixture() throws -> PolicyFixture {
        let fixture = try PolicyFixture(persons: Self.persons)
        fixture.isTiny = false
        fixture.change = { $0.options.batchSize = 50 }
        return fixture
    }

    /// Predicates of one fetch an object, with the number of the object.
    private static let predicates: [@Sendable (Int64, ManagedObject) -> FormatPredicate] = [
        { key, _ in FormatPredicate(format: "name == %@", "pet \(key)") },
        { key, _ in FormatPredicate(format: "name ==[c] %@", "PET \(key)") },
        { key, _ in FormatPredicate(format: "name == %@ AND owner == nil", "pet \(key)") },
        { key, _ in FormatPredicate(format: "owner == nil AND name IN %@", ["pet \(key)", "pet 0"]) },
        { _, pet in FormatPredicate(format: "SELF == %@", pet) },
        { _, pet in FormatPredicate(format: "objectID IN %@", [pet.objectID]) },
    ]

    @Test("A fetch by equality for each object reads a number of rows that grows with the objects", arguments: 0..<6)
    func linear(index: Int) throws {
        let fixture = try fixture()
        let predicate = Self.predicates[index]
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                let pets = try context.fetch(request("Pet", sort: [("name", true)]))
                let before = context.fetchStatistics
                for pet in pets where pet.objectID.key > 3 {
                    let request = request("Pet")
                    request.predicate = predicate(pet.objectID.key, pet)
                    #expect(try context.fetch(request).map(ObjectIdentifier.init) == [ObjectIdentifier(pet)])
                    request.fetchLimit = 1
                    #expect(try context.count(for: request) == 1)
                }
                let after = context.fetchStatistics
                let scanned = after.scannedRows - before.scannedRows
                let probed = after.probedRows - before.probedRows
                // A scan, the index, what counts need; then a row or two a fetch.
                #expect(scanned <= 4 * pets.count, "\(scanned) rows scanned")
                #expect(probed <= 4 * pets.count, "\(probed) rows read by key")
            }
        }
    }

    @Test("A fetch by relationship for each object is looked up, in both directions")
    func relationships() throws {
        let fixture = try fixture()
        try fixture.fill(persons: Self.persons)
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                let persons = try context.fetch(request("Person"))
                let before = context.fetchStatistics
                var pets = 0
                for person in persons {
                    pets += try context.count(for: request("Pet", "owner == %@", person))
                    let key = person.objectID.key
                    let owner = key % 10 == 0 ? key : key % 10
                    let pet = context.object(
                        with: try #require(try context.fetch(request("Pet", "name == %@", "pet \(key)")).first).objectID
                    )
                    #expect(try context.keys(request("Person", "ANY pets == %@", pet)) == [owner])
                    #expect(try context.keys(request("Person", "ANY pets.name == %@", "pet \(key)")) == [owner])
                }
                #expect(pets == Int(Self.persons))
                let after = context.fetchStatistics
                let rows = (after.scannedRows - before.scannedRows) + (after.probedRows - before.probedRows)
                #expect(rows <= 12 * persons.count, "\(rows) rows read")
            }
        }
    }

    @Test("Find or create by a fetch for each source object: the index follows inserts and changes")
    func findOrCreate() throws {
        let fixture = try fixture()
        var steps = Steps()
        var statistics: FetchStatistics?
        steps.create = { source, _, manager, standard in
            let context = manager.destinationContext
            let key = source.objectID.key
            // Every third asks for one that there is; codes change after they were indexed.
            let code = "code \(key % 3 == 0 ? key - 2 : key)"
            if let badge = try context.fetch(request("Badge", "code == %@", code, limit: 1)).first {
                #expect(key % 3 == 0)
                badge.setValue("changed \(key)", forKey: "code")
                #expect(try context.keys(request("Badge", "code == %@", "changed \(key)")) == [badge.objectID.key])
                #expect(try context.fetch(request("Badge", "code == %@", code)).isEmpty)
            } else {
                #expect(key % 3 != 0)
                let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: context)
                badge.setValue(code, forKey: "code")
            }
            try standard()
            statistics = context.fetchStatistics
        }
        fixture.policy("Persons", steps)
        let store = try fixture.run()
        #expect(store.keys("Badge").count == 400)
        let read = try #require(statistics)
        #expect(read.indexesBuilt == 1)
        #expect(read.scannedRows + read.probedRows <= 6 * Int(Self.persons), "\(read)")
    }

    @Test("An index gives what a scan gives when rows change, go and come in between")
    func staleEntries() throws {
        let fixture = try fixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            var random = SeededGenerator(seed: 17)
            var codes: [Int64: String] = [:]
            for round in 0..<800 {
                switch random.below(4) {
                case 0, 1:
                    let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: context)
                    let code = "c\(random.below(20))"
                    badge.setValue(code, forKey: "code")
                    codes[badge.objectID.key] = code
                case 2:
                    guard let key = codes.keys.sorted().randomElement(using: &random) else { continue }
                    let badge = try #require(
                        try context.fetch(request("Badge", "code == %@", codes[key])).first {
                            $0.objectID.key == key
                        })
                    let code = "c\(random.below(20))"
                    badge.setValue(code, forKey: "code")
                    codes[key] = code
                default:
                    guard let key = codes.keys.sorted().randomElement(using: &random), round % 3 == 0 else { continue }
                    let badge = try #require(
                        try context.fetch(request("Badge", "code == %@", codes[key])).first {
                            $0.objectID.key == key
                        })
                    context.delete(badge)
                    codes[key] = nil
                }
                let code = "c\(random.below(20))"
                let expected = codes.filter { $0.value == code }.keys.sorted()
                #expect(try context.keys(request("Badge", "code == %@", code)) == expected, "round \(round)")
                #expect(try context.count(for: request("Badge")) == codes.count)
            }
        }
    }

    @Test("Taking the first object of a state and changing it, again and again, does not read those before once more")
    func workList() throws {
        let fixture = try fixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            for number in 0..<1000 {
                let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: context)
                badge.setValue("new \(number % 2)", forKey: "code")
            }
            let before = context.fetchStatistics
            var done: [Int64] = []
            while let badge = try context.fetch(request("Badge", "code == 'new 0'", limit: 1)).first {
                badge.setValue("done", forKey: "code")
                done.append(badge.objectID.key)
                guard done.count % 100 == 0 else { continue }
                // One goes back, behind what was passed over.
                let first = try #require(try context.fetch(request("Badge", "code == 'done'", limit: 1)).first)
                first.setValue("new 0", forKey: "code")
                #expect(try context.keys(request("Badge", "code == 'new 0'", limit: 1)) == [first.objectID.key])
                first.setValue("done", forKey: "code")
            }
            #expect(done == stride(from: 1, to: 1001, by: 2).map { $0 })
            let after = context.fetchStatistics
            #expect(after.scannedRows - before.scannedRows <= 5000)
            #expect(after.probedRows - before.probedRows <= 5000)
            #expect(try context.count(for: request("Badge", "code == 'new 1'")) == 500)
        }
    }

    @Test("A value that many objects share: a limit ends the lookup, without one it is linear in its result")
    func commonValue() throws {
        let fixture = try fixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            let number = 3000
            for index in 0..<number {
                let badge = EntityDescription.insertNewObject(forEntityName: "Badge", into: context)
                badge.setValue(index % 100 == 0 ? "rare" : "common", forKey: "code")
            }
            for _ in 0..<2 { _ = try context.fetch(request("Badge", "code == 'common'", limit: 1)) }
            var before = context.fetchStatistics
            #expect(before.indexesBuilt == 1)
            for _ in 0..<100 { #expect(try context.keys(request("Badge", "code == 'common'", limit: 2)) == [2, 3]) }
            var after = context.fetchStatistics
            #expect(after.scannedRows == before.scannedRows)
            #expect(after.probedRows - before.probedRows <= 200)
            // A page of each segment of the index, whatever the number of objects.
            #expect(after.indexEntries - before.indexEntries <= 100 * 16 * 16, "\(after.indexEntries)")
            before = after
            #expect(try context.count(for: request("Badge", "code == 'rare'")) == number / 100)
            after = context.fetchStatistics
            #expect(after.probedRows - before.probedRows == number / 100)
            before = after
            #expect(try context.fetch(request("Badge", "code == 'common'")).count == number - number / 100)
            after = context.fetchStatistics
            #expect(after.scannedRows == before.scannedRows)
            #expect(after.probedRows - before.probedRows == number - number / 100)
            #expect(after.indexEntries - before.indexEntries <= 4 * number, "\(after.indexEntries)")
        }
    }

    @Test("A limit ends the reading, and a count without predicate reads nothing twice")
    func early() throws {
        let fixture = try fixture()
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                _ = try context.count(for: request("Person"))
                var before = context.fetchStatistics
                for _ in 0..<100 { #expect(try context.count(for: request("Person")) == Int(Self.persons)) }
                #expect(context.fetchStatistics == before)
                #expect(try context.keys(request("Person", limit: 1)) == [1])
                #expect(context.fetchStatistics.scannedRows - before.scannedRows <= 100)
                before = context.fetchStatistics
                #expect(try context.keys(request("Person", "age > 0", limit: 2)) == [1, 2])
                #expect(context.fetchStatistics.scannedRows - before.scannedRows <= 100)
            }
        }
    }
}
