import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@testable import DatabasePages

@Suite("Pages that were written since a checkpoint")
struct WrittenPagesTests {
    /// A file of a table and what it takes to append rows to it.
    private func append(_ rows: Int, from key: inout Int64, to table: TableLoader, _ random: inout SeededGenerator)
        throws
    {
        var batch = RowBatch(slots: 1, rowCapacity: 500, byteTarget: 1 << 20)
        for _ in 0..<rows {
            if batch.isFull {
                try table.append(batch)
                batch.removeAll()
            }
            key += 1
            let row = batch.appendRow(key: key)
            let bytes = (0..<random.below(900)).map { _ in UInt8(truncatingIfNeeded: random.next() | 1) }
            bytes.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: 0) }
        }
        try table.append(batch)
    }

    @Test("All of them are in the file, or what is missing is seen")
    func sums() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("store")
        var root: UInt32 = 0
        do {
            let database = try TestDatabase(path)
            try database.execute(
                "PRAGMA page_size=4096; PRAGMA auto_vacuum=2; CREATE TABLE t(Z_PK INTEGER PRIMARY KEY, b BLOB)")
            root = UInt32(try database.column("SELECT rootpage FROM sqlite_master WHERE name='t'")[0]) ?? 0
        }
        var random = SeededGenerator(seed: 41)
        var key: Int64 = 0
        let writer = try DatabaseFileWriter(path: path)
        let table = writer.table(root: root, affinities: [.blob], isKeyed: true)
        func save() throws -> UInt32 {
            var state = StateWriter()
            try writer.save(tables: [table], indexes: [], to: &state)
            return UInt32(writer.pageCount)
        }
        func sums() -> [UInt8] {
            var state = StateWriter()
            writer.saveWritten(to: &state)
            return state.bytes
        }
        try append(9000, from: &key, to: table, &random)
        let first = try save()
        _ = writer.beginWritten()
        try append(9000, from: &key, to: table, &random)
        let second = try save()
        let part = writer.beginWritten()
        try append(9000, from: &key, to: table, &random)
        let third = try save()
        #expect(first > 900 && second > first + 900 && third > second + 900)
        let both = sums()
        #expect(try DatabaseFileWriter.isWritten(both, in: path))
        writer.forgetWritten(before: part)
        let later = sums()
        #expect(try DatabaseFileWriter.isWritten(later, in: path) && later.count < both.count)

        // Sectors that are missing, or older.
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        func isSeen(_ sums: [UInt8], sector: Int) throws -> Bool {
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            try handle.seek(toOffset: UInt64(sector * 512))
            try handle.write(contentsOf: Data(repeating: 0, count: 512))
            let isThere = try DatabaseFileWriter.isWritten(sums, in: path)
            try handle.seek(toOffset: UInt64(sector * 512))
            try handle.write(contentsOf: whole[sector * 512..<(sector + 1) * 512])
            return !isThere
        }
        for _ in 0..<40 {
            let page = Int(first) + random.below(Int(third - first))
            let sector = page * 8 + random.below(8)
            let isEmpty = whole[sector * 512..<(sector + 1) * 512].allSatisfy { $0 == 0 }
            guard !isEmpty, !PageGeometry.isReserved(UInt32(page + 1)) else { continue }
            #expect(try isSeen(both, sector: sector), "sector \(sector)")
            #expect(try isSeen(later, sector: sector) == (page >= Int(second)), "sector \(sector)")
        }
        #expect(try !isSeen(both, sector: 8 * 3), "what stood there before is nobody's")
        #expect(try DatabaseFileWriter.isWritten(both, in: path))
        try whole.prefix(Int(third - 1) * 4096).write(to: URL(fileURLWithPath: path))
        #expect(try !DatabaseFileWriter.isWritten(both, in: path) && !DatabaseFileWriter.isWritten(later, in: path))
        try whole.write(to: URL(fileURLWithPath: path))
        // Sums that somebody changed are no reason to believe anything.
        for place in both.indices {
            var changed = both
            changed[place] ^= 0x11
            #expect((try? DatabaseFileWriter.isWritten(changed, in: path)) != true, "byte \(place)")
        }
        // The root is written over when the tree ends.
        try table.finish()
        var state = StateWriter()
        try writer.save(tables: [], indexes: [], to: &state)
        let ended = sums()
        #expect(try DatabaseFileWriter.isWritten(ended, in: path))
        try whole.write(to: URL(fileURLWithPath: path))
        #expect(try !DatabaseFileWriter.isWritten(ended, in: path))
    }
}
