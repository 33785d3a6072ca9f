import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite("Registered expression functions")
struct FunctionTests {
    private static let register: @Sendable (ExpressionFunctionTable) -> Void = { functions in
        functions.add("titleForTitle:pages:", FunctionPolicy.title(forTitle:pages:))
        functions.add("isLongWithPages:", FunctionPolicy.isLong(pages:))
        functions.add("count", FunctionPolicy.count)
        functions.add("shout:", FunctionPolicy.shout(_:))
        functions.add("titlesOfChapters:", FunctionPolicy.titles(ofChapters:))
        functions.add("describe:manager:mapping:price:any:", FunctionPolicy.describe(_:manager:mapping:price:any:))
    }

    private func policy() throws -> EntityMigrationPolicy {
        let registry = PolicyRegistry()
        registry.register(FunctionPolicy.self, functions: Self.register)
        return try #require(registry.makePolicy(named: "App.FunctionPolicy"))
    }

    @Test("Arguments are converted to the parameters' types, results to what expressions hold")
    func conversion() throws {
        let policy = try policy()
        #expect(
            try policy.call(selector: "titleForTitle:pages:", arguments: ["a", NSNumber(value: Int32(7))]) as? String
                == "a (7)")
        #expect(try policy.call(selector: "titleForTitle:pages:", arguments: [nil, 7.9]) == nil)
        #expect(try policy.call(selector: "titleForTitle:pages:", arguments: [NSNull(), 1]) == nil)
        #expect(try policy.call(selector: "isLongWithPages:", arguments: [401]) as? NSNumber == 1)
        #expect(try policy.call(selector: "count", arguments: []) as? NSNumber == 1)
        #expect(try policy.call(selector: "count", arguments: []) as? NSNumber == 2)
        #expect(try policy.call(selector: "shout:", arguments: [NSString(string: "hi")]) as? String == "HI")
        // Swift's bridging makes an empty text or set of Objective-C's nil.
        #expect(try policy.call(selector: "shout:", arguments: [nil]) as? String == "")
        #expect(try policy.call(selector: "shout:", arguments: [NSNull()]) as? String == "")
        #expect(try policy.call(selector: "titlesOfChapters:", arguments: [nil]) as? String == "")
    }

    @Test("nil for a parameter that is not optional names policy, selector and argument")
    func missingArgument() throws {
        let policy = try policy()
        let error = #expect(throws: MigrationError.self) {
            try policy.call(selector: "titleForTitle:pages:", arguments: ["a", nil])
        }
        #expect(error?.code == "policy.argument")
        #expect(error?.message.contains("Argument 2 of titleForTitle:pages: is nil") == true)
        #expect(error?.context.policy == "FunctionPolicy titleForTitle:pages:")
        let wrong = #expect(throws: MigrationError.self) {
            try policy.call(selector: "isLongWithPages:", arguments: ["many"])
        }
        #expect(wrong?.message.contains("String") == true)
        let outOfRange = #expect(throws: MigrationError.self) {
            try policy.call(selector: "titleForTitle:pages:", arguments: ["a", NSNumber(value: 1e300)])
        }
        #expect(outOfRange?.code == "policy.argument")
    }

    @Test("Wrong numbers of arguments and unknown selectors are named")
    func unknown() throws {
        let policy = try policy()
        #expect(policy.knows(selector: "count"))
        #expect(!policy.knows(selector: "none:"))
        let unknown = #expect(throws: MigrationError.self) { try policy.call(selector: "none:", arguments: [1]) }
        #expect(unknown?.code == "policy.unknownSelector")
        #expect(unknown?.remedy?.contains("titlesOfChapters:") == true)
        let count = #expect(throws: MigrationError.self) { try policy.call(selector: "count", arguments: [1]) }
        #expect(count?.code == "policy.argumentCount")
    }

    @Test("A policy's error keeps its identity")
    func identity() throws {
        let policy = try policy()
        #expect(throws: FunctionStop.anonymous) { try policy.call(selector: "shout:", arguments: ["Anon"]) }
    }

    @Test("Superclasses' functions are inherited in any order of registration")
    func inheritance() throws {
        let registry = PolicyRegistry()
        registry.register(InheritingPolicy.self)
        registry.register(FunctionPolicy.self, functions: Self.register)
        let policy = try #require(registry.makePolicy(named: "InheritingPolicy"))
        #expect(try policy.call(selector: "isLongWithPages:", arguments: [3]) as? NSNumber == 0)
    }

    @Test("A name given by @objc is registered beside the class's own")
    func names() throws {
        let registry = PolicyRegistry()
        registry.register(FunctionPolicy.self, named: "LIBFunctionPolicy") { _ in }
        #expect(registry.makePolicy(named: "App.LIBFunctionPolicy") is FunctionPolicy)
        #expect(registry.names == ["FunctionPolicy", "LIBFunctionPolicy", "StagecoachTests.FunctionPolicy"])
    }

    private func fixture(_ expressions: [String: String]) throws -> PolicySourceFixture {
        let fixture = try PolicySourceFixture()
        for property in fixture.books?.attributeMappings ?? [] {
            guard let text = property.name.flatMap({ expressions[$0] }) else { continue }
            property.valueExpression = try NSExpression(parsing: text)
        }
        fixture.manager.policies.register(FunctionPolicy.self, functions: Self.register)
        return fixture
    }

    @Test("Expressions of a mapping call them on $entityPolicy")
    func expressions() throws {
        let fixture = try fixture([
            "title": "FUNCTION($entityPolicy, 'titleForTitle:pages:', $source.title, $source.pages)",
            "note": "FUNCTION($entityPolicy, 'titlesOfChapters:', $source.chapters)",
            "year": "FUNCTION($entityPolicy, 'count') + 1900",
            "isbn":
                "FUNCTION($entityPolicy, 'describe:manager:mapping:price:any:', $source, $manager, $entityMapping, $source.price, nil)",
        ])
        let store = try fixture.run(FunctionPolicy.self, registering: false)
        #expect(store.texts("Book", "title") == ["Emma (474)", "Dune (412)", "Anon (7)", "Beowulf (90)"])
        #expect(store.texts("Book", "note") == ["c1 c2 c3", "", "", ""])
        #expect(store.texts("Book", "year") == ["1901", "1902", "1903", "1904"])
        #expect(store.texts("Book", "isbn")[1] == "BookToBook Book 9.5 true true")
    }

    @Test("A function's error ends the run with mapping, object and property, and keeps its identity")
    func failure() throws {
        let fixture = try fixture(["title": "FUNCTION($entityPolicy, 'shout:', $source.title)"])
        #expect(throws: FunctionStop.anonymous) { try fixture.run(FunctionPolicy.self, registering: false) }
        let error = fixture.manager.failure
        #expect(error?.cause as? FunctionStop == .anonymous)
        #expect(error?.context.entityMapping == "BookToBook")
        #expect(error?.context.objectID?.hasSuffix("p3") == true)
    }

    @Test("A selector that nobody registered is refused before anything runs")
    func unregistered() throws {
        let fixture = try fixture(["title": "FUNCTION($entityPolicy, 'nothing:', $source.title)"])
        let error = #expect(throws: MigrationError.self) { try fixture.run(FunctionPolicy.self, registering: false) }
        #expect(error?.code == "policy.unknownSelector")
        #expect(error?.category == .configuration)
        #expect(error?.context.property == "title")
        #expect(!FileManager.default.fileExists(atPath: fixture.destinationURL.path))
        for (target, slip, meant) in [
            ("entityPolicy", "shuot:", "shout:"), ("manager", "currentEntityMaping", "currentEntityMapping"),
        ] {
            let argument = slip.hasSuffix(":") ? ", $source.title" : ""
            let fixture = try self.fixture(["title": "FUNCTION($\(target), '\(slip)'\(argument))"])
            let error = #expect(throws: MigrationError.self) {
                try fixture.run(FunctionPolicy.self, registering: false)
            }
            #expect(error?.code == "policy.unknownSelector" && error?.remedy == "Did you mean '\(meant)'?")
        }
    }

    @Test("A registration whose selector has another number of colons is refused")
    func colons() throws {
        let fixture = try PolicySourceFixture()
        fixture.manager.policies.register(FunctionPolicy.self) { $0.add("count:", FunctionPolicy.count) }
        let error = #expect(throws: MigrationError.self) { try fixture.run(FunctionPolicy.self, registering: false) }
        #expect(error?.code == "policy.selector")
    }

    @Test("A manager's subclass registers its own")
    func manager() throws {
        let base = try fixture(["note": "FUNCTION($manager, 'shelfForTitle:', $source.title)"])
        let manager = LibraryManager(
            sourceModel: base.manager.sourceModel, destinationModel: base.manager.destinationModel)
        #expect(manager.knows(selector: "shelfForTitle:"))
        #expect(try manager.call(selector: "shelfForTitle:", arguments: ["Emma"]) as? String == "shelf E")
        let fixture = base.with(manager)
        let store = try fixture.run(nil)
        #expect(store.texts("Book", "note") == ["shelf E", "shelf D", "shelf A", "shelf B"])
        // The base class has no such function.
        let error = #expect(throws: MigrationError.self) { try base.run(nil) }
        #expect(error?.category == .configuration)
    }

    @Test("The manager's own selectors answer")
    func own() throws {
        let fixture = try PolicySourceFixture()
        fixture.manager.userInfo = ["currency": "EUR"]
        #expect(fixture.manager.knows(selector: "destinationInstancesForEntityMappingNamed:sourceInstances:"))
        #expect(fixture.manager.knows(selector: "fetchRequestForSourceEntityNamed:predicateString:"))
        let request = try #require(
            try fixture.manager.call(
                selector: "fetchRequestForSourceEntityNamed:predicateString:", arguments: ["Book", "pages > 100"])
                as? NSFetchRequest<NSManagedObject>)
        #expect(request.entityName == "Book")
        #expect(!request.includesSubentities)
        let all = try fixture.manager.call(
            selector: "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:",
            arguments: ["Book", nil, true])
        #expect((all as? NSFetchRequest<NSManagedObject>)?.includesSubentities == true)
        #expect(
            try fixture.manager.call(selector: "valueForKeyPath:", arguments: ["userInfo.currency"]) as? String == "EUR"
        )
        #expect(
            try fixture.manager.call(selector: "valueForKey:", arguments: ["sourceModel"]) as? NSManagedObjectModel
                === fixture.manager.sourceModel)
        #expect(
            try fixture.manager.call(
                selector: "destinationInstancesForEntityMappingNamed:sourceInstances:", arguments: ["BookToBook", nil])
                == nil)
    }
}
