import Foundation

/// An ordered to-many relationship as a mutable ordered set. Changes go to the object.
///
/// Many methods of Foundation's class read its own storage and cannot be overridden (`array`, `reversed`, iteration,
/// `firstObject` …). The members are therefore copied into that storage: as they were when the view was made, and as
/// the view changes them. Memory: up to ``UnreadMembers/most`` members; of a larger relationship none is held, and such
/// reads fail. Adding and inserting at the end, removing, counting and asking for a member cost the same for any number
/// of members; other insertions and moves set all members anew.
final class RelationshipOrderedSet: NSMutableOrderedSet {
    private let object: ManagedObject?
    private let key: String
    private var read: (version: UInt64, members: NSOrderedSet)?
    /// True while a call is meant for Foundation's own storage.
    private var isOwn = false
    /// The version of the members in Foundation's storage.
    private var ownVersion: UInt64?

    init(object: ManagedObject, key: String) {
        self.object = object
        self.key = key
        super.init(capacity: 0)
        fill()
    }

    override init(capacity: Int) {
        object = nil
        key = ""
        super.init(capacity: capacity)
    }

    required init?(coder: NSCoder) { nil }

    required init(arrayLiteral elements: Any...) {
        object = nil
        key = ""
        super.init(capacity: elements.count)
    }

    private var members: NSOrderedSet {
        let version = object?.memberVersion(of: key)
        if let read, read.version == version { return read.members }
        let members =
            switch object?.value(forKey: key) {
            case let set as NSOrderedSet: set
            case let set as NSSet: NSOrderedSet(array: set.allObjects)
            default: NSOrderedSet()
            }
        read = version.map { ($0, members) }
        return members
    }

    // MARK: - Foundation's storage

    /// Runs a closure that works on Foundation's own storage.
    private func own(_ body: () -> Void) {
        isOwn = true
        body()
        isOwn = false
    }

    /// True if Foundation's storage holds the current members.
    var isCurrent: Bool { ownVersion != nil && ownVersion == object?.memberVersion(of: key) }

    /// Copies the current members into Foundation's storage.
    private func fill() {
        guard let object else { return }
        ownVersion = object.memberVersion(of: key)
        var held: [Any] = []
        if let count = object.memberCount(of: key), count > UnreadMembers.most {
            if let context = object.context { held = [UnreadMembers(place: context.noPlace, context: context)] }
        } else {
            held = members.array
        }
        own {
            super.removeAllObjects()
            for (index, member) in held.enumerated() { super.insert(member, at: index) }
        }
    }

    /// Adds members at the end, in the object and in Foundation's storage.
    private func append(_ added: [Any]) {
        let isKnown = isCurrent && count + added.count <= UnreadMembers.most
        let new = isKnown ? added.filter { !contains($0) } : []
        object?.changeMembers(of: key, adding: added, removing: [])
        guard isKnown else {
            if count <= UnreadMembers.most + added.count { fill() } else { ownVersion = object?.memberVersion(of: key) }
            return
        }
        own { for member in new where !super.contains(member) { super.insert(member, at: super.count) } }
        ownVersion = object?.memberVersion(of: key)
    }

    /// Removes a member from the object and from Foundation's storage.
    private func take(_ member: Any) {
        let before = count
        let isKnown = isCurrent && before <= UnreadMembers.most
        object?.changeMembers(of: key, adding: [], removing: [member])
        guard isKnown || before > UnreadMembers.most + 1 else { return fill() }
        if isKnown {
            own {
                let place = super.index(of: member)
                if place != NSNotFound { super.removeObject(at: place) }
            }
        }
        ownVersion = object?.memberVersion(of: key)
    }

    // MARK: - Reading

    override var count: Int { isOwn ? super.count : object?.memberCount(of: key) ?? members.count }
    override func object(at index: Int) -> Any { isOwn ? super.object(at: index) : members.object(at: index) }
    override func index(of object: Any) -> Int { isOwn ? super.index(of: object) : members.index(of: object) }
    override func contains(_ object: Any) -> Bool {
        isOwn ? super.contains(object) : self.object?.hasMember(object, of: key) ?? members.contains(object)
    }
    override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: members.array) }
    override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: members.array) }

    // MARK: - Changing

    override func insert(_ member: Any, at index: Int) {
        if isOwn { return super.insert(member, at: index) }
        if contains(member) { return }
        if index == count { append([member]) } else { set(members) { $0.insert(member, at: index) } }
    }
    override func add(_ member: Any) { append([member]) }
    override func addObjects(from otherArray: [Any]) { append(otherArray) }
    override func removeObject(at index: Int) {
        if isOwn { return super.removeObject(at: index) }
        take(members.object(at: index))
    }
    override func remove(_ member: Any) {
        if isOwn { return super.remove(member) }
        take(member)
    }
    override func removeAllObjects() {
        if isOwn { return super.removeAllObjects() }
        object?.setValue(NSOrderedSet(), forKey: key)
        fill()
    }
    override func replaceObject(at index: Int, with member: Any) {
        if isOwn { return super.replaceObject(at: index, with: member) }
        set(members) { $0.replaceObject(at: index, with: member) }
    }
    override func exchangeObject(at one: Int, withObjectAt other: Int) {
        set(members) { $0.exchangeObject(at: one, withObjectAt: other) }
    }
    override func moveObjects(at indexes: IndexSet, to index: Int) {
        set(members) { $0.moveObjects(at: indexes, to: index) }
    }
    // Foundation's own intersections change the set while they iterate over it, and may never end.
    override func intersect(_ other: NSOrderedSet) { keep { other.contains($0) } }
    override func intersectSet(_ other: Set<AnyHashable>) {
        keep { member in (member as? AnyHashable).map(other.contains) ?? false }
    }
    override func sort(comparator: (Any, Any) -> ComparisonResult) { set(members) { $0.sort(comparator: comparator) } }
    override func sort(options: NSSortOptions = [], usingComparator comparator: (Any, Any) -> ComparisonResult) {
        set(members) { $0.sort(options: options, usingComparator: comparator) }
    }

    /// Removes the members that do not pass a test.
    private func keep(_ isKept: (Any) -> Bool) {
        object?.setValue(NSOrderedSet(array: members.array.filter(isKept)), forKey: key)
        fill()
    }

    private func set(_ present: NSOrderedSet, _ change: (NSMutableOrderedSet) -> Void) {
        let copy = NSMutableOrderedSet(array: present.array)
        change(copy)
        object?.setValue(copy, forKey: key)
        fill()
    }
}
