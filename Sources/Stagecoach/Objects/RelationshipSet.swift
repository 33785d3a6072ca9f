import Foundation
import ManagedModel

/// A to-many relationship as a mutable set: reads and changes go to the object.
///
/// Memory: none of its own. Where the inverse is to-one, adding and removing is O(1), whatever the number of members.
final class RelationshipSet: NSMutableSet {
    private let object: ManagedObject?
    private let key: String

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
        switch object?.value(forKey: key) {
        case let set as NSSet: set
        case let set as NSOrderedSet: NSSet(array: set.array)
        default: NSSet()
        }
    }

    override var count: Int { members.count }
    override func member(_ object: Any) -> Any? { members.member(object) }
    override func objectEnumerator() -> NSEnumerator { members.objectEnumerator() }
    override var allObjects: [Any] { members.allObjects }

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

/// An ordered to-many relationship as a mutable ordered set: reads and changes go to the object.
///
/// Memory: none of its own. An insertion sets all members anew, one at the end only its own side where the inverse is
/// to-one.
final class RelationshipOrderedSet: NSMutableOrderedSet {
    private let object: ManagedObject?
    private let key: String

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
        switch object?.value(forKey: key) {
        case let set as NSOrderedSet: set
        case let set as NSSet: NSOrderedSet(array: set.allObjects)
        default: NSOrderedSet()
        }
    }

    override var count: Int { members.count }
    override func object(at index: Int) -> Any { members.object(at: index) }
    override func index(of object: Any) -> Int { members.index(of: object) }
    override func contains(_ object: Any) -> Bool { members.contains(object) }

    override func insert(_ member: Any, at index: Int) {
        let present = members
        if present.contains(member) { return }
        if index == present.count {
            object?.changeMembers(of: key, adding: [member], removing: [])
        } else {
            set(present) { $0.insert(member, at: index) }
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

    private func set(_ present: NSOrderedSet, _ change: (NSMutableOrderedSet) -> Void) {
        let copy = NSMutableOrderedSet(array: present.array)
        change(copy)
        object?.setValue(copy, forKey: key)
    }
}

extension ManagedObject {
    /// Adds members to a to-many relationship, at its end, or takes them out.
    ///
    /// Where the inverse is to-one, each member's own side is set, which leaves the others alone.
    func changeMembers(of key: String, adding added: [Any], removing removed: [Any]) {
        guard let relationship = entity.relationship(named: key) else { return setValue(added, forKey: key) }
        if let inverse = relationship.inverseRelationship, !inverse.isToMany,
            inverse.inverseRelationship == relationship,
            (added + removed).allSatisfy({ ($0 as? ManagedObject)?.context === context }), context != nil
        {
            for case let member as ManagedObject in added
            where !(member.value(forKey: inverse.name) as AnyObject === self) {
                member.setValue(self, forKey: inverse.name)
            }
            for case let member as ManagedObject in removed
            where member.value(forKey: inverse.name) as AnyObject === self {
                member.setValue(nil, forKey: inverse.name)
            }
            return
        }
        let members: NSMutableOrderedSet
        switch value(forKey: key) {
        case let set as NSOrderedSet: members = NSMutableOrderedSet(array: set.array)
        case let set as NSSet: members = NSMutableOrderedSet(array: set.allObjects)
        default: members = NSMutableOrderedSet()
        }
        for member in removed { members.remove(member) }
        for member in added { members.add(member) }
        setValue(relationship.isOrdered ? members : NSSet(array: members.array), forKey: key)
    }
}
