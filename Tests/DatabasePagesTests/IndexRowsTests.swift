import DatabasePages
import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

/// Entries read from a table's pages by themselves are those of its rows in batches.
@Suite struct IndexRowsTests {
    /// A table with ordinary rows and others, in runs; SQLite writes it.
    ///
    /// - Parameters:
    ///   - isLink: whether it has the columns `a` and `b` alone, as link tables have.
    ///   - ordinary: of a thousand rows, how many are ordinary.
    private func makeTable(
        _ path: String, isKeyed: Bool, isLink: Bool, rows: Int, ordinary: Int, _ random: inout SeededGenerator
    ) throws {
        let database = try TestDatabase(path)
        let key = isKeyed ? "k INTEGER PRIMARY KEY, " : ""
        let columns = isLink ? "a INTEGER, b INTEGER" : "a INTEGER, r FLOAT, b INTEGER, w VARCHAR"
        try database.execute("PRAGMA page_size=4096; PRAGMA synchronous=OFF; CREATE TABLE t(\(key)\(columns))")
        try database.execute("BEGIN")
        var last: Int64 = random.chance(2) ? -40 : 0
        for _ in 0..<rows {
            last += random.chance(9) ? Int64(1 + random.below(1 << 20)) : 1
            var (a, r, b, w) = ("\(random.below(5000))", "0.5", "\(random.below(70_000))", "'word'")
            if random.below(1000) >= ordinary {
                switch random.below(11) {
                case 0: a = "NULL"
                case 1: b = "NULL"
                case 2: a = "-1"
                case 3: b = "4294967295"
                case 4: b = "4294967294"
                case 5: a = "1.5"
                case 6: a = "'text'"
                case 7: r = "'a text where a number is expected'"
                case 8: w = "randomblob(9000)"
                case 9: b = "\(Int64.max)"
                default: (a, b) = ("0", "1")
                }
            }
            let names = isKeyed ? "k" : "rowid"
            try database.execute(
                isLink
                    ? "INSERT INTO t(\(names), a, b) VALUES (\(last), \(a), \(b))"
                    : "INSERT INTO t(\(names), a, r, b, w) VALUES (\(last), \(a), \(r), \(b), \(w))")
        }
        try database.execute("COMMIT")
    }

    private func scan(_ path: String, isKeyed: Bool, slots: [Int], after: Int64?) throws -> TableScan {
        let root = try TestDatabase(path).root(of: "t")
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        let descriptor = open(path, O_RDONLY)
        defer { close(descriptor) }
        let file = try #require(
            try PageFile.open(
                path: path, descriptor: dup(descriptor), pageSize: 4096, frames: nil, pageCount: Int64(size / 4096)))
        var request = ScanRequest(
            large: .init(
                limit: .max, streamed: [],
                reference: { _, _, _, _ in preconditionFailure("nothing is too large") },
                refusal: { _, _, _ in MigrationError("test.large", .internal, "nothing is too large") }))
        request.after = after
        for slot in slots.sorted() {
            request.fields.append(.init(field: slot + (isKeyed ? 1 : 0), slot: slot, affinity: .integer))
        }
        return TableScan(file: file, root: root, request: request)
    }

    /// An index's tree, built alone into a file.
    private func tree(_ sorter: IndexSorter, _ path: String, columns: String) throws -> Data {
        let root: UInt32
        do {
            let database = try TestDatabase(path)
            try database.execute(
                "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(a, r, b, w); CREATE INDEX i ON t(\(columns))"
            )
            root = try database.root(of: "i")
        }
        let writer = try DatabaseFileWriter(path: path)
        #expect(try sorter.build(into: writer.index(root: root)) == .built)
        try writer.finish()
        return try Data(contentsOf: URL(fileURLWithPath: path))
    }

    @Test("Ordinary rows one way, others the other way, and together as in batches", arguments: 0..<48 as Range<UInt64>)
    func random(seed: UInt64) throws {
        print("entries from rows: seed \(4400 + seed)")
        var random = SeededGenerator(seed: 4400 + seed)
        let folder = try TemporaryFolder()
        let path = folder.file("table")
        let (isKeyed, isPair) = (seed % 2 == 0, seed % 3 != 0)
        let rows = [0, 1, 700, 6000, 25_000][Int(seed % 5)]
        let ordinary = [1000, 999, 0, 950][Int(seed % 4)]
        let isLink = seed >= 24
        try makeTable(path, isKeyed: isKeyed, isLink: isLink, rows: rows, ordinary: ordinary, &random)
        let after: Int64? = seed % 6 == 5 ? 300 : nil
        let second = isLink ? 1 : 2
        let isSwapped = isLink ? seed / 2 % 2 == 1 : random.chance(2)
        let slots = isPair ? (isSwapped ? [second, 0] : [0, second]) : [isSwapped ? second : 0]
        let isExpected = random.chance(2)
        let work = try WorkDirectory(path: folder.file("work"))
        let memory = random.chance(2) ? 64 << 10 : 4 << 20
        func sorter() -> IndexSorter {
            IndexSorter(
                terms: slots.map {
                    let most: Int64 = $0 == 0 ? 5000 : 70_000
                    return IndexTerm(
                        slot: $0, affinity: .integer, isAscending: true, mostExpected: isExpected ? most : nil)
                }, isUnique: false, directory: work, memory: memory)
        }
        var batch = RowBatch(slots: 4, rowCapacity: 1000, byteTarget: 128 << 10)

        let plain = sorter()
        let whole = try scan(path, isKeyed: isKeyed, slots: [0, second], after: after)
        var keys: [Int64] = []
        while true {
            batch.removeAll()
            try whole.fill(&batch)
            if batch.isEmpty { break }
            for row in 0..<batch.count { keys.append(batch.key(row)) }
            try plain.append(batch, firstID: nil)
        }

        let mixed = sorter()
        let parts = try scan(path, isKeyed: isKeyed, slots: [0, second], after: after)
        var (read, fast) = (0, 0)
        while true {
            while true {
                let most = 1 + random.below(3000)
                let added = try mixed.append(
                    rowsOf: parts, fields: slots.map { $0 + (isKeyed ? 1 : 0) }, upTo: most
                ) {
                    // The key of the last row whose entries are in files.
                    #expect(keys[mixed.spilledRows - 1] == $0)
                }
                read += added
                fast += added
                if added < most { break }
            }
            batch.removeAll()
            try parts.fill(&batch)
            if batch.isEmpty { break }
            for row in 0..<batch.count { #expect(batch.key(row) == keys[read + row]) }
            try mixed.append(batch, firstID: nil)
            read += batch.count
        }
        #expect(read == keys.count)
        if ordinary == 1000, rows > 1, after == nil { #expect(fast == rows) }
        if ordinary == 0, rows > 1000 { #expect(fast < rows) }
        let columns = slots.map { $0 == 0 ? "a" : "b" }.joined(separator: ", ")
        #expect(
            try tree(mixed, folder.file("mixed"), columns: columns)
                == tree(plain, folder.file("plain"), columns: columns), "seed \(4400 + seed)")
    }
}
