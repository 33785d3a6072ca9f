import DatabasePages
import Diagnostics
import Foundation
import Rows
import SpillStorage
import Synchronization
import TestSupport
import Testing

/// Tables written by pages hold the same values as SQLite would write, byte for byte, and SQLite can change the file
/// afterwards.
@Suite struct TableLoaderTests {
    private static let schema = "PRAGMA page_size=4096; PRAGMA auto_vacuum=2;"
    private static let types = ["INTEGER", "VARCHAR", "FLOAT", "TIMESTAMP", "DECIMAL", "BLOB", "BIGINT"]

    /// A batch of random cells of every kind, with sizes around the limits of pages.
    private func fill(
        _ batch: inout RowBatch, generator: inout SeededGenerator, key: inout Int64, rows: Int, longest: Int
    ) {
        for _ in 0..<rows {
            key += Int64(generator.next() % 5 == 0 ? Int64(generator.next() % 100_000) + 1 : 1)
            let row = batch.appendRow(key: key)
            for slot in 0..<batch.slots {
                switch generator.next() % 8 {
                case 0: batch[row, slot] = .null
                case 1: batch[row, slot] = .integer(randomInteger(&generator))
                case 2: batch[row, slot] = .real(randomReal(&generator))
                case 3:
                    text(&batch, row, slot, Self.numberTexts[Int(generator.next() % UInt64(Self.numberTexts.count))])
                case 4, 5: text(&batch, row, slot, String(repeating: "é", count: size(&generator, longest)))
                default:
                    let bytes = (0..<size(&generator, longest)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
                    bytes.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
                }
            }
        }
    }

    private static let numberTexts = [
        "", "0", "1", "-1", " 12 ", "12x", "1e5", "1.50", "9223372036854775807", "9223372036854775808", "0x10", "NaN",
        "inf", ".5", "5.", "+7", "-", "123456789012345678901234567890.5", "1e400", "\t3",
    ]

    private func text(_ batch: inout RowBatch, _ row: Int, _ slot: Int, _ value: String) {
        Array(value.utf8).withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
    }

    private func size(_ generator: inout SeededGenerator, _ longest: Int) -> Int {
        switch generator.next() % 10 {
        case 0: Int(generator.next() % UInt64(longest))
        case 1: 3900 + Int(generator.next() % 400) < longest ? 3900 + Int(generator.next() % 300) : longest / 2
        default: Int(generator.next() % 40)
        }
    }

    private func randomInteger(_ generator: inout SeededGenerator) -> Int64 {
        let edges: [Int64] = [
            0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, 8_388_607, 8_388_608, -8_388_609, .max, .min,
            2_147_483_647, 2_147_483_648, 140_737_488_355_327, 140_737_488_355_328, -140_737_488_355_328, 1 << 53,
        ]
        return generator.next() % 3 == 0
            ? Int64(bitPattern: generator.next()) : edges[Int(generator.next() % UInt64(edges.count))]
    }

    private func randomReal(_ generator: inout SeededGenerator) -> Double {
        let edges: [Double] = [
            0, -0.0, 1, 0.5, -3, 0x1p47, 0x1p48, 0x1p53, 0x1p63, -0x1p63, .leastNonzeroMagnitude, .infinity, -.infinity,
            .nan, 1e300,
            140_737_488_355_327, 140_737_488_355_328,
        ]
        return generator.next() % 3 == 0
            ? Double(bitPattern: generator.next()) : edges[Int(generator.next() % UInt64(edges.count))]
    }

    /// Loads the same random rows both ways and compares.
    ///
    /// - Returns: a line for each thing that is not as SQLite has it, with the seed.
    private func differences(
        seed: UInt64, rows: Int, columns: Int, longest: Int, isKeyed: Bool, isCut: Bool = false
    ) throws -> [String] {
        var lines: [String] = []
        let folder = try TemporaryFolder()
        var generator = SeededGenerator(seed: seed)
        let declared = (0..<columns).map { _ in Self.types[Int(generator.next() % UInt64(Self.types.count))] }
        let list = declared.enumerated().map { "c\($0.offset) \($0.element)" }.joined(separator: ", ")
        let table = "CREATE TABLE t(\(isKeyed ? "Z_PK INTEGER PRIMARY KEY, " : "")\(list)); CREATE TABLE other(x)"
        let (ours, theirs) = (folder.file("ours"), folder.file("theirs"))
        var root: UInt32 = 0
        for path in [ours, theirs] {
            let database = try TestDatabase(path)
            try database.execute(Self.schema + table)
            root = try database.root(of: "t")
        }
        let reference = try TestDatabase(theirs)
        try reference.execute("PRAGMA synchronous=OFF; BEGIN")
        var key: Int64 = isKeyed ? Int64(bitPattern: generator.next() % 4) - 2 : 0
        var done = 0
        // Every other seed with the second thread from the first full buffer on.
        let streamsFrom = seed % 2 == 0 ? 0 : StreamWriter.largeFile
        let affinities = declared.map(ColumnAffinity.init(declaredType:))
        /// Fills the table with other rows, perhaps to the end, and cuts the file off where it was before.
        func fillAndCut() throws {
            let writer = try DatabaseFileWriter(path: ours, streamsFrom: streamsFrom)
            let pages = writer.pageCount
            let loader = writer.table(root: root, affinities: affinities, isKeyed: isKeyed)
            var lost = SeededGenerator(seed: generator.next())
            var beyond = key
            for round in 0..<Int(lost.next() % 60) {
                var batch = RowBatch(slots: columns, rowCapacity: 64, byteTarget: 1 << 20)
                fill(&batch, generator: &lost, key: &beyond, rows: 40, longest: longest)
                try loader.append(batch, firstKey: isKeyed ? nil : Int64(round * 40) + 1)
            }
            if lost.next() % 2 == 0 {
                try loader.finish()
                try writer.finish()
            }
            try DatabaseFileWriter.cut(ours, toPages: UInt32(pages), emptying: ([root], []))
        }
        if isCut { for _ in 0..<3 { try fillAndCut() } }
        let writer = try DatabaseFileWriter(path: ours, streamsFrom: streamsFrom)
        let loader = writer.table(root: root, affinities: affinities, isKeyed: isKeyed)
        while done < rows {
            let count = min(rows - done, 1 + Int(generator.next() % 50))
            var batch = RowBatch(slots: columns, rowCapacity: 64, byteTarget: 1 << 20)
            fill(&batch, generator: &generator, key: &key, rows: count, longest: longest)
            try loader.append(batch, firstKey: isKeyed ? nil : Int64(done) + 1)
            try reference.insert(batch, into: "t", isKeyed: isKeyed)
            done += count
        }
        try reference.execute("COMMIT")
        try loader.finish()
        try writer.finish()
        let database = try TestDatabase(ours)
        try database.execute("PRAGMA synchronous=OFF")
        func checkWhole(_ when: String) throws {
            let said = try database.column("PRAGMA integrity_check")
            if said != ["ok"] { lines.append("seed \(seed), \(when): \(said.prefix(5))") }
        }
        try checkWhole("loaded")
        let names = (0..<columns).map { "c\($0)" }
        // A quoted value shows its type too: 1, 1.0, '1', X'31'.
        let query = "SELECT rowid, \(names.map { "quote(\($0))" }.joined(separator: ", ")) FROM t ORDER BY rowid"
        let found = try database.rows(query)
        if found.count != rows { lines.append("seed \(seed): \(found.count) rows, expected \(rows)") }
        let expected = try reference.rows(query)
        if found != expected {
            let first = zip(found, expected).first { $0 != $1 }
            lines.append("seed \(seed): row \(first?.0 ?? []), expected \(first?.1 ?? [])")
        }
        let (bytes, expectedBytes) = (try payloads(database), try payloads(reference))
        if bytes != expectedBytes { lines.append("seed \(seed): \(bytes) bytes, expected \(expectedBytes)") }
        // SQLite changes the file: it moves pages by their pointer map, which has to be right.
        try database.execute(
            """
            CREATE INDEX i ON t(c0); DELETE FROM t WHERE rowid % 3 = 0; PRAGMA incremental_vacuum;
            CREATE TABLE more AS SELECT * FROM t; DROP TABLE other; INSERT INTO more SELECT * FROM t
            """)
        try checkWhole("changed by SQLite")
        return lines
    }

    /// Cells and payload bytes: the integer widths are those that SQLite chose.
    private func payloads(_ database: TestDatabase) throws -> [String] {
        try database.column("SELECT sum(length(c0)) || '' FROM t")
    }

    @Test(
        "Random rows of every type stand in the file as SQLite would have put them", arguments: 0..<24 as Range<UInt64>)
    func randomRows(_ seed: UInt64) throws {
        let rows = [0, 1, 2, 30, 500, 4000][Int(seed % 6)]
        #expect(
            try differences(
                seed: 4000 + seed, rows: rows, columns: 1 + Int(seed % 7), longest: seed % 4 == 3 ? 60_000 : 6000,
                isKeyed: seed % 5 != 4) == [])
    }

    @Test(
        "A file that is cut off behind what was filled in vain is as if that had never been written",
        arguments: 0..<12 as Range<UInt64>)
    func cut(_ seed: UInt64) throws {
        #expect(
            try differences(
                seed: 9000 + seed, rows: [30, 500, 4000][Int(seed % 3)], columns: 1 + Int(seed % 5),
                longest: seed % 4 == 3 ? 60_000 : 6000, isKeyed: seed % 5 != 4, isCut: true) == [])
    }

    @Test("A table of a thousand columns has a long record header")
    func wideTable() throws {
        #expect(try differences(seed: 7, rows: 40, columns: 1000, longest: 60, isKeyed: true) == [])
    }

    @Test("A table deep enough for three levels of pages is whole")
    func deepTable() throws {
        #expect(try differences(seed: 8, rows: 60_000, columns: 2, longest: 4000, isKeyed: true) == [])
    }

    @Test("Keys that do not ascend are refused")
    func disorder() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        let root: UInt32
        do {
            let database = try TestDatabase(path)
            try database.execute(Self.schema + "CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, a)")
            root = try database.root(of: "t")
        }
        let writer = try DatabaseFileWriter(path: path)
        let loader = writer.table(root: root, affinities: [.blob], isKeyed: true)
        var batch = RowBatch(slots: 1, rowCapacity: 4, byteTarget: 100)
        _ = batch.appendRow(key: 2)
        _ = batch.appendRow(key: 2)
        do {
            try loader.append(batch)
            Issue.record("a key twice was taken")
        } catch {
            #expect((error as MigrationError).code == "store.keyOrder")
        }
    }

    @Test("An index tree built by pages is the one that SQLite would build", arguments: [0, 1, 3, 400, 20_000])
    func indexTree(_ count: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        var generator = SeededGenerator(seed: UInt64(count))
        let roots: (table: UInt32, index: UInt32)
        do {
            let database = try TestDatabase(path)
            try database.execute(
                Self.schema + "CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, a TEXT); CREATE INDEX i ON t(a)")
            roots = (try database.root(of: "t"), try database.root(of: "i"))
        }
        let writer = try DatabaseFileWriter(path: path)
        let table = writer.table(root: roots.table, affinities: [.text], isKeyed: true)
        var values: [(bytes: [UInt8], key: Int64)] = []
        for key in 0..<count {
            var batch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 1000)
            let length = generator.next() % 20 == 0 ? Int(generator.next() % 9000) : Int(generator.next() % 30)
            let bytes = (0..<length).map { _ in UInt8(ascii: "a") + UInt8(generator.next() % 20) }
            let row = batch.appendRow(key: Int64(key) + 1)
            bytes.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: 0) }
            values.append((bytes, Int64(key) + 1))
            try table.append(batch)
        }
        values.sort { left, right in
            if left.bytes == right.bytes { return left.key < right.key }
            return left.bytes.lexicographicallyPrecedes(right.bytes)
        }
        try table.finish()
        let index = writer.index(root: roots.index)
        for value in values { try record(value.bytes, value.key).withUnsafeBytes { try index.append($0) } }
        try index.finish()
        try writer.finish()
        let database = try TestDatabase(path)
        #expect(try database.column("PRAGMA integrity_check") == ["ok"])
        #expect(try database.column("SELECT count(*) FROM t INDEXED BY i WHERE a >= ''") == ["\(count)"])
        try database.execute(
            "DELETE FROM t WHERE Z_PK % 2 = 0; PRAGMA incremental_vacuum; INSERT INTO t(a) VALUES ('zz')")
        #expect(try database.column("PRAGMA integrity_check") == ["ok"])
    }

    /// A record of a text and an integer key of four bytes.
    private func record(_ text: [UInt8], _ key: Int64) -> [UInt8] {
        var serial = [UInt8]()
        let code = text.count * 2 + 13
        if code >= 1 << 14 { serial.append(UInt8(code >> 14) | 0x80) }
        if code >= 1 << 7 { serial.append(UInt8(code >> 7 & 0x7F) | 0x80) }
        serial.append(UInt8(code & 0x7F))
        let last: UInt8 = key == 1 ? 9 : key < 128 ? 1 : key < 32768 ? 2 : 3
        let width = key == 1 ? 0 : key < 128 ? 1 : key < 32768 ? 2 : 3
        let tail = (0..<width).reversed().map { UInt8(truncatingIfNeeded: key >> (8 * $0)) }
        return [UInt8(1 + serial.count + 1)] + serial + [last] + text + tail
    }
}
