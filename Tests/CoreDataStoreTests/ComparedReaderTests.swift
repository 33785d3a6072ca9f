import CoreDataStore
import Diagnostics
import Rows
import TestSupport
import Testing

/// Rows that SQLite reads a second time.
@Suite("Rows read from pages and compared with SQLite's")
struct ComparedReaderTests {
    /// Rows that are given: keys ascend from 1, each with one number.
    private final class GivenRows: RowReader {
        private var rows: ArraySlice<(key: Int64, number: Int64)>

        init(_ rows: [(key: Int64, number: Int64)]) { self.rows = rows[...] }

        func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
            batch.removeAll()
            while !batch.isFull, let (key, number) = rows.popFirst() {
                let row = batch.appendRow(key: key)
                batch[row, 0] = .integer(number)
            }
            return !batch.isEmpty
        }
    }

    private static let rows = (1...Int64(200)).map { (key: $0, number: $0 * 10) }

    /// Reads given rows in batches of two, beside what SQLite is said to read, and returns the numbers.
    private func read(
        _ given: [(key: Int64, number: Int64)], sqlite: [(key: Int64, number: Int64)] = rows
    ) throws -> [Int64] {
        let reader = ComparedReader(
            GivenRows(given), slots: 1, place: { batch, row in .init(first: batch.key(row)) },
            context: { batch, row, _ in ("number", MigrationError.Context(objectID: "Row/p\(batch.key(row))")) },
            rows: { after, last throws(MigrationError) in
                GivenRows(sqlite.filter { $0.key > after?.first ?? 0 && $0.key <= last.first })
            })
        var batch = RowBatch(slots: 1, rowCapacity: 2, byteTarget: 4096)
        var numbers: [Int64] = []
        while try reader.next(into: &batch) {
            for row in 0..<batch.count { numbers.append(batch[row, 0].integerValue) }
        }
        return numbers
    }

    private func error(of change: (inout [(key: Int64, number: Int64)]) -> Void) throws -> MigrationError {
        var given = Self.rows
        change(&given)
        return try #require(throws: MigrationError.self) { try self.read(given) }
    }

    @Test("Equal rows are the reader's")
    func equal() throws { #expect(try read(Self.rows) == Self.rows.map(\.number)) }

    @Test("In the first batch, and in each 32nd after it, another value is found", arguments: [0, 1, 64, 129])
    func value(row: Int) throws {
        let error = try error { $0[row].number += 1 }
        #expect(error.code == "store.readersDisagree" && error.category == .internal)
        #expect(error.message.contains("another value of number"))
        #expect(error.context.objectID == "Row/p\(row + 1)")
    }

    @Test("A row that only one of them reads is found")
    func presence() throws {
        #expect(try error { $0.remove(at: 0) }.context.objectID == "Row/p1")
        #expect(try error { $0[1].key = 1000 }.message.contains("another row"))
        var fewer = Self.rows
        fewer.remove(at: 1)
        let error = try #require(throws: MigrationError.self) { try self.read(Self.rows, sqlite: fewer) }
        #expect(error.message.contains("no such row") && error.context.objectID == "Row/p2")
    }

    @Test("Batches between them are read once")
    func between() throws {
        var given = Self.rows
        given[10].number = 7
        #expect(try read(given)[10] == 7)
    }
}
