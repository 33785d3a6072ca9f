/// A batch of rows with packed cells and one byte arena: the unit of fetching inside a stage.
///
/// Rows are stored one after the other, `slots` cells each; readers and spills add them in ascending order of their keys. The
/// bytes of texts and blobs are in the arena. Clearing a batch keeps its storage, so a loop over batches allocates nothing once
/// it has met the largest row.
///
/// Memory: 16 bytes a cell, 8 a key, and the arena, whose capacity is the need of the largest batch. Whoever fills a batch
/// stops at `isFull`, so this is at most the byte target plus one row.
public struct RowBatch: ~Copyable {
    /// The number of cells in a row.
    public let slots: Int
    /// The most rows of the batch.
    public let rowCapacity: Int
    /// The size of the arena in bytes from which the batch counts as full.
    public let byteTarget: Int
    @usableFromInline var rowCount = 0
    @usableFromInline var byteCount = 0
    @usableFromInline var arenaCapacity: Int
    @usableFromInline var arena: UnsafeMutableRawPointer
    @usableFromInline let cells: UnsafeMutablePointer<Cell>
    @usableFromInline let keys: UnsafeMutablePointer<Int64>
    /// The arena of the batch that some cells borrow their bytes from; below, its size in bytes.
    @usableFromInline var lender: UnsafeRawPointer?
    @usableFromInline var lenderCount = 0
    /// The pages that some cells refer to, lent by a reader or taken over from another batch; below, their size in bytes.
    @usableFromInline var pages: UnsafeRawPointer?
    @usableFromInline var pagesCount = 0
    /// True if a reader may leave texts and blobs in its pages, which are valid until it fills the batch again. This suits a
    /// caller that has finished with the rows by then. Such a batch may end before it is full.
    @usableFromInline package var borrowsPages = false
    @usableFromInline var holdsHugeValues = false
    /// The huge values that cells of kind `huge` refer to.
    private var hugeValues: [HugeValue] = []

    /// The number of rows in the batch.
    @inlinable public var count: Int { rowCount }
    /// The number of bytes in the arena.
    @inlinable public var arenaCount: Int { byteCount }

    /// Makes an empty batch.
    ///
    /// - Parameters:
    ///   - slots: the number of cells in a row, at least 0.
    ///   - rowCapacity: the most rows, at least 1.
    ///   - byteTarget: the size of the arena in bytes from which the batch is full.
    public init(slots: Int, rowCapacity: Int, byteTarget: Int) {
        precondition(slots >= 0 && rowCapacity > 0 && byteTarget > 0)
        self.slots = slots
        self.rowCapacity = rowCapacity
        self.byteTarget = byteTarget
        arenaCapacity = min(byteTarget, 64 * 1024)
        arena = .allocate(byteCount: arenaCapacity, alignment: 16)
        cells = .allocate(capacity: max(1, slots * rowCapacity))
        keys = .allocate(capacity: rowCapacity)
    }

    deinit {
        arena.deallocate()
        cells.deallocate()
        keys.deallocate()
    }

    /// True if no more rows should be added: no row fits, or the arena has reached its target.
    @inlinable public var isFull: Bool { rowCount == rowCapacity || byteCount >= byteTarget }
    @inlinable public var isEmpty: Bool { rowCount == 0 }

    /// Removes the rows and keeps the storage. An arena that one huge row made large is freed.
    @inlinable
    public mutating func removeAll() {
        rowCount = 0
        byteCount = 0
        lender = nil
        lenderCount = 0
        pages = nil
        pagesCount = 0
        if holdsHugeValues { forgetHugeValues() }
        if arenaCapacity > byteTarget * 2 { shrink() }
    }

    @usableFromInline
    mutating func forgetHugeValues() {
        hugeValues.removeAll()
        holdsHugeValues = false
    }

    @usableFromInline
    mutating func shrink() {
        arena.deallocate()
        arenaCapacity = byteTarget
        arena = .allocate(byteCount: arenaCapacity, alignment: 16)
    }

    /// Appends a row of nulls. Returns its index.
    ///
    /// - Precondition: `count < rowCapacity`.
    @inlinable
    @discardableResult
    public mutating func appendRow(key: Int64) -> Int {
        precondition(rowCount < rowCapacity)
        let row = rowCount
        keys[row] = key
        // A null cell is all zeros.
        UnsafeMutableRawPointer(cells + row * slots)
            .initializeMemory(as: UInt8.self, repeating: 0, count: slots * MemoryLayout<Cell>.stride)
        rowCount += 1
        return row
    }

    /// Appends a row and returns its cells. The caller must set all of them at once.
    ///
    /// - Precondition: `count < rowCapacity`.
    @inlinable
    package mutating func appendRowToFill(key: Int64) -> UnsafeMutablePointer<Cell> {
        precondition(rowCount < rowCapacity)
        let row = rowCount
        keys[row] = key
        rowCount = row + 1
        return cells + row * slots
    }

    /// Gives the end of the arena back, if it was reserved and not filled.
    ///
    /// - Parameter count: the number of bytes that stay.
    @inlinable
    package mutating func trimArena(to count: Int) {
        precondition(count >= 0 && count <= byteCount)
        byteCount = count
    }

    /// Removes the last row. Its bytes stay in the arena until the batch is cleared.
    @inlinable
    public mutating func removeLastRow() {
        precondition(rowCount > 0)
        rowCount -= 1
    }

    /// Keeps some of the rows, in their order. The bytes of the others stay in the arena until the batch is cleared.
    ///
    /// - Parameter isKept: receives each row's key, and returns true to keep the row.
    public mutating func keepRows<Failure: Error>(
        where isKept: (Int64) throws(Failure) -> Bool
    ) throws(Failure) {
        var kept = 0
        for row in 0..<count where try isKept(keys[row]) {
            if kept < row {
                keys[kept] = keys[row]
                (cells + kept * slots).update(from: cells + row * slots, count: slots)
            }
            kept += 1
        }
        rowCount = kept
    }

    @inlinable
    public func key(_ row: Int) -> Int64 {
        precondition(row >= 0 && row < rowCount)
        return keys[row]
    }

    /// The keys of neighbouring rows, valid until the batch changes.
    package func keys(_ rows: Range<Int>) -> UnsafeBufferPointer<Int64> {
        precondition(rows.lowerBound >= 0 && rows.upperBound <= rowCount)
        return UnsafeBufferPointer(start: UnsafePointer(keys) + rows.lowerBound, count: rows.count)
    }

    @inlinable
    public mutating func setKey(_ key: Int64, row: Int) {
        precondition(row >= 0 && row < rowCount)
        keys[row] = key
    }

    /// The cell of a row and slot.
    @inlinable
    public subscript(row: Int, slot: Int) -> Cell {
        get {
            precondition(row >= 0 && row < rowCount && slot >= 0 && slot < slots)
            return cells[row * slots + slot]
        }
        set {
            precondition(row >= 0 && row < rowCount && slot >= 0 && slot < slots)
            cells[row * slots + slot] = newValue
        }
    }

    /// The cells of a row, one after the other: ``slots`` cells, valid as long as the batch. For loops over all of them.
    @inlinable
    public func cells(ofRow row: Int) -> UnsafeMutablePointer<Cell> {
        precondition(row >= 0 && row < rowCount)
        return cells + row * slots
    }

    /// The bytes of a text or blob cell; empty for all other kinds.
    @inlinable
    public func bytes(_ cell: Cell) -> UnsafeRawBufferPointer {
        guard cell.hasBytes, cell.length > 0 else { return UnsafeRawBufferPointer(start: arena, count: 0) }
        let length = Int(cell.length)
        if cell.bits & (Cell.borrowed | Cell.lent) != 0 {
            let isLent = cell.bits & Cell.lent != 0
            let offset = Int(cell.bits & ~(Cell.borrowed | Cell.lent))
            guard let base = isLent ? pages : lender, offset <= (isLent ? pagesCount : lenderCount) - length else {
                preconditionFailure("a cell borrows bytes that are gone")
            }
            return UnsafeRawBufferPointer(start: base + offset, count: length)
        }
        let offset = Int(cell.bits)
        precondition(offset >= 0 && offset <= byteCount - length)
        return UnsafeRawBufferPointer(start: UnsafeRawPointer(arena) + offset, count: length)
    }

    /// The address of the bytes of a text or blob cell, and the number of bytes that may be read there; these include bytes of
    /// other values behind it.
    ///
    /// - Precondition: ``Cell/hasBytes``.
    @inlinable
    package func place(of cell: Cell) -> (start: UnsafeRawPointer, readable: Int) {
        let flags = cell.bits & (Cell.borrowed | Cell.lent)
        let offset = Int(truncatingIfNeeded: cell.bits & ~(Cell.borrowed | Cell.lent))
        let (base, count): (UnsafeRawPointer?, Int) =
            flags & Cell.lent != 0
            ? (pages, pagesCount) : flags != 0 ? (lender, lenderCount) : (UnsafeRawPointer(arena), byteCount)
        guard let base, offset <= count - Int(cell.length) else {
            preconditionFailure("a cell has bytes that are gone")
        }
        return (base + offset, count - offset)
    }

    /// The serial types and values of an encoded cell, and the number of bytes that may be read from the start of each; these
    /// include bytes of other values behind them.
    ///
    /// - Precondition: the cell is encoded.
    @inlinable
    package func rawRecord(
        _ cell: Cell
    ) -> (types: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, readable: (types: Int, body: Int)) {
        let (header, body) = (cell.encodedHeader, cell.encodedBody)
        let (typesCount, bodyCount) = (cell.encodedHeaderLength, Int(cell.length))
        guard cell.kind == .rawRecord, let pages, header + typesCount <= pagesCount, body + bodyCount <= pagesCount
        else {
            preconditionFailure("a cell has values that are gone")
        }
        return (
            UnsafeRawBufferPointer(start: pages + header, count: typesCount),
            UnsafeRawBufferPointer(start: pages + body, count: bodyCount), (pagesCount - header, pagesCount - body)
        )
    }

    /// Copies bytes into the arena and sets a cell to them.
    ///
    /// - Precondition: `kind` is text or blob, and there are fewer than 4 GiB.
    @inlinable
    public mutating func setBytes(_ bytes: UnsafeRawBufferPointer, kind: CellKind, row: Int, slot: Int) {
        self[row, slot] = store(bytes, kind: kind)
    }

    /// Copies bytes into the arena. Returns a cell for them.
    @inlinable
    public mutating func store(_ bytes: UnsafeRawBufferPointer, kind: CellKind) -> Cell {
        precondition(kind == .text || kind == .blob)
        precondition(bytes.count <= Int(UInt32.max))
        let offset = byteCount
        let space = reserve(bytes.count)
        if let base = bytes.baseAddress, bytes.count > 0 { space.copyMemory(from: base, byteCount: bytes.count) }
        return Cell(
            bits: UInt64(truncatingIfNeeded: offset), length: UInt32(truncatingIfNeeded: bytes.count), kind: kind)
    }

    /// True if any cell was of kind `huge` since the batch was cleared.
    package var hasHugeValues: Bool { holdsHugeValues }

    /// The huge value that a cell of kind `huge` refers to.
    package func huge(_ cell: Cell) -> HugeValue {
        precondition(cell.kind == .huge)
        return hugeValues[Int(cell.bits)]
    }

    /// Adds a huge value. Returns a cell for it.
    ///
    /// - Precondition: it has fewer than 4 GiB.
    package mutating func store(_ value: HugeValue) -> Cell {
        precondition(value.count <= Int(UInt32.max))
        hugeValues.append(value)
        holdsHugeValues = true
        return Cell(bits: UInt64(hugeValues.count - 1), length: UInt32(value.count), kind: .huge)
    }

    /// Reserves `count` bytes at the arena's end and returns their address. They are uninitialized; the caller must fill them
    /// at once.
    @inlinable
    public mutating func reserve(_ count: Int) -> UnsafeMutableRawPointer {
        precondition(count >= 0)
        let needed = byteCount + count
        if needed > arenaCapacity { grow(to: needed) }
        let space = arena + byteCount
        byteCount = needed
        return space
    }

    @usableFromInline
    mutating func grow(to needed: Int) {
        var capacity = arenaCapacity
        while capacity < needed { capacity = capacity < (1 << 20) ? capacity * 2 : capacity + capacity / 4 }
        capacity = max(capacity, needed)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        larger.copyMemory(from: arena, byteCount: byteCount)
        arena.deallocate()
        arena = larger
        arenaCapacity = capacity
    }

    /// Copies a cell of another batch into this one, with its bytes.
    @inlinable
    public mutating func copy(_ cell: Cell, from source: borrowing RowBatch, row: Int, slot: Int) {
        if cell.hasBytes {
            self[row, slot] = store(source.bytes(cell), kind: cell.kind)
        } else if cell.kind == .huge {
            copyHuge(cell, from: source, row: row, slot: slot)
        } else {
            self[row, slot] = cell
        }
    }

    @usableFromInline
    mutating func copyHuge(_ cell: Cell, from source: borrowing RowBatch, row: Int, slot: Int) {
        self[row, slot] = store(source.huge(cell))
    }

    /// Notes the one batch whose arena this batch borrows bytes from.
    @inlinable
    mutating func lend(from source: borrowing RowBatch) {
        if lender != UnsafeRawPointer(source.arena) || lenderCount != source.byteCount {
            precondition(lender == nil)
            lender = UnsafeRawPointer(source.arena)
            lenderCount = source.byteCount
        }
    }

    /// Notes the pages that some cells refer to.
    ///
    /// - Precondition: no other pages were noted since the batch was cleared.
    @inlinable
    package mutating func lend(pages: UnsafeRawPointer, count: Int) {
        precondition(self.pages == nil || self.pages == pages)
        self.pages = pages
        pagesCount = count
    }

    /// The pages that the batch is being filled from, if its cells may refer to them; otherwise nil.
    @inlinable package var lentPages: UnsafeRawPointer? { borrowsPages ? pages : nil }

    /// Turns the bits of a text or blob of another batch into bits for this one, and notes the lender of the bytes.
    @inlinable
    mutating func borrowedBits(_ bits: UInt64, from source: borrowing RowBatch) -> UInt64 {
        precondition(bits & Cell.borrowed == 0)
        if bits & Cell.lent != 0, let lent = source.pages {
            if pages != lent { lend(pages: lent, count: source.pagesCount) }
            return bits
        }
        lend(from: source)
        return bits | Cell.borrowed
    }

    /// Takes over a cell of another batch without its bytes. They stay in the other batch's arena, which must not change until
    /// this batch is cleared.
    ///
    /// - Precondition: since it was cleared, this batch has borrowed from the same other batch only.
    @inlinable
    public mutating func borrow(_ cell: Cell, from source: borrowing RowBatch, row: Int, slot: Int) {
        if cell.hasBytes {
            let bits = borrowedBits(cell.bits, from: source)
            self[row, slot] = Cell(bits: bits, length: cell.length, kind: cell.kind)
        } else if cell.kind == .huge {
            copyHuge(cell, from: source, row: row, slot: slot)
        } else {
            self[row, slot] = cell
        }
    }
}
