import Archives
import Diagnostics
import Foundation
import Mapping

/// The value of a `forEach` as a list of members.
enum ForEachValue {
    /// Returns the members of a value in their order: those of a collection; those of a list that a text or data hold as JSON, or
    /// data as a keyed archive. Nil has none.
    ///
    /// - Parameter place: gives table and key of a source object, by which those of a set are sorted; nil for other values.
    /// - Throws: `value.type` (65) for any other value.
    static func members(of value: Any?, place: Place = managedObject) throws(MigrationError) -> [Any?] {
        switch ValueBridge.unwrapped(value) {
        case nil: return []
        case let list as NSOrderedSet: return list.array.map(ValueBridge.unwrapped)
        case let set as NSSet: return sorted(set, place)
        case let text as String: return try list(inJSON: Data(text.utf8), "a text")
        case let data as Data:
            if let object = try? ObjectArchive.object(from: Array(data)) {
                return try members(of: object, place: place)
            }
            return try list(inJSON: data, "data")
        case let value as TransformableValue: return try members(of: value.object(), place: place)
        case let list as [Any]: return list.map(ValueBridge.unwrapped)
        case let value?: throw failure("a value of type \(type(of: value))")
        }
    }

    private static func list(inJSON data: Data, _ form: String) throws(MigrationError) -> [Any?] {
        guard !data.isEmpty else { return [] }
        guard let list = (try? JSONSerialization.jsonObject(with: data)) as? [Any] else {
            throw failure("\(form) that holds no list as JSON")
        }
        return list.map(ValueBridge.unwrapped)
    }

    typealias Place = (Any) -> (table: Int, key: Int64)?

    /// The place of an object of the source context.
    static func managedObject(_ member: Any) -> (table: Int, key: Int64)? {
        (member as? ManagedObject).map { ($0.place.table, $0.place.key) }
    }

    /// Objects by table and key; other members by their text, as a set has no order that is the same in each run.
    private static func sorted(_ set: NSSet, _ place: Place) -> [Any?] {
        let members = set.allObjects.map { (place: place($0), text: String(describing: $0), value: $0) }
        return members.sorted {
            guard let one = $0.place, let other = $1.place else { return $0.text < $1.text }
            return one < other
        }.map(\.value)
    }

    private static func failure(_ what: String) -> MigrationError {
        MigrationError(
            "value.type", .data, "\"forEach\" takes a collection, and the expression gives \(what)",
            remedy: "Name a to-many relationship, or an attribute that holds a list as an archive or as JSON")
    }
}
