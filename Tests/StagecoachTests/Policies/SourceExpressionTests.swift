import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The source expression of an entity mapping decides which objects are migrated, or the run is refused.
@Suite("Source expressions") struct SourceExpressionTests {
    private static func fetch(_ predicate: String, _ rest: String = "") -> String {
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:\(rest.isEmpty ? "" : "includesSubentities:")', "
            + "'Person', \"\(predicate)\"\(rest)), $manager.sourceContext, NO)"
    }

    @Test("A fetch of the source entity with a predicate filters, also if only code set it")
    func filter() throws {
        let fixture = try PolicyFixture(persons: 6)
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: Self.fetch("name != nil"))
        let all = try fixture.run().objects("Person").count
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: Self.fetch("name == nil"))
        #expect(try fixture.run().objects("Person").isEmpty && all == 6)
    }

    @Test(
        "What gives no source objects is refused, and nothing is written",
        arguments: [
            "$manager.sourceContext", "nil", "5", "FETCH($manager.userInfo, $manager.sourceContext, YES)",
            "$manager.userInfo", "{1, 2}",
        ])
    func refused(text: String) throws {
        let fixture = try PolicyFixture(persons: 2)
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: text)
        let error = #expect(throws: MigrationError.self) { try fixture.run() }
        #expect(error?.code == "mapping.sourceExpression" && error?.category == .configuration)
        #expect(error?.context.entityMapping == fixture.mapping.entityMappings[0].name)
        #expect(!FileManager.default.fileExists(atPath: fixture.destinationURL.path))
    }

    /// A manager whose functions give requests and objects.
    private final class FetchingManager: MigrationManager {
        func oldest(most: NSNumber?) -> Any? {
            let request = FetchRequest<ManagedObject>(entityName: "Person")
            request.sortDescriptors = [KeySortDescriptor(key: "age", ascending: false)]
            request.fetchLimit = most?.intValue ?? 0
            return request
        }

        override func registerFunctions(_ functions: ExpressionFunctionTable) {
            functions.add("oldestWithMost:", FetchingManager.oldest(most:))
        }
    }

    private static func manager(_ fixture: PolicyFixture) -> FetchingManager {
        let manager = FetchingManager(sourceModel: fixture.source, destinationModel: fixture.destination)
        manager.policies = PolicyRegistry()
        manager.options.batchSize = 2
        manager.options.fullCheck = true
        return manager
    }

    @Test("A request with sort and limit gives its objects in its order, which numbers the destination's")
    func sorted() throws {
        let fixture = try PolicyFixture(persons: 6)
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(
            parsing: "FETCH(FUNCTION($manager, 'oldestWithMost:', 3), $manager.sourceContext, NO)")
        let manager = Self.manager(fixture)
        let store = try fixture.run(manager)
        #expect(
            store.column("Person", "name") == [1: .text("person 6"), 2: .text("person 5"), 3: .text("person 4")])
        let line = try #require(manager.report?.counts.mappings.first)
        #expect(line.sourceObjects == 6 && line.migrated == 3 && line.filtered == 3)
    }

    @Test("Lookups find what an expression's objects became")
    func lookups() throws {
        let fixture = try PolicyFixture(persons: 6)
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(
            parsing: "FETCH(FUNCTION($manager, 'oldestWithMost:', 5), $manager.sourceContext, NO)")
        let persons = try fixture.run(Self.manager(fixture)).objects("Person")
        // Person 2 is the last of five and has pet 2; person 1, who has the others, is not fetched.
        #expect(persons[5]?.related("pets").map(\.key) == [2])
        #expect(persons.values.allSatisfy { $0.key == 5 || $0.related("pets").isEmpty })
    }

    @Test("Set operations on fetches and an entity policy's functions give objects too")
    func otherForms() throws {
        let fixture = try PolicyFixture(persons: 6)
        let parts = ["age < 20", "age > 50"].map { Self.fetch($0) }
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(
            parsing: "(CAST(\(parts[0]), 'NSSet')) UNION (\(parts[1]))")
        let store = try fixture.run(Self.manager(fixture))
        #expect(store.column("Person", "name") == [1: .text("person 1"), 2: .text("person 6")])
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(
            parsing: "\(Self.fetch("age > 30"))[FIRST]")
        #expect(try fixture.run(Self.manager(fixture)).column("Person", "name") == [1: .text("person 4")])
    }

    @Test("Fetches under TERNARY, SUBQUERY and set operations give what the whole expression gives")
    func fetchForms() throws {
        let fixture = try PolicyFixture(persons: 6)
        let (young, old, all) = (Self.fetch("age < 35"), Self.fetch("age > 15"), Self.fetch("TRUEPREDICATE"))
        for (text, expected) in [
            ("TERNARY(1 == 1, \(young), \(old))", [1, 2, 3]), ("TERNARY(1 == 2, \(young), \(old))", [2, 3, 4, 5, 6]),
            (
                "TERNARY(FETCH(FUNCTION($manager, 'oldestWithMost:', 3), $manager.sourceContext, YES) == 3, \(young), nil)",
                [1, 2, 3]
            ),
            ("(\(young)) INTERSECT (\(old))", [2, 3]), ("(\(all)) MINUS (\(old))", [1]),
            ("((\(all)) MINUS (\(old))) UNION (\(Self.fetch("age == 60")))", [1, 6]),
            ("SUBQUERY(\(all), $x, $x.pets.@count > 0)", [1, 2]),
            ("SUBQUERY((\(all)) MINUS (\(Self.fetch("age == 10"))), $x, $x.pets.@count > 0)", [2]),
            (
                "CAST(FETCH(FUNCTION($manager, 'oldestWithMost:', 3), $manager.sourceContext, NO), 'NSSet') UNION {}",
                [4, 5, 6]
            ),
        ] as [(String, [Int])] {
            fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(parsing: text)
            let names = try fixture.run(Self.manager(fixture)).column("Person", "name")
            #expect(names.sorted { $0.key < $1.key }.map(\.value) == expected.map { .text("person \($0)") }, "\(text)")
        }
    }

    @Test("A FETCH whose objects would have to be held all at once is bounded by the memory limit")
    func bounded() throws {
        let fixture = try PolicyFixture(persons: 12_000)
        fixture.isTiny = false
        fixture.change = { $0.options.memoryRoom = 20 << 20 }
        fixture.mapping.entityMappings.removeLast(2)
        fixture.mapping.entityMappings[0].relationshipMappings = []
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(
            parsing: "\(Self.fetch("TRUEPREDICATE"))[LAST]")
        let error = try #require(throws: MigrationError.self) { try fixture.run() }
        #expect(error.code == "mapping.sourceExpression" && error.description.contains("12,000"), "\(error)")
        fixture.mapping.entityMappings[0].sourceExpression = try ValueExpression(
            parsing: "(\(Self.fetch("TRUEPREDICATE"))) MINUS (\(Self.fetch("age == 10")))")
        #expect(try fixture.run().keys("Person").count == 11_999)
    }

    @Test("$source has no value in a source expression, and objects of other entities are refused")
    func wrongObjects() throws {
        let fixture = try PolicyFixture(persons: 2)
        let expression = { (text: String) in try ValueExpression(parsing: text) }
        fixture.mapping.entityMappings[0].sourceExpression = try expression("$source.pets")
        #expect(try #require(throws: MigrationError.self) { try fixture.run() }.code == "expression.variable")
        fixture.mapping.entityMappings[0].sourceExpression = try expression(
            Self.fetch("TRUEPREDICATE", ", YES").replacingOccurrences(of: "Person", with: "Pet"))
        let error = try #require(throws: MigrationError.self) { try fixture.run() }
        // The entity that it names shows before an object is read.
        #expect(error.code == "mapping.sourceExpression" && error.message.contains("objects of Pet"))
        fixture.mapping.entityMappings[0].sourceExpression = try expression(
            "FUNCTION(\(Self.fetch("TRUEPREDICATE", ", YES").replacingOccurrences(of: "Person", with: "Pet")), 'self')")
        let other = try #require(throws: MigrationError.self) { try fixture.run() }
        #expect(other.code == "mapping.sourceExpression" && other.context.objectID?.hasPrefix("Pet/p") == true)
    }

    @Test("A fetch with subentities migrates their objects too, and accounts for them", arguments: [nil, "age > 1"])
    func subentities(filter: String?) throws {
        let source = try model(
            entity(
                "Animal", [attribute("age", .integer16)],
                [toMany("young", "Animal", inverse: "old"), toOne("old", "Animal", inverse: "young")]),
            entity("Dog", parent: "Animal", [attribute("name", .string)]), entity("Puppy", parent: "Dog"))
        let destination = try model(
            entity(
                "Beast", [attribute("age", .integer16)],
                [toMany("young", "Beast", inverse: "old"), toOne("old", "Beast", inverse: "young")]))
        let folder = try TemporaryFolder()
        let path = folder.file("source.sqlite")
        try ReferenceStore.make(source) { store in
            store.insert("Animal", 1, ["age": .integer(1)])
            store.insert("Dog", 2, ["age": .integer(2)], toOne: ["old": 1])
            store.insert("Puppy", 3, ["age": .integer(3)], toOne: ["old": 2])
            store.insert("Animal", 4, ["age": .integer(4)], toOne: ["old": 3])
        }.write(path: path)
        let beasts = try mapping(
            "B", "Animal", "Beast", ["age": "$source.age"], relationships: ["old": by("B", "$source.old")])
        beasts.sourceExpression = try ValueExpression(
            parsing: Self.fetch(filter ?? "TRUEPREDICATE", ", YES").replacingOccurrences(of: "Person", with: "Animal"))
        let out = folder.file("out.sqlite")
        var options = MigrationOptions()
        options.batchSize = 2
        options.fullCheck = true
        let report = try Migration(
            from: path, model: source, mapping: mappings(beasts), to: out, model: destination, options: options
        ).run()
        let store = try ReferenceStore.read(path: out, model: destination)
        let ages: [Int64] = filter == nil ? [1, 2, 3, 4] : [2, 3, 4]
        #expect(store.keys("Beast").map { store.value("Beast", $0, "age") } == ages.map { .integer($0) })
        let links = store.objects("Beast").values.reduce(0) { $0 + $1.related("old").count }
        #expect(links == (filter == nil ? 3 : 2))
        #expect(report.counts.withoutMapping.isEmpty)
        #expect(report.counts.mappings[0].sourceObjects == 4)
        #expect(report.counts.mappings[0].migrated == ages.count)
    }

    @Test("A predicate that fails inside a policy's call ends the run")
    func failingPredicate() throws {
        let fixture = try PolicyFixture(persons: 1)
        var steps = ClosurePolicy.Steps()
        steps.end = { _, _ in _ = FormatPredicate(format: "1 / 0 == 1").evaluate(with: nil) }
        fixture.policy("Persons", steps)
        #expect(throws: MigrationError.self) { try fixture.run() }
    }
}
