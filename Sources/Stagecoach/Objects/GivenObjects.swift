import Diagnostics
import Foundation

/// The objects in a value that a policy gives to a relationship: none, an object, a set, an ordered set or an array.
struct GivenObjects {
    let objects: [ManagedObject]
    /// True if the value has an order of its own.
    let isOrdered: Bool

    /// - Throws: `value.type` (65) for another value, or if a member is no object.
    init(_ value: Any?) throws(MigrationError) {
        let items: [Any]
        switch ValueBridge.unwrapped(value) {
        case nil: (items, isOrdered) = ([], true)
        case let one as ManagedObject: (items, isOrdered) = ([one], true)
        case let ordered as NSOrderedSet: (items, isOrdered) = (ordered.array, true)
        // Before Swift's sets: a cast of a subclass loses the members.
        case let set as RelationshipSet: (items, isOrdered) = (set.allObjects, false)
        case let set as Set<ManagedObject>: (items, isOrdered) = (Array(set), false)
        case let array as [Any]: (items, isOrdered) = (array, true)
        case let set as NSSet: (items, isOrdered) = (set.allObjects, false)
        case let array as NSArray: (items, isOrdered) = (Array(array), true)
        case let other?:
            throw MigrationError(
                "value.type", .data, "A value of type \(type(of: other)) is no object or collection of objects")
        }
        objects = try items.map { item throws(MigrationError) in
            guard let object = item as? ManagedObject else {
                throw MigrationError("value.type", .data, "A value of type \(type(of: item)) is no object")
            }
            return object
        }
    }
}
