import Archives
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Converts between the bytes of a transformable attribute and its object: keyed archives by code of its own, all else by the
/// ``ValueTransformer`` that is registered under the attribute's name for it.
enum TransformableBridge {
    /// Returns the value of an attribute for an expression, with its object on demand.
    static func value(_ bytes: Data, _ attribute: AttributeDescription) -> TransformableValue {
        TransformableValue(bytes) { bytes throws(MigrationError) in try object(of: bytes, attribute) }
    }

    /// Returns the object of stored bytes. Throws `value.transformer` (65) naming attribute, transformer and class.
    static func object(of bytes: Data, _ attribute: AttributeDescription) throws(MigrationError) -> Any? {
        if let transformer = registered(attribute) {
            let isUnarchiver = transformer is NSSecureUnarchiveFromDataTransformer
            let object = isUnarchiver ? transformer.transformedValue(bytes) : transformer.reverseTransformedValue(bytes)
            if let object { return object }
            throw failure(attribute, "cannot be read: the transformer gives nil for its \(bytes.count.counted("byte"))")
        }
        try checkKnown(attribute, "cannot be read", attribute.definition.valueClassName)
        do {
            return try ObjectArchive.object(from: Array(bytes))
        } catch {
            throw failure(attribute, "cannot be read: \(reason(error, "its archive holds"))")
        }
    }

    /// Returns the bytes that an attribute stores for an object.
    ///
    /// - Throws: `value.transformer` (65) naming attribute, transformer and class.
    static func bytes(of object: Any, _ attribute: AttributeDescription) throws(MigrationError) -> Data {
        if let transformer = registered(attribute) {
            let isUnarchiver = transformer is NSSecureUnarchiveFromDataTransformer
            let data = isUnarchiver ? transformer.reverseTransformedValue(object) : transformer.transformedValue(object)
            if let data = data as? Data { return data }
            throw failure(
                attribute, "cannot be set: the transformer gives no data for an object of class \(type(of: object))")
        }
        try checkKnown(attribute, "cannot be set", "\(type(of: object))")
        do {
            return Data(try ObjectArchive.bytes(of: object))
        } catch {
            throw failure(attribute, "cannot be set: \(reason(error, "the value is or holds"))")
        }
    }

    /// Returns the value of an expression in the form in which a column takes it. Data are the bytes themselves.
    ///
    /// - Parameter transforms: false if transformable attributes take bytes only.
    static func columnValue(
        _ value: Any?, _ attribute: AttributeDescription, transforms: Bool
    ) throws(MigrationError) -> Any? {
        guard let value = ValueBridge.unwrapped(value) else { return nil }
        if let value = value as? TransformableValue {
            return attribute.attributeType.isBytes ? value.bytes : try value.object()
        }
        guard transforms, attribute.attributeType == .transformable, !(value is Data) else { return value }
        return try bytes(of: value, attribute)
    }

    /// The name of the transformer of an attribute that names none.
    private static let standardName = "NSKeyedUnarchiveFromData"

    private static func registered(_ attribute: AttributeDescription) -> ValueTransformer? {
        ValueTransformer.named(attribute.definition.valueTransformerName ?? standardName)
    }

    private static func checkKnown(
        _ attribute: AttributeDescription, _ what: String, _ className: String?
    ) throws(MigrationError) {
        switch attribute.definition.valueTransformerName {
        case nil, "NSSecureUnarchiveFromData", "NSSecureUnarchiveFromDataTransformer",
            "NSSecureUnarchiveFromDataTransformerName", "NSKeyedUnarchiveFromData", "NSUnarchiveFromData":
            return
        default:
            let value = className.map { " of class \($0)" } ?? ""
            throw failure(attribute, "\(what): no such transformer is registered for the value\(value)")
        }
    }

    private static func reason(_ error: MigrationError, _ holds: String) -> String {
        error.code == ObjectArchive.foreignClass ? "\(holds) \(error.message)" : error.message
    }

    private static func failure(_ attribute: AttributeDescription, _ what: String) -> MigrationError {
        let name = attribute.definition.valueTransformerName
        return MigrationError(
            "value.transformer", .data,
            "The transformable attribute \(attribute.name) of \(attribute.entityName), with "
                + (name.map { "the transformer \($0)" } ?? "no transformer named, so with keyed archives")
                + ", \(what)",
            remedy: "Register one before the migration, in a library's stagecoach_register_policies: "
                + "ValueTransformer.setValueTransformer(<transformer>, forName: "
                + "NSValueTransformerName(\"\(name ?? standardName)\")). "
                + "primitiveValue(forKey:) and setPrimitiveValue(_:forKey:) give and take the bytes",
            context: .init(entity: attribute.entityName, property: attribute.name))
    }
}
