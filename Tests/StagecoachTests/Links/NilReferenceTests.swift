import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// References that became nil, by relationship and cause.
@Suite("References that became nil, and why")
struct NilReferenceTests {
    private func report(
        _ old: ManagedObjectModel, _ new: ManagedObjectModel, _ mapping: MappingModel, staged: Bool,
        reject: Bool = false, _ fill: (inout ReferenceStore) -> Void
    ) throws -> MigrationReport {
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old, fill).write(path: path)
        var options = MigrationComparison.Variant(isStaged: staged).options
        if reject { options.onInvalid = .reject }
        return try Migration(
            from: path, model: old, mapping: mapping, to: folder.file("new.sqlite"), model: new, options: options
        ).run()
    }

    private func lines(_ report: MigrationReport) -> [String] {
        (report.counts.nilReferences ?? []).map {
            "\($0.relationship) \($0.cause.rawValue) \($0.name ?? "-") \($0.count)"
        }
    }

    @Test("An object that left the relationship's hierarchy is named as what it is", arguments: [false, true])
    func leftHierarchy(staged: Bool) throws {
        let solo = entity("Solo", [], [toOne("base", "Base")])
        let old = try model(
            entity("Base"), entity("KidA", parent: "Base"), entity("KidB", parent: "Base"), solo)
        let new = try model(entity("Base"), entity("KidA"), entity("KidB", parent: "Base"), solo)
        let report = try report(old, new, try .inferred(from: old, to: new), staged: staged) { store in
            store.insert("Base", 1)
            store.insert("KidA", 2)
            store.insert("KidB", 3)
            for key in 1...3 { store.insert("Solo", Int64(key), toOne: ["base": Int64(key)]) }
            store.insert("Solo", 4, toOne: ["base": 77])
        }
        #expect(lines(report) == ["Solo.base dangling - 1", "Solo.base otherEntity KidA 1"])
        #expect(report.counts.danglingReferences == 1 && report.counts.unmigratedReferences == 1)
        #expect(
            report.notes.contains(
                "Solo.base: 1 object points to a KidA, which is no Base in the new model; the reference became nil (Solo/p2)"
            ))
        #expect(report.notes.contains("Solo.base: 1 reference to rows that do not exist became nil (Solo/p4)"))
    }

    @Test(
        "A filter, a missing and a removing entity mapping are told apart, of to-one and to-many",
        arguments: [false, true])
    func unmigrated(staged: Bool) throws {
        func relationships(_ kind: String) -> [RelationshipDefinition] {
            kind == "Owner"
                ? [
                    toOne("filtered", "Filtered"), toOne("gone", "Gone"), toOne("removed", "Removed"),
                    toMany("many", "Filtered", inverse: "owners"),
                ] : kind == "Filtered" ? [toMany("owners", "Owner", inverse: "many")] : []
        }
        let both = try model(
            entity("Owner", [], relationships("Owner")),
            entity("Filtered", [attribute("n", .integer64)], relationships("Filtered")), entity("Gone"),
            entity("Removed"))
        let owner = try mapping(
            "Owners", "Owner", "Owner",
            relationships: [
                "filtered": via("filtered", "$source.filtered"), "gone": via("gone", "$source.gone"),
                "removed": via("removed", "$source.removed"), "many": via("many", "$source.many"),
            ])
        let filtered = try mapping("Some", "Filtered", "Filtered", ["n": "$source.n"])
        filtered.sourceFilter = try SourcePredicate(format: "n > 1")
        let removed = try mapping("Remove", "Removed", nil)
        removed.mappingType = .removeEntityMappingType
        let report = try report(both, both, mappings(owner, filtered, removed), staged: staged) { store in
            store.insert("Filtered", 1, ["n": .integer(1)])
            store.insert("Filtered", 2, ["n": .integer(2)])
            store.insert("Gone", 1)
            store.insert("Removed", 1)
            for key in 1...2 {
                store.insert("Owner", Int64(key), toOne: ["filtered": Int64(key), "gone": 1, "removed": 1])
            }
            store.setMembers("Owner", 1, "many", [1, 2])
            store.setMembers("Owner", 2, "many", [1])
        }
        #expect(
            lines(report) == [
                "Owner.filtered filtered Some 1", "Owner.gone withoutMapping Gone 2", "Owner.many filtered Some 2",
                "Owner.removed removed Remove 2",
            ])
        #expect(report.counts.unmigratedReferences == 7)
        #expect(
            report.notes.contains(
                "Owner.filtered: 1 reference became nil: the filter of entity mapping Some left its object out (Owner/p1)"
            ))
    }

    @Test("References to rejected objects are told of by relationship", arguments: [false, true])
    func rejected(staged: Bool) throws {
        let old = try model(
            entity("Owner", [], [toOne("one", "Item"), toMany("all", "Item", inverse: "owners")]),
            entity("Item", [attribute("n", .integer64)], [toMany("owners", "Owner", inverse: "all")]))
        let new = try model(
            entity("Owner", [], [toOne("one", "Item"), toMany("all", "Item", inverse: "owners")]),
            entity("Item", [attribute("n", .integer64, required: true)], [toMany("owners", "Owner", inverse: "all")]))
        let report = try report(old, new, try .inferred(from: old, to: new), staged: staged, reject: true) { store in
            store.insert("Item", 1)
            store.insert("Item", 2, ["n": .integer(1)])
            store.insert("Item", 3)
            store.insert("Owner", 1, toOne: ["one": 1])
            store.insert("Owner", 2, toOne: ["one": 2])
            store.setMembers("Owner", 1, "all", [1, 2, 3])
        }
        #expect(lines(report) == ["Owner.all rejected - 2", "Owner.one rejected - 1"])
        #expect(report.rejects?.removedReferences == 3 && report.counts.unmigratedReferences == 0)
        // The owner of two is named once.
        #expect(report.notes.contains("Owner.all: 2 references to rejected objects became nil (Owner/p1, …)"))
        #expect(report.notes.contains("Owner.one: 1 reference to rejected objects became nil (Owner/p1)"))
    }

    @Test(
        "Of a filter and a policy the one that left objects out is blamed, or either, where both did",
        arguments: [("n > 0", "dropped"), ("n > 1", "filteredOrDropped"), ("n > 2", "filtered")])
    func filterAndPolicy(filter: String, cause: String) throws {
        let both = try model(
            entity("Owner", [], [toOne("item", "Item")]), entity("Item", [attribute("n", .integer64)]))
        let items = try mapping("Items", "Item", "Item", ["n": "$source.n"])
        items.sourceFilter = try SourcePredicate(format: filter)
        items.entityMigrationPolicyClassName = "Dropping"
        let owners = try mapping(
            "Owners", "Owner", "Owner", relationships: ["item": via("item", "$source.item")])
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(both) { store in
            for key in 1...3 as ClosedRange<Int64> {
                store.insert("Item", key, ["n": .integer(key)])
                store.insert("Owner", key, toOne: ["item": key])
            }
        }.write(path: path)
        let manager = MigrationManager(sourceModel: both, destinationModel: both)
        manager.policies = PolicyRegistry()
        manager.policies.register("Dropping") {
            let policy = ClosurePolicy()
            policy.steps.create = { source, _, _, standard in
                if source.value(forKey: "n") as? Int != 2 { try standard() }
            }
            return policy
        }
        let report = try Migration(
            from: path, model: both, mapping: mappings(items, owners), to: folder.file("new.sqlite"), model: both,
            options: MigrationComparison.Variant(isStaged: true).options, manager: manager
        ).run()
        let left = report.counts.mappings[0].filtered + report.counts.mappings[0].droppedByPolicy
        #expect(lines(report) == ["Owner.item \(cause) Items \(left)"])
    }
}
