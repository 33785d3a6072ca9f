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
    }

    /// The moment at which an asynchronous `perform` runs its closure in Core Data.
    public enum ScheduledTaskType: Sendable {
        /// At once, if the caller is on the context's queue.
        case immediate
        /// After the work that the queue has.
        case enqueued
    }

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

    /// The deleted objects that are still referenced.
    public var deletedObjects: ContextObjects {
        ContextObjects(context: target, held: target.liveObjects.filter(\.isDeleted))
    }

    /// True if anything will be saved.
    public var hasChanges: Bool { !insertedObjects.isEmpty || target.backing?.hasStoredChanges == true }

    /// Does nothing: a migration saves once, after the last policy's `end` and the model's own rules.
    public func save() throws {}

    /// Ends the migration when the policy's method returns, with `context.rollback` (65): its changes cannot be taken back.
    /// Does nothing without a migration.
    public func rollback() {
        guard target.isOpen else { return }
        target.record(
            MigrationError(
                "context.rollback", .data, "rollback() was called in a migration, whose changes cannot be taken back",
                remedy: "Throw an error from the policy's method: the migration then ends, and nothing is saved"))
    }

    /// Does nothing: changes and their inverses are seen at once.
    public func processPendingChanges() {}

    /// Does nothing: an object shows its current values, and changes are not dropped before they are saved.
    public func refresh(_ object: ManagedObject, mergeChanges flag: Bool) {}

    /// Does nothing: see ``refresh(_:mergeChanges:)``.
    public func refreshAllObjects() {}

    /// Does nothing: objects hold no values, and changes are not dropped. Objects stay valid.
    public func reset() {}

    /// Does nothing: keys are given at creation.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {}

    /// Runs a closure at once, on the caller's thread.
    public func perform(_ block: @escaping () -> Void) { block() }

    /// Runs a closure at once, on the caller's thread, and returns its value.
    ///
    /// - Parameters:
    ///   - schedule: Core Data's choice of the moment, which changes nothing here.
    ///   - block: the closure.
    public nonisolated(nonsending) func perform<Value>(
        schedule: ScheduledTaskType = .immediate, _ block: @escaping () throws -> Value
    ) async rethrows -> Value {
        try block()
    }

    /// Runs a closure on the caller's thread.
    public func performAndWait<Value>(_ block: () throws -> Value) rethrows -> Value { try block() }

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
