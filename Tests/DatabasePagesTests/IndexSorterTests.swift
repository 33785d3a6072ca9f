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
    private static let otherTypes = ["VARCHAR", "BLOB", "VARCHAR", "INTEGER", "FLOAT", "DECIMAL"]

    /// A value, and its bytes where it has any.
    private func value(_ generator: inout SeededGenerator, hasTexts: Bool) -> (cell: Cell, bytes: [UInt8]) {
        if hasTexts, generator.next() % 3 != 0 {
            let kind: CellKind = generator.next() % 4 == 0 ? .blob : .text
            // Long ones have the same beginning; some have zeros in them, some go to overflow pages.
            var bytes = Array("http://example.org/".utf8.prefix(Int(generator.next() % 3) * 19))
            let length = [0, 1, 3, 7, 8, 9, 12, 40, generator.next() % 200 == 0 ? 3000 : 20][Int(generator.next() % 9)]
            for _ in 0..<length { bytes.append(UInt8(generator.next() % 3 == 0 ? 0x30 : 0x61 + generator.next() % 4)) }
            if generator.next() % 20 == 0, !bytes.isEmpty { bytes[bytes.count / 2] = 0 }
            return (Cell(bits: 0, length: 1, kind: kind), bytes)
        }
        let integers: [Int64] = [
            0, 1, -1, 127, 128, -128, -129, 1 << 47, (1 << 47) - 1, -(1 << 47), -(1 << 47) - 1, 1 << 53, 1 << 60,
            (1 << 53) + 1, .max, .min, .max - 1,
        ]
        let reals: [Double] = [
            0.5, -0.0, -0.5, 3, 1e300, -1e300, .infinity, -.infinity, .nan, 0x1p47, 0x1p60, 0x1p63, -0x1p63,
        ]
        let cell: Cell =
            switch generator.next() % 8 {
            case 0: .null
            case 1: .integer(integers[Int(generator.next() % UInt64(integers.count))])
            case 2: .real(reals[Int(generator.next() % UInt64(reals.count))])
            case 3: .integer(Int64(bitPattern: generator.next()) >> 11)
            case 4: .real(Double(Int64(bitPattern: generator.next()) >> 40) / 8)
            default: .integer(Int64(generator.next() % 30))
            }
        return (cell, [])
    }

    @Test(
        "Indexes over values of every class, of several columns, ascending and descending, are as SQLite's",
        arguments: 0..<24 as Range<UInt64>)
    func randomIndexes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: 700 + seed)
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let columns = seed == 23 ? 9 : 1 + Int(seed % 4)
        let rows = [0, 1, 50, 3000, 30_000][Int(seed % 5)]
        // Every second index is over columns of numbers only, in which other values are rare.
        let hasTexts = seed % 2 == 1
        let types = hasTexts ? Self.otherTypes : Self.types
        let declared = (0..<columns).map { _ in types[Int(generator.next() % UInt64(types.count))] }
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
            terms: (0..<columns).map { slot in
                IndexTerm(slot: slot, affinity: affinities[slot], isAscending: directions[slot])
            }, isUnique: false, directory: work, memory: 64 << 10)
        var batch = RowBatch(slots: columns, rowCapacity: 100, byteTarget: 1 << 16)
        for key in 0..<rows {
            let row = batch.appendRow(key: Int64(key) * 3 - 5)
            for slot in 0..<columns {
                let (cell, bytes) = value(&generator, hasTexts: hasTexts || generator.next() % 500 == 0)
                if cell.hasBytes {
                    bytes.withUnsafeBytes { batch.setBytes($0, kind: cell.kind, row: row, slot: slot) }
                } else {
                    batch[row, slot] = cell
                }
            }
            if batch.isFull || key == rows - 1 {
                try table.append(batch)
                try sorter.append(batch, firstID: nil)
                batch.removeAll()
            }
        }
        try table.finish()
        #expect(try sorter.build(into: writer.index(root: roots.index)) == .built)
        try writer.finish()
        #expect(work.bytesHeld == 0)
        let database = try TestDatabase(path)
        // Every row has its entry, and the entries are in order.
        #expect(try database.column("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        // A BLOB column has no order that the index would give by itself; rows with the same values stand by their keys.
        let order = terms.joined(separator: ", ")
        #expect(
            try database.column("SELECT Z_PK FROM t INDEXED BY i ORDER BY \(order)")
                == database.column("SELECT Z_PK FROM t NOT INDEXED ORDER BY \(order), Z_PK"), "seed \(seed)")
        let plan = try database.rows("EXPLAIN QUERY PLAN SELECT Z_PK FROM t INDEXED BY i ORDER BY \(order)")
        #expect(plan.count == 1, "the index alone gives the order")
        // SQLite's own index takes as many bytes of entries.
        try database.execute("CREATE INDEX j ON t(\(order))")
        let sizes = try? database.rows(
            "SELECT name, sum(payload), sum(ncell) FROM dbstat WHERE name IN ('i', 'j') GROUP BY name")
        if let sizes, sizes.count == 2 { #expect(sizes[0].dropFirst() == sizes[1].dropFirst()) }
        try database.execute("DROP INDEX j")
        try database.execute("PRAGMA synchronous=OFF; DELETE FROM t WHERE Z_PK % 3 = 1; PRAGMA incremental_vacuum")
        #expect(try database.column("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
    }

    /// The largest values of two columns, as they are announced to the sorter.
    private static let expectations: [[Int64?]] = [
        [nil, nil], [300, 40_000], [3, 7], [0, 0], [1 << 20, 1 << 20], [.max, 5],
    ]

    @Test(
        "Pairs of integers are sorted in one word where the values are small, and come out as in two",
        arguments: expectations, 0..<4 as Range<UInt64>)
    func pairs(most: [Int64?], seed: UInt64) throws {
        print("pairs of integers: seed \(seed)")
        var generator = SeededGenerator(seed: 9100 + seed)
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let isOrdered = seed % 2 == 0
        let isUnique = seed == 3
        let roots: (table: UInt32, index: UInt32)
        do {
            let database = try TestDatabase(path)
            try database.execute(
                "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(a INTEGER, b INTEGER); "
                    + "CREATE \(isUnique ? "UNIQUE " : "")INDEX i ON t(b, a)")
            roots = (try database.root(of: "t"), try database.root(of: "i"))
        }
        let work = try WorkDirectory(path: folder.file("work"))
        let writer = try DatabaseFileWriter(path: path)
        let table = writer.table(root: roots.table, affinities: [.integer, .integer], isKeyed: false)
        let sorter = IndexSorter(
            terms: [
                IndexTerm(slot: 1, affinity: .integer, isAscending: true, mostExpected: most[0]),
                IndexTerm(slot: 0, affinity: .integer, isAscending: true, mostExpected: most[1]),
            ], isUnique: isUnique, directory: work, memory: seed == 0 ? 1 << 20 : 64 << 10)
        var batch = RowBatch(slots: 2, rowCapacity: 500, byteTarget: 1 << 16)
        let rows = 20_000
        var written = 0
        for number in 0..<rows {
            let row = batch.appendRow(key: 0)
            // As in a link table: the first ascends. Some are NULL, above what was said, or no keys at all.
            let owner = isOrdered ? Int64(number / 3) : Int64(generator.below(40_001))
            batch[row, 0] = generator.below(400) == 0 ? .null : .integer(owner)
            switch generator.below(500) {
            case 0: batch[row, 1] = .null
            case 1: batch[row, 1] = .integer(-4)
            case 2: batch[row, 1] = .integer(1 << 40)
            case 3: batch[row, 1] = .integer(5000)
            default: batch[row, 1] = .integer(Int64(generator.below(isUnique ? 1 << 30 : 301)))
            }
            if batch.isFull || number == rows - 1 {
                let count = batch.count
                try table.append(batch, firstKey: Int64(written) + 1)
                try sorter.append(batch, firstID: Int64(written) + 1)
                written += count
                batch.removeAll()
            }
        }
        try table.finish()
        #expect(try sorter.build(into: writer.index(root: roots.index)) == .built)
        try writer.finish()
        #expect(work.bytesHeld == 0)
        let database = try TestDatabase(path)
        #expect(try database.column("PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        #expect(
            try database.column("SELECT rowid FROM t INDEXED BY i ORDER BY b, a")
                == database.column("SELECT rowid FROM t NOT INDEXED ORDER BY b, a, rowid"), "seed \(seed)")
    }

    @Test("Equal pairs conflict in a unique index, in one word and in two", arguments: [nil, 40] as [Int64?])
    func duplicatePairs(most: Int64?) throws {
        for (pairs, expected) in [
            ([(1, 2), (2, 1), (1, 1)], IndexSorter.Outcome.built), ([(1, 2), (2, 1), (1, 2)], .duplicates),
            ([(1, nil), (1, nil), (nil, 1), (nil, 1)], .built),
        ] as [([(Int64?, Int64?)], IndexSorter.Outcome)] {
            let folder = try TemporaryFolder()
            let path = folder.file("store")
            let root: UInt32
            do {
                let database = try TestDatabase(path)
                try database.execute(
                    "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(a INTEGER, b INTEGER); "
                        + "CREATE INDEX i ON t(a, b)")
                root = try database.root(of: "i")
            }
            let work = try WorkDirectory(path: folder.file("work"))
            let writer = try DatabaseFileWriter(path: path)
            let terms = [0, 1].map { IndexTerm(slot: $0, affinity: .integer, isAscending: true, mostExpected: most) }
            let sorter = IndexSorter(terms: terms, isUnique: true, directory: work, memory: 64 << 10)
            var batch = RowBatch(slots: 2, rowCapacity: pairs.count, byteTarget: 1000)
            for (first, second) in pairs {
                let row = batch.appendRow(key: 0)
                batch[row, 0] = first.map { .integer($0) } ?? .null
                batch[row, 1] = second.map { .integer($0) } ?? .null
            }
            try sorter.append(batch, firstID: 1)
            #expect(try sorter.build(into: writer.index(root: root)) == expected)
        }
    }

    private func outcome(of values: [Cell], isUnique: Bool, declared: String, bytes: Int = 1) throws
        -> IndexSorter.Outcome
    {
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
        let term = IndexTerm(slot: 0, affinity: ColumnAffinity(declaredType: declared), isAscending: true)
        let sorter = IndexSorter(terms: [term], isUnique: isUnique, directory: work, memory: 64 << 10)
        var batch = RowBatch(slots: 1, rowCapacity: values.count, byteTarget: 1000)
        for (key, value) in values.enumerated() {
            let row = batch.appendRow(key: Int64(key))
            if value.hasBytes {
                [UInt8](repeating: UInt8(ascii: "x"), count: bytes).withUnsafeBytes {
                    batch.setBytes($0, kind: value.kind, row: row, slot: 0)
                }
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

    @Test("Texts, blobs and numbers that no word can hold conflict as others do")
    func otherDuplicates() throws {
        let text = Cell(bits: 0, length: 1, kind: .text)
        let blob = Cell(bits: 0, length: 1, kind: .blob)
        for declared in ["VARCHAR", "BLOB", "DECIMAL", "INTEGER"] {
            #expect(try outcome(of: [text, text], isUnique: true, declared: declared) == .duplicates)
            #expect(try outcome(of: [blob, blob], isUnique: true, declared: declared) == .duplicates)
            #expect(try outcome(of: [text, .null, blob, .null], isUnique: true, declared: declared) == .built)
            #expect(try outcome(of: [text, text], isUnique: false, declared: declared) == .built)
        }
        let large: Int64 = 1 << 53 + 1
        #expect(try outcome(of: [.integer(large), .real(0x1p53)], isUnique: true, declared: "DECIMAL") == .built)
        #expect(try outcome(of: [.real(0x1p53), .integer(large)], isUnique: true, declared: "BLOB") == .built)
        #expect(try outcome(of: [.integer(.min), .real(-0x1p63)], isUnique: true, declared: "BLOB") == .duplicates)
        #expect(try outcome(of: [.integer(1), .real(1)], isUnique: true, declared: "BLOB") == .duplicates)
        #expect(try outcome(of: [.integer(1), .integer(1)], isUnique: true, declared: "VARCHAR") == .duplicates)
    }

    @Test("A key that the memory has no room for is left to SQLite")
    func tooLarge() throws {
        let text = Cell(bits: 0, length: 1, kind: .text)
        #expect(try outcome(of: [text], isUnique: false, declared: "VARCHAR", bytes: 8000) == .built)
        #expect(try outcome(of: [text], isUnique: false, declared: "VARCHAR", bytes: 9000) == .tooLarge)
    }
}
