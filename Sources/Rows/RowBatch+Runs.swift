/// What is done to many rows of a batch at once.
extension RowBatch {
    /// Rows that still fit.
    package var freeRows: Int { rowCapacity - rowCount }

    /// Adds a row for each key and returns the index of the first.
    ///
    /// - Parameter clearing: the slots that are nulls; all others the caller fills at once, or has encoded cells fill.
    /// - Precondition: there are not more than ``freeRows``.
    package mutating func appendRows(keys new: UnsafeBufferPointer<Int64>, clearing nulls: [Int]) -> Int {
        precondition(new.count <= freeRows)
        let first = rowCount
        guard let start = new.baseAddress else { return first }
        (keys + first).update(from: start, count: new.count)
        rowCount += new.count
        for slot in nulls { fill(first..<rowCount, slot: slot, with: .null) }
        return first
    }

    /// Adds rows whose keys follow each other and returns the index of the first.
    ///
    /// - Parameters:
    ///   - key: that of the first row.
    ///   - nulls: the slots that are nulls; all others the caller fills at once, or has encoded cells fill.
    /// - Precondition: there are not more than ``freeRows``.
    package mutating func appendRows(_ count: Int, from key: Int64, clearing nulls: [Int]) -> Int {
        precondition(count >= 0 && count <= freeRows)
        let first = rowCount
        for place in 0..<count { keys[first + place] = key &+ Int64(place) }
        rowCount += count
        for slot in nulls { fill(first..<rowCount, slot: slot, with: .null) }
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

    /// Adds a copy of a row of another batch, its bytes included.
    ///
    /// - Precondition: both have as many slots, and there is room for it.
    package mutating func append(row: Int, of source: borrowing RowBatch, key: Int64) {
        precondition(source.slots == slots)
        let new = appendRow(key: key)
        for slot in 0..<slots { copy(source[row, slot], from: source, row: new, slot: slot) }
    }

    /// Takes cells of a row of another batch over, as ``borrow(_:from:row:slot:)`` takes each, and encoded ones as they are.
    ///
    /// - Parameters:
    ///   - moves: from which slot to which. Slots whose values may come encoded stand together, in the order of their fields,
    ///     and go to slots that follow each other.
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
                        next &+= cell.encodedSlots &- 1
                    }
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
