import Diagnostics
import Foundation

/// The value of a transformable attribute: the bytes that the store holds, and the object that its transformer makes of them
/// when it is asked for. An expression that only passes the value on copies the bytes, like a compiled program.
package final class TransformableValue {
    package let bytes: Data
    private let make: (Data) throws(MigrationError) -> Any?
    private var made: Any??

    /// - Parameter make: makes the object; called at most once.
    package init(_ bytes: Data, make: @escaping (Data) throws(MigrationError) -> Any?) {
        self.bytes = bytes
        self.make = make
    }

    /// Makes a value of an object and the bytes that its transformer gave.
    package init(_ bytes: Data, of object: Any?) {
        self.bytes = bytes
        made = .some(object)
        make = { _ in nil }
    }

    /// Returns the object; the same each time.
    package func object() throws(MigrationError) -> Any? {
        if let made { return made }
        let object = try make(bytes)
        made = .some(object)
        return object
    }

    /// Returns a value that is no transformable one as it is, and the object of one that is.
    package static func object(of value: Any?) throws -> Any? {
        guard let value, type(of: value) == TransformableValue.self, let value = value as? TransformableValue else {
            return value
        }
        return try value.object()
    }
}

extension EvaluatedValue {
    /// The value, with the object of a transformable attribute in place of its bytes.
    func transformed() throws -> EvaluatedValue {
        guard case .object(let object) = self, type(of: object) == TransformableValue.self else { return self }
        return EvaluatedValue(try TransformableValue.object(of: object))
    }

    /// The bytes of a transformable attribute as data; every other value itself.
    var stored: EvaluatedValue {
        guard case .object(let object) = self, let value = object as? TransformableValue else { return self }
        return .data(value.bytes)
    }
}
