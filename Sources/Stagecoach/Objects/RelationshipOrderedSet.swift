import Foundation
import ManagedModel

/// An ordered to-many relationship as a mutable ordered set: reads and changes go to the object.
///
/// Memory: none of its own but the members that were read last. Adding and inserting at the end, removing, counting and
/// asking for a member cost the same whatever the number of members; other insertions and moves set all members anew.
final class RelationshipOrderedSet: NSMutableOrderedSet {
    private let object: ManagedObject?
    private let key: String
    private var read: (version: UInt64, members: NSOrderedSet)?

    init(object: ManagedObject, key: String) {
        self.object = object
        self.key = key
        super.init(capacity: 0)
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

    override var count: Int { object?.memberCount(of: key) ?? members.count }
    override func object(at index: Int) -> Any { members.object(at: index) }
    override func index(of object: Any) -> Int { members.index(of: object) }
    override func contains(_ object: Any) -> Bool {
        self.object?.hasMember(object, of: key) ?? members.contains(object)
    }

    override func insert(_ member: Any, at index: Int) {
        if contains(member) { return }
        if index == count {
            object?.changeMembers(of: key, adding: [member], removing: [])
        } else {
            set(members) { $0.insert(member, at: index) }
        }
    }
    override func add(_ member: Any) { object?.changeMembers(of: key, adding: [member], removing: []) }
    override func addObjects(from otherArray: [Any]) {
        object?.changeMembers(of: key, adding: otherArray, removing: [])
    }
    override func removeObject(at index: Int) {
        object?.changeMembers(of: key, adding: [], removing: [members.object(at: index)])
    }
    override func remove(_ member: Any) { object?.changeMembers(of: key, adding: [], removing: [member]) }
    override func removeAllObjects() { object?.setValue(NSOrderedSet(), forKey: key) }
    override func replaceObject(at index: Int, with member: Any) {
        set(members) { $0.replaceObject(at: index, with: member) }
    }
    override func exchangeObject(at one: Int, withObjectAt other: Int) {
        set(members) { $0.exchangeObject(at: one, withObjectAt: other) }
    }
    override func moveObjects(at indexes: IndexSet, to index: Int) {
        set(members) { $0.moveObjects(at: indexes, to: index) }
    }
    override func copy(with zone: NSZone? = nil) -> Any { NSOrderedSet(array: members.array) }
    override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableOrderedSet(array: members.array) }

    private func set(_ present: NSOrderedSet, _ change: (NSMutableOrderedSet) -> Void) {
        let copy = NSMutableOrderedSet(array: present.array)
        change(copy)
        object?.setValue(copy, forKey: key)
    }
}
