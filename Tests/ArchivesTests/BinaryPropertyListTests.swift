import Archives
import Diagnostics
import Foundation
import TestSupport
import Testing

@Suite("Binary property lists")
struct BinaryPropertyListTests {
    @Test("Random values come back as they were, and equal values give equal bytes")
    func roundTrip() throws {
        let seed = RandomSeeds.first
        print("property list round trip, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let value = RandomPropertyList.value(&random, depth: 4)
            let bytes = try BinaryPropertyList.encode(value)
            #expect(try BinaryPropertyList.decode(bytes) == value, "seed \(seed)")
            #expect(try BinaryPropertyList.encode(value) == bytes, "seed \(seed)")
        }
    }

    @Test("Foundation reads what is written, and what Foundation writes is read")
    func agreesWithFoundation() throws {
        let value = PropertyListValue.dictionary([
            "name": .string("Zoë \u{1F98A}"), "count": .integer(-7), "wide": .integer(70_000), "flag": .boolean(true),
            "real": .real(0.1), "when": .date(628_161_600), "bytes": .data([0, 1, 255]),
            "list": .array((0..<300).map { .integer($0) }), "empty": .array([]),
        ])
        let bytes = try BinaryPropertyList.encode(value)
        let foundation = try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
        let dictionary = try #require(foundation as? [String: Any])
        #expect(dictionary["name"] as? String == "Zoë \u{1F98A}")
        #expect(dictionary["count"] as? Int == -7)
        #expect(dictionary["when"] as? Date == Date(timeIntervalSinceReferenceDate: 628_161_600))
        #expect((dictionary["list"] as? [Int])?.count == 300)
        let written = try PropertyListSerialization.data(fromPropertyList: foundation, format: .binary, options: 0)
        #expect(try BinaryPropertyList.decode(Array(written)) == value)
    }

    @Test(
        "Integers keep their value at the edges of each width",
        arguments: [0, 1, 127, 128, 255, 256, 65_535, 65_536, 4_294_967_295, 4_294_967_296, -1, .max, .min] as [Int64])
    func integerEdges(number: Int64) throws {
        let bytes = try BinaryPropertyList.encode(.integer(number))
        #expect(try BinaryPropertyList.decode(bytes) == .integer(number))
    }

    @Test("Integers of 16 bytes are kept if they exceed Int64, and narrowed otherwise")
    func largeIntegers() throws {
        let large = PropertyListValue.largeInteger(high: 0, low: .max)
        #expect(try BinaryPropertyList.decode(BinaryPropertyList.encode(large)) == large)
        let small = try BinaryPropertyList.encode(.largeInteger(high: .max, low: UInt64(bitPattern: -5)))
        #expect(try BinaryPropertyList.decode(small) == .integer(-5))
    }

    @Test("NaN and canonically equal strings keep their bits")
    func exactBits() throws {
        let bytes = try BinaryPropertyList.encode(.array([.real(.nan), .string("\u{E9}"), .string("e\u{301}")]))
        guard case .array(let members) = try BinaryPropertyList.decode(bytes), case .real(let real) = members[0],
            case .string(let composed) = members[1], case .string(let decomposed) = members[2]
        else {
            Issue.record("another shape")
            return
        }
        #expect(real.isNaN)
        #expect(Array(composed.unicodeScalars) == ["\u{E9}"])
        #expect(decomposed.unicodeScalars.count == 2)
    }

    @Test("A lone surrogate becomes the replacement character")
    func loneSurrogate() throws {
        let bytes = HandmadePropertyList.bytes(objects: [[0x62, 0xD8, 0x00, 0x00, 0x41]])
        #expect(try BinaryPropertyList.decode(bytes) == .string("\u{FFFD}A"))
    }

    @Test("A float of four bytes and a UTF-8 string are read")
    func rareKinds() throws {
        let bytes = HandmadePropertyList.bytes(objects: [
            [0xA2, 1, 2], [0x22, 0x3F, 0xC0, 0, 0], [0x72, 0xC3, 0xA9],
        ])
        #expect(try BinaryPropertyList.decode(bytes) == .array([.real(1.5), .string("é")]))
    }

    @Test("An object that contains itself is an error")
    func cycle() {
        let bytes = HandmadePropertyList.bytes(objects: [[0xA1, 1], [0xA1, 0]])
        #expect(failure { _ = try BinaryPropertyList.decode(bytes) }?.code == "archive.cycle")
    }

    @Test("A bomb of nested shared arrays is an error")
    func billionLaughs() {
        var objects: [[UInt8]] = (0..<60).map { [0xAA] + [UInt8](repeating: UInt8($0 + 1), count: 10) }
        objects.append([0x51, 0x61])
        #expect(
            failure {
                _ = try BinaryPropertyList.decode(HandmadePropertyList.bytes(objects: objects))
            }?.code == "archive.limit")
    }

    @Test("Objects that overlap to multiply the data are an error")
    func overlap() {
        // 200 objects whose offsets are one and the same string of 200 bytes.
        var bytes = Array("bplist00".utf8)
        bytes += [0xAF, 0x10, 200] + (1...200).map { UInt8($0) }
        let place = bytes.count
        bytes += [0x5F, 0x10, 200] + [UInt8](repeating: 0x61, count: 200)
        let table = bytes.count
        for index in 0...200 { bytes += HandmadePropertyList.bigEndian(index == 0 ? 8 : place, width: 2) }
        bytes += HandmadePropertyList.trailer(offsetSize: 2, referenceSize: 1, count: 201, top: 0, table: table)
        #expect(failure { _ = try BinaryPropertyList.decode(bytes) }?.code == "archive.limit")
    }

    @Test("More objects or members than the limit are an error")
    func limits() throws {
        let list = try BinaryPropertyList.encode(.array((0..<300).map { .integer($0) }))
        #expect(throws: Never.self) { try BinaryPropertyList.decode(list, limits: .init(expandedValues: 301)) }
        #expect(
            failure { _ = try BinaryPropertyList.decode(list, limits: .init(expandedValues: 300)) }?.code
                == "archive.limit")
        // One object shared by 250 members: few objects, many members.
        let shared = HandmadePropertyList.bytes(objects: [
            [0xAF, 0x10, 250] + [UInt8](repeating: 1, count: 250), [0x09],
        ])
        #expect(
            failure { _ = try BinaryPropertyList.decode(shared, limits: .init(expandedValues: 200)) }?.code
                == "archive.limit")
    }

    @Test("Nesting is bounded when reading, through shared objects too, and when writing")
    func nesting() throws {
        let deep: [[UInt8]] = (0..<5000).map { [0xA1] + HandmadePropertyList.bigEndian($0 + 1, width: 2) } + [[0x09]]
        #expect(
            failure {
                _ = try BinaryPropertyList.decode(HandmadePropertyList.bytes(objects: deep, referenceSize: 2))
            }?.code == "archive.limit")
        // A chain of 200 reached first from the top, then again below another chain of 200.
        var shared: [[UInt8]] = [[0xA2] + [0, 1] + HandmadePropertyList.bigEndian(201, width: 2)]
        for index in 1..<200 { shared.append([0xA1] + HandmadePropertyList.bigEndian(index + 1, width: 2)) }
        shared.append([0x09])
        for index in 201..<400 { shared.append([0xA1] + HandmadePropertyList.bigEndian(index + 1, width: 2)) }
        shared.append([0xA1, 0, 1])
        #expect(
            failure {
                _ = try BinaryPropertyList.decode(HandmadePropertyList.bytes(objects: shared, referenceSize: 2))
            }?.code == "archive.limit")
        var value = PropertyListValue.null
        for _ in 0..<300 { value = .array([value]) }
        let nested = value
        #expect(failure { _ = try BinaryPropertyList.encode(nested) }?.code == "archive.limit")
    }

    @Test(
        "Counts, offsets and sizes that lie are errors",
        arguments: [
            [[0x4F, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]],
            [[0xAF, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]],
            [[0xDF, 0x13, 0x40, 0, 0, 0, 0, 0, 0, 0]],
            [[0x6F, 0x12, 0x7F, 0xFF, 0xFF, 0xFF]],
            [[0x4F, 0x51]], [[0x55, 0x61]], [[0xA1, 9]], [[0xD1, 1, 1], [0x10, 5]], [[0x1F]], [[0xE0]], [[0x0F]],
            [[0x51, 0xE9]], [[0x71, 0xFF]], [[0xD2, 1, 1, 2, 2], [0x51, 0x61], [0x09]],
        ] as [[[UInt8]]])
    func lies(objects: [[UInt8]]) {
        #expect(
            failure {
                _ = try BinaryPropertyList.decode(HandmadePropertyList.bytes(objects: objects))
            }?.code == "archive.format")
    }

    @Test("Trailers that lie are errors")
    func trailers() {
        let good = HandmadePropertyList.bytes(objects: [[0x09]])
        #expect(throws: Never.self) { try BinaryPropertyList.decode(good) }
        for position in good.count - 26..<good.count {
            for value: UInt8 in [0, 1, 9, 0x7F, 0x80, 0xFF] where good[position] != value {
                var bytes = good
                bytes[position] = value
                #expect(foreignError { _ = try BinaryPropertyList.decode(bytes) } == nil)
            }
        }
        #expect(failure { _ = try BinaryPropertyList.decode([]) }?.code == "archive.format")
        #expect(failure { _ = try BinaryPropertyList.decode(Array("bplist00".utf8)) }?.code == "archive.format")
        #expect(failure { _ = try BinaryPropertyList.decode(good, limits: .init(bytes: 20)) }?.code == "archive.limit")
    }

    @Test("Every truncation and random single-byte changes give a value or an error")
    func mutations() throws {
        let seed = RandomSeeds.first
        print("property list mutations, seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let bytes = try BinaryPropertyList.encode(RandomPropertyList.value(&random, depth: 5))
        for end in 0..<bytes.count {
            #expect(foreignError { _ = try BinaryPropertyList.decode(Array(bytes[..<end])) } == nil)
        }
        for _ in 0..<5000 {
            var changed = bytes
            changed[random.below(bytes.count)] = UInt8(random.below(256))
            #expect(foreignError { _ = try BinaryPropertyList.decode(changed) } == nil)
        }
    }
}
