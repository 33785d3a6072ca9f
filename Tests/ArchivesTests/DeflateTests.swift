import Archives
import Diagnostics
import TestSupport
import Testing

@Suite("Raw deflate streams")
struct DeflateTests {
    @Test("Bytes come back as they were")
    func roundTrip() throws {
        let seed = RandomSeeds.first
        print("deflate round trip, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for size in [0, 1, 100, 65_536, 65_537, 400_000] {
            let range = 1 + random.below(255)
            let bytes = (0..<size).map { _ in UInt8(random.below(range)) }
            let stream = try Deflate.deflate(bytes)
            #expect(try Deflate.inflate(stream, limit: size) == bytes, "seed \(seed)")
        }
    }

    @Test("A stored block without a header is read")
    func storedBlock() throws {
        #expect(try Deflate.inflate([0x01, 0x02, 0x00, 0xFD, 0xFF, 0x68, 0x69], limit: 2) == Array("hi".utf8))
    }

    @Test("A stream that expands beyond the limit is an error")
    func bomb() throws {
        let stream = try Deflate.deflate([UInt8](repeating: 0, count: 8 << 20))
        #expect(stream.count < 20_000)
        #expect(failure { _ = try Deflate.inflate(stream, limit: 1 << 20) }?.code == "archive.limit")
        #expect(failure { _ = try Deflate.inflate(stream, limit: (8 << 20) - 1) }?.code == "archive.limit")
        #expect(try Deflate.inflate(stream, limit: 8 << 20).count == 8 << 20)
    }

    @Test("Every truncation is an error, and so is data behind the stream")
    func truncation() throws {
        let stream = try Deflate.deflate(Array("the quick brown fox jumps over the lazy dog, the dog sleeps".utf8))
        for end in 0..<stream.count {
            #expect(failure { _ = try Deflate.inflate(Array(stream[..<end]), limit: 1000) }?.code == "archive.deflate")
        }
        #expect(failure { _ = try Deflate.inflate(stream + [0], limit: 1000) }?.code == "archive.deflate")
    }

    @Test("Random bytes give a value or an error")
    func garbage() {
        let seed = RandomSeeds.first
        print("deflate garbage, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let bytes = (0..<random.below(60)).map { _ in UInt8(random.below(256)) }
            #expect(foreignError { _ = try Deflate.inflate(bytes, limit: 1 << 16) } == nil)
        }
    }
}
