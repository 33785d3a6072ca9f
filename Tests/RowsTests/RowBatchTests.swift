import Rows
import TestSupport
import Testing

@Suite("Row batch") struct RowBatchTests {
    @Test("Cells keep what was put into them, bytes included, while the arena grows")
    func cells() {
        var batch = RowBatch(slots: 3, rowCapacity: 200, byteTarget: 1000)
        for number in 0..<200 {
            let row = batch.appendRow(key: Int64(number) - 100)
            #expect(row == number && batch[row, 2].isNull)
            batch[row, 0] = .integer(Int64(number) * -3)
            batch[row, 1] = .reference(key: Int64(number), entity: 7)
            [UInt8](repeating: UInt8(number), count: number * 5).withUnsafeBytes {
                batch.setBytes($0, kind: .blob, row: row, slot: 2)
            }
        }
        #expect(batch.isFull == true)
        for row in 0..<200 {
            #expect(batch.key(row) == Int64(row) - 100)
            #expect(batch[row, 0].integerValue == Int64(row) * -3)
            #expect(batch[row, 1].integerValue == Int64(row) && batch[row, 1].length == 7)
            #expect(batch.bytes(batch[row, 2]).elementsEqual([UInt8](repeating: UInt8(row), count: row * 5)))
        }
    }

    @Test("Rows that come together are those that come one by one")
    func runs() {
        let seed: UInt64 = 4711
        print("row batch: seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            let slots = 1 + random.below(4)
            let rows = 1 + random.below(60)
            var source = RowBatch(slots: slots, rowCapacity: rows, byteTarget: 1 << 20)
            for key in 0..<rows {
                let row = source.appendRow(key: Int64(key * 3))
                for slot in 0..<slots {
                    switch random.below(3) {
                    case 0: source[row, slot] = .integer(Int64(random.below(1000)))
                    case 1:
                        let bytes = [UInt8](repeating: UInt8(key), count: random.below(20))
                        bytes.withUnsafeBytes { source.setBytes($0, kind: .text, row: row, slot: slot) }
                    default: break
                    }
                }
            }
            let pairs = (0..<slots).filter { _ in !random.chance(4) }.map { (from: $0, to: slots - $0) }
            let moves = ColumnCopies(pairs)
            var together = RowBatch(slots: slots + 2, rowCapacity: rows + 2, byteTarget: 1 << 20)
            var single = RowBatch(slots: slots + 2, rowCapacity: rows + 2, byteTarget: 1 << 20)
            together.appendRow(key: -5)
            single.appendRow(key: -5)
            let low = random.below(rows)
            let part = low..<(low + random.below(rows - low + 1))
            #expect(together.freeRows == rows + 1)
            let taken = Set(pairs.map(\.to) + [0])
            let nulls = (0..<slots + 2).filter { !taken.contains($0) }
            let isNumbered = random.chance(2)
            let first =
                isNumbered
                ? together.appendRows(part.count, from: 700, clearing: nulls)
                : together.appendRows(keys: source.keys(part), clearing: nulls)
            #expect(first == 1)
            together.borrow(moves, from: source, sourceRows: part, firstRow: first)
            together.fill(first..<first + part.count, slot: 0, with: .integer(9))
            for (place, row) in part.enumerated() {
                let target = single.appendRow(key: isNumbered ? 700 + Int64(place) : source.key(row))
                for (from, to) in pairs { single.borrow(source[row, from], from: source, row: target, slot: to) }
                single[target, 0] = .integer(9)
            }
            #expect(together.count == single.count)
            for row in 0..<single.count {
                #expect(together.key(row) == single.key(row))
                for slot in 0..<slots + 2 {
                    let (one, other) = (together[row, slot], single[row, slot])
                    #expect(one.kind == other.kind && one.bits == other.bits && one.length == other.length)
                    #expect(together.bytes(one).elementsEqual(single.bytes(other)))
                }
            }
            together.removeRows(from: first)
            #expect(together.count == 1)
        }
    }

    @Test("A batch is full by rows or by bytes, and empty again when cleared")
    func fullness() {
        var batch = RowBatch(slots: 1, rowCapacity: 3, byteTarget: 100)
        #expect(batch.isEmpty && !batch.isFull)
        let row = batch.appendRow(key: 1)
        [UInt8](repeating: 1, count: 5000).withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: 0) }
        #expect(batch.isFull && batch.arenaCount == 5000)
        batch.removeAll()
        #expect(batch.isEmpty && batch.arenaCount == 0)
        for key in Int64(0)..<3 { _ = batch.appendRow(key: key) }
        #expect(batch.isFull == true)
        batch.removeLastRow()
        #expect(batch.count == 2 && !batch.isFull)
    }

    @Test("A cell is copied to another batch with its bytes")
    func copying() {
        var source = RowBatch(slots: 2, rowCapacity: 1, byteTarget: 64)
        _ = source.appendRow(key: 1)
        source[0, 0] = .real(2.5)
        Array("wörter".utf8).withUnsafeBytes { source.setBytes($0, kind: .text, row: 0, slot: 1) }
        var target = RowBatch(slots: 2, rowCapacity: 1, byteTarget: 64)
        _ = target.appendRow(key: 2)
        target.copy(source[0, 0], from: source, row: 0, slot: 1)
        target.copy(source[0, 1], from: source, row: 0, slot: 0)
        source.removeAll()
        #expect(target[0, 1].realValue == 2.5)
        #expect(String(decoding: target.bytes(target[0, 0]), as: UTF8.self) == "wörter")
        #expect(target.bytes(target[0, 1]).isEmpty)
    }

    @Test("Kinds of cells are what their makers say")
    func kinds() {
        #expect(Cell.null.isNull && !Cell.absent.isNull)
        #expect(Cell.absent.kind == .absent && !Cell.integer(1).hasBytes)
        #expect(Cell.integer(.min).integerValue == .min)
        #expect(Cell.real(-0.0).realValue.sign == .minus)
        #expect(MemoryLayout<Cell>.stride == 16)
    }
}
