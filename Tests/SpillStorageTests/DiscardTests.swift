import Diagnostics
import Foundation
import Rows
import SpillStorage
import TestSupport
import Testing

@Suite("Blocks that are not read any more go back to the disk")
struct DiscardTests {
    private static func directory(_ folder: TemporaryFolder, keepsAll: Bool = false) throws -> (
        WorkDirectory, FaultyFileCalls
    ) {
        let calls = FaultyFileCalls(keepsAll: keepsAll)
        return (try WorkDirectory(path: folder.file("work"), calls: calls), calls)
    }

    /// Bytes that a folder's files take on the disk.
    private static func allocated(_ folder: TemporaryFolder) throws -> Int {
        let path = folder.file("work")
        return try FileManager.default.contentsOfDirectory(atPath: path).reduce(0) { sum, name in
            var status = stat()
            guard stat(path + "/" + name, &status) == 0 else { return sum }
            return sum + Int(status.st_blocks) * 512
        }
    }

    @Test("A sort gives back what was read while it is read, and every record comes once", arguments: [false, true])
    func sorter(keepsAll: Bool) throws {
        let folder = try TemporaryFolder()
        let (directory, calls) = try Self.directory(folder, keepsAll: keepsAll)
        let sorter = RecordSorter(directory: directory, name: "sort", width: 2, memory: 1 << 20)
        let count = 1_500_000
        var generator = SeededGenerator(seed: RandomSeeds.first)
        for number in 0..<count { try sorter.append(generator.next() >> 8, UInt64(number)) }
        let sorted = try sorter.finish()
        let full = directory.bytesHeld
        #expect(full > 8 << 20)
        var record: [UInt64] = [0, 0]
        var seen = [Bool](repeating: false, count: count)
        var last: UInt64 = 0
        var number = 0
        var half = 0
        var onDisk = 0
        while try record.withUnsafeMutableBufferPointer({ try sorted.next(into: try #require($0.baseAddress)) }) {
            #expect(record[0] >= last && !seen[Int(record[1])])
            last = record[0]
            seen[Int(record[1])] = true
            number += 1
            if number == count / 2 {
                half = directory.bytesHeld
                onDisk = try Self.allocated(folder)
            }
        }
        #expect(number == count)
        if keepsAll {
            #expect(half == full)
            #expect(calls.discardCount > 0)
        } else {
            // A file gives back whole mebibytes.
            #expect(half < full * 3 / 4)
            #expect(onDisk < full * 3 / 4)
        }
    }

    @Test("The last reading of rows gives them back, another keeps them")
    func rows() throws {
        let folder = try TemporaryFolder()
        let (directory, calls) = try Self.directory(folder)
        let spill = RowSpill(directory: directory, name: "rows", slots: 2, memory: 1 << 20)
        var batch = RowBatch(slots: 2, rowCapacity: 100, byteTarget: 1 << 20)
        var generator = SeededGenerator(seed: RandomSeeds.first)
        var sum: UInt64 = 0
        for key in 1...60_000 as ClosedRange<Int64> {
            batch.removeAll()
            let row = batch.appendRow(key: key)
            for slot in 0..<2 {
                let value = generator.next()
                sum &+= value
                batch[row, slot] = .integer(Int64(bitPattern: value))
            }
            try spill.append(row: row, of: batch)
        }
        try spill.seal()
        let full = directory.bytesHeld
        func read(isLast: Bool) throws -> (sum: UInt64, rows: Int, least: Int) {
            let reader = spill.makeReader(isLast: isLast)
            var found: (sum: UInt64, rows: Int, least: Int) = (0, 0, .max)
            batch.removeAll()
            while try reader.next(into: &batch) {
                for row in 0..<batch.count {
                    for slot in 0..<2 { found.sum &+= UInt64(bitPattern: batch[row, slot].integerValue) }
                }
                found.rows += batch.count
                found.least = min(found.least, directory.bytesHeld)
                batch.removeAll()
            }
            return found
        }
        for _ in 0..<2 {
            let kept = try read(isLast: false)
            #expect(kept.sum == sum && kept.rows == 60_000 && kept.least == full)
        }
        #expect(calls.discardCount == 0)
        let last = try read(isLast: true)
        #expect(last.sum == sum && last.rows == 60_000)
        #expect(last.least < full / 4 + (1 << 20))
    }

    /// Memory is given back in whole MiB, so the last block is touched if it spans two of them.
    @Test("The last block is not looked into again after its rows were read for the last time")
    func lastBlock() throws {
        for blocks in 15...19 {
            let fixture = try SpillFixture()
            let spill = RowSpill(directory: fixture.directory, name: "rows", slots: 1, memory: 1 << 20)
            var batch = RowBatch(slots: 1, rowCapacity: 4, byteTarget: 1 << 20)
            var generator = SeededGenerator(seed: 77)
            for key in 1...Int64(blocks) {
                batch.removeAll()
                let row = batch.appendRow(key: key)
                let bytes = (0..<60_000).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
                batch[row, 0] = bytes.withUnsafeBytes { batch.store($0, kind: .blob) }
                try spill.append(row: row, of: batch)
            }
            try spill.seal()
            let reader = spill.makeReader(isLast: true)
            var keys: [Int64] = []
            batch.removeAll()
            while try reader.next(into: &batch) {
                keys += (0..<batch.count).map { batch.key($0) }
                batch.removeAll()
            }
            #expect(keys == Array(1...Int64(blocks)))
            #expect(try !reader.next(into: &batch))
        }
    }
}
