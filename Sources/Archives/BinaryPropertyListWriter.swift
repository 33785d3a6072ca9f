import Diagnostics

/// The encoder behind ``BinaryPropertyList/encode(_:limits:)``. It holds the flattened value and the output.
struct BinaryPropertyListWriter {
    private enum Object {
        /// The encoded bytes.
        case leaf([UInt8])
        /// The objects that a container refers to.
        case container(marker: UInt8, count: Int, references: [Int])
    }

    private let limits: BinaryPropertyList.Limits
    private var objects: [Object] = []
    /// The objects of the leaves by their bytes: equal leaves become one object.
    private var leaves: [[UInt8]: Int] = [:]
    private var output: [UInt8] = []

    init(limits: BinaryPropertyList.Limits) { self.limits = limits }

    mutating func encode(_ value: PropertyListValue) throws(MigrationError) -> [UInt8] {
        _ = try flatten(value, depth: 1)
        let referenceSize = Self.width(UInt64(objects.count - 1))
        output = Array("bplist00".utf8)
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
        guard depth <= limits.depth else {
            throw .archive("archive.limit", "The property list is nested too deeply")
        }
        switch value {
        case .array(let members): return try container(marker: 0xA, members, count: members.count, depth: depth)
        case .set(let members): return try container(marker: 0xC, members, count: members.count, depth: depth)
        case .dictionary(let entries):
            let sorted = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            let members = sorted.map { PropertyListValue.string($0.key) } + sorted.map(\.value)
            return try container(marker: 0xD, members, count: entries.count, depth: depth)
        default:
            let bytes = Self.leaf(value)
            if let index = leaves[bytes] { return index }
            let index = try add(.leaf(bytes))
            leaves[bytes] = index
            return index
        }
    }

    private mutating func container(
        marker: UInt8, _ members: [PropertyListValue], count: Int, depth: Int
    ) throws(MigrationError) -> Int {
        // The container gets its number before its contents, so that the root is object 0.
        let index = try add(.leaf([]))
        var references: [Int] = []
        references.reserveCapacity(members.count)
        for member in members { references.append(try flatten(member, depth: depth + 1)) }
        objects[index] = .container(marker: marker, count: count, references: references)
        return index
    }

    private mutating func add(_ object: Object) throws(MigrationError) -> Int {
        guard objects.count < limits.expandedValues else {
            throw .archive("archive.limit", "The property list has more than \(limits.expandedValues) objects")
        }
        objects.append(object)
        return objects.count - 1
    }

    private static func bytes(_ number: UInt64, width: Int) -> [UInt8] {
        stride(from: (width - 1) * 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }

    private mutating func append(_ number: UInt64, width: Int) { output += Self.bytes(number, width: width) }

    private static func head(marker: UInt8, count: Int) -> [UInt8] {
        count < 15 ? [marker << 4 | UInt8(count)] : [marker << 4 | 0x0F] + integer(Int64(count))
    }

    private static func integer(_ number: Int64) -> [UInt8] {
        let width = number < 0 ? 8 : width(UInt64(number))
        return [0x10 | UInt8(width.trailingZeroBitCount)] + bytes(UInt64(bitPattern: number), width: width)
    }

    private mutating func append(_ object: Object, referenceSize: Int) {
        switch object {
        case .leaf(let bytes): output += bytes
        case .container(let marker, let count, let references):
            output += Self.head(marker: marker, count: count)
            for index in references { append(UInt64(index), width: referenceSize) }
        }
    }

    static func leaf(_ value: PropertyListValue) -> [UInt8] {
        switch value {
        case .null: return [0x00]
        case .boolean(let flag): return [flag ? 0x09 : 0x08]
        case .integer(let number): return integer(number)
        case .largeInteger(let high, let low): return [0x14] + bytes(high, width: 8) + bytes(low, width: 8)
        case .real(let number): return [0x23] + bytes(number.bitPattern, width: 8)
        case .date(let seconds): return [0x33] + bytes(seconds.bitPattern, width: 8)
        case .data(let data): return head(marker: 0x4, count: data.count) + data
        case .string(let text):
            if text.utf8.allSatisfy({ $0 < 0x80 }) { return head(marker: 0x5, count: text.utf8.count) + text.utf8 }
            return head(marker: 0x6, count: text.utf16.count) + text.utf16.flatMap { bytes(UInt64($0), width: 2) }
        case .uid(let number):
            let width = width(number)
            return [0x80 | UInt8(width - 1)] + bytes(number, width: width)
        case .array, .set, .dictionary: preconditionFailure("containers are not leaves")
        }
    }
}
