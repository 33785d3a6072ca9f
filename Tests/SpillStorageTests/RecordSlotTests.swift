import Foundation
import TestSupport
import Testing

@testable import SpillStorage

@Suite("The record that was written last")
struct RecordSlotTests {
    private func bytes(_ count: Int, _ random: inout SeededGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    @Test("The last record is read at any length")
    func last() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 11)
        let path = folder.file("slot")
        #expect(try RecordSlot.read(path) == nil)
        for _ in 0..<3 {
            let slot = try RecordSlot(path)
            for _ in 0..<20 {
                let body = bytes(random.below(9000), &random)
                try slot.write(body)
                #expect(try RecordSlot.read(path) == body)
            }
        }
    }

    @Test("One that was not written to its end, or was changed, is none")
    func unsound() throws {
        let folder = try TemporaryFolder()
        var random = SeededGenerator(seed: 12)
        let path = folder.file("slot")
        try RecordSlot(path).write(bytes(300, &random))
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(whole.count == 324)
        for place in 0..<whole.count {
            var changed = whole
            changed[place] ^= UInt8(1 << random.below(8))
            try changed.write(to: URL(fileURLWithPath: path))
            #expect(try RecordSlot.read(path) == nil, "\(place)")
            try whole.prefix(place).write(to: URL(fileURLWithPath: path))
            #expect(try RecordSlot.read(path) == nil, "\(place)")
        }
        // The beginning of a longer one over a shorter one.
        try whole.write(to: URL(fileURLWithPath: path))
        try RecordSlot(path).write(bytes(20, &random))
        var torn = try Data(contentsOf: URL(fileURLWithPath: path))
        torn.replaceSubrange(0..<30, with: whole.prefix(30))
        try torn.write(to: URL(fileURLWithPath: path))
        #expect(try RecordSlot.read(path) == nil)
    }
}
