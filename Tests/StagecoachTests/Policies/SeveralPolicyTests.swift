import Diagnostics
import Foundation
import Mapping
import Stagecoach
import Synchronization
import TestSupport
import Testing

/// Policies where several mapping models run in turn.
@Suite("Policies of several mapping models")
struct SeveralPolicyTests {
    /// The fixture's mapping model in two: pets, then persons; both with a policy.
    private struct Fixture {
        let fixture: PolicyFixture
        let models: [MappingModel]
        let log = PolicyLog()
        /// Policies made, by name.
        let made = Made()

        final class Made: Sendable {
            let counts = Mutex<[String: Int]>([:])
        }

        init() throws {
            fixture = try PolicyFixture(persons: 2)
            let whole = fixture.mapping
            models = try ["Pets", "Persons"].map { name in
                let model = try #require(whole.copy() as? MappingModel)
                model.entityMappings = model.entityMappings.filter { $0.name == name }
                model.entityMappings[0].relationshipMappings = nil
                model.entityMappings[0].entityMigrationPolicyClassName = "\(name)Policy"
                return model
            }
        }

        /// A manager whose policies write down their calls.
        func manager(persons: ClosurePolicy.Steps = .init()) -> MigrationManager {
            let manager = fixture.manager()
            for name in ["Pets", "Persons"] {
                var steps = name == "Persons" ? persons : .init()
                steps.log = log
                let carried = Unchecked(steps)
                let made = made
                manager.policies.register("\(name)Policy") {
                    made.counts.withLock { $0[name, default: 0] += 1 }
                    let policy = ClosurePolicy()
                    policy.steps = carried.value
                    return policy
                }
            }
            return manager
        }

        func call(_ manager: MigrationManager, _ model: MappingModel) throws {
            try manager.migrateStore(
                from: fixture.sourceURL, type: .sqlite, mapping: model, to: fixture.destinationURL, type: .sqlite)
        }

        /// All that one mapping's policy is called for.
        static func calls(_ name: String) -> [String] {
            ["begin \(name)", "create \(name) p1", "create \(name) p2", "created \(name)"]
                + ["relate \(name) p1", "relate \(name) p2", "related \(name)", "validate \(name)", "end \(name)"]
        }
    }

    @Test(
        "Each policy is made once and called for its own mapping model only, in one run and in several calls",
        arguments: [false, true])
    func ownModel(inOneRun: Bool) throws {
        let scene = try Fixture()
        let manager = scene.manager()
        if inOneRun {
            _ = try Migration(
                from: scene.fixture.sourcePath, model: scene.fixture.source, mappings: scene.models,
                to: scene.fixture.destinationURL.path, model: scene.fixture.destination, options: manager.options,
                manager: manager
            ).run()
        } else {
            for model in scene.models { try scene.call(manager, model) }
        }
        #expect(scene.log.lines == Fixture.calls("Pets") + Fixture.calls("Persons"))
        #expect(scene.made.counts.withLock { $0 } == ["Pets": 1, "Persons": 1])
    }

    @Test("A policy finds the objects of an earlier call, and of none before the manager was reset")
    func reset() throws {
        let scene = try Fixture()
        let found = Mutex<[[Int64]]>([])
        let steps = ClosurePolicy.Steps(begin: { _, manager in
            let pets = manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil)
            found.withLock { $0.append(pets.map(\.objectID.key)) }
        })
        let manager = scene.manager(persons: steps)
        manager.userInfo = ["mine": 7]
        try scene.call(manager, scene.models[0])
        try scene.call(manager, scene.models[1])
        #expect(found.withLock { $0 } == [[1, 2]])
        manager.reset()
        #expect(manager.mappingModel.entityMappings.isEmpty && manager.currentEntityMapping.name == nil)
        #expect(manager.migrationProgress == 1 && manager.userInfo?["mine"] as? Int == 7)
        // Outside a run nothing is found, and nothing fails.
        #expect(manager.destinationInstances(forEntityMappingName: "Pets", sourceInstances: nil).isEmpty)
        let error = #expect(throws: MigrationError.self) { try scene.call(manager, scene.models[1]) }
        #expect(error?.code == "manager.unknownMapping")
        // The failed call has left nothing: the next ones are as the first.
        try scene.call(manager, scene.models[0])
        try scene.call(manager, scene.models[1])
        #expect(found.withLock { $0.last } == [3, 4])
    }

    @Test("A copied mapping model that is changed in code migrates by its changes, the original by its own")
    func copies() throws {
        let fixture = try PolicyFixture(persons: 3)
        let original = fixture.mapping
        let changed = try #require(original.copy() as? MappingModel)
        let persons = try #require(changed.entityMappingsByName["Persons"])
        let name = try #require(persons.attributeMapping(named: "name"))
        name.valueExpression = try ValueExpression(parsing: "FUNCTION($source.name, 'stringByAppendingString:', '!')")
        // A second mapping of the same entity, a copy of a copy under another name.
        let twins = try #require(persons.copy() as? EntityMapping)
        twins.name = "Twins"
        twins.relationshipMappings = nil
        let age = try #require(twins.attributeMapping(named: "age")?.copy() as? PropertyMapping)
        age.valueExpression = try ValueExpression(parsing: "$source.age + 1")
        twins.attributeMappings = [age]
        changed.entityMappings.append(twins)
        fixture.mapping = changed
        let store = try fixture.run()
        #expect(store.column("Person", "name")[1] == .text("person 1!"))
        let ages = store.column("Person", "age").sorted { $0.key < $1.key }.map(\.value)
        #expect(ages == [10, 20, 30, 11, 21, 31].map { .integer($0) })
        fixture.mapping = original
        let plain = try fixture.run()
        #expect(original.entityMappings.count == 3)
        #expect(plain.keys("Person") == [1, 2, 3])
        #expect(plain.column("Person", "name")[1] == .text("person 1"))
    }

    @Test("An expression set in a copy of an inferred mapping model is as explicit as any", arguments: [false, true])
    func explicit(isStaged: Bool) throws {
        let scene = try FailureFixture { book in
            book.attributes[1].isOptional = false
            book.attributes[1].defaultValue = .string("none")
        }
        try scene.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK = 17")
        // Inferred, a nil becomes the default that the new model has.
        try scene.migration(scene.options(isStaged: isStaged)).run()
        try FileManager.default.removeItem(atPath: scene.destinationPath)
        let copy = try #require(scene.mapping.copy() as? MappingModel)
        let books = try #require(copy.entityMappings.first { $0.destinationEntityName == "Book" })
        books.attributeMapping(named: "isbn")?.valueExpression = try ValueExpression(parsing: "$source.isbn")
        let (error, changes) = try scene.ending {
            try Migration(
                from: $0.sourcePath, model: $0.source, mapping: copy, to: $0.destinationPath, model: $0.destination,
                options: $0.options(isStaged: isStaged)
            ).run()
        }
        #expect(changes == [])
        #expect(error?.code == "validation.missing", "\(String(describing: error))")
    }
}
