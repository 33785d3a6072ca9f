/// A batch of rows with packed cells and one byte arena: the unit of fetching inside a stage.
///
/// Rows stand one after the other, `slots` cells each, in ascending order of their keys where a reader or a
/// spill made them. Text and blobs lie in the arena. Clearing a batch keeps its storage, so a loop over batches
/// allocates nothing once the largest row has been seen.
///
/// Memory: 16 bytes a cell, 8 a key, and the arena, whose capacity is what the largest batch needed.
/// A filler stops at `isFull`, so that is the budget's bytes plus one row.
public struct RowBatch: ~Copyable {
    /// Cells a row.
    public let slots: Int
    /// Rows the batch takes at most.
    public let rowCapacity: Int
    /// Bytes after which the batch counts as full.
    public let byteTarget: Int
    @usableFromInline var rowCount = 0
    @usableFromInline var byteCount = 0
    @usableFromInline var arenaCapacity: Int
    @usableFromInline var arena: UnsafeMutableRawPointer
    @usableFromInline let cells: UnsafeMutablePointer<Cell>
    @usableFromInline let keys: UnsafeMutablePointer<Int64>
    /// The arena of the batch that some cells borrow their bytes from, and how many it has.
    @usableFromInline var lender: UnsafeRawPointer?
    @usableFromInline var lenderCount = 0
    /// The same for pages that the batch was filled from, or the one that it borrows from.
    @usableFromInline var pages: UnsafeRawPointer?
    @usableFromInline var pagesCount = 0
    /// Whether a reader may leave texts and blobs in the pages that it has at hand, which stay until it fills the batch again:
    /// for who is done with the rows by then. Such a batch may end before it is full.
    @inlinable package var borrowsPages: Bool {
        get { mayBorrowPages }
        set { mayBorrowPages = newValue }
    }
    @usableFromInline var mayBorrowPages = false
    @usableFromInline var holdsHugeValues = false
    /// What cells of kind `huge` refer to.
    private var hugeValues: [HugeValue] = []

    /// Rows in the batch.
    @inlinable public var count: Int { rowCount }
    /// Bytes in the arena.
    @inlinable public var arenaCount: Int { byteCount }

    /// An empty batch.
    ///
    /// - Parameters:
    ///   - slots: cells a row, at least 0.
    ///   - rowCapacity: rows at most, at least 1.
    ///   - byteTarget: bytes of arena after which the batch is full.
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

    /// Whether a filler should stop: no row fits, or the arena has reached its target.
    @inlinable public var isFull: Bool { rowCount == rowCapacity || byteCount >= byteTarget }
    @inlinable public var isEmpty: Bool { rowCount == 0 }

    /// Forgets the rows, keeps the storage. An arena that one huge row blew up is given back.
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

    /// Adds a row of nulls and returns its index.
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

    /// Adds a row whose cells the caller fills at once, all of them, and returns where they go.
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

    /// Gives back what of the arena's last bytes was reserved and not filled.
    ///
    /// - Parameter count: bytes that stay.
    @inlinable
    package mutating func trimArena(to count: Int) {
        precondition(count >= 0 && count <= byteCount)
        byteCount = count
    }

    /// Takes the last row back. Its bytes stay in the arena until the batch is cleared.
    @inlinable
    public mutating func removeLastRow() {
        precondition(rowCount > 0)
        rowCount -= 1
    }

    /// Keeps some of the rows, in their order. The bytes of the others stay in the arena until the batch is cleared.
    ///
    /// - Parameter isKept: asked about each row's key.
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

    /// The cells of a row, one after the other, for loops over all of them: ``slots`` cells, valid until the batch ends.
    @inlinable
    public func cells(ofRow row: Int) -> UnsafeMutablePointer<Cell> {
        precondition(row >= 0 && row < rowCount)
        return cells + row * slots
    }

    /// The bytes of a text or blob cell; empty for every other kind.
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

    /// Where the bytes of a text or blob cell are, and how many may be read there: its own and those of others behind them.
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

    /// What an encoded cell refers to, and how many bytes may be read from the places of its serial types and its values: their
    /// own and those of others behind them.
    ///
    /// - Precondition: it is one.
    @inlinable
    package func encoded(
        _ cell: Cell
    ) -> (types: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, readable: (types: Int, body: Int)) {
        let (header, body) = (cell.encodedHeader, cell.encodedBody)
        let (typesCount, bodyCount) = (cell.encodedHeaderLength, Int(cell.length))
        guard cell.kind == .encoded, let pages, header + typesCount <= pagesCount, body + bodyCount <= pagesCount else {
            preconditionFailure("a cell has values that are gone")
        }
        return (
            UnsafeRawBufferPointer(start: pages + header, count: typesCount),
            UnsafeRawBufferPointer(start: pages + body, count: bodyCount), (pagesCount - header, pagesCount - body)
        )
    }

    /// Copies bytes into the arena and sets the cell to them.
    ///
    /// - Precondition: `kind` is text or blob, and there are fewer than 4 GiB.
    @inlinable
    public mutating func setBytes(_ bytes: UnsafeRawBufferPointer, kind: CellKind, row: Int, slot: Int) {
        self[row, slot] = store(bytes, kind: kind)
    }

    /// Copies bytes into the arena and returns a cell for them.
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

    /// Whether any cell was of kind `huge` since the batch was cleared.
    package var hasHugeValues: Bool { holdsHugeValues }

    /// What a cell of kind `huge` refers to.
    package func huge(_ cell: Cell) -> HugeValue {
        precondition(cell.kind == .huge)
        return hugeValues[Int(cell.bits)]
    }

    /// Notes a huge value and returns a cell for it.
    ///
    /// - Precondition: it has fewer than 4 GiB.
    package mutating func store(_ value: HugeValue) -> Cell {
        precondition(value.count <= Int(UInt32.max))
        hugeValues.append(value)
        holdsHugeValues = true
        return Cell(bits: UInt64(hugeValues.count - 1), length: UInt32(value.count), kind: .huge)
    }

    /// Makes room for `count` bytes at the arena's end and returns it, uninitialised; the caller fills it at once.
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

    /// Copies a cell of another batch into this one, its bytes included.
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

    /// Remembers the one batch that lends its bytes.
    @inlinable
    mutating func lend(from source: borrowing RowBatch) {
        if lender != UnsafeRawPointer(source.arena) || lenderCount != source.byteCount {
            precondition(lender == nil)
            lender = UnsafeRawPointer(source.arena)
            lenderCount = source.byteCount
        }
    }

    /// Remembers the pages that some cells' bytes stay in.
    ///
    /// - Precondition: since it was cleared, the batch was lent no others.
    @inlinable
    package mutating func lend(pages: UnsafeRawPointer, count: Int) {
        precondition(self.pages == nil || self.pages == pages)
        self.pages = pages
        pagesCount = count
    }

    /// The pages that the batch is being filled from, where its cells may borrow from them.
    @inlinable package var lentPages: UnsafeRawPointer? { mayBorrowPages ? pages : nil }

    /// The bits of a text or blob of another batch in this one, which remembers where the bytes are.
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

    /// Takes a cell of another batch over, its bytes not: they stay in the other batch's arena, which has to be as it is
    /// until this batch is cleared.
    ///
    /// - Precondition: since it was cleared, the batch has borrowed from this other batch only.
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
