import Diagnostics
import Foundation
import ManagedModel
import Rows

/// Between cells and the values that policies see: the one seam between rows and objects.
enum ValueBridge {
    /// A stored value as Core Data gives it: NSNumber for integers, floats and Booleans, NSDecimalNumber, String,
    /// Date, Data, UUID, URL.
    static func object(_ cell: Cell, in batch: borrowing RowBatch, attribute: AttributeDefinition) -> Any? {
        switch cell.kind {
        case .null, .absent, .reference: return nil
        case .integer: return number(integer: cell.integerValue, attribute.type)
        case .real: return number(real: cell.realValue, attribute.type)
        case .text:
            let text = String(decoding: batch.bytes(cell), as: UTF8.self)
            switch attribute.type {
            case .uri: return URL(string: text)
            case .decimal: return NSDecimalNumber(string: text)
            default: return text
            }
        case .blob: return data(batch.bytes(cell), attribute)
        }
    }

    private static func number(integer: Int64, _ type: AttributeType) -> Any {
        switch type {
        case .boolean: NSNumber(value: integer != 0)
        case .integer16: NSNumber(value: Int16(truncatingIfNeeded: integer))
        case .integer32: NSNumber(value: Int32(truncatingIfNeeded: integer))
        case .double: NSNumber(value: Double(integer))
        case .float: NSNumber(value: Float(integer))
        case .decimal: NSDecimalNumber(value: integer)
        case .date: Date(timeIntervalSinceReferenceDate: Double(integer))
        default: NSNumber(value: integer)
        }
    }

    private static func number(real: Double, _ type: AttributeType) -> Any {
        switch type {
        case .date: Date(timeIntervalSinceReferenceDate: real)
        case .float: NSNumber(value: Float(real))
        case .decimal: NSDecimalNumber(string: "\(real)")
        case .boolean: NSNumber(value: real != 0)
        default: NSNumber(value: real)
        }
    }

    private static func data(_ bytes: UnsafeRawBufferPointer, _ attribute: AttributeDefinition) -> Any? {
        if attribute.type == .uuid, bytes.count == 16 {
            return UUID(uuid: bytes.loadUnaligned(as: uuid_t.self))
        }
        guard attribute.allowsExternalBinaryDataStorage, let marker = bytes.first else { return Data(bytes) }
        // 1: the value follows. 2: it lies in an external file, whose name the caller keeps as it is.
        return marker == 1 ? Data(bytes.dropFirst()) : Data(bytes)
    }

    /// Puts a policy's value into a cell, converted to the attribute's stored form.
    ///
    /// - Throws: `value.type` (65) where the value is not of the attribute's type, `value.outOfRange` (65).
    static func store(
        _ value: Any?, attribute: AttributeDescription, in batch: inout RowBatch, row: Int, slot: Int
    ) throws(MigrationError) {
        guard let value = unwrapped(value) else {
            batch[row, slot] = .null
            return
        }
        guard let stored = try stored(value, attribute) else {
            throw MigrationError(
                "value.type", .data,
                "A value of type \(type(of: value)) does not fit an attribute of type \(attribute.attributeType.label)",
                context: .init(entity: attribute.entityName, property: attribute.name))
        }
        stored.store(in: &batch, row: row, slot: slot)
    }

    /// A value without optionals around it; nil for nil at any depth and for NSNull.
    static func unwrapped(_ value: Any?) -> Any? {
        guard let value else { return nil }
        if value is NSNull { return nil }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return unwrapped(mirror.children.first?.value)
    }

    private static func stored(_ value: Any, _ attribute: AttributeDescription) throws(MigrationError) -> StoredValue? {
        switch attribute.attributeType {
        case .string: return text(value).map(StoredValue.text)
        case .uri: return (value as? URL).map { .text($0.absoluteString) }
        case .uuid: return (value as? UUID).map { uuid in .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) }) }
        case .date: return (value as? Date).map { .real($0.timeIntervalSinceReferenceDate) }
        case .binaryData, .transformable:
            guard let data = (value as? Data) ?? (value as? NSData).map({ Data(referencing: $0) }) else { return nil }
            let blob = StoredValue.blob(Array(data))
            return attribute.definition.allowsExternalBinaryDataStorage ? blob.withInlineMarker : blob
        case .boolean, .integer16, .integer32, .integer64: return try integer(value, attribute)
        case .double: return double(value).map(StoredValue.real)
        case .float: return double(value).map { .real(Double(Float($0))) }
        case .decimal: return decimal(value).map(StoredValue.decimal)
        case .undefined, .objectID, .composite: return nil
        }
    }

    private static func text(_ value: Any) -> String? {
        (value as? String) ?? (value as? NSString).map { $0 as String }
    }

    private static func integer(_ value: Any, _ attribute: AttributeDescription) throws(MigrationError) -> StoredValue?
    {
        let type = attribute.attributeType
        guard let number = int64(value) else { return nil }
        let range: ClosedRange<Int64> =
            switch type {
            case .boolean: 0...1
            case .integer16: Int64(Int16.min)...Int64(Int16.max)
            case .integer32: Int64(Int32.min)...Int64(Int32.max)
            default: Int64.min...Int64.max
            }
        guard range.contains(number) else {
            throw MigrationError(
                "value.outOfRange", .data, "The value \(number) is out of the range of \(type.label)",
                context: .init(entity: attribute.entityName, property: attribute.name))
        }
        return .integer(number)
    }

    /// Integers as they are, other numbers toward zero.
    private static func int64(_ value: Any) -> Int64? {
        switch value {
        case let flag as Bool: flag ? 1 : 0
        case let number as Int: Int64(number)
        case let number as Int64: number
        case let number as Int32: Int64(number)
        case let number as Int16: Int64(number)
        case let number as Int8: Int64(number)
        case let number as UInt8: Int64(number)
        case let number as UInt16: Int64(number)
        case let number as UInt32: Int64(number)
        case let number as UInt: Int64(exactly: number)
        case let number as UInt64: Int64(exactly: number)
        case let number as Double: Int64(exactly: number.rounded(.towardZero))
        case let number as Float: Int64(exactly: number.rounded(.towardZero))
        case let number as Decimal: NSDecimalNumber(decimal: number).int64Value
        case let number as NSNumber: number.int64Value
        default: nil
        }
    }

    private static func double(_ value: Any) -> Double? {
        switch value {
        case let number as Double: number
        case let number as Float: Double(number)
        case let number as Decimal: NSDecimalNumber(decimal: number).doubleValue
        case let number as NSNumber: number.doubleValue
        default: int64(value).map(Double.init)
        }
    }

    private static func decimal(_ value: Any) -> Decimal? {
        switch value {
        case let number as Decimal: number
        case let number as NSDecimalNumber: number.decimalValue
        case let number as Double: Decimal(string: "\(number)")
        case let number as Float: Decimal(string: "\(number)")
        case let number as NSNumber: number.decimalValue
        default: int64(value).map { Decimal($0) }
        }
    }
}
