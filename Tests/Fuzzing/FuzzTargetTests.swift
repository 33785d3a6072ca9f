import Foundation
import TestSupport
import Testing

/// What the fuzzers try for hours, tried for seconds. A finding ends the process, as it does in the fuzzers.
///
/// `STAGECOACH_DAMAGES=5000` tries so many for each target, `STAGECOACH_SEED` others.
@Suite("Fuzz targets", .serialized)
struct FuzzTargetTests {
    private static let trials =
        ProcessInfo.processInfo.environment["STAGECOACH_DAMAGES"].flatMap(Int.init) ?? 150

    @Test("Every seed, and damages of it at random, are read or refused", arguments: FuzzTarget.allCases)
    func damaged(target: FuzzTarget) throws {
        let folder = try TemporaryFolder()
        defer { removeScratch() }
        let fixtures = SharedStores.repository.appendingPathComponent("Fixtures")
        try FuzzSeeds.write(to: folder.path, fixtures: fixtures.path)
        let place = folder.file(target.rawValue)
        let seeds = try FileManager.default.contentsOfDirectory(atPath: place).sorted().map { name in
            [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(place)/\(name)")))
        }
        #expect(seeds.count > 1)
        for seed in seeds { target.run(seed) }
        var generator = SeededGenerator(seed: RandomSeeds.first)
        for number in 0..<Self.trials { target.run(damage(seeds[number % seeds.count], with: seeds, &generator)) }
    }

    /// Returns a seed with up to eight changes: a byte set or a bit turned, a part cut out, doubled, or taken from another seed.
    private func damage(_ seed: [UInt8], with others: [[UInt8]], _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes = seed
        for _ in 0...generator.below(8) {
            let place = generator.below(bytes.count + 1)
            let end = min(bytes.count, place + 1 + generator.below(16))
            switch generator.below(5) {
            case 0 where place < end: bytes[place] = UInt8(generator.below(256))
            case 1 where place < end: bytes[place] ^= 1 << UInt8(generator.below(8))
            case 2: bytes.removeSubrange(place..<end)
            case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
            default:
                let other = others[generator.below(others.count)]
                let start = generator.below(other.count + 1)
                bytes.insert(contentsOf: other[start..<min(other.count, start + 1 + generator.below(64))], at: place)
            }
        }
        return bytes
    }

    private func removeScratch() {
        let scratch = URL(fileURLWithPath: FuzzTarget.scratch)
        let folder = scratch.deletingLastPathComponent().path
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.hasPrefix(scratch.lastPathComponent + "-") {
            try? FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }
}
