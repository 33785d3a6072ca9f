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
    /// Rows in the batch.
    public private(set) var count = 0
    /// Bytes in the arena.
    public private(set) var arenaCount = 0

    private var arenaCapacity: Int
    private var arena: UnsafeMutableRawPointer
    private let cells: UnsafeMutablePointer<Cell>
    private let keys: UnsafeMutablePointer<Int64>
    /// What cells of kind `huge` refer to.
    private var hugeValues: [HugeValue] = []

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
    public var isFull: Bool { count == rowCapacity || arenaCount >= byteTarget }
    public var isEmpty: Bool { count == 0 }

    /// Forgets the rows, keeps the storage. An arena that one huge row blew up is given back.
    public mutating func removeAll() {
        count = 0
        arenaCount = 0
        if !hugeValues.isEmpty { hugeValues.removeAll() }
        if arenaCapacity > byteTarget * 2 {
            arena.deallocate()
            arenaCapacity = byteTarget
            arena = .allocate(byteCount: arenaCapacity, alignment: 16)
        }
    }

    /// Adds a row of nulls and returns its index.
    ///
    /// - Precondition: `count < rowCapacity`.
    public mutating func appendRow(key: Int64) -> Int {
        precondition(count < rowCapacity)
        let row = count
        keys[row] = key
        (cells + row * slots).initialize(repeating: .null, count: slots)
        count += 1
        return row
    }

    /// Takes the last row back. Its bytes stay in the arena until the batch is cleared.
    public mutating func removeLastRow() {
        precondition(count > 0)
        count -= 1
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
        count = kept
    }

    public func key(_ row: Int) -> Int64 {
        precondition(row >= 0 && row < count)
        return keys[row]
    }

    public mutating func setKey(_ key: Int64, row: Int) {
        precondition(row >= 0 && row < count)
        keys[row] = key
    }

    /// The cell of a row and slot.
    public subscript(row: Int, slot: Int) -> Cell {
        get {
            precondition(row >= 0 && row < count && slot >= 0 && slot < slots)
            return cells[row * slots + slot]
        }
        set {
            precondition(row >= 0 && row < count && slot >= 0 && slot < slots)
            cells[row * slots + slot] = newValue
        }
    }

    /// The bytes of a text or blob cell; empty for every other kind.
    public func bytes(_ cell: Cell) -> UnsafeRawBufferPointer {
        guard cell.hasBytes, cell.length > 0 else { return UnsafeRawBufferPointer(start: arena, count: 0) }
        let offset = Int(cell.bits)
        precondition(offset >= 0 && offset + Int(cell.length) <= arenaCount)
        return UnsafeRawBufferPointer(start: arena + offset, count: Int(cell.length))
    }

    /// Copies bytes into the arena and sets the cell to them.
    ///
    /// - Precondition: `kind` is text or blob, and there are fewer than 4 GiB.
    public mutating func setBytes(_ bytes: UnsafeRawBufferPointer, kind: CellKind, row: Int, slot: Int) {
        self[row, slot] = store(bytes, kind: kind)
    }

    /// Copies bytes into the arena and returns a cell for them.
    public mutating func store(_ bytes: UnsafeRawBufferPointer, kind: CellKind) -> Cell {
        precondition(kind == .text || kind == .blob)
        precondition(bytes.count <= Int(UInt32.max))
        let offset = arenaCount
        let space = reserve(bytes.count)
        if let base = bytes.baseAddress, bytes.count > 0 { space.copyMemory(from: base, byteCount: bytes.count) }
        return Cell(bits: UInt64(offset), length: UInt32(bytes.count), kind: kind)
    }

    /// Whether any cell was of kind `huge` since the batch was cleared.
    package var hasHugeValues: Bool { !hugeValues.isEmpty }

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
        return Cell(bits: UInt64(hugeValues.count - 1), length: UInt32(value.count), kind: .huge)
    }

    /// Makes room for `count` bytes at the arena's end and returns it, uninitialised; the caller fills it at once.
    public mutating func reserve(_ count: Int) -> UnsafeMutableRawPointer {
        precondition(count >= 0)
        let needed = arenaCount + count
        if needed > arenaCapacity { grow(to: needed) }
        let space = arena + arenaCount
        arenaCount = needed
        return space
    }

    private mutating func grow(to needed: Int) {
        var capacity = arenaCapacity
        while capacity < needed { capacity = capacity < (1 << 20) ? capacity * 2 : capacity + capacity / 4 }
        capacity = max(capacity, needed)
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
        larger.copyMemory(from: arena, byteCount: arenaCount)
        arena.deallocate()
        arena = larger
        arenaCapacity = capacity
    }

    /// Copies a cell of another batch into this one, its bytes included.
    public mutating func copy(_ cell: Cell, from source: borrowing RowBatch, row: Int, slot: Int) {
        if cell.hasBytes {
            self[row, slot] = store(source.bytes(cell), kind: cell.kind)
        } else if cell.kind == .huge {
            self[row, slot] = store(source.huge(cell))
        } else {
            self[row, slot] = cell
        }
    }
}
