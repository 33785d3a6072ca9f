/// Reads the parts of records. Nothing is read beyond the given end, unless a function says so.
enum RecordForm {
    /// Reads a variable-length integer and moves the place behind it.
    ///
    /// - Returns: nil if the integer goes beyond the end.
    @inline(__always)
    static func varint(_ bytes: UnsafeRawPointer, _ place: inout Int, end: Int) -> UInt64? {
        guard place < end else { return nil }
        let byte = bytes.load(fromByteOffset: place, as: UInt8.self)
        if byte < 0x80 {
            place += 1
            return UInt64(byte)
        }
        return longVarint(bytes, &place, end: end)
    }

    /// Reads a variable-length integer; faster where values of up to four bytes are common.
    @inline(__always)
    static func keyVarint(_ bytes: UnsafeRawPointer, _ place: inout Int, end: Int) -> UInt64? {
        guard end - place >= 4 else { return varint(bytes, &place, end: end) }
        func byte(_ index: Int) -> UInt64 { UInt64(bytes.load(fromByteOffset: place &+ index, as: UInt8.self)) }
        let (first, second) = (byte(0), byte(1))
        if first < 0x80 {
            place += 1
            return first
        }
        if second < 0x80 {
            place += 2
            return (first & 0x7F) &<< 7 | second
        }
        let (third, fourth) = (byte(2), byte(3))
        let high = (first & 0x7F) &<< 7 | second & 0x7F
        if third < 0x80 {
            place += 3
            return high &<< 7 | third
        }
        if fourth < 0x80 {
            place += 4
            return high &<< 14 | (third & 0x7F) &<< 7 | fourth
        }
        return longVarint(bytes, &place, end: end)
    }

    // Rare and long: if inlined, it would take registers from the loops around it.
    @inline(never)
    private static func longVarint(_ bytes: UnsafeRawPointer, _ place: inout Int, end: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in 0..<8 {
            guard place < end else { return nil }
            let byte = bytes.load(fromByteOffset: place, as: UInt8.self)
            place += 1
            value = value << 7 | UInt64(byte & 0x7F)
            if byte < 0x80 { return value }
            if index == 7 { break }
        }
        guard place < end else { return nil }
        let byte = bytes.load(fromByteOffset: place, as: UInt8.self)
        place += 1
        return value << 8 | UInt64(byte)
    }

    /// The size of a value by its serial type; nil for the two types that no file has, and for impossible lengths.
    @inline(__always)
    static func size(ofSerial serial: UInt64) -> Int? {
        if serial >= 12 { return serial < 1 << 33 ? Int((serial - 12) >> 1) : nil }
        return serial < 10 ? size(ofNumber: serial) : nil
    }

    /// The size of a value by its serial type below 12; larger than any record for the two types that no file has.
    @inline(__always)
    static func size(ofNumber serial: UInt64) -> Int {
        // Four bits for each type. Types 8 and 9 take no bytes.
        let sizes: UInt64 = 0x0088_6432_10
        return serial < 10 ? Int(truncatingIfNeeded: (sizes &>> (serial &* 4)) & 0xF) : .max
    }

    /// The integer of a serial type from 1 to 6, 8 or 9. Except for 8 and 9, eight bytes are loaded whatever its size.
    @inline(__always)
    static func integer(_ bytes: UnsafeRawPointer, serial: UInt64, size: Int) -> Int64 {
        if serial >= 8 { return Int64(truncatingIfNeeded: serial &- 8) }
        let word = Int64(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)))
        return word &>> Int64(truncatingIfNeeded: 64 &- 8 &* size)
    }

    /// The integer of a serial type from 1 to 6, 8 or 9.
    @inline(__always)
    static func integer(_ bytes: UnsafeRawPointer, serial: UInt64) -> Int64 {
        switch serial {
        case 1: return Int64(bytes.load(as: Int8.self))
        case 2: return Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
        case 3:
            let high = Int64(bytes.load(as: Int8.self))
            let low = Int64(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt16.self)))
            return high << 16 | low
        case 4: return Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self)))
        case 5:
            let high = Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self)))
            let low = Int64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt32.self)))
            return high << 32 | low
        case 6: return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
        case 9: return 1
        default: return 0
        }
    }
}
