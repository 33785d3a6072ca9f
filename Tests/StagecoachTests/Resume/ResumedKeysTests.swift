import CSQLite
import CoreDataStore
import Foundation
import ManagedModel
import Mapping
import Stagecoach
import TestSupport
import Testing

/// Keys that the load collects as it reads the rows, in runs that resume behind the table.
@Suite("Keys of tables that a killed run had loaded")
struct ResumedKeysTests {
    @Test("A table that two mappings fill one after the other, stopped at any record", arguments: 1...3)
    func twoMappings(records: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("old.sqlite")
        func side(_ name: String, parent: String? = nil) -> EntityDefinition {
            entity(name, parent: parent, [attribute("x", .integer64)])
        }
        let old = try model(side("Left"), side("Right"))
        let new = try model(
            entity("Side", abstract: true), side("Left", parent: "Side"), side("Right", parent: "Side"))
        // Both have rows of equal keys, which get new ones.
        let count = 100
        try ReferenceStore.make(old) { store in
            for key in 1...Int64(count) {
                for name in ["Left", "Right"] { store.insert(name, key * 3, ["x": .integer(key)]) }
            }
        }.write(path: path)
        let mappings = mappings(
            try mapping("Lefts", "Left", "Left", ["x": "$source.x"]),
            try mapping("Rights", "Right", "Right", ["x": "$source.x"]))
        var options = MigrationOptions()
        // SQLite's transactions wait for their records, so each unit has one.
        options.writer = .sqlite
        let migration = Migration(
            from: path, model: old, mapping: mappings, to: folder.file("new.sqlite"), model: new, options: options)
        let error = failure {
            _ = try RunConditions.$current.withValue(.savingOften(failingAfter: records)) { try migration.run() }
        }
        #expect(error?.code == "journal.io")
        let report = try migration.run()
        for mapping in report.counts.mappings {
            #expect(mapping.migrated == count && mapping.created == count && mapping.filtered == 0)
        }
        let connection = try Connection(path: folder.file("new.sqlite"), flags: SQLITE_OPEN_READONLY)
        let rows = try connection.prepare("SELECT Z_PK, Z_ENT, coalesce(ZX, ZX1) FROM ZSIDE ORDER BY Z_PK")
        for row in 0..<2 * count {
            #expect(try rows.step())
            #expect((0..<3).map { Int(rows.integer($0)) } == [row + 1, row / count + 2, row % count + 1])
        }
        #expect(try !rows.step())
    }
}
