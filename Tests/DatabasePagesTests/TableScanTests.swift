import CSQLite
import DatabasePages
import Diagnostics
import Foundation
import Rows
import TestSupport
import Testing

/// Rows read from pages are those that SQLite reads: at every page size, with reserved bytes, overflow, columns added later
/// and a `-wal` that nobody has brought in.
@Suite("Tables read from their pages") struct TableScanTests {
    private static let types = ["INTEGER", "VARCHAR", "FLOAT", "TIMESTAMP", "DECIMAL", "BLOB", "BIGINT"]

    /// A database in some state, opened once more for its pages.
    private final class Fixture {
        let path: String
        let handle: OpaquePointer
        let pageSize: Int
        private(set) var columns: [String] = []
        private let descriptor: Int32
        private let log: Int32

        init(_ path: String, seed: UInt64, pageSize: Int, reserved: Int32, isLogged: Bool) throws {
            self.path = path
            self.pageSize = pageSize
            var opened: OpaquePointer?
            guard sqlite3_open(path, &opened) == SQLITE_OK, let opened else { throw SceneError.sqlite("open") }
            handle = opened
            var bytes = reserved
            sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes)
            var random = SeededGenerator(seed: seed)
            func run(_ text: String) throws {
                guard sqlite3_exec(opened, text, nil, nil, nil) == SQLITE_OK else {
                    throw SceneError.sqlite("\(String(cString: sqlite3_errmsg(opened))): \(text.prefix(300))")
                }
            }
            try run("PRAGMA page_size=\(pageSize); PRAGMA auto_vacuum=\(random.below(3)); PRAGMA cell_size_check=1")
            // Each insertion is a transaction of its own; the tests would wait for the disk most of the time.
            try run("PRAGMA synchronous=OFF")
            if isLogged { try run("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0") }
            var names = ["Z_PK INTEGER PRIMARY KEY", "Z_ENT INTEGER"]
            columns = ["Z_ENT"]
            for index in 0..<(1 + random.below(6)) {
                names.append("c\(index) \(TableScanTests.types[random.below(7)])")
                columns.append("c\(index)")
            }
            try run("CREATE TABLE other(x); CREATE TABLE t(\(names.joined(separator: ", ")))")
            let rows = [0, 1, 40, 200][random.below(4)]
            let spread = random.chance(2) ? 1 : 1 << 40
            for part in 0..<3 {
                for _ in 0..<rows {
                    let values = columns.map { $0 == "Z_ENT" ? "\(random.below(4))" : Self.value(&random, pageSize) }
                    let key = random.chance(9) ? "\(random.below(2000) * spread - 500 * spread)" : "NULL"
                    try run("INSERT OR REPLACE INTO t VALUES (\(key), \(values.joined(separator: ", ")))")
                    if random.chance(3) { try run("INSERT INTO other VALUES (zeroblob(\(random.below(3000))))") }
                    if random.chance(6) { try run("DELETE FROM t WHERE Z_PK % 7 = \(random.below(7))") }
                }
                if isLogged, part == 0 { try run("PRAGMA wal_checkpoint(PASSIVE)") }
                if part < 2, random.chance(2) {
                    try run("ALTER TABLE t ADD COLUMN late\(part) \(TableScanTests.types[random.below(7)])")
                    columns.append("late\(part)")
                }
            }
            descriptor = Glibc.open(path, O_RDONLY)
            log = Glibc.open(path + "-wal", O_RDONLY)
        }

        deinit {
            // In this order: closing a descriptor drops this process's locks.
            sqlite3_close(handle)
            close(descriptor)
            if log >= 0 { close(log) }
        }

        static func value(_ random: inout SeededGenerator, _ pageSize: Int) -> String {
            switch random.below(9) {
            case 0: "NULL"
            case 1: "\(Int64(bitPattern: random.next()) >> Int64(random.below(64)))"
            case 2: "\([0, 1, -1, 127, 128, -128, -129, 32768, 8_388_608, 1 << 31, 1 << 47][random.below(11)])"
            case 3: "\(Double(random.below(1000)) / 8)"
            case 4: "\(random.below(100)).0"
            case 5: "'\(String(repeating: "é", count: random.below(40)))'"
            case 6: "randomblob(\(random.below(min(pageSize * 3, 9000))))"
            case 7: "CAST(x'41004280ff' AS TEXT)"
            default: "'\(random.below(100_000))'"
            }
        }

        func file() throws -> PageFile {
            let frames = try CommittedFrames.read(
                descriptor: log, pageSize: pageSize, mostFrames: 100_000, path: path)
            let pages = try #require(Int64(lines("PRAGMA page_count")[0].dropFirst()))
            return try #require(
                try PageFile.open(
                    path: path, descriptor: descriptor, pageSize: pageSize, frames: frames, pageCount: pages))
        }

        func root() throws -> UInt32 {
            try #require(
                UInt32(lines("SELECT rootpage FROM sqlite_master WHERE name = 't'")[0].dropFirst()))
        }

        func affinity(_ column: String) throws -> ColumnAffinity {
            let type = try lines("SELECT CAST(type AS BLOB) FROM pragma_table_info('t') WHERE name = '\(column)'")[0]
            let text = try #require(TableScanTests.types.first { type == "b\(TableScanTests.digest(Array($0.utf8)))" })
            return ColumnAffinity(declaredType: text)
        }

        /// A query's rows, values by kind and bytes.
        func lines(_ query: String) throws -> [String] {
            var statement: OpaquePointer?
            guard sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK else {
                throw SceneError.sqlite(query)
            }
            defer { sqlite3_finalize(statement) }
            var found: [String] = []
            while sqlite3_step(statement) == SQLITE_ROW {
                found.append(
                    (0..<sqlite3_column_count(statement)).map { index in
                        let bytes = {
                            UnsafeRawBufferPointer(
                                start: sqlite3_column_blob(statement, index),
                                count: Int(sqlite3_column_bytes(statement, index)))
                        }
                        return switch sqlite3_column_type(statement, index) {
                        case SQLITE_INTEGER: "i\(sqlite3_column_int64(statement, index))"
                        case SQLITE_FLOAT: "r\(sqlite3_column_double(statement, index))"
                        case SQLITE_TEXT: "t\(TableScanTests.digest(bytes()))"
                        case SQLITE_BLOB: "b\(TableScanTests.digest(bytes()))"
                        default: "-"
                        }
                    }.joined(separator: " "))
            }
            return found
        }
    }

    private enum SceneError: Error { case sqlite(String) }

    /// Bytes in short: their number and a hash.
    private static func digest(_ bytes: some Collection<UInt8>) -> String {
        "\(bytes.count):\(bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })"
    }

    private static var limits: ScanRequest.LargeValues {
        ScanRequest.LargeValues(
            limit: 1 << 20, streamed: [],
            reference: { _, _, _, _ in preconditionFailure("nothing is large") },
            refusal: { slot, key, bytes in
                MigrationError("store.valueTooLarge", .configuration, "slot \(slot), key \(key), \(bytes) bytes")
            })
    }

    private static func lines(
        _ scan: TableScan, slots: Int, capacity: Int, borrows: Bool
    ) throws -> [String] {
        var batch = RowBatch(slots: slots, rowCapacity: capacity, byteTarget: 20_000)
        batch.borrowsPages = borrows
        var found: [String] = []
        repeat {
            batch.removeAll()
            try scan.fill(&batch)
            for row in 0..<batch.count {
                var line = "i\(batch.key(row))"
                for slot in 0..<slots {
                    let cell = batch[row, slot]
                    switch cell.kind {
                    case .integer: line += " i\(cell.integerValue)"
                    case .real: line += " r\(cell.realValue)"
                    case .text: line += " t\(digest(batch.bytes(cell)))"
                    case .blob: line += " b\(digest(batch.bytes(cell)))"
                    default: line += " -"
                    }
                }
                found.append(line)
            }
        } while !batch.isEmpty
        return found
    }

    @Test("Any selection of any random table", arguments: [512, 1024, 4096, 65536], [false, true])
    func selections(pageSize: Int, isLogged: Bool) throws {
        let folder = try TemporaryFolder()
        for round in 0..<8 {
            let seed = UInt64(round * 65537 + pageSize)
            let fixture = try Fixture(
                folder.file("t\(round).sqlite"), seed: seed, pageSize: pageSize,
                reserved: round % 3 == 2 ? 32 : 0, isLogged: isLogged)
            let file = try fixture.file()
            #expect(try TableScan.isTable(file, root: fixture.root()))
            var random = SeededGenerator(seed: seed &+ 1)
            for _ in 0..<6 {
                var request = ScanRequest(large: Self.limits)
                let chosen = (0..<random.below(8)).map { _ in random.below(fixture.columns.count) }
                for (slot, column) in chosen.enumerated() {
                    request.fields.append(
                        .init(field: column + 1, slot: slot, affinity: try fixture.affinity(fixture.columns[column])))
                }
                request.keySlots = [chosen.count]
                var conditions = ["1"]
                if random.chance(2) {
                    request.filter = .init(field: 1, numbers: [1, 3])
                    conditions.append("+Z_ENT IN (1, 3)")
                }
                let keys = try fixture.lines("SELECT Z_PK FROM t").compactMap { Int64($0.dropFirst()) }
                if random.chance(2), let key = keys.randomElement(using: &random) {
                    request.after = key
                    conditions.append("Z_PK > \(key)")
                }
                if random.chance(2), let key = keys.randomElement(using: &random) {
                    request.through = key
                    conditions.append("Z_PK <= \(key)")
                }
                let columns = (["Z_PK"] + chosen.map { fixture.columns[$0] } + ["Z_PK"]).joined(separator: ", ")
                let expected = try fixture.lines(
                    "SELECT \(columns) FROM t WHERE \(conditions.joined(separator: " AND ")) ORDER BY Z_PK")
                let scan = TableScan(file: file, root: try fixture.root(), request: request)
                let actual = try Self.lines(
                    scan, slots: chosen.count + 1, capacity: 1 + random.below(50), borrows: random.chance(2))
                #expect(actual == expected, "seed \(seed): \(conditions)")
            }
        }
    }

    /// The pages of a database of 4 KiB pages.
    private static func file(_ path: String, _ descriptor: Int32, _ database: TestDatabase) throws -> PageFile {
        try #require(
            try PageFile.open(
                path: path, descriptor: descriptor, pageSize: 4096, frames: nil,
                pageCount: Int64(try database.column("PRAGMA page_count")[0]) ?? 0))
    }

    @Test("A batch that borrows ends with the pages at hand, and its texts go on into another batch")
    func borrowing() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("lent.sqlite")
        let database = try TestDatabase(path)
        // One row in twenty continues in overflow pages, so its text is not in the leaf.
        try database.execute(
            """
            CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, a VARCHAR);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO t SELECT i, printf('%d-%.*c', i, CASE i % 20 WHEN 0 THEN 9000 ELSE i % 60 END, 'x') FROM n
            """)
        let descriptor = Glibc.open(path, O_RDONLY)
        defer { close(descriptor) }
        let file = try Self.file(path, descriptor, database)
        var request = ScanRequest(large: Self.limits)
        request.fields = [.init(field: 1, slot: 0, affinity: .text)]
        let scan = TableScan(file: file, root: try database.root(of: "t"), request: request)
        var batch = RowBatch(slots: 1, rowCapacity: 100_000, byteTarget: 1 << 30)
        batch.borrowsPages = true
        var (batches, key) = (0, Int64(0))
        while true {
            batch.removeAll()
            try scan.fill(&batch)
            if batch.isEmpty { break }
            batches += 1
            // Texts of leaves take no room of the batch's own.
            #expect(batch.arenaCount % 9000 < 20 * 100)
            var other = RowBatch(slots: 2, rowCapacity: batch.count, byteTarget: 1 << 20)
            for row in 0..<batch.count {
                key += 1
                try #require(batch.key(row) == key)
                other.appendRow(key: key)
                other.borrow(batch[row, 0], from: batch, row: row, slot: 1)
                let text = "\(key)-" + String(repeating: "x", count: key % 20 == 0 ? 9000 : max(1, Int(key % 60)))
                #expect(String(decoding: other.bytes(other[row, 1]), as: UTF8.self) == text)
                var third = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 64)
                third.appendRow(key: key)
                third.copy(other[row, 1], from: other, row: 0, slot: 0)
                #expect(third.bytes(third[0, 0]).count == text.utf8.count)
            }
        }
        #expect(key == 3000 && batches > 2)
    }

    @Test("A record above the limit is refused, or comes as a reference if it is only copied")
    func largeValues() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("large.sqlite")
        let database = try TestDatabase(path)
        try database.execute(
            "CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, a VARCHAR, b BLOB, c VARCHAR); "
                + "INSERT INTO t VALUES (1, 'a', zeroblob(9000), 'c'), (2, 'é', zeroblob(20), 'd')")
        let descriptor = Glibc.open(path, O_RDONLY)
        defer { close(descriptor) }
        let file = try Self.file(path, descriptor, database)
        final class Source: HugeValueSource {
            func read(
                _ value: HugeValue, _ body: (UnsafeRawBufferPointer) throws(MigrationError) -> Void
            ) throws(MigrationError) {}
            func refusal(_ value: HugeValue, for use: String) -> MigrationError { MigrationError("x", .data, use) }
        }
        let source = Source()
        for streamed in [[], [1]] as [Set<Int>] {
            var request = ScanRequest(
                large: .init(
                    limit: 8999, streamed: streamed,
                    reference: { HugeValue(source: source, key: $1, count: $2 + $0, isText: $3) },
                    refusal: { MigrationError("store.valueTooLarge", .configuration, "\($0) \($1) \($2)") }))
            request.fields = (0..<3).map { .init(field: $0 + 1, slot: $0, affinity: .blob) }
            let scan = TableScan(file: file, root: try database.root(of: "t"), request: request)
            var batch = RowBatch(slots: 3, rowCapacity: 10, byteTarget: 10_000)
            guard !streamed.isEmpty else {
                let error = #expect(throws: MigrationError.self) { try scan.fill(&batch) }
                #expect(error?.message == "1 1 9000")
                continue
            }
            try scan.fill(&batch)
            try #require((batch.count) == 2)
            let value = batch.huge(batch[0, 1])
            #expect(value.key == 1 && value.count == 9001 && !value.isText)
            #expect(Array(batch.bytes(batch[0, 2])) == [99])
            #expect((batch[1, 1].kind) == .blob)
        }
    }
}
