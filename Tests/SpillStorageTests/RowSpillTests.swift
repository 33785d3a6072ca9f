import Diagnostics
import Rows
import TestSupport
import Testing

@testable import SpillStorage

/// A cell with its bytes, as a plain value.
private enum PlainCell: Equatable {
    case null, absent
    case integer(Int64)
    case real(UInt64)
    case text([UInt8])
    case blob([UInt8])
    case reference(Int64, UInt32)

    static func random(_ random: inout SeededGenerator, patch: Bool) -> PlainCell {
        if patch && !random.chance(3) { return .absent }
        let length = random.chance(200) ? random.below(3000) : random.below(30)
        switch random.below(8) {
        case 0: return .null
        case 1: return .integer(Int64(bitPattern: random.next() >> UInt64(random.below(64))))
        case 2: return .real(random.next())
        case 3, 4: return .text((0..<length).map { UInt8(97 + $0 % 26) })
        case 5: return .blob((0..<length).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        case 6: return .reference(Int64(bitPattern: random.next()), UInt32(truncatingIfNeeded: random.next()))
        default: return patch ? .null : .absent
        }
    }

    func put(into batch: inout RowBatch, row: Int, slot: Int) {
        switch self {
        case .null: batch[row, slot] = .null
        case .absent: batch[row, slot] = .absent
        case .integer(let value): batch[row, slot] = .integer(value)
        case .real(let bits): batch[row, slot] = .real(Double(bitPattern: bits))
        case .text(let bytes): bytes.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
        case .blob(let bytes): bytes.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
        case .reference(let key, let entity): batch[row, slot] = .reference(key: key, entity: entity)
        }
    }

    static func of(_ batch: borrowing RowBatch, row: Int, slot: Int) -> PlainCell {
        let cell = batch[row, slot]
        switch cell.kind {
        case .null: return .null
        case .absent, .rawRecord, .huge: return .absent
        case .integer: return .integer(cell.integerValue)
        case .real: return .real(cell.bits)
        case .text: return .text(Array(batch.bytes(cell)))
        case .blob: return .blob(Array(batch.bytes(cell)))
        case .reference: return .reference(cell.integerValue, cell.length)
        }
    }
}

@Suite("Row spill") struct RowSpillTests {
    private func rows(of reader: RowSpillReader, slots: Int) throws -> [(Int64, [PlainCell])] {
        var batch = RowBatch(slots: slots, rowCapacity: 37, byteTarget: 10_000)
        var rows: [(Int64, [PlainCell])] = []
        while try reader.next(into: &batch) {
            for row in 0..<batch.count {
                rows.append((batch.key(row), (0..<slots).map { PlainCell.of(batch, row: row, slot: $0) }))
            }
            batch.removeAll()
        }
        return rows
    }

    private func expectSame(_ got: [(Int64, [PlainCell])], _ expected: [(Int64, [PlainCell])], _ label: String) {
        #expect(got.count == expected.count, "\(label)")
        #expect(got.elementsEqual(expected) { $0.0 == $1.0 && $0.1 == $1.1 }, "\(label)")
    }

    @Test("Rows, patches and deletions in any order read like a dictionary", arguments: [1, 2, 3, 4], [0, 1 << 26])
    func model(seed: UInt64, memory: Int) throws {
        print("row spill: seed \(seed), memory \(memory)")
        var random = SeededGenerator(seed: seed)
        let slots = [1, 5, 12, 0][Int(seed) - 1]
        let fixture = try SpillFixture()
        // Two spills with the same rows share one memory.
        let shared = RowMemory(bytes: memory)
        let spill = RowSpill(directory: fixture.directory, name: "rows", slots: slots, memory: shared)
        let twin = RowSpill(directory: fixture.directory, name: "twin", slots: slots, memory: shared)
        var model: [Int64: [PlainCell]] = [:]
        var keys: [Int64] = []
        var next: Int64 = seed == 2 ? .min : -500
        var batch = RowBatch(slots: slots, rowCapacity: 1, byteTarget: 1 << 20)
        for step in 0..<20_000 {
            batch.removeAll()
            switch random.below(10) {
            case 0...4:
                let cells = (0..<slots).map { _ in PlainCell.random(&random, patch: false) }
                let row = batch.appendRow(key: next)
                for (slot, cell) in cells.enumerated() { cell.put(into: &batch, row: row, slot: slot) }
                try spill.append(row: row, of: batch)
                try twin.append(row: row, of: batch)
                model[next] = cells
                keys.append(next)
                next += 1 + Int64(random.below(4))
            case 5...8:
                guard !keys.isEmpty else { continue }
                let key = random.chance(20) ? Int64(bitPattern: random.next()) : keys[random.below(keys.count)]
                let patch = (0..<slots).map { _ in PlainCell.random(&random, patch: true) }
                let row = batch.appendRow(key: 0)
                for (slot, cell) in patch.enumerated() { cell.put(into: &batch, row: row, slot: slot) }
                try spill.patch(key: key, row: row, of: batch)
                try twin.patch(key: key, row: row, of: batch)
                if var cells = model[key] {
                    for slot in 0..<slots where patch[slot] != .absent { cells[slot] = patch[slot] }
                    model[key] = cells
                }
            default:
                guard !keys.isEmpty, random.chance(8) else { continue }
                let key = keys[random.below(keys.count)]
                try spill.delete(key: key)
                try twin.delete(key: key)
                model[key] = nil
            }
            if random.chance(1000) { try twin.seal() }
            if random.chance(3000) { try twin.joinPatches() }
            if random.chance(40) {
                var found = RowBatch(slots: slots, rowCapacity: 2, byteTarget: 1 << 20)
                let key = keys.isEmpty ? 0 : keys[random.below(keys.count)] + Int64(random.below(2))
                let isThere = try spill.read(key: key, into: &found)
                #expect(isThere == (model[key] != nil), "seed \(seed), step \(step)")
                #expect(found.count == (isThere ? 1 : 0))
                if isThere {
                    let cells = (0..<slots).map { PlainCell.of(found, row: 0, slot: $0) }
                    #expect(found.key(0) == key && cells == model[key], "seed \(seed), step \(step)")
                }
            }
            if random.chance(6000) {
                let from = keys[random.below(keys.count)]
                let expected = model.filter { $0.key >= from }.sorted { $0.key < $1.key }
                expectSame(
                    try rows(of: spill.makeReader(from: from), slots: slots), expected.map { ($0.key, $0.value) },
                    "seed \(seed), step \(step)")
            }
        }
        let expected = model.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        expectSame(try rows(of: twin.makeReader(), slots: slots), expected, "seed \(seed), twin")
        expectSame(try rows(of: spill.makeReader(), slots: slots), expected, "seed \(seed), at the end")
        #expect(spill.appended == keys.count)
        if memory == 0 {
            #expect(spill.patchRuns.contains { $0.level > 0 }, "runs of patches were merged")
        } else {
            #expect(spill.patchRuns.isEmpty)
        }
    }

    @Test("A reader sees rows and patches that come while it reads")
    func whileReading() throws {
        let fixture = try SpillFixture()
        let spill = RowSpill(directory: fixture.directory, name: "rows", slots: 2, memory: 0)
        var batch = RowBatch(slots: 2, rowCapacity: 1, byteTarget: 1 << 20)
        func append(_ key: Int64) throws {
            batch.removeAll()
            let row = batch.appendRow(key: key)
            batch[row, 0] = .integer(key)
            try spill.append(row: row, of: batch)
        }
        for key in Int64(0)..<30_000 { try append(key) }
        let reader = spill.makeReader()
        var got = RowBatch(slots: 2, rowCapacity: 100, byteTarget: 1 << 20)
        var seen: Int64 = 0
        while try reader.next(into: &got) {
            for row in 0..<got.count {
                #expect(got.key(row) == seen && got[row, 0].integerValue == seen)
                #expect(got[row, 1].isNull == (seen < 100 || seen >= 40_000))
                seen += 1
            }
            got.removeAll()
            guard seen < 40_000 else { continue }
            // The rows to be read next are patched, and one is appended.
            for key in seen..<min(40_000, seen + 100) {
                batch.removeAll()
                let row = batch.appendRow(key: 0)
                batch[row, 0] = .absent
                batch[row, 1] = .integer(1)
                try spill.patch(key: key, row: row, of: batch)
            }
            if spill.appended < 40_050 { for key in 0..<50 { try append(Int64(spill.appended + key * 0)) } }
        }
        #expect(Int(seen) == spill.appended)
        #expect(spill.patchRuns.contains { $0.level > 0 })
        #expect(try !reader.next(into: &got))
        try append(1_000_000)
        #expect(try reader.next(into: &got) && got.key(0) == 1_000_000)
    }

    @Test("No rows, one row, and rows much larger than a block")
    func extremes() throws {
        let fixture = try SpillFixture()
        let empty = RowSpill(directory: fixture.directory, name: "rows", slots: 3, memory: 0)
        var batch = RowBatch(slots: 3, rowCapacity: 1, byteTarget: 1 << 16)
        #expect(try !empty.makeReader().next(into: &batch))
        #expect(try !empty.read(key: 1, into: &batch))
        #expect(try fixture.files().isEmpty)
        let spill = RowSpill(directory: fixture.directory, name: "rows", slots: 3, memory: 0)
        let huge = (0..<(9 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 13) }
        for key in Int64(1)...6 {
            batch.removeAll()
            let row = batch.appendRow(key: key)
            batch[row, 0] = .integer(key)
            if key % 2 == 0 { huge.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: 1) } }
            try spill.append(row: row, of: batch)
        }
        batch.removeAll()
        let row = batch.appendRow(key: 0)
        batch[row, 0] = .absent
        batch[row, 1] = .absent
        huge.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: 2) }
        try spill.patch(key: 3, row: row, of: batch)
        let reader = spill.makeReader()
        for key in Int64(1)...6 {
            batch.removeAll()
            #expect(try reader.next(into: &batch) && batch.key(0) == key)
            #expect(batch[0, 0].integerValue == key)
            #expect(batch.bytes(batch[0, 1]).elementsEqual(key % 2 == 0 ? huge : []))
            #expect(batch.bytes(batch[0, 2]).elementsEqual(key == 3 ? huge : []))
            batch.removeAll()
            #expect(try spill.read(key: key, into: &batch) && batch[0, 0].integerValue == key)
        }
    }

    @Test("A changed byte in any block is an error that names file and block, never a wrong row")
    func damage() throws {
        let fixture = try SpillFixture()
        var random = SeededGenerator(seed: 3)
        let spill = RowSpill(directory: fixture.directory, name: "rows", slots: 2, memory: 0)
        var batch = RowBatch(slots: 2, rowCapacity: 1, byteTarget: 1 << 16)
        for key in Int64(0)..<20_000 {
            batch.removeAll()
            let row = batch.appendRow(key: key)
            batch[row, 0] = .integer(key)
            batch[row, 1] = .real(Double(key))
            try spill.append(row: row, of: batch)
        }
        for key in Int64(0)..<2000 {
            batch.removeAll()
            let row = batch.appendRow(key: 0)
            batch[row, 0] = .integer(key + 1)
            batch[row, 1] = .absent
            try spill.patch(key: key * 10, row: row, of: batch)
        }
        #expect(!spill.patchRuns.isEmpty)
        for path in try fixture.files() {
            for block in try SpillFixture.blocks(of: path) {
                try SpillFixture.withDamage(in: path, at: block.offset + random.below(block.length)) {
                    SpillFixture.expectDamage(path) {
                        let reader = spill.makeReader()
                        var got = RowBatch(slots: 2, rowCapacity: 500, byteTarget: 1 << 16)
                        while try reader.next(into: &got) { got.removeAll() }
                    }
                }
            }
        }
        #expect(try rows(of: spill.makeReader(), slots: 2).count == 20_000)
    }

    @Test("Any bytes are taken for a row or refused, without a trap")
    func hostile() throws {
        var random = SeededGenerator(seed: 7)
        var batch = RowBatch(slots: 6, rowCapacity: 1, byteTarget: 1 << 16)
        let buffer = RawBuffer()
        for _ in 0..<20_000 {
            batch.removeAll()
            var row = batch.appendRow(key: 1)
            for slot in 0..<6 { PlainCell.random(&random, patch: false).put(into: &batch, row: row, slot: slot) }
            buffer.count = 0
            try RowCodec.append(key: 1, row: row, of: batch, slots: 6, to: buffer, HugeReferences())
            for _ in 0..<(1 + random.below(5)) {
                (buffer.start + random.below(buffer.count)).storeBytes(
                    of: UInt8(truncatingIfNeeded: random.next()), as: UInt8.self)
            }
            buffer.count -= random.below(3)
            batch.removeAll()
            row = batch.appendRow(key: 1)
            for slot in 0..<6 { batch[row, slot] = .absent }
            if let found = RowCodec.row(in: buffer.bytes, at: 0) {
                #expect(found.next <= buffer.count)
                _ = RowCodec.fill(found.slice, slots: 6, into: &batch, row: row, HugeReferences())
                #expect(batch.arenaCount <= buffer.count * 6)
            }
        }
    }
}
