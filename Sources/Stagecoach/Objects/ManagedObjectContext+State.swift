import Diagnostics
import Foundation

extension ManagedObjectContext {
    /// The queue that a context is made for.
    public enum ConcurrencyType: UInt, Sendable {
        /// The thread that made it.
        case confinementConcurrencyType = 0
        /// A queue of its own.
        case privateQueueConcurrencyType = 1
        /// The main queue.
        case mainQueueConcurrencyType = 2

        /// The thread that made it, under the newer name.
        public static let confinement = confinementConcurrencyType
        /// A queue of its own, under the newer name.
        public static let privateQueue = privateQueueConcurrencyType
        /// The main queue, under the newer name.
        public static let mainQueue = mainQueueConcurrencyType
    }

    /// The moment at which an asynchronous `perform` runs its closure in Core Data.
    public enum ScheduledTaskType: Sendable {
        /// At once, if the caller is on the context's queue.
        case immediate
        /// After the work that the queue has.
        case enqueued
    }

    /// Core Data's notification before a save, which is never posted here.
    public static let willSaveObjectsNotification = Notification.Name.NSManagedObjectContextWillSave
    /// Core Data's notification after a save, which is never posted here.
    public static let didSaveObjectsNotification = Notification.Name.NSManagedObjectContextDidSave
    /// Core Data's notification of changes, which is never posted here.
    public static let didChangeObjectsNotification = Notification.Name.NSManagedObjectContextObjectsDidChange

    /// The objects registered in the context. In the destination's context: all objects made so far, by policies and by
    /// mappings, as in a Core Data context that never saves, without those that were in the store before. In the
    /// source's context: the objects that are still referenced.
    ///
    /// A lazy sequence: no objects are collected, rows are read in pages.
    public var registeredObjects: ContextObjects {
        if target !== self { return target.registeredObjects }
        return isDestination ? insertedObjects : ContextObjects(context: self, held: liveObjects)
    }

    /// All objects made so far, by policies and by mappings; nothing is saved before the last policy's `end`.
    ///
    /// A lazy sequence in the order of entity tables and keys. It shows the objects that existed when the iteration
    /// began, without those deleted since.
    public var insertedObjects: ContextObjects { ContextObjects(context: target, held: nil) }

    /// The objects that were in the store before, have been changed, and are still referenced.
    public var updatedObjects: ContextObjects {
        ContextObjects(context: target, held: target.liveObjects.filter(\.isUpdated))
    }

    /// The objects that were deleted, by code and by delete rules. One that code did not hold then has no values any more.
    ///
    /// Memory: an object for each.
    public var deletedObjects: ContextObjects {
        let context = target
        let places = context.recording { try $0.deletedPlaces() } ?? []
        return ContextObjects(context: context, held: places.map(context.object(at:)))
    }

    /// True if anything will be saved.
    public var hasChanges: Bool { !insertedObjects.isEmpty || target.backing?.hasStoredChanges == true }

    /// Does nothing in a migration, which saves once, after the last policy's `end` and the model's own rules.
    ///
    /// - Throws: `manager.idle` (70) without a migration, if anything was inserted or deleted.
    public func save() throws {
        if !target.isOpen { try target.rethrowFailure() }
    }

    /// Ends the migration when the policy's method returns, with `context.rollback` (65): its changes cannot be taken back.
    /// Without a migration it forgets what could not be inserted or deleted.
    public func rollback() {
        guard target.isOpen else {
            try? target.rethrowFailure()
            return
        }
        target.record(
            MigrationError(
                "context.rollback", .data, "rollback() was called in a migration, whose changes cannot be taken back",
                remedy: "Throw an error from the policy's method: the migration then ends, and nothing is saved"))
    }

    /// Nil: changes cannot be undone during a migration. Setting one has no effect.
    public var undoManager: UndoManager? {
        get { nil }
        set {}
    }

    /// Does nothing: see ``undoManager``.
    public func undo() {}

    /// Does nothing: see ``undoManager``.
    public func redo() {}

    /// Does nothing: changes and their inverses are seen at once.
    public func processPendingChanges() {}

    /// Does nothing: nobody else changes the objects of a migration.
    public func detectConflicts(for object: ManagedObject) {}

    /// Does nothing: nobody else changes the objects of a migration.
    public func mergeChanges(fromContextDidSave notification: Notification) {}

    /// Does nothing: nobody else changes the objects of a migration.
    public static func mergeChanges(
        fromRemoteContextSave changes: [AnyHashable: Any], into contexts: [ManagedObjectContext]
    ) {}

    /// Does nothing: an object shows its current values, and changes are not dropped before they are saved.
    public func refresh(_ object: ManagedObject, mergeChanges flag: Bool) {}

    /// Does nothing: see ``refresh(_:mergeChanges:)``.
    public func refreshAllObjects() {}

    /// Does nothing: objects hold no values, and changes are not dropped. Objects stay valid.
    public func reset() {}

    /// Does nothing: keys are given at creation.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {}

    /// Runs a closure at once, on the caller's thread.
    public func perform(_ block: @escaping () -> Void) { performAndWait(block) }

    /// Runs a closure at once, on the caller's thread, and returns its value.
    ///
    /// - Parameters:
    ///   - schedule: Core Data's choice of the moment, which changes nothing here.
    ///   - block: the closure.
    public nonisolated(nonsending) func perform<Value>(
        schedule: ScheduledTaskType = .immediate, _ block: @escaping () throws -> Value
    ) async rethrows -> Value {
        try performAndWait(block)
    }

    /// Runs a closure on the caller's thread. In it, ``FetchRequest/execute()`` fetches from this context.
    public func performAndWait<Value>(_ block: () throws -> Value) rethrows -> Value {
        let outer = Self.performing
        Self.performing = self
        defer { Self.performing = outer }
        return try block()
    }

    /// The context whose closure runs on this thread; nil if there is none.
    static var performing: ManagedObjectContext? {
        get { Thread.current.threadDictionary[performingKey] as? ManagedObjectContext }
        set { Thread.current.threadDictionary[performingKey] = newValue }
    }
    private static let performingKey = "Stagecoach.ManagedObjectContext.performing"

    /// Does nothing: there is only one store.
    public func assign(_ object: Any, to store: PersistentStore) {}
}

/// A sequence of a context's objects, read on demand.
///
/// Memory: a page of places during an iteration.
public struct ContextObjects: Sequence {
    let context: ManagedObjectContext
    /// The objects; nil for all that were made so far.
    let held: [ManagedObject]?

    public func makeIterator() -> Iterator { Iterator(context: context, held: held) }

    /// The number of objects.
    ///
    /// - Complexity: O(objects) the first time, then O(new ones).
    public var count: Int { held?.count ?? context.recording { try $0.insertedCount() } ?? 0 }

    /// True if there is no object.
    public var isEmpty: Bool { first == nil }

    /// One of the objects; nil if there is none.
    public var first: ManagedObject? {
        var iterator = makeIterator()
        return iterator.next()
    }

    /// Tells whether an object is among them.
    ///
    /// - Complexity: O(1) for inserted objects.
    public func contains(_ object: ManagedObject) -> Bool {
        held?.contains { $0 === object }
            ?? (object.context === context && context.isDestination && context.isInserted(object))
    }

    /// All objects at once, in an array.
    public var allObjects: [ManagedObject] { Array(self) }

    /// Returns all objects at once, with others.
    public func union(_ others: some Sequence<ManagedObject>) -> Set<ManagedObject> { Set(self).union(others) }
    /// Returns the objects that are among others.
    public func intersection(_ others: some Sequence<ManagedObject>) -> Set<ManagedObject> {
        Set(others).filter(contains)
    }
    /// Returns all objects at once, without others.
    public func subtracting(_ others: some Sequence<ManagedObject>) -> Set<ManagedObject> {
        Set(self).subtracting(others)
    }

    public struct Iterator: IteratorProtocol {
        private let context: ManagedObjectContext
        /// For each table, the first key that was not given yet when the iteration began.
        private let limits: [Int64]
        private var page: [ObjectPlace] = []
        private var position = 0
        private var table = 0
        private var nextKey: Int64 = .min
        private var held: [ManagedObject].Iterator

        init(context: ManagedObjectContext, held: [ManagedObject]?) {
            self.context = context
            limits = held == nil ? context.backing?.insertionLimits ?? [] : []
            self.held = (held ?? []).makeIterator()
        }

        public mutating func next() -> ManagedObject? {
            if let object = held.next() { return object }
            while true {
                while position < page.count {
                    position += 1
                    let place = page[position - 1]
                    // The object may have been deleted after the page was read.
                    if position > 1, let backing = context.backing, backing.hasDeletions,
                        (try? backing.exists(place)) == false
                    {
                        continue
                    }
                    return context.object(at: place)
                }
                guard fill() else { return nil }
            }
        }

        private mutating func fill() -> Bool {
            position = 0
            page = []
            while table < limits.count {
                guard let places = context.recording({ try $0.insertedPlaces(table: table, from: nextKey) }) else {
                    return false
                }
                page = places
                page.removeAll { $0.key >= limits[table] }
                if let last = page.last, last.key < .max {
                    nextKey = last.key + 1
                    return true
                }
                table += 1
                nextKey = .min
            }
            return false
        }
    }
}
