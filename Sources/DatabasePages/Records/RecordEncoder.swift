import Diagnostics
import Rows

/// Turns a row's cells into SQLite's record: serial types first, then the values, after the columns' affinities.
///
/// Which number becomes which serial type follows SQLite: a real without fraction in a number column is kept as an integer,
/// 0 and 1 take no bytes, NaN is NULL, -0.0 is 0.
///
/// Memory: 25 bytes a column, and a page.
final class RecordEncoder {
    private let affinities: UnsafeMutablePointer<ColumnAffinity>
    private let count: Int
    /// Whether the record begins with the row's own key, which is NULL there.
    private let isKeyed: Bool
    // One thread encodes: checks of exclusive access cost as much as the encoding.
    private let serials: UnsafeMutablePointer<UInt64>
    /// A number's bits.
    private let bits: UnsafeMutablePointer<UInt64>
    /// A text's or blob's bytes.
    private let pointers: UnsafeMutablePointer<UnsafeRawPointer?>
    private var conversion: AffinityConversion?
    /// The row's huge values, by slot.
    @exclusivity(unchecked) private var huge: [(slot: Int, value: HugeValue)] = []
    /// Bytes that a conversion made, until the record is written.
    @exclusivity(unchecked) private var converted: [UnsafeMutableRawBufferPointer] = []
    @exclusivity(unchecked) private var headerSize = 0
    @exclusivity(unchecked) private var headerLengthSize = 1
    /// Bytes of the record.
    @exclusivity(unchecked) private(set) var size = 0
    /// Where ``encodeLocal(_:row:)`` encodes to: serial types, and behind their room the values.
    let local: UnsafeMutableRawPointer
    /// By ``formIndex(of:)``.
    let numberForms: UnsafeMutablePointer<IntegerForm>
    /// Bytes of the header that it made.
    @exclusivity(unchecked) private(set) var localHeader = 0

    var columnAffinities: UnsafeMutablePointer<ColumnAffinity> { affinities }
    var columnCount: Int { count }
    var hasKey: Bool { isKeyed }

    func setLocal(header: Int, body: Int) {
        localHeader = header
        size = header + body
    }

    /// - Parameters:
    ///   - affinities: of the columns that have a slot.
    ///   - isKeyed: whether a key column that is the row's id stands before them.
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

    /// Looks at a row: ``size`` is its record's. The row's bytes must stay where they are until the record is written.
    func prepare(_ batch: borrowing RowBatch, row: Int) throws(MigrationError) {
        if !converted.isEmpty { dropConverted() }
        if !huge.isEmpty { huge.removeAll() }
        var header = isKeyed ? 1 : 0
        var body = 0
        precondition(batch.slots >= count)
        let cells = batch.cells(ofRow: row)
        for slot in 0..<count {
            if cells[slot].kind == .encoded { EncodedValues.decode(cells + slot, of: batch) }
            body += try place(cells[slot], of: batch, slot)
            header += Varint.length(serials[slot])
        }
        setSize(header: header, body: body)
    }

    /// The serial type of an integer, and its bytes.
    @inline(__always)
    static func form(of value: Int64) -> (serial: UInt64, width: Int) {
        let magnitude = UInt64(bitPattern: value ^ (value &>> 63))
        if magnitude <= 1, value >= 0 { return (8 &+ magnitude, 0) }
        // Bytes that hold the value's bits and its sign's; of five SQLite makes six, and of seven eight.
        let bytes = (72 &- magnitude.leadingZeroBitCount) &>> 3
        let wide = bytes > 4
        let isEight = bytes > 6
        return (
            wide ? (isEight ? 6 : 5) : UInt64(truncatingIfNeeded: bytes), wide ? (isEight ? 8 : 6) : bytes
        )
    }

    /// Which of ``IntegerForm/allForms()`` is an integer's.
    @inline(__always)
    static func formIndex(of value: Int64) -> Int {
        let sign = value &>> 63
        // Never zero: its bits and one more.
        let magnitude = UInt64(bitPattern: value ^ sign) &<< 1 | 1
        return (63 &- magnitude.leadingZeroBitCount) &<< 1 &- Int(truncatingIfNeeded: sign)
    }

    /// Looks at some of a row's cells, and a number behind them: an index's entry. The encoder's columns are those of the
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

    /// Sets a column's serial type, and what its bytes are made of, and returns their count.
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
        case .absent, .encoded: preconditionFailure("an absent cell reached the page writer")
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

    /// What a conversion gave: it is not converted again.
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

    /// Whether a text could be one that SQLite reads as a number: its first byte that is not white is one of a number.
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

    /// Writes the record to a place with room for ``size`` bytes.
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
                    // Eight bytes at once: what follows is still to be written.
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
        // A header length of 127 and more may take a byte more than its value needs: then it is padded, as SQLite does not.
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
        let value = bits[slot]
        switch serials[slot] {
        case 1:
            place.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
            return 1
        case 2:
            place.storeBytes(of: UInt16(truncatingIfNeeded: value).bigEndian, as: UInt16.self)
            return 2
        case 3:
            place.storeBytes(of: UInt8(truncatingIfNeeded: value >> 16), as: UInt8.self)
            place.storeBytes(of: UInt16(truncatingIfNeeded: value).bigEndian, toByteOffset: 1, as: UInt16.self)
            return 3
        case 4:
            place.storeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian, as: UInt32.self)
            return 4
        case 5:
            place.storeBytes(of: UInt16(truncatingIfNeeded: value >> 32).bigEndian, as: UInt16.self)
            place.storeBytes(of: UInt32(truncatingIfNeeded: value).bigEndian, toByteOffset: 2, as: UInt32.self)
            return 6
        case 6, 7:
            place.storeBytes(of: value.bigEndian, as: UInt64.self)
            return 8
        default: return 0
        }
    }
}
