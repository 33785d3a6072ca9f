import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import SpillStorage

@Suite("Blocks") struct BlockFileTests {
    private func contents(_ seed: UInt64) -> [[UInt8]] {
        var random = SeededGenerator(seed: seed)
        return [1, 7, 31, 32, 33, 100, 4096, 70_000].flatMap { size in
            [
                (0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) },
                (0..<size).map { UInt8(truncatingIfNeeded: $0 / 50) },
            ]
        }
    }

    private func write(_ contents: [[UInt8]], to file: BlockFile) throws -> [Int] {
        try contents.map { bytes in try bytes.withUnsafeBytes { try file.append($0) } }
    }

    @Test("Written bytes are read in any order, through short and interrupted calls too", arguments: [false, true])
    func roundTrip(isUnsteady: Bool) throws {
        let fixture = try SpillFixture(calls: FaultyFileCalls(isUnsteady: isUnsteady))
        let file = try BlockFile(
            directory: fixture.directory, named: "b", kind: .patches, scratch: RawBuffer())
        let contents = contents(1)
        let offsets = try write(contents, to: file) + [file.end]
        let target = RawBuffer()
        for index in contents.indices.reversed() {
            try file.read(at: offsets[index], next: offsets[index + 1], into: target)
            #expect(Array(target.bytes) == contents[index])
        }
        #expect(file.end < contents.reduce(0) { $0 + $1.count })
    }

    @Test("After rows that hardly shrink some blocks are left as they are, then one is tried again")
    func leftAlone() throws {
        let fixture = try SpillFixture()
        let file = try BlockFile(directory: fixture.directory, named: "b", kind: .rows, scratch: RawBuffer())
        let contents = contents(3)
        let (random, regular) = (contents[contents.count - 2], contents[contents.count - 1])
        func bytes(_ block: [UInt8]) throws -> Int {
            let before = file.end
            _ = try write([block], to: file)
            return file.end - before
        }
        #expect(try bytes(regular) < regular.count / 2)
        #expect(try bytes(random) > random.count)
        for _ in 0..<BlockKind.blocksLeftAlone { #expect(try bytes(regular) > regular.count) }
        #expect(try bytes(regular) < regular.count / 2)
    }

    @Test("A changed bit anywhere in a block is an error that names file and block")
    func damage() throws {
        let fixture = try SpillFixture()
        let file = try BlockFile(directory: fixture.directory, named: "b", kind: .rows, scratch: RawBuffer())
        let contents = contents(2)
        let offsets = try write(contents, to: file) + [file.end]
        let target = RawBuffer()
        for index in contents.indices {
            let length = offsets[index + 1] - offsets[index]
            for position in stride(from: 0, to: length, by: max(1, length / 40)) {
                try SpillFixture.withDamage(in: file.path, at: offsets[index] + position, bit: position % 8) {
                    SpillFixture.expectDamage(file.path) {
                        try file.read(at: offsets[index], next: offsets[index + 1], into: target)
                    }
                }
            }
            try file.read(at: offsets[index], next: offsets[index + 1], into: target)
            #expect(Array(target.bytes) == contents[index])
        }
    }

    @Test("A file that was cut off, or whose header is wrong, is an error")
    func truncation() throws {
        let fixture = try SpillFixture()
        let file = try BlockFile(directory: fixture.directory, named: "b", kind: .rows, scratch: RawBuffer())
        let offset = try [UInt8](repeating: 4, count: 1000).withUnsafeBytes { try file.append($0) }
        let target = RawBuffer()
        try SpillFixture.withDamage(in: file.path, at: 9) {
            SpillFixture.expectDamage(file.path) { try file.read(at: offset, next: file.end, into: target) }
        }
        try file.read(at: offset, next: file.end, into: target)
        let handle = try #require(FileHandle(forUpdatingAtPath: file.path))
        try handle.truncate(atOffset: UInt64(file.end - 3))
        SpillFixture.expectDamage(file.path) { try file.read(at: offset, next: file.end, into: target) }
    }

    @Test("A block in another's place is an error")
    func swapped() throws {
        let fixture = try SpillFixture()
        let file = try BlockFile(directory: fixture.directory, named: "b", kind: .rows, scratch: RawBuffer())
        let same = [UInt8](repeating: 9, count: 500)
        let offsets = try write([same, same], to: file)
        let length = offsets[1] - offsets[0]
        let handle = try #require(FileHandle(forUpdatingAtPath: file.path))
        try handle.seek(toOffset: UInt64(offsets[0]))
        let block = try #require(try handle.read(upToCount: length))
        try handle.seek(toOffset: UInt64(offsets[1]))
        try handle.write(contentsOf: block)
        SpillFixture.expectDamage(file.path) { try file.read(at: offsets[1], next: file.end, into: RawBuffer()) }
    }

    @Test("Every single changed bit changes the checksum")
    func checksum() {
        var random = SeededGenerator(seed: 3)
        for length in 0..<80 {
            var bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let sum = bytes.withUnsafeBytes { Checksum.of($0, seed: 1) }
            #expect(sum != bytes.withUnsafeBytes { Checksum.of($0, seed: 2) })
            for bit in 0..<(length * 8) {
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
                #expect(sum != bytes.withUnsafeBytes { Checksum.of($0, seed: 1) })
                bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            }
        }
    }
}

@Suite("Column packing") struct ColumnCodecTests {
    @Test("Records of every width and every number of bits come back")
    func roundTrip() throws {
        let seed: UInt64 = 11
        print("column codec: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let packed = RawBuffer()
        for round in 0..<600 {
            let width = 1 + random.below(8)
            let count = 1 + random.below(round % 10 == 0 ? 1500 : 70)
            var records = [UInt64](repeating: 0, count: width * count)
            for column in 0..<width {
                let form = random.below(4)
                let mask = UInt64.max >> UInt64(random.below(64))
                var word = random.next()
                for row in 0..<count {
                    switch form {
                    case 0: word = random.next() & mask
                    case 1: word &+= random.next() & mask
                    case 2: word &-= random.next() & mask
                    default: word = column > 0 ? records[row * width] &+ 77 : word
                    }
                    records[row * width + column] = word
                }
            }
            ColumnCodec.encode(records, count: count, width: width, into: packed)
            var decoded = [UInt64](repeating: 0, count: width * count)
            let got = ColumnCodec.decode(packed.bytes, width: width, into: &decoded, capacity: count)
            #expect(got == count)
            #expect(decoded == records, "seed \(seed), round \(round)")
        }
    }

    @Test("Any bytes are decoded or refused, without a trap")
    func hostile() {
        var random = SeededGenerator(seed: 12)
        let packed = RawBuffer()
        let records = (0..<300).map { _ in random.next() & 0xFFFFF }
        ColumnCodec.encode(records, count: 100, width: 3, into: packed)
        let good = Array(packed.bytes)
        var target = [UInt64](repeating: 0, count: 300)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<(1 + random.below(4)) { bytes[random.below(90)] = UInt8(truncatingIfNeeded: random.next()) }
            if random.chance(3) { bytes.removeLast(random.below(bytes.count)) }
            let count = bytes.withUnsafeBytes { ColumnCodec.decode($0, width: 3, into: &target, capacity: 100) }
            #expect(count ?? 1 <= 100)
        }
    }

    @Test("Keys that ascend by one and destinations numbered along take no bits")
    func denseIsFree() {
        let packed = RawBuffer()
        var records: [UInt64] = []
        for number in UInt64(0)..<1000 { records += [number, number + 5, 9] }
        ColumnCodec.encode(records, count: 1000, width: 3, into: packed)
        #expect(packed.count == 8 + 3 * 24 + 8)
    }
}
