import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Verification works out by itself which source objects share an object, and finds a change of any row.
@Suite("Verification of objects that source objects share")
struct GroupedVerificationTests {
    /// Cases that differed once: references to rows that do not exist, for which the values of others were looked for; members
    /// at one place of an ordered relationship that share objects.
    static let known: [UInt64] = [7_100_622, 7_100_964, 7_102_061, 7_102_402]

    static let seeds = RandomSeeds.seeds(24) + known

    /// A random change of one row of a store's tables, in a column of its entity.
    private static func change(
        _ migration: RandomMigration, _ connection: Connection, _ generator: inout SeededGenerator
    ) throws -> String? {
        let schema = StoreSchema(model: migration.destination)
        var tables = schema.tables.map { ($0.name, $0.columns) } + schema.joinTables.map { ($0.name, []) }
        tables.shuffle(using: &generator)
        for (table, columns) in tables {
            guard try connection.integer("SELECT 1 FROM sqlite_master WHERE name = '\(table)'") == 1,
                let rows = try connection.integer("SELECT count(*) FROM \(table)"), rows > 0,
                let row = try connection.integer(
                    "SELECT rowid FROM \(table) LIMIT 1 OFFSET \(generator.below(Int(rows)))")
            else { continue }
            let number =
                columns.isEmpty ? nil : try connection.integer("SELECT Z_ENT FROM \(table) WHERE rowid = \(row)")
            let entity = number.flatMap { number in
                migration.destination.entities.first { schema.number(of: $0) == Int(number) }
            }
            let own = try columns.filter { column in
                guard let entity else { return false }
                switch column.role {
                case .attribute(let reference): return entity.attribute(named: reference.name)?.reference == reference
                case .toOne(let reference):
                    return entity.relationship(named: reference.name)?.reference == reference
                case .order, .toOneEntity:
                    // They say nothing without a link.
                    return try connection.integer(
                        "SELECT \(column.name) IS NOT NULL FROM \(table) WHERE rowid = \(row)") == 1
                case .entity, .lock, .hiddenOwner, .hiddenOrder: return false
                }
            }
            guard let column = own.randomElement(using: &generator)?.name, !generator.chance(3) else {
                return "DELETE FROM \(table) WHERE rowid = \(row)"
            }
            let value = """
                CASE typeof(\(column)) WHEN 'text' THEN \(column) || '!' WHEN 'blob' THEN \(column) || x'00' \
                WHEN 'null' THEN 7 WHEN 'real' THEN 5.5 ELSE \(column) + 1000001 END
                """
            return "UPDATE \(table) SET \(column) = \(value) WHERE rowid = \(row)"
        }
        return nil
    }

    @Test("All of it is worked out again, and a changed row is a difference", arguments: seeds)
    func changed(seed: UInt64) throws {
        guard let fixture = try GroupingRandomTests.migration(seed: seed) else { return }
        var options = GroupingRandomTests.Variant().options
        options.fullCheck = true
        let migration = fixture.migration(options, to: "new.sqlite")
        do { try migration.run() } catch let error as MigrationError where error.category != .internal { return }
        let report = try StoreVerification(migration).run()
        #expect(report.differences.isEmpty, "\(report.differences.prefix(5))\n\(fixture.random)")
        #expect(report.compared.recomputed == report.compared.objects, "\(report.notRecomputed)")
        guard report.notRecomputed.isEmpty else { return }
        var generator = SeededGenerator(seed: seed &* 61 &+ 5)
        let connection = try Connection(path: fixture.folder.file("new.sqlite"), flags: SQLITE_OPEN_READWRITE)
        guard let sql = try Self.change(fixture.random, connection, &generator) else { return }
        try connection.execute(sql)
        try connection.close()
        let damaged = try StoreVerification(migration).run()
        #expect(!damaged.differences.isEmpty, "\(sql)\n\(fixture.random)")
    }

    @Test("Most random migrations are worked out again whole")
    func whole() throws {
        var made = 0
        for seed in Self.seeds.prefix(8) {
            guard let fixture = try GroupingRandomTests.migration(seed: seed) else { continue }
            let migration = fixture.migration(GroupingRandomTests.Variant().options, to: "new.sqlite")
            do { try migration.run() } catch let error as MigrationError where error.category != .internal { continue }
            made += try StoreVerification(migration).run().isComplete ? 1 : 0
        }
        #expect(made > 0)
    }
}
