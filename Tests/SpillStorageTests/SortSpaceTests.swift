import TestSupport
import Testing

@testable import SpillStorage

@Suite("Sort space") struct SortSpaceTests {
    @Test("Pieces do not overlap, are reused when all were given back, and are separate if there is no room")
    func pieces() {
        let space = SortSpace(byteCount: 1 << 20)
        var first: SortBuffer? = SortBuffer(words: 1000, of: space)
        var second: SortBuffer? = SortBuffer(words: 50_000, of: space)
        let (start, next) = (first?.words, second?.words)
        #expect(start.map { $0 + 1000 <= next ?? $0 } == true)
        // No room for another as large.
        let apart = SortBuffer(words: 100_000, of: space)
        #expect(start.map { apart.words < $0 || apart.words >= $0 + (1 << 17) } == true)
        // The last one that was taken can be taken again.
        second = nil
        second = SortBuffer(words: 60_000, of: space)
        #expect(second?.words == next)
        first = nil
        let third = SortBuffer(words: 10, of: space)
        #expect(third.words != start)
        second = nil
        withExtendedLifetime(third) {}
    }

    @Test("Memory that is released goes when nothing of it is in use, and can be taken again")
    func release() {
        let space = SortSpace(byteCount: 1 << 20)
        var first: SortBuffer? = SortBuffer(words: 100_000, of: space)
        let start = first?.words
        // In use: it stays as it is.
        space.release()
        first?.words.initialize(repeating: 7, count: 100_000)
        #expect(first?.words[99_999] == 7)
        let second = SortBuffer(words: 20_000, of: space)
        // On the next page.
        #expect(start.map { second.words == $0 + (100_000 + 511) / 512 * 512 } == true)
        first = nil
        space.release()
        second.words.initialize(repeating: 8, count: 20_000)
        #expect(second.words[19_999] == 8)
        let next = SortSpace(byteCount: 1 << 20)
        next.release()
        let third = SortBuffer(words: 131_072, of: next)
        third.words.initialize(repeating: 9, count: 131_072)
        #expect(third.words[131_071] == 9)
    }

    @Test("The end of the last piece is taken back, and of no other")
    func trim() {
        let space = SortSpace(byteCount: 1 << 20)
        var first: SortBuffer? = SortBuffer(words: 50_000, of: space)
        let start = first?.words
        let second = SortBuffer(words: 50_000, of: space)
        // Another one follows it.
        first?.trim(words: 10)
        #expect(start.map { second.words >= $0 + 50_000 } == true)
        second.trim(words: 1000)  // Two pages.
        second.words.initialize(repeating: 7, count: 1000)
        let third = SortBuffer(words: 70_000, of: space)
        #expect(third.words == second.words + 1024)
        third.words.initialize(repeating: 8, count: 70_000)
        #expect(second.words[999] == 7)
        third.trim(words: 0)
        let fourth = SortBuffer(words: 70_000, of: space)
        #expect(fourth.words == third.words)
        first = nil
        withExtendedLifetime((second, third, fourth)) {}
    }

    @Test("Sorters that share it by turns and at the same time sort what they are given", arguments: [1, 2, 3])
    func sorters(width: Int) throws {
        let seed = UInt64(900 + width)
        print("sort space: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let fixture = try SpillFixture()
        let space = SortSpace(byteCount: 3 << 20)
        for round in 0..<6 {
            let memory = [3 << 20, 1 << 20, 600_000][round % 3]
            let sorters = (0..<(3 << 20) / memory).map { _ in
                RecordSorter(
                    directory: fixture.directory, name: "shared", width: width, memory: memory, space: space)
            }
            var expected = [[[UInt64]]](repeating: [], count: sorters.count)
            for _ in 0..<40_000 * (1 + round / 3 * 3) {
                let which = random.below(sorters.count)
                let record = (0..<width).map { _ in random.next() & 0xFFFF_FFFF }
                try record.withUnsafeBufferPointer { buffer in
                    if let start = buffer.baseAddress { try sorters[which].append(start) }
                }
                expected[which].append(record)
            }
            for (which, sorter) in sorters.enumerated() {
                expected[which].sort { $0.lexicographicallyPrecedes($1) }
                let sorted = try sorter.finish()
                var record = [UInt64](repeating: 0, count: width)
                var isEqual = sorted.count == expected[which].count
                for wanted in expected[which] {
                    guard try sorted.next(into: &record), record == wanted else {
                        isEqual = false
                        break
                    }
                }
                #expect(isEqual, "round \(round), sorter \(which)")
            }
        }
    }
}
