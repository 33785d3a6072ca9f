import Archives
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows

/// Converts between cells and the values that policies see. It is the only connection between rows and objects.
enum ValueBridge {
    /// Returns a stored value in the form that Core Data gives: NSNumber for integers, floats and Booleans,
    /// NSDecimalNumber, String, Date, Data, UUID, URL. A value in an external file is a ``ExternalFileReference``, which the
    /// caller resolves.
    ///
    /// - Throws: `store.valueTooLarge` for a value that does not fit the memory limit.
    static func object(
        _ cell: Cell, in batch: borrowing RowBatch, type: AttributeType, isExternal: Bool
    ) throws(MigrationError) -> Any? {
        switch cell.kind {
        case .null, .absent, .rawRecord, .reference: return nil
        case .integer: return number(integer: cell.integerValue, type)
        case .real: return number(real: cell.realValue, type)
        case .text: return text(batch.bytes(cell), type)
        case .blob: return data(batch.bytes(cell), type, isExternal)
        case .huge:
            let value = batch.huge(cell)
            throw value.source.refusal(value, for: "a policy or expression that reads it")
        }
    }

    static func text(_ bytes: UnsafeRawBufferPointer, _ type: AttributeType) -> Any? {
        let text = String(decoding: bytes, as: UTF8.self)
        switch type {
        case .uri: return URL(string: text)
        case .decimal: return HashableDecimal(text: text)
        default: return text
        }
    }

    static func number(integer: Int64, _ type: AttributeType) -> Any {
        switch type {
        case .boolean: NSNumber(value: integer != 0)
        case .integer16: NSNumber(value: Int16(truncatingIfNeeded: integer))
        case .integer32: NSNumber(value: Int32(truncatingIfNeeded: integer))
        case .double: NSNumber(value: Double(integer))
        case .float: NSNumber(value: Float(integer))
        case .decimal: HashableDecimal(decimal: Decimal(integer))
        case .date: Date(timeIntervalSinceReferenceDate: Double(integer))
        default: NSNumber(value: integer)
        }
    }

    static func number(real: Double, _ type: AttributeType) -> Any {
        switch type {
        case .date: Date(timeIntervalSinceReferenceDate: real)
        case .float: NSNumber(value: Float(real))
        case .decimal: HashableDecimal(text: "\(real)")
        case .boolean: NSNumber(value: real != 0)
        default: NSNumber(value: real)
        }
    }

    static func data(_ bytes: UnsafeRawBufferPointer, _ type: AttributeType, _ isExternal: Bool) -> Any {
        if type == .uuid, bytes.count == 16 {
            return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
        }
        guard isExternal, let marker = bytes.first else { return Data(bytes) }
        switch marker {
        case ExternalReference.inlineMarker: return Data(bytes.dropFirst())
        case ExternalReference.referenceMarker: return ExternalFileReference(bytes)
        default: return Data(bytes)
        }
    }

    /// Writes a policy's value into a cell, converted to the attribute's stored form.
    ///
    /// - Throws: `value.type` (65) if the value does not have the attribute's type, `value.outOfRange` (65).
    static func store(
        _ value: Any?, type: AttributeType, isExternal: Bool, in batch: inout RowBatch, row: Int, slot: Int
    ) throws(MigrationError) {
        // Nearly all values have the attribute's own type, so test for it before all other types.
        if type == .string, let value, Swift.type(of: value) == String.self, let text = value as? String {
            ColumnValue.text(text).store(in: &batch, row: row, slot: slot)
            return
        }
        if type.isBytes, !isExternal, let value, Swift.type(of: value) == Data.self, let data = value as? Data {
            data.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
            return
        }
        guard let value = unwrapped(value) else {
            batch[row, slot] = .null
            return
        }
        if type == .uuid, let uuid = value as? UUID {
            withUnsafeBytes(of: uuid.uuid) { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
            return
        }
        guard let stored = try stored(value, type, isExternal) else {
            throw MigrationError(
                "value.type", .data,
                "A value of type \(Swift.type(of: value)) does not fit an attribute of type \(type.label)")
        }
        stored.store(in: &batch, row: row, slot: slot)
    }

    /// Returns a value without the optionals around it; nil for nil at any depth and for NSNull.
    static func unwrapped(_ value: Any?) -> Any? {
        guard let value else { return nil }
        // The type first: casting an array would make an NSArray of it.
        if Swift.type(of: value) is AnyClass, let object = value as? NSObject { return object is NSNull ? nil : object }
        guard let optional = value as? any OptionalValue else { return value }
        return unwrapped(optional.wrapped)
    }

    /// Returns the members of a collection, in its order if it has one, or the single value; none for nil.
    static func items(of value: Any?) -> [Any] {
        switch unwrapped(value) {
        case nil: []
        case let array as [Any]: array
        case let set as NSOrderedSet: set.array
        case let set as NSSet: set.allObjects
        case let one?: [one]
        }
    }

    private static func stored(
        _ value: Any, _ type: AttributeType, _ isExternal: Bool
    ) throws(MigrationError) -> ColumnValue? {
        switch type {
        case .string: return text(of: value).map(ColumnValue.text)
        case .uri: return ((value as? URL) ?? (value as? NSURL).map { $0 as URL }).map { .text($0.absoluteString) }
        case .uuid:
            return (value as? NSUUID).map { object in
                withUnsafeBytes(of: (object as UUID).uuid) { .blob(Array($0)) }
            }
        case .date:
            return ((value as? Date) ?? (value as? NSDate).map { $0 as Date }).map {
                .real($0.timeIntervalSinceReferenceDate)
            }
        case .binaryData, .transformable:
            guard let data = (value as? Data) ?? (value as? NSData).map({ Data(referencing: $0) }) else { return nil }
            let blob = ColumnValue.blob(Array(data))
            return isExternal ? blob.withInlineMarker : blob
        case .boolean, .integer16, .integer32, .integer64: return try integer(value, type)
        case .double: return double(value).map(ColumnValue.real)
        case .float:
            guard let number = double(value) else { return nil }
            let rounded = Float(number)
            guard rounded.isFinite || !number.isFinite else { throw outOfRange("\(number)", type) }
            return .real(Double(rounded))
        case .decimal: return decimal(value).map(ColumnValue.decimal)
        case .undefined, .objectID, .composite: return nil
        }
    }

    /// Returns what a number loses when an attribute of a type stores it, and the number in digits; nil if nothing is lost.
    static func cut(_ value: Any?, type: AttributeType) -> (part: NumberCut, number: String)? {
        guard type.isNumeric, let value = unwrapped(value), let number = decimal(value), !number.isNaN else {
            return nil
        }
        let part: NumberCut =
            switch try? stored(value, type, false) {
            case .integer(let whole)?: Decimal(whole) == number ? .none : .fraction
            case .real(let real)?: .storing(number, asReal: real, isFloat: type == .float)
            case .text?, .blob?, nil: .none
            }
        return part == .none ? nil : (part, "\(number)")
    }

    private static func outOfRange(_ number: String, _ type: AttributeType) -> MigrationError {
        MigrationError("value.outOfRange", .data, "The value \(number) is out of the range of \(type.label)")
    }

    private static func text(of value: Any) -> String? {
        (value as? String) ?? (value as? NSString).map { $0 as String }
    }

    private static func integer(_ value: Any, _ type: AttributeType) throws(MigrationError) -> ColumnValue? {
        guard let whole = int64(value) else { return nil }
        guard let number = whole else { throw outOfRange("\(value)", type) }
        let range: ClosedRange<Int64> =
            switch type {
            case .boolean: 0...1
            case .integer16: Int64(Int16.min)...Int64(Int16.max)
            case .integer32: Int64(Int32.min)...Int64(Int32.max)
            default: Int64.min...Int64.max
            }
        guard range.contains(number) else { throw outOfRange("\(number)", type) }
        return .integer(number)
    }

    /// Returns integers as they are, and other numbers rounded toward zero; a nil number if it is too large for an Int64, nil
    /// for anything else.
    private static func int64(_ value: Any) -> Int64?? {
        // Compare exact types instead of casting: an NSNumber can be cast to every one of them.
        if let number = value as? NSNumber, Swift.type(of: value) is AnyClass { return .some(whole(number)) }
        switch value {
        case let number as Int: return Int64(number)
        case let flag as Bool: return flag ? 1 : 0
        case let number as any BinaryInteger: return .some(Int64(exactly: number))
        case let number as Double: return .some(Int64(exactly: number.rounded(.towardZero)))
        case let number as Float: return .some(Int64(exactly: number.rounded(.towardZero)))
        case let number as Decimal: return .some(whole(NSDecimalNumber(decimal: number)))
        default: return nil
        }
    }

    /// Returns a number rounded toward zero; nil if it is too large for an Int64.
    private static func whole(_ number: NSNumber) -> Int64? {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "f"), UInt8(ascii: "d"):
            if let decimal = number as? NSDecimalNumber {
                var toZero = Decimal()
                var exact = decimal.decimalValue
                NSDecimalRound(&toZero, &exact, 0, exact.isSignMinus ? .up : .down)
                guard !exact.isNaN, toZero >= Decimal(Int64.min), toZero <= Decimal(Int64.max) else { return nil }
                return NSDecimalNumber(decimal: toZero).int64Value
            }
            return Int64(exactly: number.doubleValue.rounded(.towardZero))
        case UInt8(ascii: "Q"): return Int64(exactly: number.uint64Value)
        default: return number.int64Value
        }
    }

    private static func double(_ value: Any) -> Double? {
        if let number = value as? NSNumber, type(of: value) is AnyClass {
            return (number as? NSDecimalNumber)?.decimalValue.nearestReal ?? number.doubleValue
        }
        switch value {
        case let number as Double: return number
        case let number as Float: return Double(number)
        case let flag as Bool: return flag ? 1 : 0
        case let number as any BinaryInteger: return Double(number)
        case let number as Decimal: return number.nearestReal
        default: return nil
        }
    }

    private static func decimal(_ value: Any) -> Decimal? {
        if let number = value as? NSNumber, type(of: value) is AnyClass { return number.exactDecimal }
        switch value {
        case let number as Decimal: return number
        case let number as Double: return Decimal(string: "\(number)")
        case let number as Float: return Decimal(string: "\(number)")
        case let flag as Bool: return flag ? 1 : 0
        case let number as UInt64: return Decimal(number)
        case let number as UInt: return Decimal(number)
        default: return (int64(value) ?? nil).map { Decimal($0) }
        }
    }
}

/// An Optional of any type.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { map { $0 } }
}

extension NSNumber {
    /// The number as a Decimal; nil if 38 digits cannot hold its size. A floating number is taken as it is printed: 0.1
    /// is one tenth. Foundation's own conversion takes whole numbers through a Double.
    var exactDecimal: Decimal? {
        if let decimal = self as? NSDecimalNumber { return decimal.decimalValue }
        return switch UInt8(bitPattern: objCType.pointee) {
        case UInt8(ascii: "f"): Decimal(string: "\(floatValue)")
        case UInt8(ascii: "d"): Decimal(string: "\(doubleValue)")
        case UInt8(ascii: "Q"): Decimal(uint64Value)
        default: Decimal(int64Value)
        }
    }
}
