import Foundation

/// The plain sets through which code changes to-many relationships: what `mutableSetValue(forKey:)` returns.
///
/// Swift on Linux casts only Foundation's own classes to `Set`: a subclass of `NSMutableSet` becomes an empty set. So code
/// gets a plain set, which tells nobody of its changes. Two calls keep it equal to the relationship:
///
/// - ``takeOver(_:)``, before anything in the context is read or changed: what code did to the set goes to the object;
/// - ``refresh(_:)``, after a change in the context: what else changed the relationship goes to the set.
///
/// No set is compared as a whole for this. An object that comes to a set or leaves it alone is hashed, and says so
/// (``note(_:)``). What is neither among the members that were known nor hashed since cannot be in the set; so if the noted
/// objects explain its count, they are all that changed. Otherwise all members are compared.
///
/// A set is watched as long as code holds it. The last one is kept: code that adds one member after the other asks for it
/// each time. Memory: the members of the watched sets, at most ``UnreadMembers/most`` each.
///
/// - Complexity: a member that comes or goes costs the same for any number of members; a change of the relationship by other
///   means costs O(members of the sets that code holds).
final class MemberSets {
    private struct View {
        let object: ManagedObject
        let key: String
        /// The index of the root entity of the members.
        let root: Int?
        var set: NSMutableSet
        /// The keys of the members when the set and the relationship were last equal.
        var members: Set<Int64>
        /// The version of the relationship then; nil if it has none.
        var version: UInt64?

        func isOf(_ object: ManagedObject, _ key: String) -> Bool { self.object === object && self.key == key }
    }

    /// The largest number of objects that are noted one by one.
    private static let mostNoted = 1024

    private var views: [View] = []
    // Unchecked: hashing reads and writes them, also while the sets are at work.
    @exclusivity(unchecked) private var noted: [ManagedObject] = []
    @exclusivity(unchecked) private var hasMoreNoted = false
    /// True if sets are watched, and this class is not at work on them.
    @exclusivity(unchecked) private(set) var isWatching = false
    /// The relationships with too many members to hold whose sets were given away since the policy's method began.
    private var large: Set<Relationship> = []

    private struct Relationship: Hashable {
        let table: Int
        let owner: Int64
        let key: String

        init(_ object: ManagedObject, _ key: String) {
            table = object.place.table
            owner = object.place.key
            self.key = key
        }
    }

    /// Notes that an object is being hashed.
    func note(_ object: ManagedObject) {
        guard noted.last !== object else { return }
        if noted.count < Self.mostNoted { noted.append(object) } else { hasMoreNoted = true }
    }

    /// Forgets all sets.
    func removeAll() {
        views = []
        noted = []
        large = []
        isWatching = false
    }

    /// Runs a closure during which hashing is not noted.
    private func work<Result>(_ body: () throws -> Result) rethrows -> Result {
        isWatching = false
        defer { isWatching = !views.isEmpty }
        return try body()
    }

    // MARK: - Giving sets

    /// Returns the set of a to-many relationship: the one that is watched, or a new one.
    func set(of object: ManagedObject, _ key: String) -> NSMutableSet {
        object.context?.takeOverSets()
        if let index = views.firstIndex(where: { $0.isOf(object, key) }) {
            let isLarge = views[index].members.count > UnreadMembers.most
            if !isLarge || !isKnownUniquelyReferenced(&views[index].set) { return views[index].set }
            views.remove(at: index)
            isWatching = !views.isEmpty
        }
        if let count = object.memberCount(of: key), count > UnreadMembers.most {
            large.insert(Relationship(object, key))
            return RelationshipSet(object: object, key: key)
        }
        return work {
            let set = NSMutableSet(array: ValueBridge.items(of: object.value(forKey: key)))
            dropUnheld(butLast: false)
            views.append(
                View(
                    object: object, key: key, root: object.entity.relationship(named: key)?.destination.root.index,
                    set: set, members: Self.keys(set), version: object.memberVersion(of: key)))
            return set
        }
    }

    private static func keys(_ set: NSSet) -> Set<Int64> {
        Set(set.allObjects.lazy.compactMap { ($0 as? ManagedObject)?.key })
    }

    /// Stops watching the sets that no code holds.
    private func dropUnheld(butLast: Bool) {
        var index = views.count - (butLast ? 1 : 0)
        while index > 0 {
            index -= 1
            if isKnownUniquelyReferenced(&views[index].set) { views.remove(at: index) }
        }
    }

    // MARK: - Keeping them equal

    /// Makes the changes that code made to the sets.
    func takeOver(_ backing: any ManagedObjectContext.Backing) throws {
        guard isWatching else { return }
        let candidates = hasMoreNoted ? nil : noted
        guard candidates?.isEmpty != true || views.contains(where: { $0.set.count != $0.members.count }) else { return }
        noted.removeAll(keepingCapacity: true)
        hasMoreNoted = false
        try work {
            for index in views.indices { try takeOver(index, candidates, backing) }
            // A change of one relationship may be one of another.
            try refreshAll(backing)
            dropUnheld(butLast: true)
        }
    }

    private func takeOver(
        _ index: Int, _ candidates: [ManagedObject]?, _ backing: any ManagedObjectContext.Backing
    ) throws {
        let view = views[index]
        var (added, removed): ([ManagedObject], [ManagedObject]) = ([], [])
        var members = view.members
        for object in candidates ?? [] where object.entity.root.index == view.root {
            if !view.set.contains(object) {
                if members.remove(object.key) != nil { removed.append(object) }
            } else if members.insert(object.key).inserted {
                added.append(object)
            }
        }
        if candidates != nil, members.count == view.set.count {
            guard !added.isEmpty || !removed.isEmpty else { return }
            added.sort { $0.key < $1.key }
            try backing.changeMembers(of: view.object, key: view.key, adding: added, removing: removed)
        } else {
            let before = NSMutableSet(array: ValueBridge.items(of: try backing.value(of: view.object, key: view.key)))
            let removed = before.allObjects.filter { !view.set.contains($0) }
            let added = view.set.allObjects.filter { !before.contains($0) }
            try backing.changeMembers(
                of: view.object, key: view.key, adding: Self.inOrder(added), removing: removed)
            members = Self.keys(view.set)
        }
        views[index].members = members
        // Deleted objects are not added, so see whether all were.
        let count = try backing.memberCount(of: view.object, key: view.key)
        views[index].version = count == view.set.count ? backing.memberVersion(of: view.object, key: view.key) : nil
    }

    /// Sorts objects by key; what is no object stays, for the error that it is.
    private static func inOrder(_ found: [Any]) -> [Any] {
        found.sorted { (($0 as? ManagedObject)?.key ?? .min) < (($1 as? ManagedObject)?.key ?? .min) }
    }

    /// Shows changes of the relationships in the sets that code holds.
    func refresh(_ backing: any ManagedObjectContext.Backing) throws {
        guard isWatching else { return }
        try work { try refreshAll(backing) }
    }

    private func refreshAll(_ backing: any ManagedObjectContext.Backing) throws {
        for index in views.indices.reversed() {
            let version = backing.memberVersion(of: views[index].object, key: views[index].key)
            guard version == nil || version != views[index].version else { continue }
            if isKnownUniquelyReferenced(&views[index].set) {
                views.remove(at: index)
                continue
            }
            let view = views[index]
            let members = NSMutableSet(array: ValueBridge.items(of: try backing.value(of: view.object, key: view.key)))
            views[index].version = version
            guard !members.isEqual(view.set) else { continue }
            view.set.removeAllObjects()
            view.set.addObjects(from: members.allObjects)
            views[index].members = Self.keys(members)
        }
    }

    // MARK: - Sets that are too large

    /// Tells whether an empty value may be what a cast made of a set that is no plain one.
    func mayBeLost(_ value: Any?, for object: ManagedObject, _ key: String) -> Bool {
        guard !large.isEmpty, large.contains(Relationship(object, key)) else { return false }
        return value != nil && !(value is RelationshipSet) && ValueBridge.items(of: value).isEmpty
    }

    /// True if any set was given away that code may hold.
    var isInUse: Bool { isWatching || !large.isEmpty }

    /// Notes that a policy's method has ended.
    func endCall() { large.removeAll() }
}
