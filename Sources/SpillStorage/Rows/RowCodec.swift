import Diagnostics
import Rows

/// Encodes rows and patches as bytes: the content of a block of rows.
///
///     row     length UInt32 of the rest, key Int64, flags UInt8 (1: the row is deleted, no cells), cells
///     cell    kind UInt8 (``CellKind``), then
///             null, absent  nothing
///             integer       zigzag varint
///             real          8 bytes
///             text, blob    varint length, the bytes
///             reference     varint entity, zigzag varint key
///             huge          varint number of the source's column (``HugeReferences``), zigzag varint key, varint length,
///                           UInt8 (1: a text)
///
/// Numbers are little-endian; varints have 7 bits a byte, low bits first, the top bit set if another byte follows.
enum RowCodec {
    static let headerBytes = 13
    static let deleted: UInt8 = 1

    struct Slice {
        var cells: UnsafeRawBufferPointer
        var isDeleted: Bool
    }

    /// Appends a row's bytes to a buffer.
    ///
    /// - Throws: `spill.rowTooLarge` (65) if no block can hold the row (2 GB).
    static func append(
        key: Int64, row: Int, of batch: borrowing RowBatch, slots: Int, to target: RawBuffer, _ huge: HugeReferences
    ) throws(MigrationError) {
        precondition(slots <= batch.slots)
        let cells = batch.cells(ofRow: row)
        var most = headerBytes
        for slot in 0..<slots {
            let cell = cells[slot]
            most += cell.hasBytes ? Int(cell.length) + 6 : cell.kind == .huge ? 32 : 16
        }
        guard most <= BlockFile.largestBlock - 1024 else {
            throw MigrationError(
                "spill.rowTooLarge", .data, "a row of \(most) bytes is too large to spill",
                remedy: "Rows of up to \(BlockFile.largestBlock - 1024) bytes can be spilled",
                context: MigrationError.Context(objectID: "p\(key)"))
        }
        target.ensure(target.count + most)
        let start = target.start + target.count
        var place = begin(start, key: key, flags: 0)
        for slot in 0..<slots {
            let cell = cells[slot]
            place.storeBytes(of: cell.kind.rawValue, as: UInt8.self)
            place += 1
            switch cell.kind {
            case .null, .absent, .rawRecord: break
            case .integer: put(zigzag(cell.bits), at: &place)
            case .real:
                place.storeBytes(of: cell.bits.littleEndian, as: UInt64.self)
                place += 8
            case .text, .blob:
                put(UInt64(cell.length), at: &place)
                let bytes = batch.bytes(cell)
                if let from = bytes.baseAddress { place.copyMemory(from: from, byteCount: bytes.count) }
                place += bytes.count
            case .reference:
                put(UInt64(cell.length), at: &place)
                put(zigzag(cell.bits), at: &place)
            case .huge:
                let value = batch.huge(cell)
                put(UInt64(huge.number(of: value.source)), at: &place)
                put(zigzag(UInt64(bitPattern: value.key)), at: &place)
                put(UInt64(value.count), at: &place)
                place.storeBytes(of: value.isText ? 1 : 0, as: UInt8.self)
                place += 1
            }
        }
        start.storeBytes(of: UInt32(truncatingIfNeeded: place - start - 4).littleEndian, as: UInt32.self)
        target.count += place - start
    }

    static func appendDeletion(key: Int64, to target: RawBuffer) {
        target.ensure(target.count + headerBytes)
        let start = target.start + target.count
        _ = begin(start, key: key, flags: deleted)
        start.storeBytes(of: UInt32(headerBytes - 4).littleEndian, as: UInt32.self)
        target.count += headerBytes
    }

    /// Decodes the row at an offset. Returns its key, its cells and the offset of the next row; nil if the bytes are no row.
    static func row(
        in bytes: UnsafeRawBufferPointer, at offset: Int
    ) -> (key: Int64, slice: Slice, next: Int)? {
        guard let (key, end) = header(in: bytes, at: offset) else { return nil }
        let flags = bytes[offset + 12]
        guard flags <= deleted else { return nil }
        let cells = UnsafeRawBufferPointer(rebasing: bytes[(offset + headerBytes)..<end])
        return (key, Slice(cells: cells, isDeleted: flags == deleted), end)
    }

    /// Decodes the key of the row at an offset. Returns it with the offset of the next row; nil if the row does not fit the
    /// bytes.
    @inline(__always)
    static func header(in bytes: UnsafeRawBufferPointer, at offset: Int) -> (key: Int64, next: Int)? {
        guard bytes.count - offset >= headerBytes else { return nil }
        let length = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        guard length >= headerBytes - 4, length <= bytes.count - offset - 4 else { return nil }
        let key = Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: Int64.self))
        return (key, offset + 4 + length)
    }

    /// Sets those cells of a row in a batch that are still absent.
    ///
    /// - Returns: true if the bytes were the cells of a row with that number of slots.
    static func fill(
        _ slice: Slice, slots: Int, into batch: inout RowBatch, row: Int, _ huge: HugeReferences
    ) -> Bool {
        precondition(slots <= batch.slots)
        let cells = slice.cells
        let targets = batch.cells(ofRow: row)
        var offset = 0
        for slot in 0..<slots {
            guard offset < cells.count, let kind = CellKind(rawValue: cells[offset]) else { return false }
            offset += 1
            let isOpen = targets[slot].kind == .absent
            switch kind {
            case .null: if isOpen { targets[slot] = .null }
            case .absent, .rawRecord: break
            case .huge:
                guard let number = varint(cells, &offset), let source = huge.source(number),
                    let key = varint(cells, &offset), let count = varint(cells, &offset),
                    count <= UInt64(UInt32.max), offset < cells.count
                else { return false }
                let value = HugeValue(
                    source: source, key: Int64(bitPattern: unzigzag(key)), count: Int(count),
                    isText: cells[offset] == 1)
                offset += 1
                if isOpen { targets[slot] = batch.store(value) }
            case .integer:
                guard let number = varint(cells, &offset) else { return false }
                if isOpen { targets[slot] = Cell(bits: unzigzag(number), length: 0, kind: .integer) }
            case .real:
                guard cells.count - offset >= 8 else { return false }
                let bits = UInt64(littleEndian: cells.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                if isOpen { targets[slot] = Cell(bits: bits, length: 0, kind: .real) }
                offset += 8
            case .text, .blob:
                guard let length = varint(cells, &offset), length <= UInt64(cells.count - offset),
                    length <= UInt64(UInt32.max)
                else { return false }
                let end = offset + Int(length)
                if isOpen {
                    let bytes = UnsafeRawBufferPointer(rebasing: cells[offset..<end])
                    targets[slot] = batch.store(bytes, kind: kind)
                }
                offset = end
            case .reference:
                guard let entity = varint(cells, &offset), entity <= UInt64(UInt32.max),
                    let number = varint(cells, &offset)
                else { return false }
                if isOpen {
                    targets[slot] = Cell(
                        bits: unzigzag(number), length: UInt32(truncatingIfNeeded: entity), kind: .reference)
                }
            }
        }
        return offset == cells.count
    }

    private static func begin(_ start: UnsafeMutableRawPointer, key: Int64, flags: UInt8) -> UnsafeMutableRawPointer {
        start.storeBytes(of: key.littleEndian, toByteOffset: 4, as: Int64.self)
        start.storeBytes(of: flags, toByteOffset: 12, as: UInt8.self)
        return start + headerBytes
    }

    private static func zigzag(_ bits: UInt64) -> UInt64 {
        (bits << 1) ^ UInt64(bitPattern: Int64(bitPattern: bits) >> 63)
    }

    private static func unzigzag(_ number: UInt64) -> UInt64 { (number >> 1) ^ (0 &- (number & 1)) }

    @inline(__always)
    private static func put(_ number: UInt64, at place: inout UnsafeMutableRawPointer) {
        var rest = number
        while rest >= 0x80 {
            place.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, as: UInt8.self)
            place += 1
            rest >>= 7
        }
        place.storeBytes(of: UInt8(truncatingIfNeeded: rest), as: UInt8.self)
        place += 1
    }

    @inline(__always)
    private static func varint(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> UInt64? {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while offset < bytes.count, shift < 64 {
            let byte = bytes[offset]
            offset += 1
            number |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return number }
            shift += 7
        }
        return nil
    }
}
