import Archives
import Diagnostics
import TestSupport
import Testing

/// Random property lists without NaN, whose parts compare as equal when they are.
enum RandomPropertyList {
    static func value(_ random: inout SeededGenerator, depth: Int) -> PropertyListValue {
        switch random.below(depth > 0 ? 13 : 9) {
        case 0: return .boolean(random.chance(2))
        case 1: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(64)))
        case 2: return .real(Double(random.below(1_000_000)) / 7)
        case 3: return .date(Double(random.below(1_000_000_000)))
        case 4: return .data((0..<random.below(40)).map { _ in UInt8(random.below(256)) })
        case 5: return .uid(random.next() >> UInt64(random.below(64)))
        case 6: return .largeInteger(high: 1 + random.next() >> 2, low: random.next())
        case 7: return .null
        case 8: return .string(text(&random))
        case 9: return .set((0..<random.below(6)).map { _ in value(&random, depth: depth - 1) })
        case 10:
            var entries = PropertyListDictionary()
            for _ in 0..<random.below(20) { entries[text(&random)] = value(&random, depth: depth - 1) }
            return .dictionary(entries)
        default: return .array((0..<random.below(20)).map { _ in value(&random, depth: depth - 1) })
        }
    }

    private static func text(_ random: inout SeededGenerator) -> String {
        let alphabet = random.chance(3) ? Array("aé漢🦊z") : Array("abcxyz$.@")
        return String((0..<random.below(24)).map { _ in alphabet[random.below(alphabet.count)] })
    }
}

/// Property lists put together from raw objects, to tell lies with.
enum HandmadePropertyList {
    /// The first object is the top one.
    static func bytes(objects: [[UInt8]], referenceSize: Int = 1) -> [UInt8] {
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        for offset in offsets { bytes += bigEndian(offset, width: 4) }
        return bytes
            + trailer(offsetSize: 4, referenceSize: referenceSize, count: objects.count, top: 0, table: table)
    }

    static func trailer(offsetSize: Int, referenceSize: Int, count: Int, top: Int, table: Int) -> [UInt8] {
        [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
            + bigEndian(count, width: 8) + bigEndian(top, width: 8) + bigEndian(table, width: 8)
    }

    static func bigEndian(_ number: Int, width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
