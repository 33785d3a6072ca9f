import Diagnostics
import TestSupport
import Testing

@testable import SpillStorage

/// A map from ascending keys to keys, against a dictionary.
@Suite("Key map") struct KeyMapTests {
    private func check(_ map: KeyMap, _ model: [(key: Int64, value: Int64)], _ random: inout SeededGenerator) throws {
        #expect(map.count == model.count)
        let values = Dictionary(uniqueKeysWithValues: model.map { ($0.key, $0.value) })
        for _ in 0..<500 {
            guard !model.isEmpty else { break }
            // Neighbours one after the other, then another place.
            let start = random.below(model.count)
            for (key, value) in model[start..<min(model.count, start + 3)] {
                #expect(try map.value(of: key) == value)
                #expect(try map.value(of: key &+ 1) == values[key &+ 1])
            }
        }
        let walk = map.walk()
        for (key, value) in model {
            let next = try walk.next()
            #expect(next?.key == key && next?.value == value)
        }
        #expect(try walk.next() == nil)
    }

    @Test("The values of a dictionary, while it grows and after it", arguments: RandomSeeds.seeds(8))
    func values(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed &* 97 &+ 5)
        let fixture = try SpillFixture()
        let map = KeyMap(
            directory: fixture.directory, name: "map", memory: [0, 64 << 10, 1 << 20, 16 << 20][random.below(4)])
        try check(map, [], &random)
        var model: [(key: Int64, value: Int64)] = []
        var key: Int64 = random.chance(2) ? .min : -40
        let gap = [1, 3, 1000][random.below(3)]
        for _ in 0..<1 + random.below(5) {
            for _ in 0..<random.below(20_000) {
                let value = random.chance(20) ? Int64(bitPattern: random.next()) : Int64(random.below(5000))
                model.append((key, value))
                try map.append(key, value)
                key += Int64(1 + random.below(gap))
            }
            if random.chance(2) { try map.seal() }
            if random.chance(3) { try map.park() }
            try check(map, model, &random)
        }
    }

    @Test("A damaged block of values is an error, and gives no value")
    func damaged() throws {
        let fixture = try SpillFixture()
        let map = KeyMap(directory: fixture.directory, name: "map", memory: 0)
        for key in 0..<4096 as Range<Int64> { try map.append(key * 2, key &* 7919 % 1000) }
        let path = try #require(try fixture.files().first)
        let block = try #require(try SpillFixture.blocks(of: path).first)
        try SpillFixture.withDamage(in: path, at: block.offset + 40) {
            let error = #expect(throws: MigrationError.self) { try map.value(of: 6) }
            #expect(error?.code == "spill.damaged")
        }
        #expect(try map.value(of: 6) == 3 * 7919 % 1000)
    }

    @Test("A small map makes no file")
    func small() throws {
        let fixture = try SpillFixture()
        let map = KeyMap(directory: fixture.directory, name: "map", memory: 64 << 10)
        for key in 0..<1024 as Range<Int64> { try map.append(key, -key) }
        #expect(try map.value(of: 77) == -77)
        #expect(try fixture.files().isEmpty)
    }
}
