/// Operations on many rows of a batch at once.
extension RowBatch {
    /// The number of rows that still fit.
    package var freeRows: Int { rowCapacity - rowCount }

    /// Appends a row for each key. Returns the index of the first one.
    ///
    /// - Parameter nulls: the slots that are set to NULL. The caller must fill all others at once, or cover them by encoded
    ///   cells.
    /// - Precondition: there are at most ``freeRows`` keys.
    package mutating func appendRows(keys new: UnsafeBufferPointer<Int64>, clearing nulls: [Int]) -> Int {
        precondition(new.count <= freeRows)
        let first = rowCount
        guard let start = new.baseAddress else { return first }
        (keys + first).update(from: start, count: new.count)
        rowCount += new.count
        for slot in nulls { fill(first..<rowCount, slot: slot, with: .null) }
        return first
    }

    /// Appends rows with consecutive keys. Returns the index of the first one.
    ///
    /// - Parameters:
    ///   - key: the key of the first row.
    ///   - nulls: the slots that are set to NULL. The caller must fill all others at once, or cover them by encoded cells.
    /// - Precondition: there are at most ``freeRows`` rows.
    package mutating func appendRows(_ count: Int, from key: Int64, clearing nulls: [Int]) -> Int {
        precondition(count >= 0 && count <= freeRows)
        let first = rowCount
        for place in 0..<count { keys[first + place] = key &+ Int64(place) }
        rowCount += count
        for slot in nulls { fill(first..<rowCount, slot: slot, with: .null) }
        return first
    }

    /// Removes the last rows. Their bytes stay in the arena until the batch is cleared.
    package mutating func removeRows(from first: Int) {
        precondition(first >= 0 && first <= rowCount)
        rowCount = first
    }

    /// Sets one slot of neighbouring rows to a cell.
    package mutating func fill(_ rows: Range<Int>, slot: Int, with cell: Cell) {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= rowCount && slot >= 0 && slot < slots)
        var place = cells + rows.lowerBound * slots + slot
        for _ in 0..<rows.count {
            place.pointee = cell
            place += slots
        }
    }

    /// Appends a copy of a row of another batch, with its bytes.
    ///
    /// - Precondition: both batches have the same number of slots, and there is room for a row.
    package mutating func append(row: Int, of source: borrowing RowBatch, key: Int64) {
        precondition(source.slots == slots)
        let new = appendRow(key: key)
        for slot in 0..<slots { copy(source[row, slot], from: source, row: new, slot: slot) }
    }

    /// Borrows cells of a row of another batch, each as ``borrow(_:from:row:slot:)`` does, and encoded cells as they are.
    ///
    /// - Parameters:
    ///   - moves: the source and target slots. Slots whose values may come encoded must be together, in the order of their
    ///     fields, and must go to consecutive slots.
    ///   - sourceRow: the row of the other batch.
    package mutating func borrow(_ moves: ColumnCopies, from source: borrowing RowBatch, sourceRow: Int, row: Int) {
        borrow(moves, from: source, sourceRows: sourceRow..<sourceRow + 1, firstRow: row)
    }

    /// Borrows cells of neighbouring rows of another batch.
    ///
    /// - Parameter first: the row that receives the cells of the first of them.
    package mutating func borrow(
        _ moves: ColumnCopies, from source: borrowing RowBatch, sourceRows: Range<Int>, firstRow first: Int
    ) {
        precondition(moves.lastFrom < source.slots && moves.lastTo < slots)
        precondition(sourceRows.lowerBound >= 0 && sourceRows.upperBound <= source.rowCount)
        precondition(first >= 0 && first + sourceRows.count <= rowCount)
        let (fromSlots, toSlots, moves) = (source.slots, slots, moves.moves)
        var from = UnsafePointer(source.cells) + sourceRows.lowerBound * fromSlots
        var to = cells + first * toSlots
        for _ in 0..<sourceRows.count {
            var next = 0
            while next < moves.count {
                let move = moves[next]
                next &+= 1
                var cell = from[move.from]
                if cell.hasBytes {
                    cell.bits = borrowedBits(cell.bits, from: source)
                } else if cell.kind.rawValue >= CellKind.huge.rawValue {
                    if cell.kind == .huge {
                        cell = store(source.huge(cell))
                    } else {
                        _ = borrowedBits(cell.bits, from: source)
                        next &+= cell.rawRecordSlots &- 1
                    }
                }
                to[move.to] = cell
            }
            from += fromSlots
            to += toSlots
        }
    }
}

/// The slots of one batch and the slots of another that receive their cells. Loops over rows use it without reference counting.
package final class ColumnCopies {
    let moves: UnsafeMutableBufferPointer<(from: Int, to: Int)>
    let lastFrom: Int
    let lastTo: Int

    package init(_ moves: [(from: Int, to: Int)]) {
        self.moves = .allocate(capacity: moves.count)
        _ = self.moves.initialize(from: moves)
        lastFrom = moves.map(\.from).max() ?? -1
        lastTo = moves.map(\.to).max() ?? -1
        precondition(moves.allSatisfy { $0.from >= 0 && $0.to >= 0 })
    }

    deinit { moves.deallocate() }
}
