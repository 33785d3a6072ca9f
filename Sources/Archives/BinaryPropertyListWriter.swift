import Diagnostics

/// The encoder behind ``BinaryPropertyList/encode(_:limits:)``. It holds the flattened value and the output.
struct BinaryPropertyListWriter {
    private enum Object {
        case leaf(PropertyListValue)
        case members([Int], isSet: Bool)
        case entries(keys: [Int], values: [Int])
    }

    private let limits: BinaryPropertyList.Limits
    private var objects: [Object] = []
    private var leaves: [PropertyListLeaf: Int] = [:]
    private var output: [UInt8] = []

    init(limits: BinaryPropertyList.Limits) { self.limits = limits }

    mutating func encode(_ value: PropertyListValue) throws(MigrationError) -> [UInt8] {
        leaves.reserveCapacity(40)
        objects.reserveCapacity(40)
        _ = try flatten(value, depth: 1)
        let referenceSize = Self.width(UInt64(objects.count - 1))
        output.reserveCapacity(512)
        output += "bplist00".utf8
        var offsets: [Int] = []
        offsets.reserveCapacity(objects.count)
        for object in objects {
            offsets.append(output.count)
            append(object, referenceSize: referenceSize)
        }
        let table = output.count
        let offsetSize = Self.width(UInt64(table))
        for offset in offsets { append(UInt64(offset), width: offsetSize) }
        output.append(contentsOf: [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)])
        append(UInt64(objects.count), width: 8)
        append(0, width: 8)
        append(UInt64(table), width: 8)
        return output
    }

    /// The number of bytes that hold a number: 1, 2, 4 or 8.
    private static func width(_ number: UInt64) -> Int {
        switch number {
        case 0...0xFF: 1
        case 0x100...0xFFFF: 2
        case 0x1_0000...0xFFFF_FFFF: 4
        default: 8
        }
    }

    private mutating func flatten(_ value: PropertyListValue, depth: Int) throws(MigrationError) -> Int {
        guard depth <= limits.depth else { throw .archive("archive.limit", "The property list is nested too deeply") }
        if let key = PropertyListLeaf(value) {
            let index = leaves.place(of: key, ifNew: objects.count)
            if index == objects.count { _ = try add(.leaf(value)) }
            return index
        }
        // The container gets its number before its contents, so that the root is object 0.
        let index = try add(.members([], isSet: false))
        switch value {
        case .array(let members), .set(let members):
            var indices: [Int] = []
            indices.reserveCapacity(members.count)
            for member in members { indices.append(try flatten(member, depth: depth + 1)) }
            let isSet = if case .set = value { true } else { false }
            objects[index] = .members(indices, isSet: isSet)
        case .dictionary(let entries):
            let sorted = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            var keys: [Int] = []
            var values: [Int] = []
            for entry in sorted { keys.append(try flatten(.string(entry.key), depth: depth + 1)) }
            for entry in sorted { values.append(try flatten(entry.value, depth: depth + 1)) }
            objects[index] = .entries(keys: keys, values: values)
        default: preconditionFailure("every other case is a leaf")
        }
        return index
    }

    private mutating func add(_ object: Object) throws(MigrationError) -> Int {
        guard objects.count < limits.expandedValues else {
            throw .archive("archive.limit", "The property list has more than \(limits.expandedValues) objects")
        }
        objects.append(object)
        return objects.count - 1
    }

    private mutating func append(_ number: UInt64, width: Int) {
        if width == 1 { return output.append(UInt8(truncatingIfNeeded: number)) }
        for shift in stride(from: (width - 1) * 8, through: 0, by: -8) {
            output.append(UInt8(truncatingIfNeeded: number >> UInt64(shift)))
        }
    }

    private mutating func append(marker: UInt8, count: Int) {
        if count < 15 {
            output.append(marker << 4 | UInt8(count))
        } else {
            output.append(marker << 4 | 0x0F)
            appendInteger(Int64(count))
        }
    }

    private mutating func appendInteger(_ number: Int64) {
        let width = number < 0 ? 8 : Self.width(UInt64(number))
        output.append(0x10 | UInt8(width.trailingZeroBitCount))
        append(UInt64(bitPattern: number), width: width)
    }

    private mutating func append(_ object: Object, referenceSize: Int) {
        switch object {
        case .members(let indices, let isSet):
            append(marker: isSet ? 0xC : 0xA, count: indices.count)
            for index in indices { append(UInt64(index), width: referenceSize) }
        case .entries(let keys, let values):
            append(marker: 0xD, count: keys.count)
            for index in keys { append(UInt64(index), width: referenceSize) }
            for index in values { append(UInt64(index), width: referenceSize) }
        case .leaf(let value): append(leaf: value)
        }
    }

    private mutating func append(leaf value: PropertyListValue) {
        switch value {
        case .null: output.append(0x00)
        case .boolean(let flag): output.append(flag ? 0x09 : 0x08)
        case .integer(let number): appendInteger(number)
        case .largeInteger(let high, let low):
            output.append(0x14)
            append(high, width: 8)
            append(low, width: 8)
        case .real(let number):
            output.append(0x23)
            append(number.bitPattern, width: 8)
        case .date(let seconds):
            output.append(0x33)
            append(seconds.bitPattern, width: 8)
        case .data(let data):
            append(marker: 0x4, count: data.count)
            output.append(contentsOf: data)
        case .string(var text):
            let isASCII = text.withUTF8 { bytes in
                guard bytes.allSatisfy({ $0 < 0x80 }) else { return false }
                append(marker: 0x5, count: bytes.count)
                output.append(contentsOf: bytes)
                return true
            }
            if !isASCII {
                append(marker: 0x6, count: text.utf16.count)
                for unit in text.utf16 { append(UInt64(unit), width: 2) }
            }
        case .uid(let number):
            let width = Self.width(number)
            output.append(0x80 | UInt8(width - 1))
            append(number, width: width)
        case .array, .set, .dictionary: preconditionFailure("containers are not leaves")
        }
    }
}
