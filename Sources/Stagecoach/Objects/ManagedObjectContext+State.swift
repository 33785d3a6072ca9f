import Foundation
import ManagedModel

extension ManagedObjectContext {
    /// In the destination's context all objects made so far, by policies and by mappings, as a Core Data context that
    /// never saves holds them, less those that were in the store before; in the source's the objects that somebody holds.
    ///
    /// A lazy sequence: nothing is gathered, rows are read in pages.
    public var registeredObjects: ContextObjects {
        isDestination ? insertedObjects : ContextObjects(context: self, kind: .held(liveObjects))
    }

    /// All objects made so far, by policies and by mappings: nothing is saved before the last policy's `end`.
    ///
    /// A lazy sequence in order of entity tables and keys. It shows what was there when the iteration began; objects
    /// deleted since are left out.
    public var insertedObjects: ContextObjects { ContextObjects(context: self, kind: .inserted) }

    /// The changed objects that were in the destination's store before and that somebody still holds. The source is
    /// read-only.
    public var updatedObjects: ContextObjects {
        ContextObjects(context: self, kind: .held(isDestination ? liveObjects.filter(\.isUpdated) : []))
    }

    /// The deleted objects that somebody still holds; the others are gone.
    public var deletedObjects: ContextObjects {
        ContextObjects(context: self, kind: .held(liveObjects.filter(\.isDeleted)))
    }

    /// Whether anything will be saved.
    public var hasChanges: Bool { !insertedObjects.isEmpty || backing?.hasStoredChanges == true }

    /// Does nothing: a migration saves once, after the last policy's `end` and the model's own rules.
    public func save() throws {}

    /// Does nothing: changes and their inverses are seen at once.
    public func processPendingChanges() {}

    /// Does nothing: an object's values are those of now, and are not dropped before they are saved.
    public func refresh(_ object: ManagedObject, mergeChanges flag: Bool) {}

    /// Does nothing: see ``refresh(_:mergeChanges:)``.
    public func refreshAllObjects() {}

    /// Does nothing: objects hold no values, and changes are not dropped. Objects stay valid.
    public func reset() {}

    /// Does nothing: keys are given at creation.
    public func obtainPermanentIDs(for objects: [ManagedObject]) throws {}

    /// Runs a closure at once, on the caller's thread.
    public func perform(_ block: @escaping () -> Void) { block() }

    /// Runs a closure on the caller's thread.
    public func performAndWait<Value>(_ block: () throws -> Value) rethrows -> Value { try block() }

    /// Takes an object into no other store: there is one.
    public func assign(_ object: Any, to store: PersistentStore) {}
}

/// Objects of a context, read when they are asked for.
///
/// Memory: a page of places while it is iterated.
public struct ContextObjects: Sequence {
    enum Kind {
        case inserted
        case held([ManagedObject])
    }

    let context: ManagedObjectContext
    let kind: Kind

    public func makeIterator() -> Iterator { Iterator(context: context, kind: kind) }

    /// The number of objects.
    ///
    /// - Complexity: O(objects) the first time, then O(new ones).
    public var count: Int {
        switch kind {
        case .held(let objects): return objects.count
        case .inserted:
            do {
                return try context.backing?.insertedCount() ?? 0
            } catch {
                context.record(error)
                return 0
            }
        }
    }

    /// Whether there is no object.
    public var isEmpty: Bool { first == nil }

    /// One of the objects; nil where there is none.
    public var first: ManagedObject? {
        var iterator = makeIterator()
        return iterator.next()
    }

    /// Whether an object is among them.
    ///
    /// - Complexity: O(1) for inserted objects.
    public func contains(_ object: ManagedObject) -> Bool {
        switch kind {
        case .inserted: object.context === context && context.isDestination && context.isInserted(object)
        case .held(let objects): objects.contains { $0 === object }
        }
    }

    /// All of them at once.
    public var allObjects: [ManagedObject] { Array(self) }

    public struct Iterator: IteratorProtocol {
        private let context: ManagedObjectContext
        /// For each table the key before which objects were there when the iteration began.
        private let limits: [Int64]
        private var page: [ObjectPlace] = []
        private var position = 0
        private var table = 0
        private var nextKey: Int64 = .min
        private var held: [ManagedObject].Iterator

        init(context: ManagedObjectContext, kind: Kind) {
            self.context = context
            switch kind {
            case .inserted:
                limits = context.backing?.insertionLimits ?? []
                held = [].makeIterator()
            case .held(let objects):
                limits = []
                held = objects.makeIterator()
            }
        }

        public mutating func next() -> ManagedObject? {
            if let object = held.next() { return object }
            while true {
                while position < page.count {
                    position += 1
                    let place = page[position - 1]
                    // A page may be older than a deletion.
                    if position > 1, let exists = try? context.backing?.exists(place), !exists { continue }
                    return context.object(at: place)
                }
                guard fill() else { return nil }
            }
        }

        private mutating func fill() -> Bool {
            position = 0
            page = []
            while table < limits.count {
                do {
                    page = try context.backing?.insertedPlaces(table: table, from: nextKey) ?? []
                } catch {
                    context.record(error)
                    return false
                }
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
