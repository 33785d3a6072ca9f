import Rows

extension RecordEncoder {
    /// The room in bytes for the values of a record that is encoded at once: most of a leaf's page.
    static let localBytes = 3800
    /// The room in bytes for its serial types.
    static let localTypes = 240
    /// The slack behind the values, for the numbers of all columns: only texts and blobs check the room that is left.
    static let localSlack = localTypes / 3 * 8 + 64

    /// Encodes a row at once, if its record fits a leaf and no value needs a conversion. Then ``copyLocal(to:)`` writes the
    /// record, and ``size`` is its size. Otherwise use ``prepare(_:row:)``.
    ///
    /// - Returns: true if the row was encoded.
    func encodeLocal(_ batch: borrowing RowBatch, row: Int) -> Bool {
        precondition(batch.slots >= count)
        let cells = batch.cells(ofRow: row)
        let (affinities, count, forms) = (affinities, count, numberForms)
        let typesStart = local
        let bodyStart = local + Self.localTypes + 8
        let bodyEnd = bodyStart + Self.localBytes
        // The first byte is left for the header's length.
        var types = typesStart + 1
        if isKeyed {
            types.storeBytes(of: 0, as: UInt8.self)
            types += 1
        }
        guard 3 * count + 2 <= Self.localTypes else { return false }
        var body = bodyStart
        var slot = 0
        while slot < count {
            let cell = cells[slot]
            defer { slot &+= 1 }
            switch cell.kind {
            case .null:
                types.storeBytes(of: 0, as: UInt8.self)
                types += 1
            case .integer, .reference:
                guard affinities[slot] != .text else { return false }
                put(integer: cell.integerValue, affinities[slot], forms, &types, &body)
            case .real:
                guard affinities[slot] != .text else { return false }
                let real = cell.realValue
                if affinities[slot] != .blob, real > -0x1p63, real < 0x1p63, Double(Int64(real)) == real {
                    put(integer: Int64(real), affinities[slot], forms, &types, &body)
                } else if real.isNaN {
                    types.storeBytes(of: 0, as: UInt8.self)
                    types += 1
                } else {
                    put(real: real, &types, &body)
                }
            case .text, .blob:
                let length = Int(cell.length)
                guard cell.kind == .blob || !affinities[slot].isNumber, length < bodyEnd - body else { return false }
                put(serial: UInt64(truncatingIfNeeded: length &* 2 &+ (cell.kind == .text ? 13 : 12)), &types)
                if length > 0 {
                    let (start, readable) = batch.place(of: cell)
                    Self.copy(start, length, readable: readable, to: body, end: bodyEnd)
                }
                body += length
            case .rawRecord:
                guard put(rawRecord: cell, of: batch, &types, &body, end: bodyEnd) else { return false }
                slot &+= cell.rawRecordSlots &- 1
            case .huge, .absent: return false
            }
        }
        let header = types - typesStart
        guard header <= 127, body <= bodyEnd else { return false }
        typesStart.storeBytes(of: UInt8(truncatingIfNeeded: header), as: UInt8.self)
        setLocal(header: header, body: body - bodyStart)
        return true
    }

    /// Copies bytes: short ones without a function call, where as many may be read and written as that takes.
    @inline(__always)
    private static func copy(
        _ bytes: UnsafeRawPointer, _ count: Int, readable: Int, to place: UnsafeMutableRawPointer,
        end: UnsafeMutableRawPointer
    ) {
        if count <= 64, readable >= 64, end - place >= 64 {
            copyShort(bytes, count, to: place)
        } else {
            place.copyMemory(from: bytes, byteCount: count)
        }
    }

    /// Copies up to 64 bytes without a function call. All 64 bytes of both places may be read or written; later values
    /// overwrite the bytes written too many.
    @inline(__always)
    private static func copyShort(_ bytes: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer) {
        place.storeBytes(of: bytes.loadUnaligned(as: SIMD2<UInt64>.self), as: SIMD2<UInt64>.self)
        place.storeBytes(
            of: bytes.loadUnaligned(fromByteOffset: 16, as: SIMD2<UInt64>.self), toByteOffset: 16,
            as: SIMD2<UInt64>.self)
        guard count > 32 else { return }
        place.storeBytes(
            of: bytes.loadUnaligned(fromByteOffset: 32, as: SIMD2<UInt64>.self), toByteOffset: 32,
            as: SIMD2<UInt64>.self)
        place.storeBytes(
            of: bytes.loadUnaligned(fromByteOffset: 48, as: SIMD2<UInt64>.self), toByteOffset: 48,
            as: SIMD2<UInt64>.self)
    }

    /// Writes the fields that a raw record's cell has of its source. Returns false if there is no room.
    @inline(__always)
    private func put(
        rawRecord cell: Cell, of batch: borrowing RowBatch, _ types: inout UnsafeMutableRawPointer,
        _ body: inout UnsafeMutableRawPointer, end: UnsafeMutableRawPointer
    ) -> Bool {
        let values = batch.rawRecord(cell)
        let length = values.body.count
        guard length < end - body, let typesFrom = values.types.baseAddress, let bodyFrom = values.body.baseAddress
        else { return false }
        if values.types.count <= 8, values.readable.types >= 8 {
            // May copy too many bytes: the next serial types overwrite them.
            types.storeBytes(of: typesFrom.loadUnaligned(as: UInt64.self), as: UInt64.self)
        } else {
            types.copyMemory(from: typesFrom, byteCount: values.types.count)
        }
        types += values.types.count
        Self.copy(bodyFrom, length, readable: values.readable.body, to: body, end: end)
        body += length
        return true
    }

    @inline(__always)
    private func put(serial: UInt64, _ types: inout UnsafeMutableRawPointer) {
        if serial < 0x80 {
            types.storeBytes(of: UInt8(truncatingIfNeeded: serial), as: UInt8.self)
            types += 1
        } else {
            types += Varint.write(serial, to: types)
        }
    }

    /// Writes an integer; one of eight bytes in a column of reals is written as a real.
    @inline(__always)
    private func put(
        integer: Int64, _ affinity: ColumnAffinity, _ forms: UnsafePointer<IntegerForm>,
        _ types: inout UnsafeMutableRawPointer, _ body: inout UnsafeMutableRawPointer
    ) {
        let form = forms[Self.formIndex(of: integer)]
        if form.width == 8, affinity == .real {
            put(real: Double(integer), &types, &body)
        } else {
            put(UInt64(bitPattern: integer), form, &types, &body)
        }
    }

    @inline(__always)
    private func put(
        _ bits: UInt64, _ form: IntegerForm, _ types: inout UnsafeMutableRawPointer,
        _ body: inout UnsafeMutableRawPointer
    ) {
        types.storeBytes(of: form.serial, as: UInt8.self)
        types += 1
        // Always writes eight bytes: the next value overwrites those that are too many.
        body.storeBytes(of: (bits &<< UInt64(form.shift)).bigEndian, as: UInt64.self)
        body += Int(form.width)
    }

    @inline(__always)
    private func put(
        real: Double, _ types: inout UnsafeMutableRawPointer, _ body: inout UnsafeMutableRawPointer
    ) {
        put(real.bitPattern, IntegerForm(serial: 7, width: 8, shift: 0), &types, &body)
    }

    /// Writes the record that ``encodeLocal(_:row:)`` made.
    @inline(__always)
    func copyLocal(to place: UnsafeMutableRawPointer) {
        let header = localHeader
        if header <= 32, size >= 32 {
            // May copy too many bytes of the header: the values overwrite them.
            place.storeBytes(of: local.load(as: SIMD2<UInt64>.self), as: SIMD2<UInt64>.self)
            place.storeBytes(
                of: local.load(fromByteOffset: 16, as: SIMD2<UInt64>.self), toByteOffset: 16, as: SIMD2<UInt64>.self)
        } else {
            place.copyMemory(from: local, byteCount: header)
        }
        (place + header).copyMemory(from: local + Self.localTypes + 8, byteCount: size - header)
    }
}
