/// What is done to many rows of a batch at once.
extension RowBatch {
    /// Rows that still fit.
    package var freeRows: Int { rowCapacity - rowCount }

    /// Adds a row of nulls for each key and returns the index of the first.
    ///
    /// - Precondition: there are not more than ``freeRows``.
    package mutating func appendRows(keys new: UnsafeBufferPointer<Int64>) -> Int {
        precondition(new.count <= freeRows)
        let first = rowCount
        guard let start = new.baseAddress else { return first }
        (keys + first).update(from: start, count: new.count)
        // A null cell is all zeros.
        UnsafeMutableRawPointer(cells + first * slots)
            .initializeMemory(as: UInt8.self, repeating: 0, count: new.count * slots * MemoryLayout<Cell>.stride)
        rowCount += new.count
        return first
    }

    /// Takes the last rows back. Their bytes stay in the arena until the batch is cleared.
    package mutating func removeRows(from first: Int) {
        precondition(first >= 0 && first <= rowCount)
        rowCount = first
    }

    /// Puts a cell into one slot of neighbouring rows.
    package mutating func fill(_ rows: Range<Int>, slot: Int, with cell: Cell) {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= rowCount && slot >= 0 && slot < slots)
        var place = cells + rows.lowerBound * slots + slot
        for _ in 0..<rows.count {
            place.pointee = cell
            place += slots
        }
    }

    /// Takes cells of a row of another batch over, as ``borrow(_:from:row:slot:)`` takes each.
    ///
    /// - Parameters:
    ///   - moves: from which slot to which.
    ///   - sourceRow: the other batch's row.
    package mutating func borrow(_ moves: CellMoves, from source: borrowing RowBatch, sourceRow: Int, row: Int) {
        borrow(moves, from: source, sourceRows: sourceRow..<sourceRow + 1, firstRow: row)
    }

    /// The same for neighbouring rows.
    ///
    /// - Parameter first: the row that gets the cells of the first of them.
    package mutating func borrow(
        _ moves: CellMoves, from source: borrowing RowBatch, sourceRows: Range<Int>, firstRow first: Int
    ) {
        precondition(moves.lastFrom < source.slots && moves.lastTo < slots)
        precondition(sourceRows.lowerBound >= 0 && sourceRows.upperBound <= source.rowCount)
        precondition(first >= 0 && first + sourceRows.count <= rowCount)
        let (fromSlots, toSlots, moves) = (source.slots, slots, moves.moves)
        var from = UnsafePointer(source.cells) + sourceRows.lowerBound * fromSlots
        var to = cells + first * toSlots
        for _ in 0..<sourceRows.count {
            for move in moves {
                var cell = from[move.from]
                if cell.hasBytes {
                    cell.bits = borrowedBits(cell.bits, from: source)
                } else if cell.kind == .huge {
                    cell = store(source.huge(cell))
                }
                to[move.to] = cell
            }
            from += fromSlots
            to += toSlots
        }
    }
}

/// Which slots of one batch go to which of another, in a form that loops over rows go through without counting references.
package final class CellMoves {
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
