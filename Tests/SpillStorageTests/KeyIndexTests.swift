import Diagnostics
import TestSupport
import Testing

@testable import SpillStorage

@Suite("Key index") struct KeyIndexTests {
    /// Ascending keys of many shapes.
    private func keys(_ shape: Int, _ random: inout SeededGenerator) -> [Int64] {
        var keys: [Int64] = []
        switch shape {
        case 0: keys = (0..<200_000).map { Int64($0) - 70_000 }
        case 1: keys = (0..<300_000).filter { _ in !random.chance(50) }.map { Int64($0) + 1 }
        case 2: keys = Set((0..<20_000).map { _ in Int64(bitPattern: random.next()) }).sorted()
        case 3:
            var key: Int64 = -3_000_000
            for _ in 0..<100_000 {
                key += 1 + Int64(random.below(40))
                keys.append(key)
            }
        case 4:
            var key: Int64 = 5
            for _ in 0..<60 {
                key += Int64(random.below(400_000))
                for _ in 0..<random.below(9000) {
                    keys.append(key)
                    key += Int64(1 + random.below(random.chance(10) ? 300 : 2))
                }
            }
        case 5: keys = [.min, .min + 1, -1, 0, 1, 65_535, 65_536, .max - 1, .max]
        case 6: keys = (0..<3).flatMap { range in (0..<65_536).map { Int64(range * 3 * 65_536 + $0) } }
        default: keys = []
        }
        return keys
    }

    private func check(_ index: KeyIndex, _ keys: [Int64], _ random: inout SeededGenerator) throws {
        #expect(index.count == keys.count)
        for _ in 0..<2000 {
            guard !keys.isEmpty else { break }
            let rank = random.below(keys.count)
            #expect(try index.rank(of: keys[rank]) == rank)
            #expect(try index.key(atRank: rank) == keys[rank])
            let near = keys[rank] &+ (Int64(random.below(7)) - 3)
            #expect(try index.contains(near) == (binarySearch(keys, near) != nil))
            let wild = Int64(bitPattern: random.next())
            #expect(try index.rank(of: wild) == binarySearch(keys, wild))
        }
        #expect(try index.key(atRank: keys.count) == nil)
        var read: [Int64] = []
        var buffer = [Int64](repeating: 0, count: 777)
        while true {
            let got = try buffer.withUnsafeMutableBufferPointer { try index.keys(fromRank: read.count, into: $0) }
            read += buffer[..<got]
            if got < 777 { break }
        }
        #expect(read == keys)
        var ranks = [Int64](repeating: 0, count: keys.count)
        try keys.withUnsafeBufferPointer { try index.ranks(of: $0, into: &ranks) }
        #expect(ranks.elementsEqual(0..<Int64(keys.count)))
        try checkBatch(index, keys, &random)
    }

    /// Many keys at once, in order and not, that are there, beside such, anywhere, and several times.
    private func checkBatch(_ index: KeyIndex, _ keys: [Int64], _ random: inout SeededGenerator) throws {
        var asked = (0..<3000).map { _ in
            random.chance(10) || keys.isEmpty
                ? Int64(bitPattern: random.next())
                : keys[random.below(keys.count)] &+ (random.chance(2) ? 0 : Int64(random.below(5)) - 2)
        }
        if random.chance(2) { asked.sort() }
        for place in asked.indices.dropFirst() where random.chance(5) { asked[place] = asked[place - 1] }
        let expected = asked.map { Int64(binarySearch(keys, $0) ?? -1) }
        var found = [Bool](repeating: false, count: asked.count)
        try asked.withUnsafeBufferPointer { try index.contains($0, into: &found) }
        #expect(found == expected.map { $0 >= 0 })
        // In the place of the keys.
        try asked.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return }
            try index.ranks(of: UnsafeBufferPointer(buffer), into: start)
        }
        #expect(asked == expected)
    }

    private func binarySearch(_ keys: [Int64], _ key: Int64) -> Int? {
        let place = keys.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.map { KeyContainer.lowerBound($0, count: keys.count, key) } ?? 0
        }
        return place < keys.count && keys[place] == key ? place : nil
    }

    @Test("An index answers like a sorted array, in memory and spilled", arguments: 0..<8, [0, 20_000, 1 << 30])
    func model(shape: Int, memory: Int) throws {
        let seed = UInt64(100 + shape)
        print("key index: seed \(seed), shape \(shape), memory \(memory)")
        var random = SeededGenerator(seed: seed)
        let fixture = try SpillFixture()
        let index = KeyIndex(directory: fixture.directory, name: "keys", memory: memory)
        let keys = keys(shape, &random)
        var appended: [Int64] = []
        for (position, key) in keys.enumerated() {
            try index.append(key)
            // Sealing in between puts keys of one range into several chunks.
            if position % 30_011 == 5 || position == 3 { try index.seal() }
            if position % 40_001 == 7 {
                appended = Array(keys[...position])
                try check(index, appended, &random)
            }
        }
        try check(index, keys, &random)
        try index.seal()
        try check(index, keys, &random)
        if (1...4).contains(shape) { #expect((index.file != nil) == (memory < 1 << 30)) }
        if memory == 1 << 30 { #expect(try fixture.files().isEmpty) }
        if index.file != nil && shape == 1 { #expect(index.slotChunks.contains { $0 >= 0 }) }
        if index.file != nil { #expect(index.residentBytes <= max(memory, 4 * KeyContainer.bitmapBytes * 2)) }
    }

    @Test("Small sets with holes answer like a sorted array, with bitmaps beside them and without")
    func bitmaps() throws { for sets in [1, 30] { try bitmaps(sets: sets) } }

    private func bitmaps(sets: Int) throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 32)
        // Thirty sets have more chunks than there are bitmaps for.
        var made: [(index: KeyIndex, keys: [Int64])] = []
        for number in 0..<sets {
            let index = KeyIndex(directory: fixture.directory, name: "keys-\(number)", memory: 1 << 30)
            var keys: [Int64] = []
            for (range, holes) in [129, 900, 2047].enumerated() {
                var missing: Set<Int> = []
                while missing.count < holes { missing.insert(random.below(32_767) * 2 + 1) }
                let base = Int64(range * 65_536 - 131_072)
                for offset in 0..<65_536 where !missing.contains(offset) { keys.append(base + Int64(offset)) }
            }
            // The last range ends early; then others come, and the set has more chunks than have bitmaps.
            for offset: Int64 in 0..<20_000 where offset % 50 != 7 { keys.append(65_536 + offset) }
            for key in keys { try index.append(key) }
            try index.seal()
            made.append((index, keys))
        }
        for (index, keys) in made { try check(index, keys, &random) }
        let with = made.count { $0.index.hot.pointee.bitmaps[0] != nil }
        #expect(with > 0 && (sets == 1 || with < sets))
        for place in made.indices {
            for offset: Int64 in 0..<30_000 where offset % 40 != 9 {
                try made[place].index.append(196_608 + offset)
                made[place].keys.append(196_608 + offset)
            }
            try check(made[place].index, made[place].keys, &random)
        }
        for (index, keys) in made {
            try index.park()
            #expect(index.hot.pointee.bitmaps.indices.allSatisfy { index.hot.pointee.bitmaps[$0] == nil })
            try check(index, keys, &random)
        }
    }

    @Test("Ranges with few, just few enough and too many holes answer like a sorted array", arguments: [0, 1 << 30])
    func holes(memory: Int) throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 31)
        let index = KeyIndex(directory: fixture.directory, name: "keys", memory: memory)
        var keys: [Int64] = []
        // The least number of holes that is no set of runs, and those around the greatest that is kept as holes.
        for (range, holes) in [129, 300, 2047, 2048, 2049, 5000].enumerated() {
            var missing: Set<Int> = []
            // Never two side by side, nor the last key: every hole ends a run.
            while missing.count < holes { missing.insert(random.below(32_767) * 2 + 1) }
            keys += (0..<65_536).filter { !missing.contains($0) }.map { Int64(range * 65_536 + $0) }
        }
        // A range that ends early, with holes.
        keys += (0..<30_000).filter { $0 % 50 != 7 }.map { Int64(20 * 65_536 + $0) }
        for key in keys { try index.append(key) }
        try index.seal()
        try check(index, keys, &random)
        let kinds = (0..<index.chunkCount).map { index.chunks[$0].kind }
        #expect(kinds == [.holes, .holes, .holes, .holes, .bitmap, .bitmap, .holes])
        #expect((index.file != nil) == (memory == 0))
    }

    @Test("Dense keys take 0.14 bytes each, with a gap in fifty 0.05, keys without gaps nothing")
    func size() throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 8)
        let gaps = KeyIndex(directory: fixture.directory, name: "keys", memory: 1 << 30)
        let many = KeyIndex(directory: fixture.directory, name: "keys", memory: 1 << 30)
        let full = KeyIndex(directory: fixture.directory, name: "keys", memory: 1 << 30)
        for key in 0..<Int64(1 << 20) {
            if !random.chance(50) { try gaps.append(key) }
            if !random.chance(4) { try many.append(key) }
            try full.append(key)
        }
        try gaps.seal()
        try many.seal()
        try full.seal()
        #expect(Double(gaps.residentBytes + gaps.chunkCount * 48) < 0.05 * Double(gaps.count))
        // A bitmap has a bit for every key of its range, missing or not.
        #expect(Double(many.residentBytes + many.chunkCount * 48) < 0.14 * Double(1 << 20))
        #expect(full.residentBytes == 0)
        #expect(full.chunkCount == 16)
    }

    @Test("A changed byte in any block is an error, never a wrong answer")
    func damage() throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 9)
        let index = KeyIndex(directory: fixture.directory, name: "keys", memory: 0)
        var keys = (0..<400_000).filter { _ in !random.chance(3) }.map { Int64($0) }
        keys += (0..<10_000).map { 1_000_000 + Int64($0) * 50_000 }
        keys += (0..<3000).map { 2_000_000_000 + Int64($0) * 30 }
        for key in keys { try index.append(key) }
        try index.seal()
        let path = try #require(try fixture.files().first)
        let blocks = try SpillFixture.blocks(of: path)
        #expect(blocks.count > 10)
        for block in blocks {
            for _ in 0..<3 {
                try SpillFixture.withDamage(in: path, at: block.offset + random.below(block.length)) {
                    var errors = 0
                    var wrong = 0
                    // Every chunk is asked for, so that each is read from the file at least once.
                    for position in stride(from: 0, to: keys.count, by: 500) {
                        do {
                            if try index.rank(of: keys[position]) != position { wrong += 1 }
                        } catch let error as MigrationError {
                            #expect(error.code == "spill.damaged")
                            #expect(error.context.path == path)
                            errors += 1
                        }
                    }
                    #expect(errors > 0)
                    #expect(wrong == 0)
                }
            }
        }
    }

    @Test("A payload of holes is whole just as a plain reading of it says", arguments: 0..<4 as Range<UInt64>)
    func wholeHoles(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bitmap = UnsafeMutableRawPointer.allocate(byteCount: KeyContainer.bitmapBytes, alignment: 8)
        defer { bitmap.deallocate() }
        bitmap.initializeMemory(as: UInt8.self, repeating: 0xFF, count: KeyContainer.bitmapBytes)
        let words = bitmap.assumingMemoryBound(to: UInt64.self)
        for _ in 0..<1500 { words[generator.below(1024)] &= ~(1 << UInt64(generator.below(64))) }
        let keys = (0..<KeyContainer.bitmapWords).reduce(0) { $0 + words[$1].nonzeroBitCount }
        let made = KeyContainer.make(bitmap, count: keys)
        let payload = try #require(made.payload)
        defer { payload.deallocate() }
        #expect(made.kind == .holes)
        let numbers = UnsafeMutableBufferPointer(
            start: payload.assumingMemoryBound(to: UInt16.self), count: made.bytes / 2)
        func isWhole() -> Bool {
            let starts = numbers[1..<KeyContainer.holesStart].map(Int.init)
            let missing = numbers[KeyContainer.holesStart...].map(Int.init)
            let holes = Int(numbers[0]) + 1 - keys
            return holes == missing.count && starts.first == 0 && starts.last == holes
                && zip(starts, starts.dropFirst()).allSatisfy { $0 <= $1 }
                && zip(missing, missing.dropFirst()).allSatisfy { $0 < $1 }
                && missing.allSatisfy { $0 < numbers[0] }
        }
        #expect(KeyContainer.holes.isWhole(payload, keys: keys, bytes: made.bytes) && isWhole())
        var damaged = 0
        for _ in 0..<4000 {
            let place = generator.below(numbers.count)
            let old = numbers[place]
            // A neighbour's number as often as any: what is equal to it must not pass as ascending.
            numbers[place] =
                generator.chance(2)
                ? numbers[min(place + 1, numbers.count - 1)] : UInt16(truncatingIfNeeded: generator.next())
            let expected = isWhole()
            #expect(
                KeyContainer.holes.isWhole(payload, keys: keys, bytes: made.bytes) == expected,
                "\(old) became \(numbers[place]) at \(place)")
            if !expected { damaged += 1 }
            numbers[place] = old
        }
        #expect(damaged > 2000)
    }

    @Test("The chunks of a saved set stay in memory, and a restored set has them there, until it is parked")
    func savedInMemory() throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        var random = SeededGenerator(seed: 9)
        let keys = keys(3, &random)
        let index = KeyIndex(directory: directory, name: "keys", memory: 1 << 20)
        for key in keys { try index.append(key) }
        try index.seal()
        let bytes = index.bytesInMemory
        #expect(bytes > 16 << 10)
        var state = StateCoder()
        try index.code(with: &state)
        let other = KeyIndex(directory: directory, name: "keys", memory: 1 << 20)
        var reader = StateCoder(reading: state.bytes)
        try other.code(with: &reader)
        try reader.finish()
        let small = KeyIndex(directory: directory, name: "keys", memory: bytes / 2)
        reader = StateCoder(reading: state.bytes)
        try small.code(with: &reader)
        #expect(index.bytesInMemory == bytes && other.bytesInMemory == bytes && small.residentBytes == 0)
        for set in [index, other, small] { try check(set, keys, &random) }
        #expect(small.residentBytes <= bytes / 2)
        for set in [index, other] {
            try set.park()
            #expect(set.residentBytes == 0)
            try check(set, keys, &random)
        }
    }
}
