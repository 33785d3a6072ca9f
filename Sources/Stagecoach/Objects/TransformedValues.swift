import Foundation
import ManagedModel
import Mapping

/// The transformable values that one thread read and set last: an attribute whose bytes are the same gives the same object.
///
/// Memory: at most 64 values, which together take up to 256 KiB in their stored form.
struct TransformedValues {
    private struct Place: Hashable {
        let table: Int
        let key: Int64
        let name: String

        init(_ object: ObjectPlace, _ name: String) {
            table = object.table
            key = object.key
            self.name = name
        }
    }

    private var known: [Place: TransformableValue] = [:]
    private var size = 0

    /// Returns the value of an attribute of an object.
    mutating func value(_ bytes: Data, of object: ObjectPlace, _ attribute: AttributeDescription) -> TransformableValue
    {
        let place = Place(object, attribute.name)
        if let value = known[place], value.bytes == bytes { return value }
        let value = TransformableBridge.value(bytes, attribute)
        keep(value, place)
        return value
    }

    /// Notes a value that was set.
    mutating func note(_ value: TransformableValue, of object: ObjectPlace, _ attribute: AttributeDescription) {
        keep(value, Place(object, attribute.name))
    }

    private mutating func keep(_ value: TransformableValue, _ place: Place) {
        size += value.bytes.count
        if known.count >= 64 || size > 256 << 10 {
            known.removeAll(keepingCapacity: true)
            size = value.bytes.count
        }
        known[place] = value
    }
}
