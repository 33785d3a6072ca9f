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

    private var objects: [PropertyListValue?] = [.string("$null")]
    /// The plain values so far, each stored once.
    private var plain: [PropertyListLeaf: Int] = [:]
    private var classes: [ClassName: Reference] = [:]

    package init() {}

    /// Reserves a place that is filled later.
    package mutating func reserve() -> Reference {
        objects.append(nil)
        return Reference(uid: objects.count - 1)
    }

    /// Puts an object into a reserved place.
    ///
    /// - Precondition: the place is reserved and empty.
    package mutating func fill(
        _ reference: Reference, _ className: ClassName, _ fields: [String: PropertyListValue]
    ) {
        precondition(objects[reference.uid] == nil, "a place is filled once")
        var fields = fields
        fields["$class"] = classReference(className).field
        objects[reference.uid] = .dictionary(fields)
    }

    /// Adds an object.
    package mutating func object(_ className: ClassName, _ fields: [String: PropertyListValue]) -> Reference {
        let reference = reserve()
        fill(reference, className, fields)
        return reference
    }

    private mutating func classReference(_ className: ClassName) -> Reference {
        if let reference = classes[className] { return reference }
        let reference = append(
            .dictionary([
                "$classname": .string(className.names[0]), "$classes": .array(className.names.map { .string($0) }),
            ]))
        classes[className] = reference
        return reference
    }

    private mutating func append(_ value: PropertyListValue) -> Reference {
        objects.append(value)
        return Reference(uid: objects.count - 1)
    }

    private mutating func leaf(_ value: PropertyListValue) -> Reference {
        guard let leaf = PropertyListLeaf(value) else { return append(value) }
        let place = plain.place(of: leaf, ifNew: objects.count)
        if place == objects.count { objects.append(value) }
        return Reference(uid: place)
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
        default: append(value)
        }
    }

    // MARK: Foundation's classes

    package mutating func data(_ bytes: [UInt8]) -> Reference { append(.data(bytes)) }

    /// Adds a date.
    ///
    /// - Parameter seconds: the seconds since 2001-01-01 00:00:00 UTC.
    package mutating func date(_ seconds: Double) -> Reference {
        object(ClassName("NSDate"), ["NS.time": .real(seconds)])
    }

    package mutating func uuid(_ uuid: UUID) -> Reference {
        object(ClassName("NSUUID"), ["NS.uuidbytes": .data(withUnsafeBytes(of: uuid.uuid) { Array($0) })])
    }

    package mutating func url(_ absolute: String) -> Reference {
        let relative = string(absolute)
        return object(ClassName("NSURL"), ["NS.base": Reference.null.field, "NS.relative": relative.field])
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
        object(
            isMutable ? ClassName("NSMutableArray", "NSArray") : ClassName("NSArray"),
            ["NS.objects": .array(members.map(\.field))])
    }

    package mutating func set(_ members: [Reference]) -> Reference {
        object(ClassName("NSSet"), ["NS.objects": .array(members.map(\.field))])
    }

    package mutating func dictionary(
        _ entries: [(key: Reference, value: Reference)], isMutable: Bool = false
    ) -> Reference {
        object(
            isMutable ? ClassName("NSMutableDictionary", "NSDictionary") : ClassName("NSDictionary"),
            [
                "NS.keys": .array(entries.map { $0.key.field }),
                "NS.objects": .array(entries.map { $0.value.field }),
            ])
    }

    // MARK: The archive

    /// Encodes the archive with one root. The method is mutating so that a root which is added in the call's argument is part
    /// of it.
    ///
    /// - Throws: `archive.unfilled` if a reserved place was never filled, `archive.limit`.
    /// - Complexity: O(objects).
    package mutating func encode(root: Reference) throws(MigrationError) -> [UInt8] {
        var filled: [PropertyListValue] = []
        filled.reserveCapacity(objects.count)
        for (uid, object) in objects.enumerated() {
            guard let object else {
                throw MigrationError("archive.unfilled", .internal, "Object \(uid) of the archive was never written")
            }
            filled.append(object)
        }
        return try BinaryPropertyList.encode(
            .dictionary([
                "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
                "$top": .dictionary(["root": root.field]), "$objects": .array(filled),
            ]))
    }
}
