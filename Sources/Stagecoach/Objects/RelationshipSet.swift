import Foundation

/// A to-many relationship with too many members to hold (``UnreadMembers/most``) as a mutable set, or one of an object that
/// belongs to no migration. Reads and changes go to the object. All others are plain sets (``MemberSets``).
///
/// Memory: only the members that were read last. Adding, removing, counting and asking for a member cost the same for
/// any number of members.
///
/// A cast to Swift's `Set` gives an empty one, because it copies the members of Foundation's own classes only.
final class RelationshipSet: NSMutableSet {
    private let object: ManagedObject?
    private let key: String
    private var read: (version: UInt64, members: NSSet)?

    init(object: ManagedObject, key: String) {
        self.object = object
        self.key = key
        super.init(capacity: 0)
    }

    required init(capacity: Int) {
        object = nil
        key = ""
        super.init(capacity: capacity)
    }

    required init?(coder: NSCoder) { nil }

    private var members: NSSet {
        let version = object?.memberVersion(of: key)
        if let read, read.version == version { return read.members }
        let members =
            switch object?.value(forKey: key) {
            case let set as NSSet: set
            case let set as NSOrderedSet: NSSet(array: set.array)
            default: NSSet()
            }
        read = version.map { ($0, members) }
        return members
    }

    override var count: Int { object?.memberCount(of: key) ?? members.count }
    override func member(_ object: Any) -> Any? {
        guard let isMember = self.object?.hasMember(object, of: key) else { return members.member(object) }
        return isMember ? object : nil
    }
    override func contains(_ object: Any) -> Bool { member(object) != nil }
    override func objectEnumerator() -> NSEnumerator { members.objectEnumerator() }
    override var allObjects: [Any] { members.allObjects }
    // Foundation's own description reads the storage of a plain set, and traps in a subclass.
    override var description: String { members.description }
    override func description(withLocale locale: Locale?) -> String { members.description(withLocale: locale) }

    override func add(_ member: Any) { object?.changeMembers(of: key, adding: [member], removing: []) }
    override func remove(_ member: Any) { object?.changeMembers(of: key, adding: [], removing: [member]) }
    override func addObjects(from array: [Any]) { object?.changeMembers(of: key, adding: array, removing: []) }
    override func union(_ otherSet: Set<AnyHashable>) {
        object?.changeMembers(of: key, adding: Array(otherSet), removing: [])
    }
    override func minus(_ otherSet: Set<AnyHashable>) {
        object?.changeMembers(of: key, adding: [], removing: Array(otherSet))
    }
    override func intersect(_ otherSet: Set<AnyHashable>) {
        setSet(Set(members.compactMap { $0 as? AnyHashable }.filter(otherSet.contains)))
    }
    override func removeAllObjects() { object?.setValue(NSSet(), forKey: key) }
    override func setSet(_ otherSet: Set<AnyHashable>) {
        object?.setValue(NSSet(array: Array(otherSet)), forKey: key)
    }
    override func copy(with zone: NSZone? = nil) -> Any { NSSet(array: members.allObjects) }
    override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableSet(array: members.allObjects) }
}
