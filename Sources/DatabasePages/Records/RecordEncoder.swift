import Diagnostics
import Rows

/// Encodes a row's cells as SQLite's record: serial types first, then the values, converted by the columns' affinities.
///
/// The serial types of numbers follow SQLite: a real without fraction in a number column is stored as an integer, 0 and 1 take
/// no bytes, NaN is NULL, -0.0 is 0.
///
/// Memory: 25 bytes a column, and a page.
final class RecordEncoder {
    let affinities: UnsafeMutablePointer<ColumnAffinity>
    let count: Int
    /// True if the record begins with the row's own key, which is NULL there.
    let isKeyed: Bool
    // Only one thread encodes. Checks of exclusive access would cost as much as the encoding.
    private let serials: UnsafeMutablePointer<UInt64>
    /// For each column: the bits of a number.
    private let bits: UnsafeMutablePointer<UInt64>
    /// For each column: the bytes of a text or blob.
    private let pointers: UnsafeMutablePointer<UnsafeRawPointer?>
    private var conversion: AffinityConversion?
    /// The row's huge values, with their slots.
    @exclusivity(unchecked) private var huge: [(slot: Int, value: HugeValue)] = []
    /// Bytes that a conversion made, kept until the record is written.
    @exclusivity(unchecked) private var converted: [UnsafeMutableRawBufferPointer] = []
    @exclusivity(unchecked) private var headerSize = 0
    @exclusivity(unchecked) private var headerLengthSize = 1
    /// The size of the record in bytes.
    @exclusivity(unchecked) private(set) var size = 0
    /// The memory that ``encodeLocal(_:row:)`` encodes to: room for serial types, then the values.
    let local: UnsafeMutableRawPointer
    /// The forms of integers, by ``formIndex(of:)``.
    let numberForms: UnsafeMutablePointer<IntegerForm>
    /// The size in bytes of the header that ``encodeLocal(_:row:)`` made.
    @exclusivity(unchecked) private(set) var localHeader = 0

    func setLocal(header: Int, body: Int) {
        localHeader = header
        size = header + body
    }

    /// Makes an encoder for a table.
    ///
    /// - Parameters:
    ///   - isKeyed: true if a key column that is the row's id comes before them.
    init(affinities: [ColumnAffinity], isKeyed: Bool) {
        count = affinities.count
        self.affinities = .allocate(capacity: max(1, count))
        self.affinities.initialize(from: affinities, count: count)
        self.isKeyed = isKeyed
        serials = .allocate(capacity: max(1, affinities.count))
        bits = .allocate(capacity: max(1, affinities.count))
        pointers = .allocate(capacity: max(1, affinities.count))
        local = .allocate(byteCount: Self.localTypes + Self.localBytes + Self.localSlack + 16, alignment: 16)
        numberForms = IntegerForm.allForms()
    }

    deinit {
        dropConverted()
        affinities.deallocate()
        serials.deallocate()
        bits.deallocate()
        pointers.deallocate()
        local.deallocate()
        numberForms.deallocate()
    }

    private func dropConverted() {
        for buffer in converted { buffer.deallocate() }
        converted.removeAll(keepingCapacity: true)
    }

    /// Prepares a row for writing and sets ``size``. The row's bytes must stay valid until the record is written.
    func prepare(_ batch: borrowing RowBatch, row: Int) throws(MigrationError) {
        if !converted.isEmpty { dropConverted() }
        if !huge.isEmpty { huge.removeAll() }
        var header = isKeyed ? 1 : 0
        var body = 0
        precondition(batch.slots >= count)
        let cells = batch.cells(ofRow: row)
        for slot in 0..<count {
            if cells[slot].kind == .rawRecord { EncodedValues.decode(cells + slot, of: batch) }
            body += try place(cells[slot], of: batch, slot)
            header += Varint.length(serials[slot])
        }
        setSize(header: header, body: body)
    }

    /// The serial type of an integer, and its size in bytes.
    @inline(__always)
    static func form(of value: Int64) -> (serial: UInt64, width: Int) {
        let magnitude = UInt64(bitPattern: value ^ (value &>> 63))
        if magnitude <= 1, value >= 0 { return (8 &+ magnitude, 0) }
        // The bytes that hold the value's bits and its sign. SQLite uses six instead of five bytes, and eight instead of seven.
        let bytes = (72 &- magnitude.leadingZeroBitCount) &>> 3
        let wide = bytes > 4
        let isEight = bytes > 6
        return (
            wide ? (isEight ? 6 : 5) : UInt64(truncatingIfNeeded: bytes), wide ? (isEight ? 8 : 6) : bytes
        )
    }

    /// The index of an integer's form in ``IntegerForm/allForms()``.
    @inline(__always)
    static func formIndex(of value: Int64) -> Int {
        let sign = value &>> 63
        // Shifted, so that the word is never zero; it has one bit more than the magnitude.
        let magnitude = UInt64(bitPattern: value ^ sign) &<< 1 | 1
        return (63 &- magnitude.leadingZeroBitCount) &<< 1 &- Int(truncatingIfNeeded: sign)
    }

    /// Prepares an index's entry: some of a row's cells, and the row's id behind them. The encoder's columns are those of the
    /// index.
    ///
    /// - Parameter slots: the batch's slots of all columns but the last.
    func prepareEntry(
        _ batch: borrowing RowBatch, row: Int, slots: UnsafePointer<Int>, id: Int64
    ) throws(MigrationError) {
        if !converted.isEmpty { dropConverted() }
        let cells = batch.cells(ofRow: row)
        var (header, body) = (0, 0)
        for column in 0..<count - 1 {
            precondition(slots[column] < batch.slots)
            body += try place(cells[slots[column]], of: batch, column)
            header += Varint.length(serials[column])
        }
        body += try place(integer: id, .integer, count - 1)
        setSize(header: header + 1, body: body)
    }

    private func setSize(header: Int, body: Int) {
        if header <= 126 {
            headerLengthSize = 1
        } else {
            headerLengthSize = Varint.length(UInt64(header))
            if headerLengthSize < Varint.length(UInt64(header + headerLengthSize)) { headerLengthSize += 1 }
        }
        headerSize = header + headerLengthSize
        size = headerSize + body
    }

    // MARK: - Serial types

    /// Sets a column's serial type, and the source of its bytes. Returns the number of these bytes.
    @inline(__always)
    private func place(_ cell: Cell, of batch: borrowing RowBatch, _ slot: Int) throws(MigrationError) -> Int {
        switch cell.kind {
        case .null:
            serials[slot] = 0
            return 0
        case .integer, .reference: return try place(integer: cell.integerValue, affinities[slot], slot)
        case .real: return try place(real: cell.realValue, affinities[slot], slot)
        case .text: return try place(text: batch.bytes(cell), affinities[slot], slot)
        case .blob:
            let bytes = batch.bytes(cell)
            pointers[slot] = bytes.baseAddress
            serials[slot] = UInt64(bytes.count) * 2 + 12
            return bytes.count
        case .huge: return try place(huge: batch.huge(cell), slot)
        case .absent, .rawRecord: preconditionFailure("an absent cell reached the page writer")
        }
    }

    @inline(__always)
    private func place(integer value: Int64, _ affinity: ColumnAffinity, _ slot: Int) throws(MigrationError) -> Int {
        if affinity == .text {
            return try place(try converter().convert(integer: value, affinity), affinity, slot)
        }
        let (serial, width) = Self.form(of: value)
        bits[slot] = UInt64(bitPattern: value)
        serials[slot] = serial
        if width == 8, affinity == .real {
            bits[slot] = Double(value).bitPattern
            serials[slot] = 7
        }
        return width
    }

    @inline(__always)
    private func place(real value: Double, _ affinity: ColumnAffinity, _ slot: Int) throws(MigrationError) -> Int {
        if value.isNaN {
            serials[slot] = 0
            return 0
        }
        switch affinity {
        case .text: return try place(try converter().convert(real: value, affinity), affinity, slot)
        case .numeric, .integer, .real:
            if value > -0x1p63, value < 0x1p63 {
                let whole = Int64(value)
                if Double(whole) == value { return try place(integer: whole, affinity, slot) }
            }
        case .blob: break
        }
        bits[slot] = value.bitPattern
        serials[slot] = 7
        return 8
    }

    private func place(
        text bytes: UnsafeRawBufferPointer, _ affinity: ColumnAffinity, _ slot: Int
    ) throws(MigrationError) -> Int {
        if affinity.isNumber, Self.mayBeNumber(bytes) {
            return try place(try converter().convert(text: bytes, affinity), affinity, slot)
        }
        pointers[slot] = bytes.baseAddress
        serials[slot] = UInt64(bytes.count) * 2 + 13
        return bytes.count
    }

    private func place(huge value: HugeValue, _ slot: Int) throws(MigrationError) -> Int {
        if value.isText, affinities[slot].isNumber {
            throw value.source.refusal(value, for: "its column, which takes numbers,")
        }
        huge.append((slot, value))
        pointers[slot] = nil
        serials[slot] = UInt64(value.count) * 2 + (value.isText ? 13 : 12)
        return value.count
    }

    /// Places the result of a conversion, which is not converted again.
    private func place(
        _ value: AffinityConversion.Value, _ affinity: ColumnAffinity, _ slot: Int
    ) throws(MigrationError) -> Int {
        switch value {
        case .integer(let number): return try place(integer: number, affinity == .text ? .blob : affinity, slot)
        case .real(let number): return try place(real: number, affinity == .text ? .blob : affinity, slot)
        case .text(let bytes), .blob(let bytes):
            let kept = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
            kept.copyBytes(from: bytes)
            converted.append(kept)
            pointers[slot] = UnsafeRawPointer(kept.baseAddress)
            let isText = if case .text = value { true } else { false }
            serials[slot] = UInt64(bytes.count) * 2 + (isText ? 13 : 12)
            return bytes.count
        case .null:
            serials[slot] = 0
            return 0
        }
    }

    private func converter() throws(MigrationError) -> AffinityConversion {
        if let conversion { return conversion }
        let made = try AffinityConversion()
        conversion = made
        return made
    }

    /// Tells whether SQLite might read a text as a number: its first byte that is no white space can begin a number.
    private static func mayBeNumber(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for byte in bytes {
            switch byte {
            case 0x09...0x0D, 0x20: continue
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                return true
            default: return false
            }
        }
        return false
    }

    // MARK: - Writing

    /// Writes the record to memory with room for ``size`` bytes.
    func write(to place: UnsafeMutableRawPointer) {
        let end = place + size
        var place = place + writeHeader(to: place)
        let (serials, bits, pointers, count) = (serials, bits, pointers, count)
        for slot in 0..<count {
            let serial = serials[slot]
            if serial >= 12 {
                let count = Int(truncatingIfNeeded: (serial - 12) >> 1)
                if count > 0, let bytes = pointers[slot] { place.copyMemory(from: bytes, byteCount: count) }
                place += count
            } else {
                let width = RecordForm.size(ofNumber: serial)
                if width == 0 { continue }
                if end - place >= 8 {
                    // Eight bytes at once: the bytes behind this value are written later.
                    let word = bits[slot] &<< UInt64(truncatingIfNeeded: 64 &- 8 &* width)
                    place.storeBytes(of: word.bigEndian, as: UInt64.self)
                    place += width
                } else {
                    place += writeNumber(slot, to: place)
                }
            }
        }
    }

    /// Writes the record in parts.
    func write(through writer: inout PayloadWriter) throws(MigrationError) {
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: max(16, headerSize), alignment: 8)
        defer { scratch.deallocate() }
        guard let start = scratch.baseAddress else { return }
        _ = writeHeader(to: start)
        try writer.write(UnsafeRawBufferPointer(start: start, count: headerSize))
        for slot in 0..<count {
            let serial = serials[slot]
            if !huge.isEmpty, let value = huge.first(where: { $0.slot == slot })?.value {
                try value.source.read(value) { part throws(MigrationError) in try writer.write(part) }
            } else if serial >= 12 {
                try writer.write(UnsafeRawBufferPointer(start: pointers[slot], count: Int((serial - 12) >> 1)))
            } else {
                let count = writeNumber(slot, to: start)
                try writer.write(UnsafeRawBufferPointer(start: start, count: count))
            }
        }
    }

    @inline(__always)
    private func writeHeader(to start: UnsafeMutableRawPointer) -> Int {
        var place = start
        // The size counts the bytes of the size itself, see `setSize`.
        place += Varint.write(UInt64(headerSize), to: place)
        if isKeyed {
            place.storeBytes(of: 0, as: UInt8.self)
            place += 1
        }
        let (serials, count) = (serials, count)
        for slot in 0..<count {
            let serial = serials[slot]
            if serial < 0x80 {
                place.storeBytes(of: UInt8(truncatingIfNeeded: serial), as: UInt8.self)
                place += 1
            } else {
                place += Varint.write(serial, to: place)
            }
        }
        return place - start
    }

    @inline(__always)
    private func writeNumber(_ slot: Int, to place: UnsafeMutableRawPointer) -> Int {
        let width = RecordForm.size(ofNumber: serials[slot])
        for byte in 0..<width {
            let shift = UInt64(8 * (width - 1 - byte))
            place.storeBytes(of: UInt8(truncatingIfNeeded: bits[slot] >> shift), toByteOffset: byte, as: UInt8.self)
        }
        return width
    }
}
