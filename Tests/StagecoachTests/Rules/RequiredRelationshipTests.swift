import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// A new required relationship of an entity with rows is what a new required attribute without default is: an error.
@Suite("New required relationships")
struct RequiredRelationshipTests {
    private func fixture(
        _ old: ManagedObjectModel, _ new: ManagedObjectModel, staged: Bool, reject: Bool = false,
        _ fill: (inout ReferenceStore) -> Void
    ) throws -> (migration: Migration, folder: TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(old, fill).write(path: path)
        var options = MigrationComparison.Variant(isStaged: staged).options
        if reject { options.onInvalid = .reject }
        let migration = Migration(
            from: path, model: old, mapping: try .inferred(from: old, to: new), to: folder.file("new.sqlite"),
            model: new, options: options)
        return (migration, folder)
    }

    private static func minimum(_ name: String, _ destination: String, inverse: String) -> RelationshipDefinition {
        var relationship = toMany(name, destination, inverse: inverse)
        (relationship.isOptional, relationship.minimumCount) = (false, 1)
        return relationship
    }

    @Test("check, migrate and reject know a new required to-one and to-many", arguments: [false, true], [false, true])
    func new(isToMany: Bool, staged: Bool) throws {
        let old = try model(entity("A", [attribute("n", .string)]), entity("B"))
        let required = isToMany ? Self.minimum("b", "B", inverse: "a") : toOne("b", "B", inverse: "a", required: true)
        let new = try model(
            entity("A", [attribute("n", .string)], [required]),
            entity("B", [], [isToMany ? toOne("a", "A", inverse: "b") : toMany("a", "A", inverse: "b")]))
        func fill(_ store: inout ReferenceStore) {
            for key in 1...3 { store.insert("A", Int64(key)) }
            store.insert("B", 1)
        }
        let (migration, folder) = try fixture(old, new, staged: staged, fill)
        let check = try migration.check()
        #expect(check.warnings == [])
        #expect(
            check.violations.map { "\($0.entity).\($0.property) \($0.rule.rawValue) \($0.count)" } == ["A.b required 3"]
        )
        #expect(check.fails(migration.options) && check.rejectedObjects == 3)
        let error = #expect(throws: MigrationError.self) { try migration.run() }
        #expect(error?.category == .data && error?.context.objectID == "A/p1" && error?.context.property == "b")
        let rejecting = try fixture(old, new, staged: staged, reject: true, fill)
        let report = try rejecting.migration.run()
        #expect(report.rejects?.objects == 3 && report.counts.warnings == [:])
        #expect(try StoreVerification(rejecting.migration).run().differences.isEmpty)
        _ = folder
    }

    @Test(
        "An entity without rows, a renamed relationship and one that its inverse fills are no errors",
        arguments: [false, true])
    func fine(staged: Bool) throws {
        let old = try model(
            entity("A", [], [toOne("b", "B", required: true)]), entity("B", [], [toMany("cs", "C", inverse: nil)]),
            entity("C"), entity("D"))
        var renamed = toOne("other", "B", required: true)
        renamed.renamingIdentifier = "b"
        let new = try model(
            entity("A", [], [renamed]), entity("B", [], [toMany("cs", "C", inverse: "b")]),
            entity("C", [], [toOne("b", "B", inverse: "cs", required: true)]),
            entity("D", [], [toOne("a", "A", required: true)]))
        let (migration, folder) = try fixture(old, new, staged: staged) { store in
            store.insert("B", 1)
            store.insert("A", 1, toOne: ["b": 1])
            // Broken in the source already.
            store.insert("A", 2)
            store.insert("C", 1)
            store.setMembers("B", 1, "cs", [1])
        }
        let check = try migration.check()
        #expect(check.violations == [])
        #expect(check.warnings.map { "\($0.entity).\($0.property) \($0.count)" } == ["A.other 1"])
        #expect(try migration.run().counts.warnings == ["A.other: missing value": 1])
        _ = folder
    }

    @Test("A relationship moved to an entity by a new parent is new there", arguments: [false, true])
    func newParent(staged: Bool) throws {
        let old = try model(entity("A"), entity("B"))
        let new = try model(
            entity("Base", abstract: true, [], [toOne("b", "B", required: true)]), entity("A", parent: "Base"),
            entity("B"))
        let (migration, folder) = try fixture(old, new, staged: staged) { $0.insert("A", 1) }
        #expect(try migration.check().violations.map(\.property) == ["b"])
        _ = folder
    }
}
