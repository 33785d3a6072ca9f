import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// An object of the source or of the destination, as a policy sees it.
///
/// It holds no values: it is a fault over a source row, or over a destination row in a batch or a spill. Reads and
/// writes go to that row. A policy may therefore keep objects for as long as it lives; each costs a few dozen bytes.
/// There is at most one object for an id at a time, so `===` and hashing work as in Core Data.
///
/// ```swift
/// let title = object.value(forKey: "title") as? String
/// let authors = object.value(forKey: "authors") as? Set<ManagedObject> ?? []
/// object.setValue("\(title ?? "") by \(authors.count)", forKey: "title")
/// print(object.entity.name ?? "", object.objectID.uriRepresentation())
/// ```
open class ManagedObject: NSObject {
    // Unchecked: objects come and go with every row, and checks of exclusive access cost as much as making one.
    @exclusivity(unchecked) private(set) var place: ObjectPlace
    /// The context, which does not keep the object alive and is empty once the migration is over. Nil for an object
    /// that is in no context yet.
    @exclusivity(unchecked) private(set) var context: ManagedObjectContext?
    /// The values of an object without a context, and the attributes of a deleted one.
    @exclusivity(unchecked) private var detached: [String: Any]?

    // A convenience initialiser, so that subclasses elsewhere inherit the other initialisers.
    convenience init(place: ObjectPlace, context: ManagedObjectContext) {
        self.init(entity: place.entity, insertInto: nil)
        self.place = place
        self.context = context
        detached = nil
    }

    /// Returns the context of errors about the object, or one of its properties.
    func errorContext(property: String? = nil) -> MigrationError.Context {
        .init(entity: place.entity.definition.name, objectID: objectID.shortName, property: property)
    }

    /// Creates an object of an entity and inserts it into a context, with the model's defaults.
    ///
    /// An abstract entity, an entity of another model, or the source's context is a failure that is recorded and ends
    /// the run when the policy's method returns. Without a context, or with one of no migration, the object keeps its
    /// attributes and relationships itself until ``ManagedObjectContext/insert(_:)`` takes it in; its hash changes then.
    public init(entity given: EntityDescription, insertInto target: ManagedObjectContext?) {
        let (entity, context) = (given.inModel, target?.changing)
        self.context = context
        if let context {
            place = context.placeForNew(entity)
        } else {
            place = ObjectPlace(entity: entity, key: 0, table: -1)
            detached = [:]
        }
        super.init()
        context?.adoptNew(self)
    }

    /// Creates an object of the entity that has this class in the model, and inserts it.
    ///
    /// ``ManagedObject`` itself belongs to no entity, so this is for subclasses. If the class does not belong to
    /// exactly one entity, the failure is recorded and ends the run when the policy's method returns.
    public convenience init(context given: ManagedObjectContext) {
        let model = given.persistentStoreCoordinator?.managedObjectModel
        let fitting = model?.entities(ofClass: type(of: self)).filter { !$0.isAbstract } ?? []
        let context = given.target
        if fitting.count == 1 || !context.isOpen {
            let name = String(describing: type(of: self))
            self.init(entity: fitting.first ?? .unknown(named: name), insertInto: context)
            return
        }
        context.record(
            MigrationError(
                "object.unknownEntity", .data,
                "\(fitting.count) entities of the model have the class \(type(of: self))",
                remedy: "Make the object with EntityDescription.insertNewObject(forEntityName:into:)"))
        self.init(place: context.noPlace, context: context)
        context.adopt(self)
    }

    deinit { context?.forget(place) }

    /// Takes the object into a context. Returns the values that were set before.
    func enter(_ context: ManagedObjectContext, at place: ObjectPlace) -> [String: Any] {
        let values = detached ?? [:]
        detached = nil
        self.context = context
        self.place = place
        return values
    }

    /// The key: Z_PK.
    final var key: Int64 { place.key }

    /// Makes the object stand for another row of its entity. The object must not be registered in its context.
    final func move(toKey key: Int64) {
        place.key = key
        detached = nil
    }

    /// Makes the object keep its attributes, because its row is about to be deleted.
    final func keep(_ attributes: [String: Any]) { detached = attributes }

    /// Tells whether the object itself, and no row, has the value of a key.
    private func holds(_ key: String) -> Bool {
        context == nil || detached != nil && entity.relationship(named: key) == nil
    }

    /// Tells whether the object may be reused for another row, if there is only one reference to it. Weak references
    /// would see it vanish, and stored properties of a subclass belong to its own row.
    final func mayMove(in context: ManagedObjectContext, entity: EntityDescription, table: Int) -> Bool {
        self.context === context && place.entity.index == entity.index && place.table == table
            && type(of: self) == ManagedObject.self && _getWeakRetainCount(self) <= 1
            && _getUnownedRetainCount(self) <= 1
    }

    /// The identity. The id of an object without a context belongs to no store.
    public final var objectID: ManagedObjectID {
        context?.id(of: self) ?? ManagedObjectID(place: place, storeUUID: "", isDestination: true)
    }

    /// The context that the object belongs to; nil once the migration is over.
    public final var managedObjectContext: ManagedObjectContext? {
        context.flatMap { $0.isOpen ? $0 : nil }
    }

    /// The object's own entity. Its class is `NSManagedObject`, whatever the model says, as in Core Data's migrations.
    public final var entity: EntityDescription { place.entity.ofRun }

    // MARK: - The class

    /// Returns the entity of the run's models that names this class: of the destination's model, else of the source's.
    ///
    /// As in Core Data, exactly one entity must name the class, and the call makes sense only where models are loaded: in a
    /// policy. Elsewhere it gives an entity of the class's name without properties, which no fetch finds.
    open class func entity() -> EntityDescription {
        for model in EvaluationScope.current.models {
            let entities = model.entities(ofClass: self)
            if entities.count == 1 { return entities[0].ofRun }
        }
        return .unknown(named: String(describing: self))
    }

    /// Returns a fetch request for the objects of ``entity()``.
    open class func fetchRequest() -> FetchRequest<NSObject> {
        let request = FetchRequest<NSObject>()
        request.entity = entity()
        return request
    }

    // MARK: - Values

    /// Returns the value of an attribute or relationship: NSNumber, NSDecimalNumber, String, Date, Data, UUID, URL, an
    /// object, an NSSet or an NSOrderedSet; for a transformable attribute what its ``ValueTransformer`` gives. The keys
    /// `objectID`, `entity`, `self`, `managedObjectContext` and those of the object's states work too. An unknown key is
    /// recorded and ends the run when the policy's method returns. A deleted object keeps its attributes, but for values in
    /// files of their own, and has no relationships.
    open func value(forKey key: String) -> Any? {
        guard let context, !holds(key) else { return detachedValue(key) }
        return context.value(of: self, key: key)
    }

    /// Sets an attribute or relationship. The inverse changes at once. A wrong type, an unknown key or an object of the
    /// other context is recorded and ends the run when the policy's method returns.
    open func setValue(_ value: Any?, forKey key: String) {
        if let context, !holds(key) { return context.setValue(value, of: self, key: key) }
        setDetached(value, key)
    }

    /// Returns the bytes of a transformable attribute, else `value(forKey:)`: there are no accessors to bypass.
    open func primitiveValue(forKey key: String) -> Any? {
        guard isTransformable(key) else { return value(forKey: key) }
        if let context, !holds(key) { return context.primitiveValue(of: self, key: key) }
        return (detached?[key] as? TransformableValue)?.bytes ?? detached?[key]
    }

    /// Sets a transformable attribute to bytes, and all others as `setValue(_:forKey:)` does: there are no accessors to bypass.
    open func setPrimitiveValue(_ value: Any?, forKey key: String) {
        guard isTransformable(key), let bytes = value as? Data, let attribute = entity.attribute(named: key) else {
            return setValue(value, forKey: key)
        }
        setValue(TransformableBridge.value(bytes, attribute), forKey: key)
    }

    private func isTransformable(_ key: String) -> Bool {
        entity.attribute(named: key)?.attributeType == .transformable
    }

    /// Returns the value at the end of a key path; nil if a step is nil. A to-many step gives a set of its members'
    /// values, an ordered one an ordered set. Collection operators (`@count`, `@sum`, `@max` …) work as in predicates.
    /// A failure is recorded.
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

    /// Sets the last property of a key path on the object that the steps before it lead to, or on each object if they lead to a
    /// collection. Does nothing if they lead to nil. A path without a dot is a plain key.
    open func setValue(_ value: Any?, forKeyPath path: String) {
        guard path.contains("."), entity.attribute(named: path) == nil,
            entity.composite(named: path) == nil
        else { return setValue(value, forKey: path) }
        var names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        names = entity.joiningElements(in: names)
        let key = names.removeLast()
        let found = self.value(forKeyPath: names.joined(separator: "."))
        for case let object as ManagedObject in ValueBridge.items(of: found) { object.setValue(value, forKey: key) }
    }

    /// Returns values by key, with NSNull for nil.
    open func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        Dictionary(keys.map { ($0, value(forKey: $0) ?? NSNull()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Called for a key that is no property, instead of reading a value. Records the failure, which ends the run when the
    /// policy's method returns.
    open func value(forUndefinedKey key: String) -> Any? {
        context?.record(ObjectFailure.unknownKey(key, self))
        return nil
    }

    /// Called for a key that is no property, instead of setting a value. Records the failure as ``value(forUndefinedKey:)``.
    open func setValue(_ value: Any?, forUndefinedKey key: String) {
        context?.record(ObjectFailure.unknownKey(key, self))
    }

    /// Never called here: every value is an object, and nil is one that an attribute can have.
    open func setNilValueForKey(_ key: String) {}

    /// Sets several values by key; NSNull sets nil.
    open func setValuesForKeys(_ values: [String: Any]) {
        for (key, value) in values.sorted(by: { $0.key < $1.key }) { setValue(value, forKey: key) }
    }

    // MARK: - Events
    //
    // A migration reads every object as a plain `ManagedObject`, as Core Data's does. So these are called for objects of a
    // subclass that code itself makes and inserts, as long as it keeps them.

    /// Called when the object has been inserted into a context, with the model's defaults. Does nothing itself.
    open func awakeFromInsert() {}

    /// Never called here: objects that are read are not of a subclass.
    open func awakeFromFetch() {}

    /// Never called here: nothing is undone, and objects hold no values.
    open func awake(fromSnapshotEvents flags: SnapshotEventType) {}

    /// Called before the object is deleted, by ``ManagedObjectContext/delete(_:)`` or by a delete rule. Does nothing itself.
    open func prepareForDeletion() {}

    /// Called once before the migration's only save: after the last policy's `end`, before the model's rules are checked.
    /// It may set values. ``ManagedObjectContext/save()`` does not call it. Does nothing itself.
    open func willSave() {}

    /// Called once after the migration's rows are written. The object has no values any more. Does nothing itself.
    open func didSave() {}

    /// Never called here: objects hold no values that they could lose.
    open func willTurnIntoFault() {}

    /// Never called here: objects hold no values that they could lose.
    open func didTurnIntoFault() {}

    // MARK: - Rules

    /// Checks a value against the model's rules for an attribute or relationship, without setting it.
    ///
    /// - Parameters:
    ///   - value: the value; a subclass may replace it.
    ///   - key: the property's name.
    /// - Throws: `object.unknownKey`; `value.type` or `value.outOfRange` for a value that the attribute cannot have;
    ///   `validation.…` (65), as ``validateForInsert()``.
    open func validateValue(_ value: inout AnyObject?, forKey key: String) throws {
        try ObjectValidation(object: self).check(value, forKey: key)
    }

    /// Returns the compiled rules of the entity's attributes. A context keeps them; without one each call compiles them.
    final func rules() throws(MigrationError) -> ObjectRules {
        guard let context else { return try ObjectRules(place.entity) }
        return try context.rules(of: place.entity)
    }

    /// Does nothing: access is not observed.
    open func willAccessValue(forKey key: String?) {}
    /// Does nothing: access is not observed.
    open func didAccessValue(forKey key: String?) {}
    /// Does nothing: changes are not observed.
    open func willChangeValue(forKey key: String) {}
    /// Does nothing: changes are not observed.
    open func didChangeValue(forKey key: String) {}

    /// Checks the object against the model's rules: required values, bounds, lengths, patterns, counts. Every object is
    /// checked in the same way when it is saved; an override is not called then, because rows are checked, not objects.
    ///
    /// - Throws: `validation.missing`, `validation.tooSmall`, `validation.tooLarge`, `validation.tooShort`,
    ///   `validation.tooLong`, `validation.pattern`, `validation.tooFew`, `validation.tooMany` (65), for the first rule
    ///   that is broken.
    open func validateForInsert() throws { try ObjectValidation(object: self).run() }

    /// Performs the same checks as ``validateForInsert()``.
    open func validateForUpdate() throws { try ObjectValidation(object: self).run() }

    /// Checks the rules that deny a deletion, on the links as they are now. At the end of a run they are checked for every
    /// deleted object of the destination, on the links as they are then.
    ///
    /// - Throws: `validation.deniedDelete` (65), bridged to Core Data's 1600, for the first relationship that denies it.
    open func validateForDelete() throws { try ObjectValidation(object: self).checkDeletion() }

    public override var hash: Int {
        guard let context else { return ManagedObjectID.hash(of: place, isDestination: true) }
        if context.memberSets.isWatching { context.memberSets.note(self) }
        return ManagedObjectID.hash(of: place, isDestination: context.isDestination)
    }
    public override func isEqual(_ object: Any?) -> Bool { (object as? ManagedObject) === self }
    open override var description: String { "<\(entity.definition.name) \(objectID)>" }
}

extension ManagedObject: ExpressionObject {
    package func expressionValue(forKey key: String) throws -> Any? {
        // A subclass may override value(forKey:), so ask it.
        guard type(of: self) == ManagedObject.self, let context, !holds(key) else { return value(forKey: key) }
        return try context.readValue(of: self, key: key)
    }

    private func detachedValue(_ key: String) -> Any? {
        if let composite = entity.composite(named: key) {
            return CompositeValue.dictionary(of: composite, in: entity) { detached?[$0] }
        }
        if let value = detached?[key] as? TransformableValue { return try? value.object() }
        if let set = detached?[key] as? NSMutableSet { return NSSet(array: set.allObjects) }
        return detached?[key] ?? extraValue(key)?.value
    }

    /// Returns the members of an unordered relationship of an object without a context, as a set that is its value.
    func detachedSet(_ key: String) -> NSMutableSet {
        if let set = detached?[key] as? NSMutableSet, type(of: set) == NSMutableSet.self { return set }
        let set = NSMutableSet(array: ValueBridge.items(of: detached?[key]))
        detached?[key] = set
        return set
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

    /// Returns the value at the end of a key path; an unknown key throws.
    func sortValue(forKeyPath path: String) throws -> Any? {
        let components = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return try ValueExpression(node: .keyPath(target: nil, components: components))
            .evaluate(with: self, variables: [:])
    }

    /// The keys that work on every object without being properties of its entity.
    static let extraKeys: Set<String> = [
        "objectID", "entity", "self", "managedObjectContext", "isDeleted", "isInserted", "isUpdated", "isFault",
        "hasChanges", "description", "hash",
    ]

    /// Returns the value of a key that is no property; nil if the key is unknown.
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
