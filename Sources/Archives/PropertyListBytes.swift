/// The bytes of a binary property list's objects, one after the other.
package struct PropertyListBytes {
    package private(set) var bytes: [UInt8]

    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    mutating func reserveCapacity(_ capacity: Int) { bytes.reserveCapacity(capacity) }

    /// The number of bytes that hold a number: 1, 2, 4 or 8.
    static func width(_ number: UInt64) -> Int {
        switch number {
        case 0...0xFF: 1
        case 0x100...0xFFFF: 2
        case 0x1_0000...0xFFFF_FFFF: 4
        default: 8
        }
    }

    /// Appends numbers of a width each.
    mutating func append(_ numbers: ArraySlice<Int>, width: Int) {
        if width == 1 { return bytes.append(contentsOf: numbers.lazy.map { UInt8(truncatingIfNeeded: $0) }) }
        for number in numbers { append(UInt64(number), width: width) }
    }

    /// Appends a number, the high bytes first.
    package mutating func append(_ number: UInt64, width: Int) {
        for shift in stride(from: (width - 1) * 8, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    /// Appends the beginning of an object with a number of members or bytes.
    package mutating func append(marker: UInt8, count: Int) {
        if count < 15 {
            bytes.append(marker << 4 | UInt8(count))
        } else {
            bytes.append(marker << 4 | 0x0F)
            appendInteger(Int64(count))
        }
    }

    private mutating func appendInteger(_ number: Int64) {
        let width = number < 0 ? 8 : Self.width(UInt64(number))
        bytes.append(0x10 | UInt8(width.trailingZeroBitCount))
        append(UInt64(bitPattern: number), width: width)
    }

    /// Appends an object without members.
    ///
    /// - Precondition: the value is no collection.
    package mutating func append(leaf value: PropertyListValue) {
        switch value {
        case .null: bytes.append(0x00)
        case .boolean(let flag): bytes.append(flag ? 0x09 : 0x08)
        case .integer(let number): appendInteger(number)
        case .largeInteger(let high, let low):
            bytes.append(0x14)
            append(high, width: 8)
            append(low, width: 8)
        case .real(let number):
            bytes.append(0x23)
            append(number.bitPattern, width: 8)
        case .date(let seconds):
            bytes.append(0x33)
            append(seconds.bitPattern, width: 8)
        case .data(let data):
            append(marker: 0x4, count: data.count)
            bytes.append(contentsOf: data)
        case .string(var text):
            let isASCII = text.withUTF8 { content in
                guard content.allSatisfy({ $0 < 0x80 }) else { return false }
                append(marker: 0x5, count: content.count)
                bytes.append(contentsOf: content)
                return true
            }
            if !isASCII {
                append(marker: 0x6, count: text.utf16.count)
                for unit in text.utf16 { append(UInt64(unit), width: 2) }
            }
        case .uid(let number):
            let width = Self.width(number)
            bytes.append(0x80 | UInt8(width - 1))
            append(number, width: width)
        case .array, .set, .dictionary: preconditionFailure("collections are not leaves")
        }
    }
}
