import Foundation
import ManagedModel
import Mapping

// Views of values that can be changed, and the entities of a class.
extension ManagedObject {
    /// Returns the members of a to-many relationship as a set that can be changed. What is added or removed there is seen by
    /// every later call of an object, a context or a manager, and what they change is seen in the set.
    ///
    /// The set can be cast, copied, printed and set as a value, as any set. If the relationship has more than 16,384 members,
    /// it is no set of Foundation's own: members can be added, removed, counted and asked for, and all can be read by
    /// ``value(forKey:)``; a cast to Swift's `Set` gives an empty one, and setting that is recorded as a failure
    /// (`object.tooManyMembers`).
    ///
    /// - Complexity: O(members) for the first call, then O(1) amortised for a member that comes or goes.
    public func mutableSetValue(forKey key: String) -> NSMutableSet {
        guard let relationship = entity.relationship(named: key), relationship.isToMany else {
            return RelationshipSet(object: self, key: key)
        }
        if let context = managedObjectContext { return context.memberSets.set(of: self, key) }
        return context == nil && !relationship.isOrdered ? detachedSet(key) : RelationshipSet(object: self, key: key)
    }

    /// Returns a live view of the members of an ordered to-many relationship, in their order. Changes apply at once.
    public func mutableOrderedSetValue(forKey key: String) -> NSMutableOrderedSet {
        if let known: RelationshipOrderedSet = context?.mutableView(of: self, key), known.isCurrent { return known }
        let view = RelationshipOrderedSet(object: self, key: key)
        context?.noteMutableView(view, of: self, key)
        return view
    }

    /// Returns a live view of a transformable attribute whose value is an array, or of the members of a to-many
    /// relationship. Changes apply at once.
    ///
    /// - Complexity: each change sets the whole value: O(members).
    public func mutableArrayValue(forKey key: String) -> NSMutableArray { ArrayValue(object: self, key: key) }

    /// Returns the view of a relationship of the object that a key path leads to; an empty set if it leads to none.
    public func mutableSetValue(forKeyPath path: String) -> NSMutableSet {
        end(ofKeyPath: path).map { $0.mutableSetValue(forKey: $1) } ?? NSMutableSet()
    }

    /// Returns the view of a relationship of the object that a key path leads to; an empty set if it leads to none.
    public func mutableOrderedSetValue(forKeyPath path: String) -> NSMutableOrderedSet {
        end(ofKeyPath: path).map { $0.mutableOrderedSetValue(forKey: $1) } ?? NSMutableOrderedSet()
    }

    /// Returns the view of a value of the object that a key path leads to; an empty array if it leads to none.
    public func mutableArrayValue(forKeyPath path: String) -> NSMutableArray {
        end(ofKeyPath: path).map { $0.mutableArrayValue(forKey: $1) } ?? NSMutableArray()
    }

    /// Checks a value against the model's rules for the property that a key path leads to; nothing if it leads to no object.
    ///
    /// - Throws: as ``ManagedObject/validateValue(_:forKey:)``.
    public func validateValue(_ value: inout AnyObject?, forKeyPath path: String) throws {
        guard let (object, key) = end(ofKeyPath: path) else { return }
        try object.validateValue(&value, forKey: key)
    }

    /// Returns the object that all steps of a key path but the last lead to, and the last one.
    private func end(ofKeyPath path: String) -> (ManagedObject, String)? {
        var names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let key = names.removeLast()
        if names.isEmpty { return (self, key) }
        return (value(forKeyPath: names.joined(separator: ".")) as? ManagedObject).map { ($0, key) }
    }
}

extension ManagedObjectModel {
    /// Returns the entities whose objects are of a class, by the class's name with or without its module.
    func entities(ofClass type: ManagedObject.Type) -> [EntityDescription] {
        let (name, full) = (String(describing: type), String(reflecting: type))
        return entities.filter { entity in
            guard let own = entity.definition.managedObjectClassName else { return false }
            return own == full || own.split(separator: ".").last.map(String.init) == name
        }
    }
}

extension EntityDescription {
    /// Returns an entity that belongs to no model of the run.
    static func unknown(named name: String) -> EntityDescription {
        var definition = ModelDefinition()
        definition.entities = [EntityDefinition(name: name)]
        guard let model = try? ManagedObjectModel(definition) else { return EntityDescription() }
        return EntityDescription(managedObjectModel: model, index: 0)
    }
}

/// An array value, or the members of a relationship, as a mutable array. Changes go to the object.
private final class ArrayValue: NSMutableArray {
    private let object: ManagedObject?
    private let key: String

    init(object: ManagedObject, key: String) {
        self.object = object
        self.key = key
        super.init()
    }

    override init(capacity: Int) {
        object = nil
        key = ""
        super.init(capacity: capacity)
    }

    required init(objects: UnsafePointer<AnyObject>?, count: Int) {
        object = nil
        key = ""
        super.init(objects: objects, count: count)
    }

    required convenience init(arrayLiteral elements: Any...) { self.init(capacity: elements.count) }

    required init?(coder: NSCoder) { nil }

    private var members: [Any] { ValueBridge.items(of: object?.value(forKey: key)) }

    private func change(_ body: (inout [Any]) -> Void) {
        var changed = members
        body(&changed)
        switch object?.entity.relationship(named: key)?.isOrdered {
        case nil: object?.setValue(changed, forKey: key)
        case true?: object?.setValue(NSOrderedSet(array: changed), forKey: key)
        case false?: object?.setValue(NSSet(array: changed), forKey: key)
        }
    }

    override var count: Int { members.count }
    override func object(at index: Int) -> Any { members[index] }
    override func insert(_ member: Any, at index: Int) { change { $0.insert(member, at: index) } }
    override func add(_ member: Any) { change { $0.append(member) } }
    override func addObjects(from others: [Any]) { change { $0 += others } }
    override func removeObject(at index: Int) { change { $0.remove(at: index) } }
    override func removeLastObject() { change { if !$0.isEmpty { $0.removeLast() } } }
    override func removeAllObjects() { change { $0.removeAll() } }
    override func replaceObject(at index: Int, with member: Any) { change { $0[index] = member } }
    // At once: a relationship cannot hold a member twice, not even in between.
    override func exchangeObject(at one: Int, withObjectAt other: Int) { change { $0.swapAt(one, other) } }
    override func setArray(_ others: [Any]) { change { $0 = others } }
    override func copy(with zone: NSZone? = nil) -> Any { NSArray(array: members) }
    override func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableArray(array: members) }
}
