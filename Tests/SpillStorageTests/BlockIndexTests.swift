import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import SpillStorage

@Suite("Index of blocks") struct BlockIndexTests {
    private struct Entry {
        var words: [UInt64]
        var offset: Int
    }

    private func make(_ fixture: SpillFixture, words: Int) -> BlockIndex {
        BlockIndex(
            words: words,
            beside: RunPlace(directory: fixture.directory, name: "i", kind: .records, scratch: RawBuffer()))
    }

    /// Ascending entries, every third of them equal to the one before it in its first word.
    private func entries(_ count: Int, words: Int, _ random: inout SeededGenerator) -> [Entry] {
        var (word, offset) = (UInt64(1) << 63, 16)
        return (0..<count).map { index in
            if index % 3 != 0 { word += UInt64(random.below(1000)) }
            offset += 17 + random.below(70_000)
            return Entry(words: [word, UInt64(index)].prefix(words).map { $0 }, offset: offset)
        }
    }

    private static func isBefore(_ left: [UInt64], _ right: [UInt64]) -> Bool {
        left.lexicographicallyPrecedes(right)
    }

    @Test("Offsets, first words and bounds are those of a list, in memory and in pages", arguments: [0, 1, 2])
    func againstList(words: Int) throws {
        var random = SeededGenerator(seed: 77 + UInt64(words))
        for count in [1, 511, BlockIndex.kept, BlockIndex.kept + BlockIndex.pageEntries, 17_341, 300_000] {
            let fixture = try SpillFixture()
            let index = make(fixture, words: words)
            let list = entries(count, words: words, &random)
            for entry in list { try index.append(offset: entry.offset, first: entry.words + [0]) }
            #expect(index.count == count)
            #expect(try fixture.files().isEmpty == (count < BlockIndex.kept + BlockIndex.pageEntries))
            for _ in 0..<400 {
                let place = random.below(count)
                #expect(try index.offset(place) == list[place].offset)
                guard words > 0 else { continue }
                #expect(try index.firstWord(place) == list[place].words[0])
                let compared = 1 + random.below(words)
                var probe = Array(list[random.below(count)].words.prefix(compared))
                if random.chance(2) { probe[compared - 1] &+= UInt64(random.below(3)) &- 1 }
                let expected = list.firstIndex { !Self.isBefore(Array($0.words.prefix(compared)), probe) } ?? count
                #expect(
                    try index.lowerBound(probe, words: compared) == expected, "\(count) entries, \(compared) words")
                #expect(
                    try index.begins(place, after: probe, words: compared)
                        == Self.isBefore(probe, Array(list[place].words.prefix(compared))))
            }
        }
    }

    private func size(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }

    @Test("A state of more levels than there can be is damage, not a stack that ends")
    func deep() throws {
        let fixture = try SpillFixture()
        let file = try BlockFile(directory: fixture.directory, named: "i", kind: .index, scratch: RawBuffer())
        var state = StateCoder()
        for _ in 0..<100_000 {
            var (words, hasPages): ([UInt64], Bool) = ([], true)
            try state.code(&words)
            try state.code(&hasPages)
            file.save(to: &state)
        }
        var reader = StateCoder(reading: state.bytes)
        let index = make(fixture, words: 1)
        let error = #expect(throws: MigrationError.self) { try index.code(with: &reader) }
        #expect(error?.code == "journal.damaged")
    }

    @Test("A damaged page of the index is an error that names file and block")
    func damage() throws {
        let fixture = try SpillFixture()
        let index = make(fixture, words: 1)
        var random = SeededGenerator(seed: 5)
        let list = entries(10_000, words: 1, &random)
        for entry in list { try index.append(offset: entry.offset, first: entry.words) }
        #expect(try index.offset(3000) == list[3000].offset)
        // The pages of the entries; those of where they begin are fewer.
        let path = try #require(try fixture.files().max { try size($0) < size($1) })
        let block = try #require(try SpillFixture.blocks(of: path).first)
        try SpillFixture.withDamage(in: path, at: block.offset + 40) {
            SpillFixture.expectDamage(path) { _ = try index.offset(0) }
        }
        #expect(try index.offset(0) == list[0].offset)
    }
}
