import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

/// Rules that the source model had already, in the shapes that real families show: a warning where old rows break them,
/// an error where the rule is new.
@Suite("Old and new rules of to-many relationships")
struct RealStoreRuleTests {
    /// An owner's entities around a required `items`; the two models differ by what a case says.
    private static func parts(required: Bool, minimum: Int = 0, maximum: Int = 0) -> RelationshipDefinition {
        var relationship = toMany("items", "Item", inverse: "owner")
        relationship.isOptional = !required
        relationship.minimumCount = minimum
        relationship.maximumCount = maximum
        return relationship
    }

    private static func item(of owner: String) -> EntityDefinition {
        entity("Item", [attribute("name", .string)], [toOne("owner", owner, inverse: "items")])
    }

    /// Migrates three owners: of none, one and three items.
    private func migrate(
        _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ change: (inout ReferenceStore) -> Void = { _ in }
    ) throws -> RealStoreMigration.Outcome {
        let folder = try TemporaryFolder()
        let place = folder.url.appendingPathComponent("source")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let path = place.appendingPathComponent("source.sqlite").path
        let store = ReferenceStore.make(old) { store in
            for key in 1...3 { store.insert("Owner", Int64(key)) }
            for key in 1...4 { store.insert("Item", Int64(key), toOne: ["owner": key == 1 ? 2 : 3]) }
            change(&store)
        }
        try store.write(path: path)
        return try RealStoreMigration(
            sourcePath: path, source: old, destinationPath: folder.file("destination.sqlite"), destination: new
        ).run()
    }

    /// The warnings of a migration whose result is right; nil if it is not, or did not migrate.
    private func warnings(_ outcome: RealStoreMigration.Outcome) -> [String: Int]? {
        guard case .migrated(let report, let lines) = outcome, lines.isEmpty else { return nil }
        return report.counts.warnings
    }

    @Test("A required to-many without a minimum may be empty, as in stores that Core Data wrote")
    func noMinimum() throws {
        let old = try model(entity("Owner", [], [Self.parts(required: false)]), Self.item(of: "Owner"))
        let new = try model(entity("Owner", [], [Self.parts(required: true)]), Self.item(of: "Owner"))
        #expect(warnings(try migrate(old, new)) == [:])
        #expect(warnings(try migrate(new, new)) == [:])
    }

    @Test(
        "wire: a store with empty required relationships goes through its mapping model",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"))
    func wire() throws {
        let bundle = "wire/models/zmessaging.xcdatamodeld:zmessaging"
        let fixture = try RealPolicyFixture(
            (bundle + "2.53.0", bundle + "2.54.0"), mapping: "wire/mappings/migration2.54.xcmappingmodel",
            store: "wire/stores/store2-53-0.wiredatabase")
        let report = try fixture.run()
        #expect(report.counts.mappings.contains { $0.name == "UserClientToUserClient" && $0.migrated == 12 })
        for table in ["ZUSER", "ZCONVERSATION", "ZMESSAGE", "ZUSERCLIENT", "Z_18IGNOREDCLIENTS"] {
            let select = "SELECT count(*) FROM \(table)"
            #expect(try fixture.rows(select) == fixture.rows(select, ofSource: true), "\(table)")
        }
    }

    @Test("A rule that moved up to a new parent is the source's rule")
    func newParent() throws {
        let old = try model(entity("Owner", [], [Self.parts(required: true, minimum: 1)]), Self.item(of: "Owner"))
        let new = try model(
            entity("Base", abstract: true, [], [Self.parts(required: true, minimum: 1)]),
            entity("Owner", parent: "Base"), Self.item(of: "Base"))
        #expect(warnings(try migrate(old, new)) == ["Owner.items: too few objects": 1])
    }

    @Test("A rule that is new is an error that names the object")
    func newRule() throws {
        let old = try model(entity("Owner", [], [Self.parts(required: false)]), Self.item(of: "Owner"))
        let new = try model(
            entity("Base", abstract: true, [], [Self.parts(required: true, minimum: 1)]),
            entity("Owner", parent: "Base"), Self.item(of: "Base"))
        guard case .invalid(let error, let lines) = try migrate(old, new) else {
            Issue.record("migrated")
            return
        }
        #expect(lines == [])
        #expect(error.code == "validation.tooFew" && error.context.objectID == "Owner/p1")
    }

    @Test("Each bound is excused for itself")
    func bounds() throws {
        let old = try model(
            entity("Owner", [], [Self.parts(required: true, minimum: 2, maximum: 2)]), Self.item(of: "Owner"))
        #expect(
            warnings(try migrate(old, old)) == ["Owner.items: too few objects": 2, "Owner.items: too many objects": 1])
        let wider = try model(
            entity("Owner", [], [Self.parts(required: true, minimum: 2, maximum: 9)]), Self.item(of: "Owner"))
        #expect(warnings(try migrate(old, wider)) == ["Owner.items: too few objects": 2])
        let other = try model(
            entity("Owner", [], [Self.parts(required: true, minimum: 3, maximum: 9)]), Self.item(of: "Owner"))
        guard case .invalid(let error, let lines) = try migrate(old, other) else {
            Issue.record("migrated")
            return
        }
        #expect(lines == [])
        #expect(error.context.objectID == "Owner/p2")
    }

    @Test("A minimum of an optional relationship is told as what it is: none, or so many")
    func optionalMinimum() throws {
        let old = try model(entity("Owner", [], [Self.parts(required: false)]), Self.item(of: "Owner"))
        for (minimum, maximum, id, words) in [
            (2, 0, "Owner/p2", "too few objects: 1, and the model allows none, or 2 to any number"),
            (2, 4, "Owner/p2", "too few objects: 1, and the model allows none, or 2 to 4"),
            (0, 2, "Owner/p3", "too many objects: 3, and the model allows 0 to 2"),
        ] {
            let new = try model(
                entity("Owner", [], [Self.parts(required: false, minimum: minimum, maximum: maximum)]),
                Self.item(of: "Owner"))
            guard case .invalid(let error, _) = try migrate(old, new) else {
                Issue.record("migrated")
                continue
            }
            #expect(error.context.objectID == id && error.message.contains(words), "\(error.message)")
        }
    }

    @Test("Members that do not exist leave a required relationship as it was: broken")
    func dangling() throws {
        func links(_ name: String) -> RelationshipDefinition {
            var relationship = toMany(
                name, name == "items" ? "Item" : "Owner", inverse: name == "items" ? "owners" : "items")
            relationship.isOptional = name != "items"
            relationship.minimumCount = name == "items" ? 1 : 0
            return relationship
        }
        let old = try model(entity("Owner", [], [links("items")]), entity("Item", [], [links("owners")]))
        let folder = try TemporaryFolder()
        let place = folder.url.appendingPathComponent("source")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let path = place.appendingPathComponent("source.sqlite").path
        try ReferenceStore.make(old) { store in
            store.insert("Owner", 1)
            store.setMembers("Owner", 1, "items", [77])
        }.write(path: path)
        let migration = RealStoreMigration(
            sourcePath: path, source: old, destinationPath: folder.file("destination.sqlite"), destination: old)
        #expect(warnings(try migration.run()) == ["Owner.items: too few objects": 1])
    }

    @Test("A required reference that is lost with a removed entity is an error, an empty one a warning")
    func removed() throws {
        let pet = toOne("pet", "Animal", required: true)
        let animal = [entity("Animal", abstract: true), entity("Cat", parent: "Animal")]
        let old = try model(entity("Owner", [], [pet]), animal[0], animal[1], entity("Dog", parent: "Animal"))
        let new = try model(entity("Owner", [], [pet]), animal[0], animal[1])
        func run(_ to: ManagedObjectModel, pet: Int64?) throws -> RealStoreMigration.Outcome {
            let folder = try TemporaryFolder()
            let place = folder.url.appendingPathComponent("source")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let path = place.appendingPathComponent("source.sqlite").path
            try ReferenceStore.make(old) { store in
                store.insert("Dog", 1)
                store.insert("Cat", 2)
                store.insert("Owner", 1, toOne: pet.map { ["pet": $0] } ?? [:])
            }.write(path: path)
            return try RealStoreMigration(
                sourcePath: path, source: old, destinationPath: folder.file("destination.sqlite"), destination: to
            ).run()
        }
        #expect(warnings(try run(new, pet: 2)) == [:])
        #expect(warnings(try run(old, pet: nil)) == ["Owner.pet: missing value": 1])
        guard case .invalid(let error, let lines) = try run(new, pet: 1) else {
            Issue.record("migrated")
            return
        }
        #expect(lines == [])
        #expect(error.code == "validation.missing" && error.context.property == "pet")
    }
}
