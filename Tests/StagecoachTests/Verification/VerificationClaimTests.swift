import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// The claims of a verification: no error if there is none, and no more than it compared.
@Suite("Claims of a verification") struct VerificationClaimTests {
    private static func options(_ change: (inout MigrationOptions) -> Void = { _ in }) -> MigrationOptions {
        var options = MigrationOptions()
        options.memoryRoom = 64 << 20
        options.fullCheck = true
        change(&options)
        return options
    }

    // MARK: - Links that give way

    @Test("A link of the source whose room a lookup of the objects themselves has taken gives way, and is not lost")
    func takenByItself() throws {
        let version = try model(
            entity("Item", [], [toOne("NAME", "Item", inverse: "links"), toOne("links", "Item", inverse: "NAME")]))
        let folder = try TemporaryFolder()
        try ReferenceStore.make(version) { store in
            store.insert("Item", 1, toOne: ["links": 92])
            store.insert("Item", 3, toOne: ["links": 91])
            store.insert("Item", 90, toOne: ["NAME": 91])
            store.insert("Item", 91, toOne: ["NAME": 3, "links": 90])
            store.insert("Item", 92, toOne: ["NAME": 1])
        }.write(path: folder.file("old.sqlite"))
        let migration = Migration(
            from: folder.file("old.sqlite"), model: version,
            mapping: mappings(
                try mapping(
                    "Items", "Item", "Item",
                    relationships: ["NAME": via("NAME", "$source.NAME"), "links": by("Items", "$source")])),
            to: folder.file("new.sqlite"), model: version, options: Self.options())
        _ = try migration.run()
        let report = try StoreVerification(migration).run()
        #expect(report.differences.isEmpty, "\(report.differences)")
    }

    // MARK: - Filters

    /// Shops 1 to 4 by the trades they have: 1 all with a kind, 2 one without, 3 none, 4 only one without.
    private static func makeShops(_ model: ManagedObjectModel) -> ReferenceStore {
        ReferenceStore.make(model) { store in
            store.insert("Owner", 1, ["name": .text("Ann")])
            store.insert("Owner", 2)
            for key in 1...4 as ClosedRange<Int64> {
                store.insert(
                    "Shop", key, ["name": .text("shop \(key)"), "limit": key == 1 ? .null : .integer(key)],
                    toOne: key < 4 ? ["owner": key == 1 ? 1 : 2] : [:])
            }
            store.insert("Trade", 1, ["kind": .text("x"), "amount": .integer(1)], toOne: ["shop": 1])
            store.insert("Trade", 2, ["kind": .text("y")], toOne: ["shop": 1])
            store.insert("Trade", 3, ["kind": .text("x"), "amount": .integer(5)], toOne: ["shop": 2])
            store.insert("Trade", 4, toOne: ["shop": 2])
            store.insert("Trade", 5, toOne: ["shop": 4])
            store.insert("Tag", 1, ["weight": .integer(1)])
            store.insert("Tag", 2)
            store.setMembers("Trade", 1, "tags", [1])
            store.setMembers("Trade", 3, "tags", [1, 2])
        }
    }

    static let filters: [(String, [Int64])] = [
        ("ANY trades.kind == nil", [2, 4]), ("ANY trades.kind != nil", [1, 2]), ("NONE trades.kind == nil", [1, 3]),
        ("ALL trades.kind == nil", [3, 4]), ("ALL trades.kind != nil", [1, 3]), ("NONE trades.kind != nil", [3, 4]),
        ("NOT (ANY trades.kind == nil)", [1, 3]), ("NOT (ALL trades.kind != nil)", [2, 4]),
        // On from the members to what they refer to: a step to nothing is nil, too.
        ("ANY trades.shop.owner.name == nil", [2, 4]), ("NONE trades.shop.owner.name == nil", [1, 3]),
        // Past a to-many that nothing leads to there are no rows at all.
        ("ANY trades.tags.weight == nil", [2]), ("ALL trades.tags.weight != nil", [1, 3, 4]),
        ("ANY owner.shops.trades.kind == nil", [2, 3]), ("ALL owner.shops.trades.kind != nil", [1, 4]),
        ("ANY SUBQUERY(trades, $t, $t.amount == nil).kind == nil", [2, 4]),
        ("SUBQUERY(trades, $t, $t.kind == nil).@count > 0", [2, 4]),
        ("SUBQUERY(trades, $t, NOT ($t.amount > 3)).@count > 0", [1]),
        ("SUBQUERY(trades, $t, ANY $t.tags.weight == nil).@count > 0", [2]),
        // A comparison with a value that is not there is true of no row.
        ("ANY trades.amount != limit", [2]), ("NONE trades.amount != limit", [1, 3, 4]),
        ("ALL trades.amount != limit", [2, 3, 4]), ("NOT (limit IN trades.amount)", [2, 3, 4]),
        ("limit IN trades.amount", []), ("NOT (nil IN trades.kind)", []),
        ("ANY trades.kind IN {'x', nil}", [1, 2]), ("ALL trades.kind BEGINSWITH 'x'", [2, 3, 4]),
    ]

    @Test("A source filter follows SQL for nil, as the migration's does", arguments: filters)
    func filter(format: String, expected: [Int64]) throws {
        let model = try CollectionExpressionTests.makeModel()
        let folder = try TemporaryFolder()
        let source = folder.file("old.sqlite")
        try Self.makeShops(model).write(path: source)
        let shops = try mapping("S", "Shop", "Shop", ["name": "$source.name"])
        shops.sourceFilter = try SourcePredicate(format: format)
        for isStaged in [false, true] {
            let migration = Migration(
                from: source, model: model, mapping: mappings(shops), to: folder.file("new-\(isStaged).sqlite"),
                model: model,
                options: Self.options {
                    $0.usesStoreSpecificMigrationManager = !isStaged
                    // Some filters leave all objects out.
                    $0.onLoss = .allow
                })
            try migration.run()
            #expect(try ReferenceStore.read(path: migration.destinationPath, model: model).keys("Shop") == expected)
            let report = try StoreVerification(migration).run()
            #expect(report.differences == [])
            #expect(report.compared.recomputed == expected.count && report.isComplete)
        }
    }

    // MARK: - Numbers

    /// Sets the integer of the source as the NSNumber that it is read as.
    private final class CopyingPolicy: EntityMigrationPolicy {
        override func createDestinationInstances(
            forSource source: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
        ) throws {
            try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
            let made = manager.destinationInstances(
                forEntityMappingName: mapping.name, sourceInstances: [source]
            ).first
            made?.setValue(source.value(forKey: "whole"), forKey: "exact")
            made?.setValue(source.value(forKey: "part"), forKey: "real")
        }
    }

    @Test("Integers become decimals, and decimals floating numbers, without a digit lost", arguments: [false, true])
    func decimals(hasPolicy: Bool) throws {
        let wholes: [Int64] = [9_007_199_254_740_993, .max, .min, -9_007_199_254_740_995, 3]
        let source = try model(entity("Clip", [attribute("whole", .integer64), attribute("part", .decimal)]))
        let destination = try model(
            entity(
                "Clip",
                [
                    attribute("exact", .decimal), attribute("real", .double), attribute("sum", .decimal),
                    attribute("cast", .decimal), attribute("back", .integer64), attribute("flag", .boolean),
                ]))
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        try ReferenceStore.make(source) { store in
            for (index, whole) in wholes.enumerated() {
                store.insert(
                    "Clip", Int64(index + 1), ["whole": .integer(whole), "part": .real(0.12345678901234568)])
            }
        }.write(path: path)
        let clips = try mapping(
            "C", "Clip", "Clip",
            hasPolicy
                ? [:]
                : [
                    "exact": "$source.whole", "real": "$source.part", "sum": "$source.whole - 1.0 * $source.whole",
                    "cast": "CAST($source.whole, 'NSDecimalNumber') - 1",
                    "back": "CAST(CAST($source.whole, 'NSDecimalNumber'), 'integer')",
                    "flag": "FUNCTION($source.whole, 'decimalValue') == $source.whole",
                ], policy: hasPolicy ? "Copying" : nil)
        let manager = MigrationManager(sourceModel: source, destinationModel: destination)
        manager.policies = PolicyRegistry()
        manager.policies.register("Copying") { CopyingPolicy() }
        for isStaged in [false, true] {
            let migration = Migration(
                from: path, model: source, mapping: mappings(clips), to: folder.file("new-\(isStaged).sqlite"),
                model: destination, options: Self.options { $0.usesStoreSpecificMigrationManager = !isStaged },
                manager: manager)
            try migration.run()
            let made = try ReferenceStore.read(path: migration.destinationPath, model: destination)
            for (index, whole) in wholes.enumerated() {
                #expect(made.value("Clip", Int64(index + 1), "exact") == .integer(whole))
                #expect(made.value("Clip", Int64(index + 1), "real") == .real(0.12345678901234568))
                guard !hasPolicy else { continue }
                #expect(made.value("Clip", Int64(index + 1), "back") == .integer(whole))
                #expect(made.value("Clip", Int64(index + 1), "flag") == .integer(1))
            }
            let verification = StoreVerification(migration)
            verification.runsPolicies = hasPolicy
            let report = try verification.run()
            #expect(report.differences == [])
        }
    }

    // MARK: - Appends

    @Test("An append to a store without a cached model is no difference", arguments: ["DROP TABLE", "DELETE FROM"])
    func noCache(sql: String) throws {
        let fixture = try FailureFixture()
        try fixture.migration(fixture.options()).run()
        let connection = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("\(sql) Z_MODELCACHE")
        try connection.close()
        var options = fixture.options()
        options.appendsToExisting = true
        try fixture.migration(options).run()
        let report = try StoreVerification(fixture.migration(options)).run()
        #expect(report.differences == [])
        #expect(report.notes.contains { $0.contains("no cached model") })
        #expect(report.compared.recomputed == 44 && report.compared.passedOver == 44)
    }

    @Test("An append that rejected objects which no file names is no difference, and the claim says so")
    func rejectedAppend() throws {
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.migration(fixture.options()).run()
        // Half of the books come again.
        try fixture.change("UPDATE ZBOOK SET ZISBN = 'again ' || Z_PK WHERE Z_PK > 20")
        var options = fixture.options()
        options.appendsToExisting = true
        options.onInvalid = .reject
        options.rejectFile = fixture.folder.file("rejects.jsonl")
        let migrated = try fixture.migration(options).run()
        #expect(migrated.rejects?.objects == 20)
        for isTold in [false, true] {
            let verification = StoreVerification(fixture.migration(options))
            if !isTold { verification.rejectFile = nil }
            let report = try verification.run()
            #expect(report.differences == [])
            #expect(report.compared.takenForRejected == (isTold ? 0 : 20))
            #expect(report.compared.recomputed == 24 && report.compared.passedOver == 44)
            #expect(report.isComplete == isTold)
        }
        // Errors of the new objects are found all the same.
        let connection = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try connection.execute("UPDATE ZBOOK SET ZHEADING = 'wrong' WHERE Z_PK = 70")
        try connection.close()
        let verification = StoreVerification(fixture.migration(options))
        verification.rejectFile = nil
        #expect(try verification.run().differences.map(\.objectID) == ["Book/p70"])
    }
}
