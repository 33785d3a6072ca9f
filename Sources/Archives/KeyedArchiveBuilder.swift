import Diagnostics

import struct Foundation.Decimal
import struct Foundation.UUID

/// Builds a keyed archive object by object. Plain values and classes are stored once.
///
/// For cycles, ``reserve()`` a place, refer to it, and ``fill(_:_:_:)`` it later.
///
/// Memory: all objects, until the archive is encoded.
package struct KeyedArchiveBuilder {
    /// A reference to a place among the archive's objects.
    package struct Reference: Hashable, Sendable {
        package let uid: Int
        /// The reference as a field's value.
        package var field: PropertyListValue { .uid(UInt64(uid)) }
        /// The archive's nil.
        package static let null = Reference(uid: 0)
    }

    /// A class, given by names: itself first, then its ancestors.
    package struct ClassName: Hashable, Sendable {
        package let names: [String]

        static let array = ClassName("NSArray")
        static let mutableArray = ClassName("NSMutableArray", "NSArray")
        static let dictionary = ClassName("NSDictionary")
        static let mutableDictionary = ClassName("NSMutableDictionary", "NSDictionary")
        static let set = ClassName("NSSet")

        /// Makes a class name.
        ///
        /// - Parameter ancestors: nearest first, without NSObject, which is added.
        package init(_ name: String, _ ancestors: String...) { names = [name] + ancestors + ["NSObject"] }

        /// - Parameter names: all of them, NSObject too; nil for none.
        package init?(names: [String]) {
            guard !names.isEmpty else { return nil }
            self.names = names
        }
    }

    /// The levels above an object: the frame and its list of objects.
    private static let levelsAbove = 2

    private var writer = BinaryPropertyListWriter(limits: .init())
    /// The number of the frame's list of objects in the property list.
    private let list: Int
    /// The number of each of the archive's objects in the property list.
    private var objects: [Int]
    /// The places that are not filled yet.
    private var reserved: Set<Int> = []
    /// The place of each plain value by its number in the property list, so that each is stored once; 0 for none.
    private var plain: [Int] = []
    private var classes: [(name: ClassName, reference: Reference)] = []

    package init() {
        // The frame is the first object of the property list.
        _ = writer.reserve()
        list = writer.reserve()
        objects = [writer.number(of: .string("$null"), depth: 1 + Self.levelsAbove)]
        objects.reserveCapacity(32)
        plain.reserveCapacity(32)
    }

    /// Reserves a place that is filled later.
    package mutating func reserve() -> Reference {
        let reference = append(writer.reserve())
        reserved.insert(reference.uid)
        return reference
    }

    /// Puts an object into a reserved place.
    ///
    /// - Precondition: the place is reserved and empty.
    package mutating func fill(
        _ reference: Reference, _ className: ClassName, _ fields: [String: PropertyListValue]
    ) { fill(reference, className, Array(fields)) }

    mutating func fill(_ reference: Reference, _ className: ClassName, _ fields: [PropertyListDictionary.Element]) {
        precondition(reserved.remove(reference.uid) != nil, "a place is filled once")
        write(reference, BinaryPropertyListWriter.sorted(fields + [("$class", classReference(className).field)]))
    }

    /// Adds an object.
    package mutating func object(_ className: ClassName, _ fields: [String: PropertyListValue]) -> Reference {
        let reference = reserve()
        fill(reference, className, fields)
        return reference
    }

    /// Adds an object with one field or two, in the order of their names.
    ///
    /// - Parameter fields: the values by their numbers in the property list.
    private mutating func object(_ className: ClassName, _ fields: (key: String, number: Int)...) -> Reference {
        let reference = append(writer.reserve())
        let classUID = classReference(className).uid
        var members = [number(of: "$class")]
        members.reserveCapacity(2 * fields.count + 2)
        for field in fields { members.append(number(of: field.key)) }
        members.append(writer.number(ofUID: classUID))
        for field in fields { members.append(field.number) }
        writer.fill(objects[reference.uid], .dictionary, members)
        return reference
    }

    /// Returns the number of a text in the property list.
    private mutating func number(of text: String) -> Int { leafNumber(.string(text)) }

    private mutating func leafNumber(_ value: PropertyListValue) -> Int {
        writer.number(of: value, depth: 1 + Self.levelsAbove)
    }

    /// Adds a list of references. It returns the list's number in the property list.
    private mutating func list(of members: [Reference]) -> Int {
        let number = writer.reserve()
        writer.fill(number, .array, members.map { writer.number(ofUID: $0.uid) })
        return number
    }

    private mutating func write(_ reference: Reference, _ fields: [(key: String, value: PropertyListValue)]) {
        writer.fill(objects[reference.uid], fields, depth: 1 + Self.levelsAbove)
    }

    private mutating func classReference(_ className: ClassName) -> Reference {
        if let known = classes.first(where: { $0.name == className }) { return known.reference }
        let reference = append(writer.reserve())
        let names = className.names.map { number(of: $0) }
        let list = writer.reserve()
        writer.fill(list, .array, names)
        writer.fill(
            objects[reference.uid], .dictionary, [number(of: "$classes"), number(of: "$classname"), list, names[0]])
        classes.append((className, reference))
        return reference
    }

    private mutating func append(_ number: Int) -> Reference {
        objects.append(number)
        return Reference(uid: objects.count - 1)
    }

    private mutating func leaf(_ value: PropertyListValue) -> Reference {
        let number = leafNumber(value)
        while plain.count <= number { plain.append(0) }
        if plain[number] == 0 { plain[number] = append(number).uid }
        return Reference(uid: plain[number])
    }

    // MARK: Plain values

    package mutating func string(_ text: String) -> Reference {
        // A bare "$null" would read as nil.
        guard text != "$null" else {
            return object(ClassName("NSMutableString", "NSString"), ["NS.string": .string(text)])
        }
        return leaf(.string(text))
    }

    /// Adds a string; returns the archive's nil for nil.
    package mutating func string(_ text: String?) -> Reference {
        if let text { string(text) } else { .null }
    }

    package mutating func boolean(_ flag: Bool) -> Reference { leaf(.boolean(flag)) }

    package mutating func integer(_ number: Int64) -> Reference { leaf(.integer(number)) }

    package mutating func real(_ number: Double) -> Reference { leaf(.real(number)) }

    /// A value without a class.
    package mutating func plain(_ value: PropertyListValue) -> Reference {
        switch value {
        case .null: .null
        case .boolean(let flag): boolean(flag)
        case .integer(let number): integer(number)
        case .real(let number): real(number)
        case .string(let text): string(text)
        default: append(leafNumber(value))
        }
    }

    // MARK: Foundation's classes

    package mutating func data(_ bytes: [UInt8]) -> Reference { plain(.data(bytes)) }

    /// Adds a date.
    ///
    /// - Parameter seconds: the seconds since 2001-01-01 00:00:00 UTC.
    package mutating func date(_ seconds: Double) -> Reference {
        object(ClassName("NSDate"), ("NS.time", leafNumber(.real(seconds))))
    }

    package mutating func uuid(_ uuid: UUID) -> Reference {
        let bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
        return object(ClassName("NSUUID"), ("NS.uuidbytes", leafNumber(.data(bytes))))
    }

    package mutating func url(_ absolute: String) -> Reference {
        let relative = string(absolute).uid
        return object(
            ClassName("NSURL"), ("NS.base", writer.number(ofUID: Reference.null.uid)),
            ("NS.relative", writer.number(ofUID: relative)))
    }

    /// Adds a decimal number in the form that ``ArchivedValue/decimal()`` reads.
    package mutating func decimal(_ number: Decimal) -> Reference {
        // The digits of every Decimal fit 128 bits. Those of NaN are none.
        let digits = UInt128(Decimal(sign: .plus, exponent: 0, significand: number.significand).description) ?? 0
        let words = withUnsafeBytes(of: digits.littleEndian) { Array($0) }
        let length = Int64(128 - digits.leadingZeroBitCount + 15) / 16
        let isNegative = number.isNaN || number.sign == .minus && digits != 0
        return object(
            ClassName("NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue"),
            [
                "NS.mantissa": .data(words), "NS.mantissa.bo": .integer(1), "NS.length": .integer(length),
                "NS.exponent": .integer(number.isNaN ? 0 : Int64(number.exponent)), "NS.negative": .boolean(isNegative),
                "NS.compact": .boolean(false),
            ])
    }

    package mutating func array(_ members: [Reference], isMutable: Bool = false) -> Reference {
        object(isMutable ? .mutableArray : .array, ("NS.objects", list(of: members)))
    }

    package mutating func set(_ members: [Reference]) -> Reference {
        object(.set, ("NS.objects", list(of: members)))
    }

    package mutating func dictionary(
        _ entries: [(key: Reference, value: Reference)], isMutable: Bool = false
    ) -> Reference {
        object(
            isMutable ? .mutableDictionary : .dictionary,
            ("NS.keys", list(of: entries.map(\.key))), ("NS.objects", list(of: entries.map(\.value))))
    }

    // MARK: The archive

    /// Encodes the archive with one root. It is called once, and the builder cannot be used afterwards. The method is mutating
    /// so that a root which is added in the call's argument is part of the archive.
    ///
    /// - Throws: `archive.unfilled` if a reserved place was never filled, `archive.limit`.
    /// - Complexity: O(objects).
    package mutating func encode(root: Reference) throws(MigrationError) -> [UInt8] {
        if let uid = reserved.min() {
            throw MigrationError("archive.unfilled", .internal, "Object \(uid) of the archive was never written")
        }
        writer.fill(list, .array, objects)
        let keys = ["$archiver", "$objects", "$top", "$version"].map { writer.add(leaf: .string($0)) }
        let values = [
            writer.add(leaf: .string("NSKeyedArchiver")), list,
            writer.number(of: .dictionary(["root": root.field]), depth: 2),
            writer.add(leaf: .integer(100_000)),
        ]
        writer.fill(0, .dictionary, keys + values)
        return try writer.encoded()
    }
}
