import Foundation
import ManagedModel

// To-many relationships member by member.
extension ManagedObject {
    /// Adds members to a to-many relationship, at its end, and takes others out. A failure is recorded.
    func changeMembers(of key: String, adding added: [Any], removing removed: [Any]) {
        if let context, entity.relationship(named: key)?.isToMany == true {
            return context.recording {
                try $0.changeMembers(of: self, key: key, adding: added, removing: removed)
            } ?? ()
        }
        let members: NSMutableOrderedSet
        switch value(forKey: key) {
        case let set as NSOrderedSet: members = NSMutableOrderedSet(array: set.array)
        case let set as NSSet: members = NSMutableOrderedSet(array: set.allObjects)
        default: members = NSMutableOrderedSet()
        }
        for member in removed { members.remove(member) }
        for member in added { members.add(member) }
        let isOrdered = entity.relationship(named: key)?.isOrdered == true
        setValue(isOrdered ? members : NSSet(array: members.array), forKey: key)
    }

    /// The number of members of a to-many relationship; nil where its value has to be asked.
    func memberCount(of key: String) -> Int? {
        context?.recording { try $0.memberCount(of: self, key: key) } ?? nil
    }

    /// Whether something is a member of a to-many relationship; nil where its value has to be asked.
    func hasMember(_ member: Any, of key: String) -> Bool? {
        guard let member = member as? ManagedObject else { return false }
        return context?.recording { try $0.isMember(member, of: self, key: key) } ?? nil
    }

    /// A number that changes whenever members may have changed; nil where there is none.
    func memberVersion(of key: String) -> UInt64? { context?.backing?.memberVersion(of: self, key: key) }
}

extension ManagedObjectContext {
    /// Runs a call that cannot throw on the objects' side; a failure is recorded.
    func recording<Value>(_ body: (any Backing) throws -> Value) -> Value? {
        guard let backing else { return nil }
        do {
            return try body(backing)
        } catch {
            record(error)
            return nil
        }
    }
}
