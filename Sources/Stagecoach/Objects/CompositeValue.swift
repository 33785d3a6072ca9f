import Diagnostics
import Foundation
import ManagedModel

/// The value of a composite attribute in policies and expressions: a dictionary of its elements' values by name, in which a
/// composite is again a dictionary. Elements that are nil are left out. If all are nil, the whole value is nil, because all
/// columns are NULL then.
enum CompositeValue {
    /// Makes the dictionary.
    ///
    /// - Parameter value: gives the value of an element, by its path.
    static func dictionary(
        of composite: CompositeDescription, in entity: EntityDescription, _ value: (String) throws -> Any?
    ) rethrows -> [String: Any]? {
        var values: [String: Any] = [:]
        for element in composite.elements {
            let path = "\(composite.path).\(element.name)"
            let found: Any? =
                if let inner = entity.composite(named: path) {
                    try dictionary(of: inner, in: entity, value)
                } else {
                    try value(path)
                }
            if let found { values[element.name] = found }
        }
        return values.isEmpty ? nil : values
    }

    /// Takes a dictionary apart. Returns a value for each attribute of the composite, nil for those it lacks.
    ///
    /// - Parameter value: a dictionary; nil and NSNull make every attribute nil.
    /// - Throws: `value.type` (65) if it is no dictionary with text keys; `object.unknownKey` (65) for another key.
    static func elements(
        of value: Any?, _ composite: CompositeDescription, in entity: EntityDescription
    ) throws(MigrationError) -> [(name: String, value: Any?)] {
        guard let value = ValueBridge.unwrapped(value) else { return composite.attributes.map { ($0, nil) } }
        guard let dictionary = members(value) else {
            throw MigrationError(
                "value.type", .data,
                "A value of type \(type(of: value)) does not fit a composite attribute, which takes a dictionary",
                context: .init(property: composite.path))
        }
        var rest = dictionary
        var values: [(name: String, value: Any?)] = []
        for element in composite.elements {
            let path = "\(composite.path).\(element.name)"
            let given = rest.removeValue(forKey: element.name)
            if let inner = entity.composite(named: path) {
                values += try elements(of: given, inner, in: entity)
            } else {
                values.append((path, given))
            }
        }
        if let unknown = rest.keys.min() {
            throw MigrationError(
                "object.unknownKey", .data, "The composite attribute \(composite.path) has no element \(unknown)",
                context: .init(property: composite.path))
        }
        return values
    }

    private static func members(_ value: Any) -> [String: Any]? {
        if let dictionary = value as? [String: Any] { return dictionary }
        guard let dictionary = value as? NSDictionary else { return nil }
        var members: [String: Any] = [:]
        for (key, value) in dictionary {
            guard let key = key as? String ?? (key as? NSString).map({ $0 as String }) else { return nil }
            members[key] = value
        }
        return members
    }
}
