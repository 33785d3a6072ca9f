import Diagnostics
import Foundation
import ManagedModel

/// An object of the source or of the destination, as a policy sees it.
///
/// It holds no values: it is a fault over a source row, or over a destination row in a batch or a spill, and reads and
/// writes go there. So a policy may keep objects for as long as it lives; each costs a few dozen bytes. There is at most one object
/// for an id at a time, so `===` and hashing work as in Core Data.
open class ManagedObject: NSObject {
    let place: ObjectPlace
    /// The context keeps no object alive; it is a shell once the migration is over.
    let context: ManagedObjectContext

    init(place: ObjectPlace, context: ManagedObjectContext) {
        self.place = place
        self.context = context
        super.init()
    }

    deinit { context.forget(place) }

    public final var objectID: ManagedObjectID { context.id(of: place) }

    /// The context the object belongs to; nil once the migration is over.
    public final var managedObjectContext: ManagedObjectContext? { context.isOpen ? context : nil }

    public final var entity: EntityDescription { place.entity }

    /// Whether the object has been deleted in its context.
    public final var isDeleted: Bool { context.isDeleted(self) }

    /// The value of an attribute or relationship: NSNumber, NSDecimalNumber, String, Date, Data, UUID, URL, an object,
    /// an NSSet or an NSOrderedSet. An unknown key is recorded and ends the run when the policy's method returns.
    open func value(forKey key: String) -> Any? {
        context.value(of: self, key: key)
    }

    /// Sets an attribute or relationship; the inverse follows at once. A wrong type, an unknown key or an object of
    /// the other context is recorded and ends the run when the policy's method returns.
    open func setValue(_ value: Any?, forKey key: String) {
        context.setValue(value, of: self, key: key)
    }

    open func primitiveValue(forKey key: String) -> Any? { value(forKey: key) }
    open func setPrimitiveValue(_ value: Any?, forKey key: String) { setValue(value, forKey: key) }

    /// The value at the end of a key path; nil where a step is nil. A to-many step gives an array of its members' values.
    open func value(forKeyPath path: String) -> Any? {
        var current: Any? = self
        for name in path.split(separator: ".").map(String.init) {
            switch current {
            case let object as ManagedObject: current = object.value(forKey: name)
            case let set as NSSet: current = set.allObjects.compactMap { ($0 as? ManagedObject)?.value(forKey: name) }
            case let set as NSOrderedSet: current = set.array.compactMap { ($0 as? ManagedObject)?.value(forKey: name) }
            default: return nil
            }
        }
        return current
    }

    /// Values by key, NSNull for nil.
    open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sets each value; NSNull sets nil.
    open func setValuesForKeys(_ values: [String: Any]) {
        for (key, value) in values { setValue(value, forKey: key) }
    }

    public override var hash: Int { ManagedObjectID.hash(of: place, isDestination: context.isDestination) }
    public override func isEqual(_ object: Any?) -> Bool { (object as? ManagedObject) === self }
    public override var description: String { "<\(entity.definition.name) \(objectID)>" }
}
