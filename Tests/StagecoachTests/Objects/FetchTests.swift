import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

@Suite("Fetches in both contexts")
struct FetchTests {
    /// Predicates, arguments and the persons' keys that they give, the same on both sides.
    struct Case: CustomStringConvertible, @unchecked Sendable {
        var format: String
        var arguments: [Any?]
        var keys: [Int64]
        var description: String { format }

        init(_ format: String, _ arguments: Any?..., gives keys: [Int64]) {
            self.format = format
            self.arguments = arguments
            self.keys = keys
        }
    }

    // Person 1 has pets 3, 1; person 2 has pet 2; friends of 1 are 2 and 3; best of 1 is 2.
    static let cases: [Case] = [
        Case("name == 'person 3'", gives: [3]),
        Case("name == %@", "person 3", gives: [3]),
        Case("%K == %@", "name", "person 3", gives: [3]),
        Case("name == %@ AND age == %d", "person 3", 30, gives: [3]),
        Case("name == %@ AND age > %@", "person 3", NSNumber(value: 30), gives: []),
        Case("name ==[c] %@", "PERSON 4", gives: [4]),
        Case("age > 20 AND age <= 40", gives: [3, 4]),
        Case("age IN %@", [10, 30, 70] as [Int], gives: [1, 3]),
        Case("name IN %@", NSSet(array: ["person 2", "person 5", "nobody"]), gives: [2, 5]),
        Case("NOT (name IN {'person 1', 'person 2'})", gives: [3, 4, 5, 6]),
        Case("age BETWEEN {20, 30}", gives: [2, 3]),
        Case("name BEGINSWITH 'person' AND name ENDSWITH '5'", gives: [5]),
        Case("name LIKE '*6' OR age == 10", gives: [1, 6]),
        Case("name MATCHES 'person [12]'", gives: [1, 2]),
        Case("best == nil", gives: [2, 3, 4, 5, 6]),
        Case("best != nil", gives: [1]),
        Case("best.name == 'person 2'", gives: [1]),
        Case("best.age < %d", 25, gives: [1]),
        Case("ANY pets.name == 'pet 3'", gives: [1]),
        Case("ANY pets.name IN {'pet 3', 'pet 2'}", gives: [1, 2]),
        Case("pets.@count > 1", gives: [1]),
        Case("pets.@count == 0", gives: [3, 4, 5, 6]),
        Case("ANY friends.age > 25", gives: [1]),
        Case("SUBQUERY(pets, $p, $p.name CONTAINS '1').@count > 0", gives: [1]),
        Case("TRUEPREDICATE", gives: [1, 2, 3, 4, 5, 6]),
        Case("FALSEPREDICATE", gives: []),
    ]

    @Test("A predicate gives the same objects in the source and in the destination", arguments: cases)
    func predicates(_ example: Case) throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                let request = FetchRequest<ManagedObject>(entityName: "Person")
                request.predicate = FormatPredicate(format: example.format, arguments: example.arguments)
                // Three times: scanned, by an index just made, by the index.
                for _ in 0..<3 {
                    #expect(try context.keys(request) == example.keys)
                    #expect(try context.count(for: request) == example.keys.count)
                }
                request.fetchLimit = 1
                #expect(try context.keys(request) == Array(example.keys.prefix(1)))
            }
        }
    }

    @Test("Objects, their ids and sets of them can be compared with")
    func objects() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                let persons = try context.fetch(request("Person"))
                let pets = try context.fetch(request("Pet"))
                #expect(persons.count == 6)
                #expect(try context.keys(request("Person", "SELF == %@", persons[3])) == [4])
                #expect(try context.keys(request("Person", "SELF == %@", persons[3].objectID)) == [4])
                #expect(try context.keys(request("Person", "objectID == %@", persons[3].objectID)) == [4])
                #expect(try context.keys(request("Person", "self IN %@", [persons[4], persons[1]])) == [2, 5])
                #expect(try context.keys(request("Person", "SELF != %@", persons[3])) == [1, 2, 3, 5, 6])
                #expect(
                    try context.keys(request("Person", "NOT (SELF IN %@)", NSSet(array: persons.dropLast()))) == [6])
                #expect(try context.keys(request("Pet", "owner == %@", persons[0])) == [1, 3])
                #expect(try context.keys(request("Pet", "owner = %@ AND name = 'pet 3'", persons[0])) == [3])
                #expect(try context.keys(request("Pet", "owner IN %@", [persons[0], persons[1]])) == [1, 2, 3])
                #expect(try context.keys(request("Pet", "owner == %@", persons[0].objectID)) == [1, 3])
                // SQL's logic: an unknown comparison drops out.
                #expect(try context.keys(request("Pet", "owner != %@", persons[0])) == [2])
                #expect(try context.keys(request("Pet", "NOT (owner == %@)", persons[0])) == [2])
                #expect(try context.keys(request("Pet", "owner == nil")) == [4, 5, 6])
                #expect(try context.keys(request("Pet", "owner == %@", nil as Any?)) == [4, 5, 6])
                #expect(try context.keys(request("Person", "ANY pets == %@", pets[2])) == [1])
                #expect(try context.keys(request("Person", "pets CONTAINS %@", pets[1])) == [2])
                #expect(try context.keys(request("Person", "%@ IN pets", pets[1])) == [2])
                #expect(try context.keys(request("Person", "ANY friends == %@", persons[2])) == [1])
                #expect(try context.keys(request("Person", "friendOf CONTAINS %@", persons[0])) == [2, 3])
                #expect(
                    try context.keys(request("Person", "best == %@ OR SELF == %@", persons[1], persons[5])) == [1, 6])
                #expect(try context.keys(request("Person", "SELF == %@", pets[1])) == [])
            }
            let foreign = try #require(try manager.sourceContext.fetch(request("Person", limit: 1)).first)
            #expect(throws: MigrationError.self) {
                try manager.destinationContext.fetch(request("Pet", "owner == %@", foreign))
            }
        }
    }

    @Test("Objects come in the order asked for, cut by offset and limit")
    func orderAndLimit() throws {
        let fixture = try PolicyFixture()
        try fixture.fill(persons: 40)
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                func name(_ key: Int64) -> String { key % 7 == 0 ? "" : "n\(key % 5)" }
                let all = Array(Int64(1)...40)
                let byName = all.sorted { (name($0), $0) < (name($1), $1) }
                #expect(try context.keys(request("Person", sort: [("name", true)])) == byName)
                let backwards = all.sorted {
                    name($0) == name($1)
                        ? $0 % 10 < $1 % 10 || ($0 % 10 == $1 % 10 && $0 < $1)
                        : name($0) > name($1)
                }
                let byBoth = request("Person", sort: [("name", false), ("age", true)])
                #expect(try context.keys(byBoth) == backwards)
                byBoth.fetchLimit = 7
                byBoth.fetchOffset = 3
                #expect(try context.keys(byBoth) == Array(backwards[3..<10]))
                #expect(try context.count(for: byBoth) == 7)
                byBoth.fetchOffset = 38
                #expect(try context.keys(byBoth) == Array(backwards[38...]))
                #expect(try context.count(for: byBoth) == 2)
                byBoth.fetchOffset = 100
                #expect(try context.fetch(byBoth).isEmpty)
                #expect(try context.count(for: byBoth) == 0)
                #expect(try context.keys(request("Person", "age == 3", limit: 2)) == [3, 13])
                let byOwner = request("Pet", sort: [("owner.age", false), ("name", true)], limit: 5)
                #expect(try context.keys(byOwner) == [19, 29, 39, 9, 18])
            }
        }
    }

    @Test("More objects than a batch holds are put in order on disk")
    func sortedRuns() throws {
        let fixture = try PolicyFixture()
        fixture.change = { $0.options.batchSize = nil }
        let count: Int64 = 7000
        try fixture.fill(persons: count)
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                let expected = (1...count).sorted { "pet \($0)" > "pet \($1)" }
                let request = request("Pet", sort: [("name", false)])
                #expect(try context.keys(request) == expected)
                request.fetchOffset = 5000
                request.fetchLimit = 1500
                #expect(try context.keys(request) == Array(expected[5000..<6500]))
                request.fetchOffset = 0
                request.fetchLimit = 10
                #expect(try context.keys(request) == Array(expected.prefix(10)))
                request.predicate = FormatPredicate(format: "owner.age < 5")
                let young = expected.filter { ($0 % 10 == 0 ? $0 : $0 % 10) % 10 < 5 }
                #expect(try context.keys(request) == Array(young.prefix(10)))
            }
        }
    }

    @Test("Sort descriptors with a selector or a closure order texts as they say")
    func descriptors() throws {
        let fixture = try PolicyFixture()
        var steps = ClosurePolicy.Steps()
        steps.create = { source, _, manager, standard in
            try standard()
            let names = ["b10", "A", "a", "B2", "ä", "Z"]
            manager.destinationInstances(forEntityMappingName: "Persons", sourceInstances: [source])[0]
                .setValue(names[Int(source.objectID.key) - 1], forKey: "name")
        }
        steps.end = { _, manager in
            let context = try #require(manager.destinationContext as ManagedObjectContext?)
            func names(_ descriptor: KeySortDescriptor) throws -> [String] {
                let request = FetchRequest<ManagedObject>(entityName: "Person")
                request.sortDescriptors = [descriptor]
                return try context.fetch(request).map { $0.value(forKey: "name") as? String ?? "" }
            }
            #expect(try names(KeySortDescriptor(key: "name", ascending: true)) == ["A", "B2", "Z", "a", "b10", "ä"])
            #expect(
                try names(KeySortDescriptor(key: "name", ascending: true, selector: "caseInsensitiveCompare:"))
                    == ["A", "a", "b10", "B2", "Z", "ä"])
            let byLength = KeySortDescriptor(key: "name", ascending: false) { left, right in
                let (one, other) = ((left as? String ?? "").count, (right as? String ?? "").count)
                return one < other ? .orderedAscending : one > other ? .orderedDescending : .orderedSame
            }
            #expect(try names(byLength) == ["b10", "B2", "A", "a", "ä", "Z"])
        }
        fixture.policy("Persons", steps)
        try fixture.run()
    }

    @Test("Results are objects, ids, dictionaries or their number")
    func resultTypes() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            let any = FetchRequest<any FetchRequestResult>(entityName: "Person")
            let results = try context.fetch(any)
            #expect((results as? [ManagedObject])?.count == 6)
            let ids = FetchRequest<ManagedObjectID>(entityName: "Person")
            #expect(try context.fetch(ids).map(\.key) == [1, 2, 3, 4, 5, 6])
            any.resultType = .managedObjectIDResultType
            #expect((try context.fetch(any) as? [ManagedObjectID])?.count == 6)
            let number = FetchRequest<NSNumber>(entityName: "Person")
            #expect(try context.fetch(number) == [6])
            let dictionaries = FetchRequest<NSDictionary>(entityName: "Person")
            dictionaries.propertiesToFetch = ["name", "best"]
            let values = try context.fetch(dictionaries)
            #expect(values.count == 6)
            #expect(values[2] == ["name": "person 3"])
            #expect((values[0]["best"] as? ManagedObjectID)?.key == 2)
            let distinct = FetchRequest<NSDictionary>(entityName: "Pet")
            distinct.propertiesToFetch = ["owner"]
            distinct.returnsDistinctResults = true
            #expect(try context.fetch(distinct).count == 3)
            distinct.fetchOffset = 1
            distinct.fetchLimit = 1
            #expect(try context.fetch(distinct).count == 1)
            dictionaries.propertiesToFetch = nil
            #expect(try context.fetch(dictionaries)[0]["age"] as? Int == 10)
        }
    }

    @Test("Dictionaries have values of expressions, of objects, groups and all objects")
    func expressions() throws {
        func described(_ name: String, _ format: String) -> NSExpressionDescription {
            let description = NSExpressionDescription()
            (description.name, description.expression) = (name, NSExpression(format: format))
            description.expressionResultType = .integer64AttributeType
            return description
        }
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            for context in [manager.sourceContext, manager.destinationContext] {
                let persons = NSFetchRequest<NSDictionary>(entityName: "Person")
                persons.propertiesToFetch = ["name", described("double", "age * 2")]
                #expect(try context.fetch(persons)[1] == ["name": "person 2", "double": 40])
                persons.propertiesToFetch = [
                    described("most", "max:(age)"), described("least", "min:(age)"), described("all", "sum:(age)"),
                    described("mean", "average:(age)"), described("number", "count:(objectID)"),
                    described("friends", "count:(best)"),
                ]
                let all = ["most": 60, "least": 10, "all": 210, "mean": 35, "number": 6, "friends": 1]
                #expect(try context.fetch(persons) == [all as NSDictionary])
                persons.predicate = NSPredicate(format: "age > 100")
                #expect(try context.fetch(persons) == [["number": 0, "friends": 0]])
                let pets = NSFetchRequest<NSDictionary>(entityName: "Pet")
                pets.resultType = .dictionaryResultType
                pets.propertiesToGroupBy = ["owner"]
                pets.propertiesToFetch = ["owner", described("number", "count:(name)")]
                let counts = try context.fetch(pets).map { $0["number"] as? Int }
                // Pet 1 is of person 1, pet 2 of person 2, pet 3 of person 1; the others are of nobody.
                #expect(counts == [2, 1, 3])
                #expect(try context.count(for: pets) == 3)
                (pets.fetchOffset, pets.fetchLimit) = (1, 1)
                #expect(try context.fetch(pets).map { $0["number"] as? Int } == [1])
                pets.propertiesToFetch = ["name", described("number", "count:(name)")]
                #expect(throws: MigrationError.self) { try context.fetch(pets) }
            }
        }
    }

    @Test("Properties of a request that change nothing")
    func unused() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let request = request("Person", sort: [("age", true)], limit: 2)
            let before = try manager.destinationContext.fetch(request)
            (request.fetchBatchSize, request.includesPendingChanges) = (1, false)
            (request.includesPropertyValues, request.returnsObjectsAsFaults) = (false, false)
            request.shouldRefreshRefetchedObjects = true
            request.relationshipKeyPathsForPrefetching = ["pets"]
            request.affectedStores = manager.destinationContext.persistentStoreCoordinator.persistentStores
            #expect(try manager.destinationContext.fetch(request) == before && before.count == 2)
        }
    }

    @Test("Requests that cannot be carried out say why, and nothing is read")
    func refusals() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = manager.destinationContext
            func code(_ request: FetchRequest<ManagedObject>) -> String? {
                do {
                    _ = try context.fetch(request)
                    return nil
                } catch { return (error as? MigrationError)?.code.rawValue }
            }
            #expect(code(FetchRequest<ManagedObject>()) == "fetch.noEntity")
            #expect(code(request("Nobody")) == "object.unknownEntity")
            #expect(code(request("Badge", "color == 'red'")) == "fetch.unknownKey")
            #expect(code(request("Badge", "person.name == 'x' AND size > 3")) == "fetch.unknownKey")
            #expect(code(request("Badge", sort: [("size", true)])) == "fetch.unknownKey")
            #expect(code(request("Badge", "code ==")) == "expression.syntax")
            let grouped = request("Person")
            grouped.propertiesToGroupBy = ["age"]
            #expect(code(grouped) == "fetch.unsupported")
            let described = FetchRequest<NSDictionary>(entityName: "Person")
            described.propertiesToFetch = [NSObject()]
            #expect(throws: MigrationError.self) { try context.fetch(described) }
        }
    }

    @Test("A predicate's closure is asked of each object, and may fetch itself")
    func blocks() throws {
        let fixture = try PolicyFixture()
        try fixture.runInEnd { manager in
            let context = try #require(manager.destinationContext as ManagedObjectContext?)
            let request = request("Person")
            request.predicate = FormatPredicate { object, _ in
                guard let person = object as? ManagedObject else { return false }
                let pets = StagecoachTests.request("Pet", "owner == %@", person)
                return (try? context.count(for: pets)) == 2
            }
            #expect(try context.keys(request) == [1])
        }
    }

    @Test("Subentities come with their ancestor's request unless it says otherwise")
    func subentities() throws {
        var definition = ModelDefinition()
        definition.entities = [
            entity("Animal", [attribute("name", .string)]),
            entity("Dog", parent: "Animal", [attribute("breed", .string)]),
            entity("Cat", parent: "Animal"),
        ]
        let model = try ManagedObjectModel(definition)
        let folder = try TemporaryFolder()
        let store = ReferenceStore.make(model) { store in
            store.insert("Animal", 1, ["name": .text("a")])
            store.insert("Dog", 2, ["name": .text("d"), "breed": .text("pug")])
            store.insert("Cat", 3, ["name": .text("d")])
        }
        try store.write(path: folder.file("source.sqlite"))
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        var steps = ClosurePolicy.Steps()
        steps.end = { mapping, manager in
            guard mapping.name == "Dogs" else { return }
            for context in [manager.sourceContext, manager.destinationContext] as [ManagedObjectContext?] {
                let context = try #require(context)
                #expect(try context.fetch(request("Animal")).map { $0.entity.name } == ["Animal", "Dog", "Cat"])
                #expect(try context.keys(request("Dog")) == [2])
                #expect(try context.count(for: request("Animal")) == 3)
                for _ in 0..<3 {
                    #expect(try context.keys(request("Animal", "name == 'd'")) == [2, 3])
                    #expect(try context.keys(request("Cat", "name == 'd'")) == [3])
                }
                #expect(try context.keys(request("Dog", "breed == 'pug'")) == [2])
                // A key of a subentity is none of its ancestor, as in Core Data.
                #expect(throws: MigrationError.self) { try context.fetch(request("Animal", "breed == 'pug'")) }
                let own = request("Animal")
                own.includesSubentities = false
                #expect(try context.keys(own) == [1])
                #expect(try context.count(for: own) == 1)
            }
        }
        let carried = Unchecked(steps)
        manager.policies.register("DogPolicy") {
            let policy = ClosurePolicy()
            policy.steps = carried.value
            return policy
        }
        let mapping = mappings(
            try mapping("Animals", "Animal", "Animal", ["name": "$source.name"]),
            try mapping(
                "Dogs", "Dog", "Dog", ["name": "$source.name", "breed": "$source.breed"], policy: "DogPolicy"),
            try mapping("Cats", "Cat", "Cat", ["name": "$source.name"]))
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("source.sqlite")), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: folder.file("out.sqlite")), type: .sqlite)
    }
}
