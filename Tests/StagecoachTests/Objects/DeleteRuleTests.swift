import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Groups of persons who have pets; every rule from a group to its persons can be chosen.
private final class DeleteRuleFixture {
    let folder: TemporaryFolder
    let model: ManagedObjectModel
    let store: ReferenceStore
    let mapping: MappingModel
    var memoryLimit = 8 << 30

    /// - Parameters:
    ///   - persons: the number of persons of group 1; group 2 has one more, group 3 none. Each person has one pet.
    init(_ rule: DeleteRule, ordered: Bool = false, persons: Int64 = 3, petRule: DeleteRule = .cascade) throws {
        folder = try TemporaryFolder()
        var members = toMany("members", "Person", inverse: "group", ordered: ordered)
        members.deleteRule = rule
        var pets = toMany("pets", "Pet", inverse: "owner")
        pets.deleteRule = petRule
        var best = toOne("best", "Person", inverse: "bestOf")
        best.deleteRule = .cascade
        var bestOf = toMany("bestOf", "Person", inverse: "best")
        bestOf.deleteRule = .cascade
        var definition = ModelDefinition()
        definition.entities = [
            entity("Group", [attribute("name", .string)], [members]),
            entity(
                "Person", [attribute("name", .string)],
                [toOne("group", "Group", inverse: "members"), pets, best, bestOf]),
            entity("Pet", [attribute("name", .string)], [toOne("owner", "Person", inverse: "pets")]),
        ]
        model = try ManagedObjectModel(definition)
        store = ReferenceStore.make(model) { store in
            for key in 1...3 { store.insert("Group", Int64(key), ["name": .text("group \(key)")]) }
            for key in 1...persons + 1 {
                store.insert("Person", key, ["name": .text("person \(key)")])
                store.insert("Pet", key, ["name": .text("pet \(key)")])
            }
            store.setMembers("Group", 1, "members", Array(1...persons))
            store.setMembers("Group", 2, "members", [persons + 1])
            for key in 1...persons + 1 { store.setMembers("Person", key, "pets", [key]) }
        }
        try store.write(path: folder.file("source.sqlite"))
        mapping = mappings(
            try StagecoachTests.mapping(
                "Groups", "Group", "Group", ["name": "$source.name"],
                relationships: ["members": by("Persons", "$source.members")]),
            try StagecoachTests.mapping(
                "Persons", "Person", "Person", ["name": "$source.name"],
                relationships: [
                    "group": by("Groups", "$source.group"), "pets": by("Pets", "$source.pets"),
                    "best": by("Persons", "$source.best"),
                ]),
            try StagecoachTests.mapping(
                "Pets", "Pet", "Pet", ["name": "$source.name"],
                relationships: ["owner": by("Persons", "$source.owner")]))
    }

    /// Migrates with a policy on groups that does something once all objects are linked.
    func run(_ change: @escaping (MigrationManager) throws -> Void) throws -> ReferenceStore {
        mapping.entityMappingsByName["Groups"]?.entityMigrationPolicyClassName = "GroupPolicy"
        let manager = MigrationManager(sourceModel: model, destinationModel: model)
        manager.policies = PolicyRegistry()
        manager.options.memoryLimit = memoryLimit
        let steps = Unchecked(ClosurePolicy.Steps(validate: { try change($1) }))
        manager.policies.register("GroupPolicy") {
            let policy = ClosurePolicy()
            policy.steps = steps.value
            return policy
        }
        let path = folder.file("destination.sqlite")
        try manager.migrateStore(
            from: URL(fileURLWithPath: folder.file("source.sqlite")), type: .sqlite, mapping: mapping,
            to: URL(fileURLWithPath: path), type: .sqlite)
        return try ReferenceStore.read(path: path, model: model)
    }
}

extension MigrationManager {
    /// The destination object of an entity with a name.
    fileprivate func object(_ entity: String, _ name: String) throws -> ManagedObject {
        let request = FetchRequest<ManagedObject>(entityName: entity)
        request.predicate = FormatPredicate(format: "name == %@", name)
        return try #require(try destinationContext.fetch(request).first)
    }

    fileprivate func delete(_ entity: String, _ name: String) throws {
        destinationContext.delete(try object(entity, name))
    }
}

@Suite("Delete rules in the destination")
struct DeleteRuleTests {
    @Test("Cascade deletes members and what they cascade to; other objects stay", arguments: [false, true])
    func cascade(ordered: Bool) throws {
        let fixture = try DeleteRuleFixture(.cascade, ordered: ordered)
        let result = try fixture.run { try $0.delete("Group", "group 1") }
        #expect(result.keys("Group") == [2, 3])
        #expect(result.keys("Person") == [4])
        #expect(result.keys("Pet") == [4])
        #expect(result.objects("Person")[4]?.related("group").map(\.key) == [2])
    }

    @Test("Nullify, and No Action, unlink the members", arguments: [DeleteRule.nullify, .noAction])
    func nullify(rule: DeleteRule) throws {
        let fixture = try DeleteRuleFixture(rule)
        let result = try fixture.run { try $0.delete("Group", "group 1") }
        #expect(result.keys("Group") == [2, 3])
        #expect(result.keys("Person") == [1, 2, 3, 4])
        #expect(result.objects("Person").values.filter { $0.related("group").isEmpty }.count == 3)
        #expect(result.keys("Pet").count == 4)
    }

    @Test("The objects of a cycle of cascading relationships are deleted once each")
    func cycle() throws {
        let fixture = try DeleteRuleFixture(.cascade)
        let result = try fixture.run { manager in
            let persons = try (1...4).map { try manager.object("Person", "person \($0)") }
            for (one, other) in zip(persons, persons.dropFirst() + persons.prefix(1)) {
                one.setValue(other, forKey: "best")
            }
            manager.destinationContext.delete(persons[2])
        }
        #expect(result.keys("Person").isEmpty && result.keys("Pet").isEmpty)
        #expect(result.keys("Group") == [1, 2, 3])
        #expect(result.maximum("Person") == 4)
    }

    @Test("More members than are held in memory", arguments: [false, true])
    func many(ordered: Bool) throws {
        let fixture = try DeleteRuleFixture(.cascade, ordered: ordered, persons: 20_000)
        let result = try fixture.run { manager in
            // Changes before, so that the links come from several logs.
            let (first, second) = (try manager.object("Group", "group 1"), try manager.object("Group", "group 2"))
            for number in stride(from: 1, through: 20_000, by: 1000) {
                try manager.object("Person", "person \(number)").setValue(second, forKey: "group")
            }
            try manager.object("Person", "person 20001").setValue(first, forKey: "group")
            manager.destinationContext.delete(first)
        }
        #expect(result.keys("Person") == Array(stride(from: 1, through: 20_000, by: 1000)))
        #expect(result.keys("Pet") == result.keys("Person"))
        #expect(result.objects("Person").values.allSatisfy { $0.related("group").map(\.key) == [2] })
    }

    @Test("Nullify with more members than are held in memory", arguments: [false, true])
    func manyUnlinked(ordered: Bool) throws {
        let fixture = try DeleteRuleFixture(.nullify, ordered: ordered, persons: 10_000)
        let result = try fixture.run { manager in
            let second = try manager.object("Group", "group 2")
            try manager.delete("Group", "group 1")
            for number in [7, 8] { try manager.object("Person", "person \(number)").setValue(second, forKey: "group") }
        }
        #expect(result.keys("Person").count == 10_001)
        let linked = result.objects("Person").values.filter { !$0.related("group").isEmpty }.map(\.key).sorted()
        #expect(linked == [7, 8, 10_001])
    }

    @Test("Deny is an error that names both objects")
    func denied() throws {
        let fixture = try DeleteRuleFixture(.deny)
        let error = try #require(throws: MigrationError.self) {
            try fixture.run { try $0.delete("Group", "group 1") }
        }
        #expect(error.code == "validation.deniedDelete" && error.category == .data)
        #expect(error.message.contains("relationship members") && error.message.contains("Person/p1"))
        #expect(error.context.objectID == "Group/p1" && error.context.property == "members")
        let cocoa = error as NSError
        #expect(cocoa.domain == NSCocoaErrorDomain && cocoa.code == NSValidationMultipleErrorsError)
        let details = try #require(cocoa.userInfo[NSDetailedErrorsKey] as? [NSError])
        #expect(details.map(\.code) == Array(repeating: NSValidationRelationshipDeniedDeleteError, count: 3))
        #expect(details.allSatisfy { $0.userInfo[NSValidationKeyErrorKey] as? String == "members" })
        #expect(!FileManager.default.fileExists(atPath: fixture.folder.file("destination.sqlite")))
    }

    @Test("validateForDelete says which relationship denies a deletion")
    func validating() throws {
        let fixture = try DeleteRuleFixture(.deny)
        _ = try fixture.run { manager in
            try manager.object("Group", "group 3").validateForDelete()
            try manager.object("Person", "person 1").validateForDelete()
            let group = try manager.object("Group", "group 1")
            let error = try #require(throws: MigrationError.self) { try group.validateForDelete() } as NSError
            #expect(error.domain == NSCocoaErrorDomain && error.code == NSValidationRelationshipDeniedDeleteError)
            #expect(error.userInfo[NSValidationKeyErrorKey] as? String == "members")
            #expect(error.userInfo[NSValidationObjectErrorKey] as? ManagedObject === group)
            #expect((error.userInfo[NSValidationValueErrorKey] as? NSSet)?.count == 3)
        }
    }

    @Test("Deny is no error for an object without members, or whose members are gone or linked to another in the end")
    func allowed() throws {
        let fixture = try DeleteRuleFixture(.deny)
        let result = try fixture.run { manager in
            try manager.delete("Group", "group 3")
            try manager.delete("Group", "group 1")
            try manager.delete("Person", "person 1")
            let other = try manager.object("Group", "group 2")
            for number in [2, 3] { try manager.object("Person", "person \(number)").setValue(other, forKey: "group") }
        }
        #expect(result.keys("Group") == [2])
        #expect(result.objects("Person").values.allSatisfy { $0.related("group").map(\.key) == [2] })
        #expect(result.keys("Person") == [2, 3, 4])
    }

    @Test("An object that a cascade reaches can be denied, too")
    func deniedBelow() throws {
        let fixture = try DeleteRuleFixture(.cascade, petRule: .deny)
        let error = try #require(throws: MigrationError.self) {
            try fixture.run { try $0.delete("Group", "group 2") }
        }
        #expect(error.context.objectID == "Person/p4" && error.message.contains("Pet/p4"))
        #expect((error as NSError).code == NSValidationRelationshipDeniedDeleteError)
    }
}
