import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// The objects of one side of a migration: made as faults on demand, unique by id, kept while code refers to them.
///
/// Changes are visible at once. Those in the destination's context are saved once, after the last policy's `end`. Those in the
/// source's context hold until the end of the run: a later mapping does not get an object that was deleted. The source itself
/// is never written.
///
/// ```swift
/// let request = FetchRequest<ManagedObject>(entityName: "Publisher")
/// request.predicate = FormatPredicate(format: "name == %@", "Penguin")
/// let context = manager.destinationContext
/// let publisher = try context.fetch(request).first
///     ?? EntityDescription.insertNewObject(forEntityName: "Publisher", into: context)
/// publisher.setValue("Penguin", forKey: "name")
/// ```
public final class ManagedObjectContext: NSObject {
    /// Reads and writes the objects of a side.
    protocol Backing: FetchSide {
        func value(of object: ManagedObject, key: String) throws -> Any?
        func setValue(_ value: Any?, of object: ManagedObject, key: String) throws
        /// Adds members at the end of a to-many relationship and removes others.
        func changeMembers(of object: ManagedObject, key: String, adding: [Any], removing: [Any]) throws
        /// Returns the number of members of a to-many relationship; nil if only its value tells.
        func memberCount(of object: ManagedObject, key: String) throws -> Int?
        /// Tells whether an object is a member; nil if only the relationship's value tells.
        func isMember(_ member: ManagedObject, of object: ManagedObject, key: String) throws -> Bool?
        /// Returns a number that changes whenever members of the relationship may have changed; nil if there is none.
        func memberVersion(of object: ManagedObject, key: String) -> UInt64?
        func insert(_ entity: EntityDescription) throws -> ObjectPlace
        func delete(_ object: ManagedObject) throws
        func exists(_ place: ObjectPlace) throws -> Bool
        /// Returns the places of all deleted objects.
        func deletedPlaces() throws -> [ObjectPlace]
        /// True if an object may have been deleted.
        var hasDeletions: Bool { get }
        /// Returns the place of the row with a key, with the row's own entity; nil if the entity has no such row.
        func existingPlace(entity: EntityDescription, key: Int64) throws -> ObjectPlace?
        /// Returns the number of the side's unsaved objects.
        func insertedCount() throws -> Int
        /// Tells whether an object of the destination was in the store before the mapping model at work.
        func isStored(_ place: ObjectPlace) -> Bool
        /// Tells whether such an object was changed.
        func isChanged(_ place: ObjectPlace) throws -> Bool
        /// True if any such object was changed or deleted.
        var hasStoredChanges: Bool { get }
        /// Returns a page of places of the side's unsaved objects, from a table and key on; empty at the end.
        func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace]
        /// For each table, the key that the next new object gets; empty if nothing is unsaved.
        var insertionLimits: [Int64] { get }
    }

    /// The objects' backing; nil once the migration is over. Objects that are still referenced have no values then.
    private var side: (any Backing)?
    /// The same, with all that code changed through mutable sets.
    var backing: (any Backing)? {
        if memberSets.isWatching { takeOverSets() }
        return side
    }
    /// The sets through which code changes relationships.
    let memberSets = MemberSets()
    private let failures: FailureRecord
    /// The store of a migration's context; nil for another context.
    let store: PersistentStore?
    var storeUUID: String { store?.identifier ?? "" }
    let isDestination: Bool
    // Unchecked: one thread uses a context, and checks of exclusive access cost as much as the lookup.
    @exclusivity(unchecked) private var live = LiveObjects()
    @exclusivity(unchecked) private var transformed = TransformedValues()
    /// The transformable attributes by entity index and name; empty if there are none, or if their values are bytes.
    private let transformables: [[String: AttributeDescription]]
    private var placeholders: Int64 = 0
    /// The compiled rules of the entities whose objects were validated, by the entity's index.
    private var rules: [Int: ObjectRules] = [:]
    /// The mutable view of an ordered relationship that was made last. Code that adds one member after the other asks for it
    /// each time.
    private var mutableView: (object: ObjectPlace, key: String, view: NSObject)?

    /// The store that the objects belong to, with its model. Those of a migration's own contexts cannot be replaced.
    public var persistentStoreCoordinator: PersistentStoreCoordinator! {
        get { coordinator ?? parent?.persistentStoreCoordinator }
        set { if !isOfRun { coordinator = newValue } }
    }
    private var coordinator: PersistentStoreCoordinator?
    /// The context through which this one works. A context that code makes during a migration has the migration's objects if
    /// its parent is the migration's context, or if it has that context's coordinator: it then is another name of it.
    public var parent: ManagedObjectContext?
    /// The queue that the context was made for; it changes nothing, since every call runs on its caller's thread.
    public let concurrencyType: ConcurrencyType
    /// True for a context of a migration, also after its end.
    private let isOfRun: Bool
    /// The context that has the objects: the nearest one of a migration.
    var target: ManagedObjectContext { isOfRun ? self : parent?.target ?? coordinator?.context ?? self }
    /// True once code has inserted an object of a subclass.
    private var hasSubclassObjects = false
    /// Values for the caller's own use.
    public let userInfo = NSMutableDictionary()
    /// A name for the caller's own use.
    public var name: String?
    /// A name for the changes in persistent history, which has none of a migration's.
    public var transactionAuthor: String?
    /// Has no effect: the single save has nothing to merge with, and objects that break a uniqueness constraint are invalid.
    public var mergePolicy: Any = MergePolicy.error
    /// Has no effect.
    public var automaticallyMergesChangesFromParent = false
    /// Has no effect.
    public var retainsRegisteredObjects = false
    /// Has no effect: deletions propagate at once.
    public var propagatesDeletesAtEndOfEvent = true
    /// Has no effect: a row that another one refers to is there, or the reference is nil.
    public var shouldDeleteInaccessibleFaults = true
    /// Has no effect: objects always show their current values.
    public var stalenessInterval: TimeInterval = -1

    /// - Parameter transforms: true if transformable attributes have objects as values, false if they have bytes.
    init(
        backing: any Backing, failures: FailureRecord, coordinator: PersistentStoreCoordinator, isDestination: Bool,
        transforms: Bool
    ) {
        let found = coordinator.managedObjectModel.entities.map { entity in
            Dictionary(
                entity.declaredAttributes.filter { $0.attributeType == .transformable }.map { ($0.name, $0) },
                uniquingKeysWith: { first, _ in first })
        }
        transformables = transforms && found.contains { !$0.isEmpty } ? found : []
        side = backing
        self.failures = failures
        self.coordinator = coordinator
        concurrencyType = .privateQueueConcurrencyType
        isOfRun = true
        store = coordinator.persistentStores.first
        self.isDestination = isDestination
        super.init()
        coordinator.context = self
    }

    /// Creates a context without objects. Objects are read and changed in a migration only: give it the coordinator of the
    /// migration's context, or that context as its parent.
    ///
    /// Without a migration it inserts nothing: a new object keeps its values itself, and ``save()`` throws `manager.idle`.
    public convenience init(concurrencyType: ConcurrencyType) { self.init(idle: true, concurrencyType) }

    /// Creates a context without objects, under the newer name.
    public convenience init(_ type: ConcurrencyType) { self.init(idle: true, type) }

    /// Creates a context without objects, as the oldest versions of Core Data do.
    public override convenience init() { self.init(idle: true, .confinementConcurrencyType) }

    /// Creates a context without a store.
    ///
    /// - Parameter isDestination: true for the destination's side.
    init(idle isDestination: Bool, _ concurrencyType: ConcurrencyType = .privateQueueConcurrencyType) {
        side = nil
        failures = FailureRecord()
        transformables = []
        store = nil
        self.isDestination = isDestination
        self.concurrencyType = concurrencyType
        isOfRun = false
    }

    var isOpen: Bool { side != nil }

    /// Releases rows and links at the end of the migration.
    func close() {
        side = nil
        mutableView = nil
        memberSets.removeAll()
    }

    /// Makes the changes that code made to mutable sets. A failure is recorded.
    func takeOverSets() {
        guard let side else { return }
        do { try memberSets.takeOver(side) } catch { record(error) }
    }

    /// Makes the changes that code made to mutable sets, at the end of a call of user code.
    func endSets() {
        takeOverSets()
        memberSets.endCall()
    }

    /// Shows a change of relationships in the mutable sets that code holds. A failure is recorded.
    func refreshSets() {
        guard memberSets.isWatching, let side else { return }
        do { try memberSets.refresh(side) } catch { record(error) }
    }

    /// Returns the mutable view that was made last, if it is the one of this relationship.
    func mutableView<View: NSObject>(of object: ManagedObject, _ key: String) -> View? {
        guard let mutableView, mutableView.object.key == object.place.key,
            mutableView.object.table == object.place.table,
            mutableView.key == key
        else { return nil }
        return mutableView.view as? View
    }

    func noteMutableView(_ view: NSObject, of object: ManagedObject, _ key: String) {
        mutableView = (object.place, key, view)
    }

    func id(of object: ManagedObject) -> ManagedObjectID {
        ManagedObjectID(place: object.place, storeUUID: storeUUID, isDestination: isDestination, store: store)
    }

    // MARK: - Objects by place and id

    /// Returns the object of a place: the living one, or a new fault.
    func object(at place: ObjectPlace) -> ManagedObject {
        if let known = live.object(table: place.table, key: place.key) { return known }
        let object = ManagedObject(place: place, context: self)
        adopt(object)
        return object
    }

    /// Makes a variable hold the object of a row: the living one, else a fault. If nothing else refers to the object that is
    /// in the variable, it becomes the fault, so that going over rows does not make an object for each.
    ///
    /// - Parameters:
    ///   - held: an object of this context, or nil.
    ///   - entity: the row's own entity.
    func renew(_ held: inout ManagedObject?, entity: EntityDescription, table: Int, key: Int64) {
        guard isKnownUniquelyReferenced(&held), let object = held,
            object.mayMove(in: self, entity: entity, table: table)
        else {
            held = object(at: ObjectPlace(entity: entity, key: key, table: table))
            return
        }
        if let known = live.object(table: table, key: key) {
            held = known
            return
        }
        live.remove(table: table, key: object.key)
        object.move(toKey: key)
        live.insert(object)
    }

    /// Returns the object with an id: the living one, or a new fault.
    public func object(with id: ManagedObjectID) -> ManagedObject {
        if target !== self { return target.object(with: id) }
        let failure = foreign(id)
        if let failure = isOpen ? failure : Self.idle { failures.record(failure) }
        return object(at: failure == nil ? id.place : freePlaceholder(id.entity))
    }

    /// Returns the object with an id, if its row exists.
    ///
    /// - Throws: `object.unknown` if there is no such row; `manager.idle` without a migration.
    public func existingObject(with id: ManagedObjectID) throws -> ManagedObject {
        if target !== self { return try target.existingObject(with: id) }
        let backing = try openBacking()
        guard foreign(id) == nil, try backing.exists(id.place) else {
            throw MigrationError(
                "object.unknown", .data, "There is no such object", context: .init(objectID: id.description))
        }
        return object(at: id.place)
    }

    /// Returns the object with an id if it is registered. In the source's context it is if it is still referenced, and
    /// nothing is read. In the destination's context it is if its row exists.
    public func registeredObject(for id: ManagedObjectID) -> ManagedObject? {
        if target !== self { return target.registeredObject(for: id) }
        guard foreign(id) == nil else { return nil }
        if isDestination { return try? existingObject(with: id) }
        return live.object(table: id.place.table, key: id.place.key)
    }

    private func foreign(_ id: ManagedObjectID) -> MigrationError? {
        guard store == nil || id.isDestination != isDestination || id.storeUUID != storeUUID else { return nil }
        return MigrationError(
            "object.unknown", .data, "The object id is one of the other store",
            context: .init(entity: id.entity.definition.name, objectID: id.description))
    }

    /// Returns a place that no row and no other object has.
    private func freePlaceholder(_ entity: EntityDescription) -> ObjectPlace {
        let place = backing?.placeholder ?? ObjectPlace(entity: entity, key: .min, table: 0)
        placeholders += 1
        return ObjectPlace(entity: place.entity, key: .min + placeholders, table: place.table)
    }

    /// A place for an object that could not be made.
    var noPlace: ObjectPlace {
        let model = persistentStoreCoordinator?.managedObjectModel
        return freePlaceholder(model?.entities.first ?? .unknown(named: "ManagedObject"))
    }

    func forget(_ place: ObjectPlace) { live.remove(table: place.table, key: place.key) }

    /// The objects that are still referenced.
    var liveObjects: [ManagedObject] {
        var objects: [ManagedObject] = []
        live.forEachObject { objects.append($0) }
        return objects
    }

    // MARK: - Inserting and deleting

    /// The error of a context without a migration.
    static var idle: MigrationError {
        MigrationError(
            "manager.idle", .internal, "The context belongs to no migration, or to one that is over",
            remedy: "Read and change objects in a policy, through the manager's contexts")
    }

    /// The context that has the objects. Nil without a migration; ``save()`` then throws that.
    var changing: ManagedObjectContext? {
        let context = target
        if !context.isOpen { context.failures.record(Self.idle) }
        return context.isOpen ? context : nil
    }

    /// Inserts an object of a named entity; a failure is recorded.
    ///
    /// An unknown or abstract entity ends the run when the policy's method returns; until then the policy holds an
    /// object without a row. Without a migration the object keeps its values itself.
    func insertNewObject(named name: String) -> ManagedObject {
        guard let context = changing else {
            let entity = persistentStoreCoordinator?.managedObjectModel.entity(named: name)
            return ManagedObject(entity: entity ?? .unknown(named: name), insertInto: nil)
        }
        let place = context.recording { try $0.insert($0.entity(named: name)) }
        return context.object(at: place ?? context.noPlace)
    }

    /// Inserts an object that was made without a context: it gets a row with the values that were set on it.
    ///
    /// An object that is in the context already is left alone. A failure is recorded.
    public func insert(_ object: ManagedObject) {
        guard let context = changing else { return }
        if context !== self { return context.insert(object) }
        if object.context === self { return }
        guard object.context == nil else {
            failures.record(ObjectFailure.foreign(object))
            return
        }
        let values = object.enter(self, at: placeForNew(object.place.entity))
        adopt(object)
        for (key, value) in values { setValue(value, of: object, key: key) }
        awake(object)
    }

    /// Returns the place of a new row. If none can be made, the failure is recorded and the place belongs to no row.
    func placeForNew(_ entity: EntityDescription) -> ObjectPlace {
        // The entity may come from an equal model that was loaded separately, so look it up by name.
        recording { try $0.insert($0.entity(named: entity.definition.name)) } ?? freePlaceholder(entity)
    }

    /// Registers an object at a new place.
    func adopt(_ object: ManagedObject) { live.insert(object) }

    /// Registers an object that code has just made.
    func adoptNew(_ object: ManagedObject) {
        adopt(object)
        awake(object)
    }

    /// Tells an object of a subclass that it was inserted.
    private func awake(_ object: ManagedObject) {
        guard type(of: object) != ManagedObject.self else { return }
        hasSubclassObjects = true
        object.awakeFromInsert()
    }

    /// The objects of subclasses that will be saved.
    private var subclassObjects: [ManagedObject] {
        hasSubclassObjects ? liveObjects.filter { type(of: $0) != ManagedObject.self && $0.hasChanges } : []
    }

    /// Calls `willSave` of the objects of subclasses.
    ///
    /// - Returns: the objects.
    /// - Throws: a failure of a call that could not throw.
    func willSave() throws -> [ManagedObject] {
        let objects = subclassObjects
        for object in objects { object.willSave() }
        takeOverSets()
        try failures.rethrow()
        return objects
    }

    /// Records the failure of a call that cannot throw.
    func record(_ error: any Error) { failures.record(error) }

    /// Throws the failure of a call that could not throw, once.
    func rethrowFailure() throws { try failures.rethrow() }

    /// Deletes an object, and those that its delete rules cascade to: they get no row, and references to them become nil.
    public func delete(_ object: ManagedObject) {
        guard let context = changing else { return }
        guard object.context === context else { return context.failures.record(ObjectFailure.foreign(object)) }
        _ = context.recording { try $0.delete(object) }
    }

    /// Prepares an object, if it is referenced, for its deletion by itself or by a delete rule. One of a subclass is told, and
    /// may still change others; each keeps its attributes.
    func willDelete(_ place: ObjectPlace) throws {
        guard let object = live.object(table: place.table, key: place.key) else { return }
        if type(of: object) != ManagedObject.self { object.prepareForDeletion() }
        var values: [String: Any] = [:]
        for attribute in place.entity.attributes where !attribute.definition.allowsExternalBinaryDataStorage {
            values[attribute.name] = try storedValue(of: object, key: attribute.name)
        }
        object.keep(values)
    }

    func exists(_ object: ManagedObject) -> Bool { recording { try $0.exists(object.place) } ?? false }

    /// Tells whether an object will be saved as a new one.
    func isInserted(_ object: ManagedObject) -> Bool {
        backing?.isStored(object.place) == false && exists(object)
    }

    /// Tells whether an object of the store will be saved with changes.
    func isUpdated(_ object: ManagedObject) -> Bool {
        recording { try $0.isChanged(object.place) && exists(object) } ?? false
    }

    // MARK: - Values

    func value(of object: ManagedObject, key: String) -> Any? {
        do {
            return try TransformableValue.object(of: readValue(of: object, key: key))
        } catch let error as MigrationError where error.code == "object.unknownKey" {
            return object.value(forUndefinedKey: key)
        } catch {
            record(error, object, key)
            return nil
        }
    }

    /// Returns the value of a property; that of a transformable attribute as bytes. A failure is recorded.
    func primitiveValue(of object: ManagedObject, key: String) -> Any? {
        do {
            let value = try readValue(of: object, key: key)
            return (value as? TransformableValue)?.bytes ?? value
        } catch {
            failures.record(error)
            return nil
        }
    }

    /// Returns the value of a property; the bytes of a transformable attribute that cannot be transformed.
    ///
    /// - Parameter isCommitted: true for the value that a source object has in the file.
    func readableValue(of object: ManagedObject, key: String, isCommitted: Bool = false) -> Any? {
        let attribute = transformable(key, of: object)
        guard let attribute else {
            return isCommitted ? committedValue(of: object, key: key) : object.value(forKey: key)
        }
        let stored: Any? =
            recording { side in
                guard isCommitted, let source = side as? SourceObjects else {
                    return try side.value(of: object, key: key)
                }
                return try source.committedValue(of: object, key: key)
            } ?? nil
        guard let bytes = stored as? Data else { return stored }
        return (try? TransformableBridge.value(bytes, attribute).object()) ?? bytes
    }

    /// Records a failure, with the object whose value a transformer could not give or take.
    private func record(_ error: any Error, _ object: ManagedObject, _ key: String) {
        guard let error = error as? MigrationError, error.context.objectID == nil else { return failures.record(error) }
        failures.record(error.inside(object.errorContext(property: key)))
    }

    private func transformable(_ key: String, of object: ManagedObject) -> AttributeDescription? {
        let index = object.place.entity.index
        return transformables.indices.contains(index) ? transformables[index][key] : nil
    }

    /// Returns the value of an attribute or relationship; that of a transformable attribute as a ``TransformableValue``.
    private func storedValue(of object: ManagedObject, key: String) throws -> Any? {
        let value = try backing?.value(of: object, key: key)
        guard !transformables.isEmpty, let bytes = value as? Data, let attribute = transformable(key, of: object) else {
            return value
        }
        return transformed.value(bytes, of: object.place, attribute)
    }

    /// Returns the value that a property of a source object has in the file. A failure is recorded.
    func committedValue(of object: ManagedObject, key: String) -> Any? {
        if let composite = object.entity.composite(named: key) {
            return CompositeValue.dictionary(of: composite, in: object.entity) { committedValue(of: object, key: $0) }
        }
        do {
            let value = try (backing as? SourceObjects)?.committedValue(of: object, key: key)
            guard let bytes = value as? Data, let attribute = transformable(key, of: object) else { return value }
            return try TransformableBridge.value(bytes, attribute).object()
        } catch {
            record(error, object, key)
            return nil
        }
    }

    /// Sets an attribute or relationship. The object of a transformable attribute is transformed now.
    private func store(_ value: Any?, of object: ManagedObject, key: String) throws {
        if let value, type(of: value) == TransformableValue.self, let value = value as? TransformableValue {
            try backing?.setValue(value.bytes, of: object, key: key)
        } else if !transformables.isEmpty, let attribute = transformable(key, of: object),
            let value = ValueBridge.unwrapped(value)
        {
            let bytes = try TransformableBridge.bytes(of: value, attribute)
            try backing?.setValue(bytes, of: object, key: key)
            transformed.note(TransformableValue(bytes, of: value), of: object.place, attribute)
        } else {
            try backing?.setValue(value, of: object, key: key)
        }
    }

    /// Returns the value of a property, or of a key that works on every object; that of a transformable attribute as a
    /// ``TransformableValue``.
    ///
    /// - Throws: `object.unknownKey`; the errors of reading.
    func readValue(of object: ManagedObject, key: String) throws -> Any? {
        do {
            return try storedValue(of: object, key: key)
        } catch let error as MigrationError where error.code == "object.unknownKey" {
            // Properties first: they cost no look at these names.
            if let composite = object.entity.composite(named: key) {
                return try CompositeValue.dictionary(of: composite, in: object.entity) {
                    try TransformableValue.object(of: storedValue(of: object, key: $0))
                }
            }
            guard let extra = object.extraValue(key) else { throw error }
            return extra.value
        }
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) {
        if memberSets.mayBeLost(value, for: object, key) {
            return record(UnreadMembers.failure, object, key)
        }
        defer { refreshSets() }
        do {
            try store(value, of: object, key: key)
        } catch let error as MigrationError where error.code == "object.unknownKey" {
            guard let composite = object.entity.composite(named: key) else {
                return object.setValue(value, forUndefinedKey: key)
            }
            setValue(value, of: object, composite)
        } catch {
            record(error, object, key)
        }
    }

    /// Returns the compiled rules of an entity's attributes.
    func rules(of entity: EntityDescription) throws(MigrationError) -> ObjectRules {
        if let known = rules[entity.index] { return known }
        let compiled = try ObjectRules(entity)
        rules[entity.index] = compiled
        return compiled
    }

    /// Sets every element of a composite attribute, or none if the value is no dictionary that fits it.
    private func setValue(_ value: Any?, of object: ManagedObject, _ composite: CompositeDescription) {
        do {
            let values = try CompositeValue.elements(of: value, composite, in: object.entity)
            for (name, value) in values { try store(value, of: object, key: name) }
        } catch let error as MigrationError {
            failures.record(error.inside(object.errorContext()))
        } catch {
            failures.record(error)
        }
    }
}

extension EntityDescription {
    /// Inserts a new object of an entity into a context. A failure ends the run when the policy's method returns.
    public static func insertNewObject(forEntityName name: String, into context: ManagedObjectContext) -> ManagedObject
    {
        context.insertNewObject(named: name)
    }

    /// Returns the entity with a name in a context's model; nil if there is none.
    public static func entity(forEntityName name: String, in context: ManagedObjectContext) -> EntityDescription? {
        context.persistentStoreCoordinator?.managedObjectModel.entity(named: name)?.ofRun
    }
}
