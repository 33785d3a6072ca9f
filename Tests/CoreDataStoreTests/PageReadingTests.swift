import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows
import TestSupport
import Testing

/// Both readers give equal rows, and where pages cannot be read safely SQLite reads.
@Suite("Stores read by their pages and by SQLite")
struct PageReadingTests {
    /// Every row of every table by one of the readers, and why SQLite read instead.
    private func rows(
        _ path: String, _ models: (SourceStore) throws -> [ManagedObjectModel], pages: Bool, valueLimit: Int = 1 << 26
    ) throws -> (lines: [String], refusal: String?) {
        let store = try SourceStore(testing: path, valueLimit: valueLimit)
        store.readsPages = pages
        store.comparesReaders = pages
        var lines: [String] = []
        for model in try models(store) {
            let layout = try store.layout(for: model)
            for table in layout.tables.indices {
                lines.append("\(table) has \(try store.count(table: table, in: layout)) rows")
                let columns = layout.schema.tables[table].columns.indices.map { SelectedColumn.own($0) }
                var selection = RowSelection(table: table, columns: columns + [.relatedKey(path: [])])
                lines += try CoreDataStoreTests.lines(
                    try store.rows(selection, in: layout), slots: columns.count + 1, rowCapacity: 50)
                // By entity, and a range.
                selection.columns = [.own(0)]
                selection.entities = Array(layout.schema.tables[table].entities.prefix(1))
                selection.afterKey = 1
                selection.throughKey = 40
                lines += try CoreDataStoreTests.lines(try store.rows(selection, in: layout), slots: 1)
            }
            for table in layout.joinTables.indices {
                for side in 0..<2 {
                    let reader = try store.links(joinTable: table, in: layout, orderedBySide: side)
                    lines += try CoreDataStoreTests.lines(reader, slots: 4)
                }
            }
        }
        try store.checkUnchanged()
        let refusal = store.pagesRefusal
        try store.close()
        return (lines, refusal)
    }

    @Test(
        "Every real store",
        .enabled(if: SharedStores.isPresent, "the shared stores are absent"), arguments: ReadingVFSTests.stores)
    func realStore(url: URL) throws {
        func models(_ store: SourceStore) throws -> [ManagedObjectModel] {
            [try store.cachedModel() ?? ReadingLayoutTests().matchingModel(for: store)].compactMap(\.self)
        }
        let pages = try rows(url.path, models, pages: true)
        let sqlite = try rows(url.path, models, pages: false)
        #expect(pages.lines == sqlite.lines)
        #expect(pages.refusal == nil)
    }

    @Test("A store with a -wal, closed and in use by another connection")
    func logged() throws {
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let path = folder.file("wal.sqlite")
        let writer = try fixture.make(path, mode: "WAL")
        _ = try writer.prepare("PRAGMA wal_checkpoint(TRUNCATE)").step()
        try fixture.insertRows(writer)
        // The writer holds a lock on the -shm.
        let shared = try rows(path, { _ in [fixture.model] }, pages: true)
        #expect(shared.refusal == "another process has it open")
        let copy = folder.file("copy.sqlite")
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
        }
        let pages = try rows(copy, { _ in [fixture.model] }, pages: true)
        let sqlite = try rows(copy, { _ in [fixture.model] }, pages: false)
        #expect(pages.refusal == nil)
        #expect(pages.lines == sqlite.lines && pages.lines == shared.lines)
        #expect(pages.lines.count > 5)
        try writer.close()
    }

    @Test("Tables of many pages, with and without an index, are counted")
    func counts() throws {
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let path = try fixture.store(in: folder)
        let writer = try ReadingFixture.stock(path)
        try writer.execute(
            "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) "
                + "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZLABEL) SELECT i, 4, 1, hex(randomblob(i % 60)) FROM n")
        try writer.execute("DELETE FROM ZTAG WHERE Z_PK % 7 = 3")
        func count(pages: Bool) throws -> Int64 {
            let store = try SourceStore(testing: path)
            store.readsPages = pages
            let count = try store.count(table: try fixture.table("Tag"), in: try store.layout(for: fixture.model))
            #expect(store.pagesRefusal == nil)
            try store.close()
            return count
        }
        let plain = try count(pages: true)
        #expect(try writer.integer("SELECT count(*) FROM ZTAG") == plain)
        #expect(try count(pages: false) == plain)
        try writer.execute("CREATE INDEX I ON ZTAG (ZLABEL)")
        #expect(try count(pages: true) == plain && plain > 25_000)
        try writer.close()
    }

    @Test("Text in UTF-16 and columns with a default are SQLite's to read")
    func refusals() throws {
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let path = try fixture.store(in: folder, setup: "PRAGMA encoding='UTF-16le'")
        let wide = try rows(path, { _ in [fixture.model] }, pages: true)
        #expect(wide.refusal != nil)
        #expect(try wide.lines == rows(path, { _ in [fixture.model] }, pages: false).lines)
        let other = try TemporaryFolder()
        let altered = try fixture.store(in: other)
        let stock = try ReadingFixture.stock(altered)
        try stock.execute("ALTER TABLE ZPERSON RENAME COLUMN ZNAME TO ZOLD")
        try stock.execute("ALTER TABLE ZPERSON ADD COLUMN ZNAME VARCHAR DEFAULT 'nobody'")
        try stock.close()
        let pages = try rows(altered, { _ in [fixture.model] }, pages: true)
        #expect(pages.refusal == nil)
        #expect(pages.lines.contains { $0.contains("'nobody'") })
        #expect(try pages.lines == rows(altered, { _ in [fixture.model] }, pages: false).lines)
    }

    @Test("400 damaged copies give errors or the rows that SQLite gives")
    func mutations() throws {
        var random = SeededGenerator(seed: 20_261_122)
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let good = folder.file("good.sqlite")
        let writer = try fixture.make(good, setup: "PRAGMA page_size=512")
        try fixture.insertRows(writer)
        for key in 100..<160 {
            try writer.execute(
                "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZPHOTO) VALUES (\(key), 3, 1, 'n\(key)', "
                    + "zeroblob(\(random.below(2000))))")
        }
        try writer.close()
        let bytes = try #require(FileManager.default.contents(atPath: good))
        var (errors, equal) = (0, 0)
        for round in 0..<400 {
            var copy = bytes
            for _ in 0...random.below(4) {
                // Headers and pointers of pages more often than the rest.
                let page = random.below(copy.count / 512)
                let place = page * 512 + (random.chance(2) ? random.below(24) : random.below(512))
                copy[place] = random.chance(3) ? UInt8(random.below(64)) : UInt8(truncatingIfNeeded: random.next())
            }
            if random.chance(12) { copy = copy.prefix(random.below(copy.count)) }
            let path = folder.file("bad.sqlite")
            try Data(copy).write(to: URL(fileURLWithPath: path))
            func read(pages: Bool) throws -> [String]? {
                do {
                    return try rows(path, { _ in [fixture.model] }, pages: pages, valueLimit: 1 << 20).lines
                } catch let error as MigrationError {
                    #expect(
                        [.data, .configuration].contains(error.category),
                        "round \(round): \(error.code.rawValue) \(error)")
                    return nil
                }
            }
            guard let pages = try read(pages: true) else {
                errors += 1
                continue
            }
            // SQLite is stricter where it looks at more: at the freelist, at cells that nothing reads.
            guard let sqlite = try read(pages: false) else { continue }
            equal += 1
            #expect(pages == sqlite, "round \(round)")
        }
        #expect(errors > 50 && equal > 50, "\(errors) errors, \(equal) equal")
    }

    @Test("150 damaged logs give the rows that SQLite gives")
    func damagedLogs() throws {
        var random = SeededGenerator(seed: 7)
        let fixture = try ReadingFixture()
        let folder = try TemporaryFolder()
        let (main, log) = try fixture.logged(folder.file("good.sqlite"))
        for round in 0..<150 {
            let path = folder.file("bad.sqlite")
            try main.write(to: URL(fileURLWithPath: path))
            try ReadingFixture.damaged(log, changes: 2, headOnce: 4, reach: 40, &random)
                .write(to: URL(fileURLWithPath: path + "-wal"))
            func read(pages: Bool) throws -> [String]? {
                do {
                    return try rows(path, { _ in [fixture.model] }, pages: pages).lines
                } catch is MigrationError {
                    return nil
                }
            }
            #expect(try read(pages: true) == read(pages: false), "round \(round)")
        }
    }
}
