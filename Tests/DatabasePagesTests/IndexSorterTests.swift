import DatabasePages
import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

/// Indexes built from sorted entries are those that SQLite finds right.
@Suite struct IndexSorterTests {
    private static let types = ["INTEGER", "TIMESTAMP", "FLOAT", "DECIMAL", "BIGINT"]

    private func cell(_ generator: inout SeededGenerator) -> Cell {
        let integers: [Int64] = [
            0, 1, -1, 127, 128, -128, -129, 1 << 47, (1 << 47) - 1, -(1 << 47), -(1 << 47) - 1, 1 << 53, 1 << 60,
        ]
        let reals: [Double] = [
            0.5, -0.0, -0.5, 3, 1e300, -1e300, .infinity, -.infinity, .nan, 0x1p47, 0x1p60, 0x1p63, -0x1p63,
        ]
        return switch generator.next() % 8 {
        case 0: .null
        case 1: .integer(integers[Int(generator.next() % UInt64(integers.count))])
        case 2: .real(reals[Int(generator.next() % UInt64(reals.count))])
        case 3: .integer(Int64(bitPattern: generator.next()) >> 11)
        case 4: .real(Double(Int64(bitPattern: generator.next()) >> 40) / 8)
        default: .integer(Int64(generator.next() % 30))
        }
    }

    @Test(
        "Indexes over numbers and NULLs, of several columns, ascending and descending",
        arguments: 0..<20 as Range<UInt64>)
    func randomIndexes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: 700 + seed)
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let columns = 1 + Int(seed % 4)
        let rows = [0, 1, 50, 3000, 30_000][Int(seed % 5)]
        let declared = (0..<columns).map { _ in Self.types[Int(generator.next() % UInt64(Self.types.count))] }
        let affinities = declared.map(ColumnAffinity.init(declaredType:))
        let directions = (0..<columns).map { _ in generator.next() % 3 != 0 }
        let terms = directions.enumerated().map { "c\($0.offset) \($0.element ? "ASC" : "DESC")" }
        let roots: (table: UInt32, index: UInt32)
        do {
            let database = try TestDatabase(path)
            try database.execute(
                "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, "
                    + declared.enumerated().map { "c\($0.offset) \($0.element)" }.joined(separator: ", ")
                    + "); CREATE INDEX i ON t(\(terms.joined(separator: ", ")))")
            roots = (try database.root(of: "t"), try database.root(of: "i"))
        }
        let work = try WorkDirectory(path: folder.file("work"))
        let writer = try DatabaseFileWriter(path: path)
        let table = writer.table(root: roots.table, affinities: affinities, isKeyed: true)
        let sorter = IndexSorter(
            terms: try (0..<columns).map { slot in
                try #require(IndexTerm(slot: slot, affinity: affinities[slot], isAscending: directions[slot]))
            }, isUnique: false, directory: work, memory: 64 << 10)
        var isOther = false
        var batch = RowBatch(slots: columns, rowCapacity: 100, byteTarget: 1 << 16)
        for key in 0..<rows {
            let row = batch.appendRow(key: Int64(key) * 3 - 5)
            for slot in 0..<columns {
                var value = cell(&generator)
                // A column of integers with a fraction in it is none of integers.
                if affinities[slot] == .integer, value.kind == .real { value = .real(value.realValue.rounded()) }
                if affinities[slot] == .integer, value.kind == .real, Int64(exactly: value.realValue) == nil,
                    !value.realValue.isNaN
                {
                    value = .integer(7)
                }
                if value == .integer(.min) || value == .real(-0x1p63) {
                    isOther = isOther || affinities[slot] == .integer
                }
                batch[row, slot] = value
            }
            if batch.isFull || key == rows - 1 {
                try table.append(batch)
                try sorter.append(batch, firstID: nil)
                batch.removeAll()
            }
        }
        try table.finish()
        let outcome = try sorter.build(into: writer.index(root: roots.index))
        try writer.finish()
        let database = try TestDatabase(path)
        guard !isOther else {
            #expect(outcome == .otherValues)
            return
        }
        #expect(outcome == .built)
        // Every row has its entry, and the entries are in order.
        #expect(try database.column("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        #expect(
            try database.column("SELECT count(*) FROM (SELECT c0 FROM t INDEXED BY i ORDER BY \(terms[0]))") == [
                "\(rows)"
            ])
        try database.execute("PRAGMA synchronous=OFF; DELETE FROM t WHERE Z_PK % 3 = 1; PRAGMA incremental_vacuum")
        #expect(try database.column("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
    }

    private func outcome(of values: [Cell], isUnique: Bool, declared: String) throws -> IndexSorter.Outcome {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let root: UInt32
        do {
            let database = try TestDatabase(path)
            try database.execute(
                "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, c \(declared)); "
                    + "CREATE INDEX i ON t(c)")
            root = try database.root(of: "i")
        }
        let work = try WorkDirectory(path: folder.file("work"))
        let writer = try DatabaseFileWriter(path: path)
        let term = try #require(
            IndexTerm(slot: 0, affinity: ColumnAffinity(declaredType: declared), isAscending: true))
        let sorter = IndexSorter(terms: [term], isUnique: isUnique, directory: work, memory: 64 << 10)
        var batch = RowBatch(slots: 1, rowCapacity: values.count, byteTarget: 1000)
        for (key, value) in values.enumerated() {
            let row = batch.appendRow(key: Int64(key))
            if value.hasBytes {
                [UInt8(ascii: "x")].withUnsafeBytes { batch.setBytes($0, kind: value.kind, row: row, slot: 0) }
            } else {
                batch[row, 0] = value
            }
        }
        try sorter.append(batch, firstID: nil)
        return try sorter.build(into: writer.index(root: root))
    }

    @Test("Equal values conflict in a unique index, NULLs never, and 1 is 1.0")
    func duplicates() throws {
        #expect(try outcome(of: [.integer(1), .integer(2)], isUnique: true, declared: "INTEGER") == .built)
        #expect(try outcome(of: [.integer(1), .integer(1)], isUnique: true, declared: "INTEGER") == .duplicates)
        #expect(try outcome(of: [.integer(1), .integer(1)], isUnique: false, declared: "INTEGER") == .built)
        #expect(try outcome(of: [.null, .null], isUnique: true, declared: "INTEGER") == .built)
        #expect(try outcome(of: [.integer(1), .real(1)], isUnique: true, declared: "FLOAT") == .duplicates)
        #expect(try outcome(of: [.real(0), .real(-0.0)], isUnique: true, declared: "DECIMAL") == .duplicates)
    }

    @Test("Values that no word stands for are left to SQLite")
    func others() throws {
        let text = Cell(bits: 0, length: 1, kind: .text)
        let blob = Cell(bits: 0, length: 1, kind: .blob)
        for value in [text, blob, .integer(.min), .real(0.5)] {
            #expect(try outcome(of: [.integer(1), value], isUnique: false, declared: "INTEGER") == .otherValues)
        }
        #expect(try outcome(of: [.integer((1 << 53) + 1)], isUnique: false, declared: "DECIMAL") == .otherValues)
        #expect(IndexTerm(slot: 0, affinity: .text, isAscending: true) == nil)
        #expect(IndexTerm(slot: 0, affinity: .blob, isAscending: true) == nil)
    }
}
