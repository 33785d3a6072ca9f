import CoreDataStore
import Diagnostics
import Foundation
import Rows
import TestSupport
import Testing

@Suite("Damaged stores give errors or rows, never a crash")
struct ReadingHostileTests {
    /// Reads all that there is.
    private func readAll(_ path: String, _ fixture: ReadingFixture) throws -> Int {
        let store = try SourceStore(testing: path, valueLimit: 1 << 20)
        let layout = try store.layout(for: fixture.model)
        var rows = 0
        for table in fixture.schema.tables.indices {
            let columns = fixture.schema.tables[table].columns.indices.map { SelectedColumn.own($0) }
            let reader = try store.rows(RowSelection(table: table, columns: columns), in: layout)
            var batch = RowBatch(slots: columns.count, rowCapacity: 7, byteTarget: 5000)
            while try reader.next(into: &batch) { rows += batch.count }
            _ = try store.counts(table: table, in: layout)
        }
        for table in fixture.schema.joinTables.indices {
            for side in 0..<2 {
                let reader = try store.links(joinTable: table, in: layout, orderedBySide: side)
                var batch = RowBatch(slots: 4, rowCapacity: 7, byteTarget: 5000)
                while try reader.next(into: &batch) { rows += batch.count }
            }
        }
        _ = try store.cachedModelContent()
        try store.checkUnchanged()
        return rows
    }

    @Test("500 damaged copies of a small store are read to the end")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let good = folder.file("good.sqlite")
        // Small pages: more of the bytes are structure.
        let writer = try fixture.make(good, setup: "PRAGMA page_size=512")
        try fixture.insertRows(writer)
        for key in 100..<140 {
            try writer.execute(
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPHOTO) VALUES (\(key), 3, 1, 'n\(key)', "
                    + "zeroblob(\(random.below(2000))))")
        }
        try writer.close()
        let bytes = try #require(FileManager.default.contents(atPath: good))
        let whole = try readAll(good, fixture)
        #expect(whole > 50)
        var errors = 0
        for round in 0..<500 {
            var copy = bytes
            for _ in 0...random.below(20) {
                copy[random.below(copy.count)] = random.chance(3) ? 0xff : UInt8(truncatingIfNeeded: random.next())
            }
            if random.chance(10) { copy = copy.prefix(random.below(copy.count)) }
            let path = folder.file("bad.sqlite")
            try Data(copy).write(to: URL(fileURLWithPath: path))
            do { _ = try readAll(path, fixture) } catch let error as MigrationError {
                errors += 1
                #expect(
                    [.data, .configuration].contains(error.category), "round \(round): \(error.code.rawValue) \(error)")
            }
        }
        #expect(errors > 50)
    }

    @Test("200 damaged logs are read to the end")
    func damagedLogs() throws {
        let seed = RandomSeeds.first
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let (main, log) = try fixture.logged(folder.file("good.sqlite"))
        for _ in 0..<200 {
            let path = folder.file("bad.sqlite")
            try main.write(to: URL(fileURLWithPath: path))
            try ReadingFixture.damaged(log, changes: 3, headOnce: 2, reach: 24, &random)
                .write(to: URL(fileURLWithPath: path + "-wal"))
            // A damaged frame ends the log: an earlier state is read, whole.
            #expect(try readAll(path, fixture) <= 64)
        }
    }
}
