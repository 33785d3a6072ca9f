import Foundation
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Where a mapping has a policy, any mapping may answer a lookup, as policies may associate anything. Its own rows answer for
/// source objects of its own table only: other tables have equal keys.
@Suite("Lookups that mappings over several tables may answer")
struct LookupTableTests {
    @Test(
        "Of equal keys in two source tables, a lookup finds the object of its argument's table",
        arguments: [false, true])
    func equalKeys(isToMany: Bool) throws {
        let pets = isToMany ? toMany("pets", "Animal") : toOne("pets", "Animal")
        let old = try model(
            entity("Owner", [], [pets]), entity("Animal", [attribute("name", .string)]),
            entity("Person", [attribute("name", .string)]))
        let new = try model(
            entity("Owner", [], [isToMany ? toMany("pets", "Being") : toOne("pets", "Being")]),
            entity("Being", [attribute("name", .string)]))
        let mappingModel = mappings(
            try mapping("People", "Person", "Being", ["name": "$source.name"], policy: "Default"),
            try mapping("Strangers", "Person", "Being", ["name": "$source.name"]),
            try mapping("Animals", "Animal", "Being", ["name": "$source.name"]),
            try mapping(
                "Owners", "Owner", "Owner",
                relationships: ["pets": via("pets", "$source.pets")]))
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old) { store in
            store.insert("Person", 1, ["name": .text("a person")])
            store.insert("Animal", 1, ["name": .text("a cat")])
            store.insert("Owner", 1)
            if isToMany {
                store.setMembers("Owner", 1, "pets", [1])
            } else {
                store.setToOne("Owner", 1, "pets", 1)
            }
        }.write(path: path)
        let manager = MigrationManager(sourceModel: old, destinationModel: new)
        manager.policies = PolicyRegistry()
        manager.policies.register("Default") { EntityMigrationPolicy() }
        let output = folder.file("new.sqlite")
        try manager.migrateStore(
            from: URL(fileURLWithPath: path), type: .sqlite, mapping: mappingModel,
            to: URL(fileURLWithPath: output), type: .sqlite)
        let owners = try ReferenceStore.read(path: output, model: new).objects("Owner")
        #expect(owners[1]?.related("pets").map { $0["name"] } == [.text("a cat")])
    }
}
