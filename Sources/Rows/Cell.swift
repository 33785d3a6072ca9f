/// The content of a cell: one of SQLite's storage classes, or one of four kinds of the engine's own.
@frozen
public enum CellKind: UInt8, Sendable {
    case null = 0
    /// `bits` is the Int64's bit pattern.
    case integer = 1
    /// `bits` is the Double's bit pattern.
    case real = 2
    /// UTF-8 bytes: `bits` is their offset in the batch's arena, `length` their count.
    case text = 3
    /// Bytes: `bits` is their offset in the batch's arena, `length` their count.
    case blob = 4
    /// A reference to an object: `bits` is its key (Z_PK), `length` its entity's number (Z_ENT).
    case reference = 5
    /// In a patch: this slot is left as it is.
    case absent = 6
    /// A text or blob too large for a batch: `bits` is its index among the batch's huge values, `length` its size in bytes.
    case huge = 7
    /// The values of this slot and of some slots behind it, encoded as in a record, in lent pages. The cells of the other slots
    /// are meaningless. Only code that copies rows from page to page asks for such cells.
    case rawRecord = 8
}

/// One value of a row: 16 bytes; the bytes of a text or blob are in the arena of its batch.
@frozen
public struct Cell: Sendable, Equatable {
    public var bits: UInt64
    public var length: UInt32
    public var kind: CellKind

    /// A flag in the bits of a text or blob: the offset is one in another batch's arena.
    @inlinable static var borrowed: UInt64 { 1 << 63 }
    /// A flag in the bits of a text or blob: the offset is one in the pages of a reader.
    @inlinable static var lent: UInt64 { 1 << 62 }

    /// Makes a cell for a text or blob whose bytes stay in a reader's pages.
    @inlinable
    package static func lent(offset: Int, length: Int, kind: CellKind) -> Cell {
        Cell(bits: UInt64(truncatingIfNeeded: offset) | lent, length: UInt32(truncatingIfNeeded: length), kind: kind)
    }

    @inlinable
    public init(bits: UInt64, length: UInt32, kind: CellKind) {
        self.bits = bits
        self.length = length
        self.kind = kind
    }

    @inlinable public static var null: Cell { Cell(bits: 0, length: 0, kind: .null) }
    @inlinable public static var absent: Cell { Cell(bits: 0, length: 0, kind: .absent) }
    @inlinable
    public static func integer(_ value: Int64) -> Cell {
        Cell(bits: UInt64(bitPattern: value), length: 0, kind: .integer)
    }
    @inlinable
    public static func real(_ value: Double) -> Cell { Cell(bits: value.bitPattern, length: 0, kind: .real) }
    @inlinable
    public static func reference(key: Int64, entity: UInt32) -> Cell {
        Cell(bits: UInt64(bitPattern: key), length: entity, kind: .reference)
    }

    /// Makes a cell for the values of neighbouring slots in lent pages.
    ///
    /// - Parameters:
    ///   - header, headerLength: the offset and the size in bytes of their serial types.
    ///   - body, bodyLength: the offset and the size in bytes of their values.
    ///   - slots: the number of slots.
    /// - Precondition: the offsets are below 1 MiB, and the serial types take less than 1 KiB.
    @inlinable
    package static func rawRecord(
        header: Int, headerLength: Int, body: Int, bodyLength: Int, slots: Int
    ) -> Cell {
        let offsets = UInt64(truncatingIfNeeded: body) | UInt64(truncatingIfNeeded: header) &<< 20
        let counts = UInt64(truncatingIfNeeded: headerLength) &<< 40 | UInt64(truncatingIfNeeded: slots) &<< 50
        return Cell(bits: offsets | counts | lent, length: UInt32(truncatingIfNeeded: bodyLength), kind: .rawRecord)
    }

    /// The most slots of an encoded cell.
    @inlinable package static var mostEncoded: Int { 255 }
    /// The number of slots whose values an encoded cell has.
    @inlinable package var rawRecordSlots: Int { Int(truncatingIfNeeded: bits &>> 50 & 0xFF) }
    @inlinable var encodedHeader: Int { Int(truncatingIfNeeded: bits &>> 20 & 0xFFFFF) }
    @inlinable var encodedHeaderLength: Int { Int(truncatingIfNeeded: bits &>> 40 & 0x3FF) }
    @inlinable package var encodedBody: Int { Int(truncatingIfNeeded: bits & 0xFFFFF) }

    @inlinable public var isNull: Bool { kind == .null }
    /// The value of an `integer` cell, or the key of a `reference`.
    @inlinable public var integerValue: Int64 { Int64(bitPattern: bits) }
    /// The value of a `real` cell.
    @inlinable public var realValue: Double { Double(bitPattern: bits) }
    /// True if the cell is a text or a blob.
    @inlinable public var hasBytes: Bool { kind == .text || kind == .blob }
}
