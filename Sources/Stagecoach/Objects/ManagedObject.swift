import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// An object of the source or of the destination, as a policy sees it.
///
/// It holds no values: it is a fault over a source row, or over a destination row in a batch or a spill, and reads and
/// writes go there. So a policy may keep objects for as long as it lives; each costs a few dozen bytes. There is at most
/// one object for an id at a time, so `===` and hashing work as in Core Data.
open class ManagedObject: NSObject {
    // Objects come and go by the row: checks of exclusive access cost as much as making one.
    @exclusivity(unchecked) private(set) var place: ObjectPlace
    /// The context keeps no object alive; it is a shell once the migration is over. Nil for an object that no context
    /// has taken in.
    @exclusivity(unchecked) private(set) var context: ManagedObjectContext?
    /// Values of an object without a context.
    @exclusivity(unchecked) private var detached: [String: Any]?

    // Convenience, so that subclasses elsewhere inherit the other initialisers.
    convenience init(place: ObjectPlace, context: ManagedObjectContext) {
        self.init(entity: place.entity, insertInto: nil)
        self.place = place
        self.context = context
        detached = nil
    }

    /// Makes an object of an entity and inserts it into a context, with the model's defaults.
    ///
    /// An abstract entity, one of another model and the source's context are recorded and end the run when the policy's
    /// method returns. Without a context the object keeps attributes and relationships itself until
    /// ``ManagedObjectContext/insert(_:)`` takes it in; its hash changes then.
    public init(entity: EntityDescription, insertInto context: ManagedObjectContext?) {
        self.context = context
        if let context {
            place = context.placeForNew(entity)
        } else {
            place = ObjectPlace(entity: entity, key: 0, table: -1)
            detached = [:]
        }
        super.init()
        context?.adopt(self)
    }

    /// Makes an object of the entity whose class this is, by the class name in the model, and inserts it.
    ///
    /// ``ManagedObject`` itself stands for no entity, so this is for subclasses; where not exactly one entity has the
    /// class, the failure is recorded and ends the run when the policy's method returns.
    public convenience init(context: ManagedObjectContext) {
        let name = String(describing: type(of: self))
        let full = String(reflecting: type(of: self))
        let model = context.persistentStoreCoordinator?.managedObjectModel
        let fitting = (model?.entities ?? []).filter {
            guard !$0.isAbstract, let own = $0.definition.managedObjectClassName else { return false }
            return own == full || own.split(separator: ".").last.map(String.init) == name
        }
        if fitting.count == 1 {
            self.init(entity: fitting[0], insertInto: context)
            return
        }
        context.record(
            MigrationError(
                "object.unknownEntity", .data, "\(fitting.count) entities of the model have the class \(name)",
                remedy: "Make the object with EntityDescription.insertNewObject(forEntityName:into:)"))
        self.init(place: context.noPlace, context: context)
        context.adopt(self)
    }

    deinit { context?.forget(place) }

    /// Takes the object into a context.
    ///
    /// - Returns: what was set before.
    func enter(_ context: ManagedObjectContext, at place: ObjectPlace) -> [String: Any] {
        let values = detached ?? [:]
        detached = nil
        self.context = context
        self.place = place
        return values
    }

    /// Z_PK.
    final var key: Int64 { place.key }

    /// Gives the object another row. It is not in its context's books.
    final func move(to place: ObjectPlace) { self.place = place }

    /// Gives the object another row of its entity. It is not in its context's books.
    final func move(toKey key: Int64) { place.key = key }

    /// Whether the object may become that of another row, where one reference to it is all that there are: who holds it weakly
    /// sees it go, and what a subclass stores is its own row's.
    final func mayMove(in context: ManagedObjectContext, entity: EntityDescription, table: Int) -> Bool {
        self.context === context && place.entity.index == entity.index && place.table == table
            && type(of: self) == ManagedObject.self && _getWeakRetainCount(self) <= 1
            && _getUnownedRetainCount(self) <= 1
    }

    /// The identity. An object without a context has one of no store.
    public final var objectID: ManagedObjectID {
        context?.id(of: self) ?? ManagedObjectID(place: place, storeUUID: "", isDestination: true)
    }

    /// The context the object belongs to; nil once the migration is over.
    public final var managedObjectContext: ManagedObjectContext? {
        context.flatMap { $0.isOpen ? $0 : nil }
    }

    /// The object's own entity.
    public final var entity: EntityDescription { place.entity }

    // MARK: - Values

    /// The value of an attribute or relationship: NSNumber, NSDecimalNumber, String, Date, Data, UUID, URL, an object,
    /// an NSSet or an NSOrderedSet; also `objectID`, `entity`, `self`, `managedObjectContext` and the object's states. An
    /// unknown key is recorded and ends the run when the policy's method returns.
    open func value(forKey key: String) -> Any? {
        guard let context else { return detachedValue(key) }
        return context.value(of: self, key: key)
    }

    /// Sets an attribute or relationship; the inverse follows at once. A wrong type, an unknown key or an object of
    /// the other context is recorded and ends the run when the policy's method returns.
    open func setValue(_ value: Any?, forKey key: String) {
        if let context { return context.setValue(value, of: self, key: key) }
        setDetached(value, key)
    }

    /// The same as `value(forKey:)`: there are no accessors to go around.
    open func primitiveValue(forKey key: String) -> Any? { value(forKey: key) }
    /// The same as `setValue(_:forKey:)`: there are no accessors to go around.
    open func setPrimitiveValue(_ value: Any?, forKey key: String) { setValue(value, forKey: key) }

    /// The value at the end of a key path; nil where a step is nil. A to-many step gives a set of its members' values,
    /// an ordered one an ordered set; collection operators (`@count`, `@sum`, `@max` …) work as in predicates. A failure
    /// is recorded.
    open func value(forKeyPath path: String) -> Any? {
        let components = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        if components.count == 1, !path.hasPrefix("@") { return value(forKey: path) }
        do {
            return try sortValue(forKeyPath: path)
        } catch {
            context?.record(error)
            return nil
        }
    }

    /// Sets the property at the end of a key path on the object before it; nothing where that is nil.
    open func setValue(_ value: Any?, forKeyPath path: String) {
        guard path.contains("."), entity.attribute(named: path) == nil,
            entity.composite(named: path) == nil
        else { return setValue(value, forKey: path) }
        var names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        names = entity.joiningElements(in: names)
        let key = names.removeLast()
        switch self.value(forKeyPath: names.joined(separator: ".")) {
        case let object as ManagedObject: object.setValue(value, forKey: key)
        case let set as NSSet: for case let object as ManagedObject in set { object.setValue(value, forKey: key) }
        case let set as NSOrderedSet:
            for case let object as ManagedObject in set { object.setValue(value, forKey: key) }
        default: return
        }
    }

    /// Values by key, NSNull for nil.
    open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Sets each value; NSNull sets nil.
    open func setValuesForKeys(_ values: [String: Any]) {
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { setValue(value, forKey: key) }
    }

    public override var hash: Int {
        guard let context else { return ManagedObjectID.hash(of: place, isDestination: true) }
        // A hash must not change: an object that was made ahead has no key yet.
        if context.isDestination { context.awaitTurn() }
        return ManagedObjectID.hash(of: place, isDestination: context.isDestination)
    }
    public override func isEqual(_ object: Any?) -> Bool { (object as? ManagedObject) === self }
    public override var description: String { "<\(entity.definition.name) \(objectID)>" }
}

extension ManagedObject: ExpressionObject {
    package func expressionValue(forKey key: String) throws -> Any? {
        // A subclass may compute values.
        guard type(of: self) == ManagedObject.self, let context else { return value(forKey: key) }
        return try context.readValue(of: self, key: key)
    }

    private func detachedValue(_ key: String) -> Any? {
        if let composite = entity.composite(named: key) {
            return CompositeValue.dictionary(of: composite, in: entity) { detached?[$0] }
        }
        return detached?[key] ?? extraValue(key)?.value
    }

    /// Keeps a value; a dictionary that fits its composite attribute as the values of its elements. What does not fit is an
    /// error of the context that takes the object in.
    private func setDetached(_ value: Any?, _ key: String) {
        if let composite = entity.composite(named: key),
            let values = try? CompositeValue.elements(of: value, composite, in: entity)
        {
            for (name, value) in values { detached?[name] = ValueBridge.unwrapped(value) }
        } else {
            detached?[key] = ValueBridge.unwrapped(value)
        }
    }

    package var expressionEntityName: String? { entity.definition.name }
    package var expressionEntity: EntityDescription? { entity }

    /// The value at the end of a key path; an unknown key throws.
    func sortValue(forKeyPath path: String) throws -> Any? {
        let components = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return try ValueExpression(node: .keyPath(target: nil, components: components))
            .evaluate(with: self, variables: [:])
    }

    /// Keys that are no properties of entities.
    static let extraKeys: Set<String> = [
        "objectID", "entity", "self", "managedObjectContext", "isDeleted", "isInserted", "isUpdated", "isFault",
        "hasChanges", "description", "hash",
    ]

    /// The value of a key that is no property; nil where it is none of those either.
    func extraValue(_ key: String) -> (value: Any?, Void)? {
        switch key {
        case "objectID": (objectID, ())
        case "entity": (entity, ())
        case "self": (self, ())
        case "managedObjectContext": (managedObjectContext, ())
        case "isDeleted", "deleted": (NSNumber(value: isDeleted), ())
        case "isInserted", "inserted": (NSNumber(value: isInserted), ())
        case "isUpdated", "updated": (NSNumber(value: isUpdated), ())
        case "isFault", "fault": (NSNumber(value: isFault), ())
        case "hasChanges": (NSNumber(value: hasChanges), ())
        case "description": (description, ())
        case "hash": (NSNumber(value: hash), ())
        default: nil
        }
    }
}
