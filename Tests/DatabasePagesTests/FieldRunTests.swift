import DatabasePages
import Diagnostics
import Foundation
import Rows
import TestSupport
import Testing

/// Rows that go from page to page, with some of their neighbouring fields as they are stored, give the table that SQLite's
/// `INSERT … SELECT` gives.
@Suite("Fields copied as they are stored") struct FieldRunTests {
    private static let types = ["INTEGER", "VARCHAR", "FLOAT", "TIMESTAMP", "DECIMAL", "BLOB", "BIGINT"]

    private static func value(_ random: inout SeededGenerator, _ longest: Int) -> String {
        switch random.below(10) {
        case 0: "NULL"
        case 1: "\(Int64(bitPattern: random.next()) >> Int64(random.below(64)))"
        case 2: "\([0, 1, -1, 127, 128, -128, -129, 32768, 8_388_608, 1 << 31, 1 << 47, Int64.min][random.below(12)])"
        case 3: "\(Double(random.below(1000)) / 8)"
        case 4: "\(random.below(100)).0"
        case 5: ["-0.0", "9e999", "1e300", "140737488355328.0", "9223372036854775807.0"][random.below(5)]
        case 6: "'\(String(repeating: "é", count: random.below(longest)))'"
        case 7: "randomblob(\(random.below(longest)))"
        case 8: "CAST(x'41004280ff' AS TEXT)"
        default: "'\(random.below(100_000))'"
        }
    }

    /// A table in which some columns have values that SQLite would have stored in another way.
    private func makeSource(_ path: String, _ random: inout SeededGenerator, _ types: [String]) throws {
        let database = try TestDatabase(path)
        try database.execute("PRAGMA page_size=\([512, 4096, 65536][random.below(3)]); PRAGMA synchronous=OFF")
        // Without a type nothing is converted.
        let plain = random.chance(3)
        let late = random.below(types.count)
        func list(_ types: some Sequence<(offset: Int, element: String)>) -> String {
            types.map { "c\($0.offset) \(plain ? "" : $0.element)" }.joined(separator: ", ")
        }
        try database.execute(
            "CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, \(list(types.enumerated().prefix(types.count - late))))")
        try database.execute("BEGIN")
        let longest = [4, 30, 200, 3000][random.below(4)]
        func insert(_ columns: Int) throws {
            for _ in 0..<random.below(120) {
                let values = (0..<columns).map { _ in Self.value(&random, longest) }
                try database.execute("INSERT INTO t VALUES (NULL, \(values.joined(separator: ", ")))")
            }
        }
        try insert(types.count - late)
        for column in types.enumerated().suffix(late) {
            try database.execute("ALTER TABLE t ADD COLUMN c\(column.offset) \(plain ? "" : column.element)")
        }
        try insert(types.count)
        try database.execute("COMMIT")
        guard plain else { return }
        let text =
            "CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, "
            + types.enumerated().map { "c\($0.offset) \($0.element)" }.joined(separator: ", ") + ")"
        try database.execute(
            "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = '\(text)' WHERE name = 't'; PRAGMA schema_version=99"
        )
    }

    @Test("Random tables, runs and columns in between", arguments: 0..<60 as Range<UInt64>)
    func copies(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: seed)
        let types = (0..<2 + random.below(9)).map { _ in Self.types[random.below(Self.types.count)] }
        let (from, ours, theirs) = (folder.file("from"), folder.file("ours"), folder.file("theirs"))
        try makeSource(from, &random, types)
        // Of some columns nothing is copied, and a computed one is among those of the destination.
        var runs: [Range<Int>] = []
        var column = 0
        while column < types.count {
            let count = min(types.count - column, 1 + random.below(5))
            if !random.chance(5) { runs.append(column..<column + count) }
            column += count
        }
        guard !runs.isEmpty else { return }
        let computed = random.below(runs.count + 1)
        var declared: [String] = []
        var moves: [(from: Int, to: Int)] = []
        var selected: [String] = []
        for (index, run) in runs.enumerated() {
            if index == computed {
                declared.append("INTEGER")
                selected.append("7")
            }
            for column in run {
                moves.append((column, declared.count))
                declared.append(types[column])
                selected.append("c\(column)")
            }
        }
        if computed == runs.count {
            declared.append("INTEGER")
            selected.append("7")
        }
        let seven = try #require(selected.firstIndex(of: "7"))
        let list = declared.enumerated().map { "d\($0.offset) \($0.element)" }.joined(separator: ", ")
        var root: UInt32 = 0
        for path in [ours, theirs] {
            let database = try TestDatabase(path)
            try database.execute(
                "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, \(list))")
            root = try database.root(of: "t")
        }
        let reference = try TestDatabase(theirs)
        try reference.execute(
            "ATTACH '\(from)' AS s; INSERT INTO t SELECT Z_PK, \(selected.joined(separator: ", ")) FROM s.t")

        // Every column has a slot; those of runs are together among the moves.
        let connection = try TestDatabase(from)
        let pageSize = try #require(Int(try connection.column("PRAGMA page_size")[0]))
        let pages = try #require(Int64(try connection.column("PRAGMA page_count")[0]))
        let descriptor = open(from, O_RDONLY)
        defer { close(descriptor) }
        let file = try #require(
            try PageFile.open(path: from, descriptor: descriptor, pageSize: pageSize, frames: nil, pageCount: pages))
        var request = ScanRequest(
            large: .init(
                limit: 1 << 20, streamed: [], reference: { _, _, _, _ in preconditionFailure("nothing is large") },
                refusal: { _, _, _ in MigrationError("store.valueTooLarge", .configuration, "large") }))
        request.fields = types.indices.map {
            .init(field: $0 + 1, slot: $0, affinity: ColumnAffinity(declaredType: types[$0]))
        }
        request.runs = runs.filter { $0.count > 1 }.map { .init(first: $0.lowerBound + 1, count: $0.count) }
        let scan = TableScan(file: file, root: try connection.root(of: "t"), request: request)
        let writer = try DatabaseFileWriter(path: ours)
        let loader = writer.table(
            root: root, affinities: declared.map(ColumnAffinity.init(declaredType:)), isKeyed: true)
        var source = RowBatch(slots: types.count, rowCapacity: 50, byteTarget: 1 << 20)
        source.borrowsPages = !random.chance(6)
        var destination = RowBatch(slots: declared.count, rowCapacity: 50, byteTarget: 1 << 20)
        var encoded = 0
        while true {
            source.removeAll()
            try scan.fill(&source)
            guard !source.isEmpty else { break }
            let rows = 0..<source.count
            let first = destination.appendRows(keys: source.keys(rows), clearing: [])
            destination.borrow(ColumnCopies(moves), from: source, sourceRows: rows, firstRow: first)
            destination.fill(first..<first + rows.count, slot: seven, with: .integer(7))
            for run in request.runs {
                for row in rows where source[row, run.first - 1].kind == .rawRecord { encoded += 1 }
            }
            try loader.append(destination)
            destination.removeAll()
        }
        try loader.finish()
        try writer.finish()
        let result = try TestDatabase(ours)
        #expect(try result.column("PRAGMA integrity_check") == ["ok"])
        // A quoted value shows its type too: 1, 1.0, '1', X'31'.
        let query =
            "SELECT Z_PK, \(declared.indices.map { "quote(d\($0)), typeof(d\($0))" }.joined(separator: ", ")) FROM t"
        let (found, expected) = (try result.rows(query), try reference.rows(query))
        #expect(found.count == expected.count)
        for (one, other) in zip(found, expected) where one != other {
            Issue.record("seed \(seed): \(one), expected \(other)")
            break
        }
        if !source.borrowsPages { #expect(encoded == 0) }
    }

    @Test("A row of plain values comes encoded, one that SQLite would store otherwise does not")
    func plain() throws {
        let folder = try TemporaryFolder()
        let database = try TestDatabase(folder.file("t"))
        try database.execute(
            """
            CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, a, b, c);
            INSERT INTO t VALUES (1, 5, 'text', 0.5), (2, 5, 'text', 5.0), (3, 'x', 'text', 0.5), (4, 5, 1, 0.5),
                (5, NULL, NULL, NULL), (6, 0.5, 'text', 1), (7, 1, 'text', 9223372036854775807), (8, 1, x'00', 1)
            """)
        let pages = try #require(Int64(try database.column("PRAGMA page_count")[0]))
        let descriptor = open(folder.file("t"), O_RDONLY)
        defer { close(descriptor) }
        let file = try #require(
            try PageFile.open(
                path: folder.file("t"), descriptor: descriptor, pageSize: 4096, frames: nil,
                pageCount: pages))
        var request = ScanRequest(
            large: .init(
                limit: 1 << 20, streamed: [], reference: { _, _, _, _ in preconditionFailure("nothing is large") },
                refusal: { _, _, _ in MigrationError("store.valueTooLarge", .configuration, "large") }))
        request.fields = [ColumnAffinity.integer, .text, .real].enumerated().map {
            .init(field: $0.offset + 1, slot: $0.offset, affinity: $0.element)
        }
        request.runs = [.init(first: 1, count: 3)]
        var batch = RowBatch(slots: 3, rowCapacity: 20, byteTarget: 1 << 20)
        batch.borrowsPages = true
        try TableScan(file: file, root: try database.root(of: "t"), request: request).fill(&batch)
        #expect(batch.count == 8)
        let kinds = (0..<batch.count).map { batch[$0, 0].kind == .rawRecord }
        #expect(kinds == [true, false, false, false, true, false, false, false])
    }
}
