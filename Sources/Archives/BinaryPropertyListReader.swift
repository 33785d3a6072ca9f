import Diagnostics

/// The decoder behind ``BinaryPropertyList/decode(_:limits:)``.
///
/// Layout: `bplist00`, objects, a table of their offsets, a trailer of 32 bytes (6 unused, offset size, reference size, count,
/// top object, offset of the table), all big-endian.
struct BinaryPropertyListReader {
    /// The states of an object in `slots`. A positive number is its index in `decodedObjects` plus one.
    private enum Slot {
        static let untouched: Int32 = 0
        /// The object is being decoded; if it is met again, there is a cycle.
        static let open: Int32 = -1
    }

    /// A decoded object with the size and height of its expanded tree.
    private struct Decoded {
        var value: PropertyListValue
        var expanded = 1
        var height = 1
    }

    private static let headerSize = 8
    private static let trailerSize = 32

    private let bytes: [UInt8]
    private let limits: BinaryPropertyList.Limits
    private let offsetSize: Int
    private let referenceSize: Int
    private let topObject: Int
    private let tableStart: Int
    /// Four bytes for each object, because most objects of a hostile table are never used.
    private var slots: [Int32]
    private var decodedObjects: [Decoded] = []
    /// The bytes of content that objects may still claim.
    private var remainingContent: Int
    /// The members that all collections together may still have.
    private var remainingMembers: Int

    init(_ bytes: [UInt8], limits: BinaryPropertyList.Limits) throws(MigrationError) {
        guard bytes.count <= limits.bytes else {
            throw .archive("archive.limit", "The property list is larger than \(limits.bytes.counted("byte"))")
        }
        guard bytes.count > Self.headerSize + Self.trailerSize, bytes.starts(with: "bplist0".utf8) else {
            throw .archive("archive.format", "The data is not a binary property list")
        }
        let trailer = bytes.count - Self.trailerSize
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard (1...8).contains(offsetSize), (1...8).contains(referenceSize) else {
            throw .archive("archive.format", "The property list's trailer has impossible integer sizes")
        }
        let count = Self.unsigned(bytes, at: trailer + 8, size: 8)
        let top = Self.unsigned(bytes, at: trailer + 16, size: 8)
        let table = Self.unsigned(bytes, at: trailer + 24, size: 8)
        guard count > 0, top < count, table >= Self.headerSize, table < trailer,
            count <= UInt64((trailer - Int(table)) / offsetSize)
        else { throw .archive("archive.format", "The property list's object table lies outside the data") }
        guard count <= UInt64(min(limits.expandedValues, Int(Int32.max) - 1)) else {
            throw .archive("archive.limit", "The property list has more than \(limits.expandedValues) objects")
        }
        self.bytes = bytes
        self.limits = limits
        topObject = Int(top)
        tableStart = Int(table)
        slots = Array(repeating: Slot.untouched, count: Int(count))
        decodedObjects.reserveCapacity(min(Int(count), 64))
        remainingContent = bytes.count
        remainingMembers = limits.expandedValues
    }

    mutating func decodeTop() throws(MigrationError) -> PropertyListValue {
        decodedObjects[try decode(UInt64(topObject), depth: 1)].value
    }

    /// Reads a big-endian number of 1 to 8 bytes. The caller must have checked that they exist.
    private static func unsigned(_ bytes: [UInt8], at position: Int, size: Int) -> UInt64 {
        if size == 1 { return UInt64(bytes[position]) }
        var value: UInt64 = 0
        for index in position..<position + size { value = value << 8 | UInt64(bytes[index]) }
        return value
    }

    /// Decodes an object, unless it was met before. It returns the object's index in `decodedObjects`.
    private mutating func decode(_ reference: UInt64, depth: Int) throws(MigrationError) -> Int {
        guard reference < UInt64(slots.count) else {
            throw .archive("archive.format", "An object of the property list does not exist: \(reference)")
        }
        guard depth <= limits.depth else { throw Self.tooDeep }
        let index = Int(reference)
        let slot = slots[index]
        guard slot != Slot.open else {
            throw .archive("archive.cycle", "Object \(index) of the property list contains itself")
        }
        guard slot == Slot.untouched else {
            let place = Int(slot) - 1
            guard depth + decodedObjects[place].height - 1 <= limits.depth else { throw Self.tooDeep }
            return place
        }
        slots[index] = Slot.open
        let offset = Self.unsigned(bytes, at: tableStart + index * offsetSize, size: offsetSize)
        guard offset >= Self.headerSize, offset < UInt64(tableStart) else {
            throw .archive("archive.format", "Object \(index) of the property list lies outside the data")
        }
        let decoded = try decodeObject(at: Int(offset), depth: depth)
        guard decoded.expanded <= limits.expandedValues else {
            throw .archive("archive.limit", "The property list expands to more than \(limits.expandedValues) values")
        }
        decodedObjects.append(decoded)
        slots[index] = Int32(decodedObjects.count)
        return decodedObjects.count - 1
    }

    private static let tooDeep = MigrationError.archive(
        "archive.limit", "The property list is nested too deeply")

    private mutating func decodeObject(at offset: Int, depth: Int) throws(MigrationError) -> Decoded {
        let marker = bytes[offset]
        var position = offset + 1
        let low = Int(marker & 0x0F)
        switch marker >> 4 {
        case 0x0:
            switch low {
            case 0: return Decoded(value: .null)
            case 8: return Decoded(value: .boolean(false))
            case 9: return Decoded(value: .boolean(true))
            default: break
            }
        case 0x1 where low <= 4:
            return Decoded(value: try integer(at: position, size: 1 << low))
        case 0x2 where low == 2:
            let bits = UInt32(truncatingIfNeeded: try number(4, at: &position))
            return Decoded(value: .real(Double(Float(bitPattern: bits))))
        case 0x2 where low == 3:
            return Decoded(value: .real(Double(bitPattern: try number(8, at: &position))))
        case 0x3 where low == 3:
            return Decoded(value: .date(Double(bitPattern: try number(8, at: &position))))
        case 0x4: return Decoded(value: .data(Array(try content(low, at: &position))))
        case 0x5:
            let text = try content(low, at: &position).withUnsafeBufferPointer { text in
                text.reduce(0, |) < 0x80 ? String(decoding: text, as: UTF8.self) : nil
            }
            guard let text else {
                throw .archive("archive.format", "An ASCII string at \(offset) holds other characters")
            }
            return Decoded(value: .string(text))
        case 0x6:
            return Decoded(value: .string(try utf16(low, at: &position)))
        case 0x7:
            guard let text = String(validating: try content(low, at: &position), as: UTF8.self) else {
                throw .archive("archive.format", "A UTF-8 string at \(offset) is damaged")
            }
            return Decoded(value: .string(text))
        case 0x8 where low < 8: return Decoded(value: .uid(try number(low + 1, at: &position)))
        case 0xA, 0xB, 0xC:
            let isSet = marker >> 4 == 0xC
            return try collection(low, at: &position, isSet: isSet, depth: depth)
        case 0xD:
            return try dictionary(low, at: &position, depth: depth)
        default: break
        }
        throw .archive("archive.format", "Unknown object marker \(marker) at \(offset) of the property list")
    }

    /// Claims `count` bytes of content. They must be before the offset table, and all claims together must not exceed the file.
    private mutating func claim(_ count: Int, at position: inout Int) throws(MigrationError) -> Int {
        guard count <= tableStart - position else {
            throw .archive("archive.format", "An object at \(position) of the property list is cut off")
        }
        remainingContent -= count
        guard remainingContent >= 0 else { throw .archive("archive.limit", "The property list's objects overlap") }
        let start = position
        position += count
        return start
    }

    /// Claims a big-endian number of 1 to 8 bytes.
    private mutating func number(_ size: Int, at position: inout Int) throws(MigrationError) -> UInt64 {
        Self.unsigned(bytes, at: try claim(size, at: &position), size: size)
    }

    /// Claims the bytes of data or of a text.
    private mutating func content(_ low: Int, at position: inout Int) throws(MigrationError) -> ArraySlice<UInt8> {
        let count = try length(low, at: &position)
        let start = try claim(count, at: &position)
        return bytes[start..<start + count]
    }

    /// The count of an object: the low half of its marker, or the integer object that follows if that half is 15.
    private mutating func length(_ low: Int, at position: inout Int) throws(MigrationError) -> Int {
        guard low == 0x0F else { return low }
        let marker = bytes[try claim(1, at: &position)]
        guard marker >> 4 == 0x1, marker & 0x0F <= 3 else {
            throw .archive("archive.format", "A count at \(position) of the property list is not an integer")
        }
        let count = try number(1 << Int(marker & 0x0F), at: &position)
        guard count <= UInt64(bytes.count) else {
            throw .archive("archive.format", "A count at \(position) of the property list exceeds the data")
        }
        return Int(count)
    }

    private mutating func integer(at offset: Int, size: Int) throws(MigrationError) -> PropertyListValue {
        var position = offset
        let start = try claim(size, at: &position)
        // Shorter integers are unsigned, those of 8 bytes signed.
        guard size == 16 else { return .integer(Int64(bitPattern: Self.unsigned(bytes, at: start, size: size))) }
        let high = Self.unsigned(bytes, at: start, size: 8)
        let low = Self.unsigned(bytes, at: start + 8, size: 8)
        let signExtension = Int64(bitPattern: low) < 0 ? UInt64.max : 0
        return high == signExtension ? .integer(Int64(bitPattern: low)) : .largeInteger(high: high, low: low)
    }

    /// Reads a UTF-16 string. A lone surrogate becomes U+FFFD.
    private mutating func utf16(_ low: Int, at position: inout Int) throws(MigrationError) -> String {
        let count = try length(low, at: &position)
        guard count <= bytes.count / 2 else {
            throw .archive("archive.format", "A string at \(position) of the property list is cut off")
        }
        let start = try claim(count * 2, at: &position)
        var units: [UInt16] = []
        units.reserveCapacity(count)
        for index in stride(from: start, to: start + count * 2, by: 2) {
            units.append(UInt16(bytes[index]) << 8 | UInt16(bytes[index + 1]))
        }
        return String(decoding: units, as: UTF16.self)
    }

    /// Claims the bytes of `count` references. Returns their offset.
    private mutating func claimReferences(_ count: Int, at position: inout Int) throws(MigrationError) -> Int {
        let (size, overflow) = count.multipliedReportingOverflow(by: referenceSize)
        guard !overflow else {
            throw .archive("archive.format", "A collection at \(position) of the property list is cut off")
        }
        return try claim(size, at: &position)
    }

    private mutating func chargeMembers(_ count: Int) throws(MigrationError) {
        remainingMembers -= count
        guard remainingMembers >= 0 else {
            throw .archive(
                "archive.limit", "The property list's collections have more than \(limits.expandedValues) members")
        }
    }

    private mutating func collection(
        _ low: Int, at position: inout Int, isSet: Bool, depth: Int
    ) throws(MigrationError) -> Decoded {
        let count = try length(low, at: &position)
        let start = try claimReferences(count, at: &position)
        try chargeMembers(count)
        var result = Decoded(value: .null)
        var members: [PropertyListValue] = []
        members.reserveCapacity(count)
        for index in 0..<count {
            members.append(try member(at: start, index, depth: depth, of: &result))
        }
        result.value = isSet ? .set(members) : .array(members)
        return result
    }

    private mutating func dictionary(
        _ low: Int, at position: inout Int, depth: Int
    ) throws(MigrationError) -> Decoded {
        let count = try length(low, at: &position)
        let keys = try claimReferences(count, at: &position)
        let values = try claimReferences(count, at: &position)
        try chargeMembers(2 * count)
        var result = Decoded(value: .null)
        // Room for few entries only: a dictionary of repeated keys fails at the first repetition, before it takes much memory.
        var entries = PropertyListDictionary(capacity: min(count, 8))
        for index in 0..<count {
            guard case .string(let key) = try member(at: keys, index, depth: depth, of: &result) else {
                throw .archive("archive.format", "A dictionary of the property list has a key that is no string")
            }
            let value = try member(at: values, index, depth: depth, of: &result)
            guard entries.add(value, forKey: key) else {
                throw .archive("archive.format", "A dictionary of the property list has the key \(key) twice")
            }
        }
        result.value = .dictionary(entries)
        return result
    }

    /// Decodes one member and adds its size and height to its owner's.
    private mutating func member(
        at start: Int, _ index: Int, depth: Int, of owner: inout Decoded
    ) throws(MigrationError) -> PropertyListValue {
        let reference = Self.unsigned(bytes, at: start + index * referenceSize, size: referenceSize)
        let place = try decode(reference, depth: depth + 1)
        // No overflow: both numbers stay below one object's limit times the file's length, and are capped here.
        owner.expanded = min(owner.expanded + decodedObjects[place].expanded, limits.expandedValues + 1)
        owner.height = max(owner.height, decodedObjects[place].height + 1)
        return decodedObjects[place].value
    }
}
