import CoreDataStore
import Foundation
import Rows
import TestSupport
import Testing

/// Rows of a table of one entity may have another entity's number.
@Suite("Rows with another entity's number are counted on the way")
struct EntityNumberCountTests {
    private let folder: TemporaryFolder
    private let fixture: ReadingFixture
    private let person: Int
    private let path: String

    /// 300 persons, of whom those with a key that 100 divides have no number, and those that 10 divides another one.
    init() throws {
        folder = try TemporaryFolder()
        fixture = try ReadingFixture()
        person = try fixture.table("Person")
        path = folder.file("store.sqlite")
        let connection = try fixture.make(path)
        try connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZAGE, ZNAME)
            SELECT i, CASE WHEN i % 100 = 0 THEN NULL WHEN i % 10 = 0 THEN i * 1000 ELSE 3 END, 1, nullif(i % 2, 0),
            printf('%.*c', i, 'x') FROM n
            """)
        try connection.close()
    }

    private func store(pages: Bool, columns: [Int: Set<Int>] = [:]) throws -> (SourceStore, StoreLayout) {
        let store = try SourceStore(testing: path)
        store.readsPages = pages
        store.countValues(in: columns, comparing: [person])
        return (store, try store.layout(for: fixture.model))
    }

    /// Reads the first rows, in a batch of 100.
    private func read(_ batches: Int, of store: SourceStore, _ layout: StoreLayout) throws {
        let reader = try store.rows(
            RowSelection(table: person, columns: [.own(EntityTable.entityColumn)]), in: layout)
        var batch = RowBatch(slots: 1, rowCapacity: 100, byteTarget: 64 << 10)
        for _ in 0..<batches { #expect(try reader.next(into: &batch)) }
    }

    @Test("Each once, whoever reads them, and however far", arguments: [false, true], [0, 1, 3])
    func count(pages: Bool, batches: Int) throws {
        let (store, layout) = try store(pages: pages)
        for _ in 0..<2 { try read(batches, of: store, layout) }
        #expect(try store.valueCounts(table: person, in: layout).otherNumbers == 30)
    }

    @Test("Beside the values of columns", arguments: [false, true])
    func values(pages: Bool) throws {
        let age = try fixture.column(person, "ZAGE")
        let (store, layout) = try store(pages: pages, columns: [person: [age]])
        try read(2, of: store, layout)
        let counts = try store.valueCounts(table: person, in: layout)
        let entity = layout.schema.tables[person].entities[0]
        #expect(counts.otherNumbers == 30)
        #expect(counts[age, entity] == 150)
    }

    @Test("A resumed run goes on from the numbers of the killed one")
    func resumed() throws {
        let (killed, layout) = try store(pages: true)
        try read(2, of: killed, layout)
        let counted = killed.countedValues
        #expect(counted[person]?.contains(20) == true)
        let (store, again) = try store(pages: true)
        store.resumeCounting(from: counted)
        #expect(try store.valueCounts(table: person, in: again).otherNumbers == 30)
    }

    @Test("Where nothing is compared none is counted")
    func none() throws {
        let (store, layout) = try store(pages: true)
        store.countValues(in: [:])
        try read(3, of: store, layout)
        #expect(try store.valueCounts(table: person, in: layout).otherNumbers == 0)
    }
}
