import Foundation
import ManagedModel

// Access to single members of to-many relationships.
extension ManagedObject {
    /// Adds members at the end of a to-many relationship and removes others. A failure is recorded.
    func changeMembers(of key: String, adding added: [Any], removing removed: [Any]) {
        if let context, entity.relationship(named: key)?.isToMany == true {
            return context.recording {
                try $0.changeMembers(of: self, key: key, adding: added, removing: removed)
            } ?? ()
        }
        let members = NSMutableOrderedSet(array: ValueBridge.items(of: value(forKey: key)))
        for member in removed { members.remove(member) }
        for member in added { members.add(member) }
        let isOrdered = entity.relationship(named: key)?.isOrdered == true
        setValue(isOrdered ? members : NSSet(array: members.array), forKey: key)
    }

    /// Returns the number of members of a to-many relationship; nil if only its value tells.
    func memberCount(of key: String) -> Int? {
        context?.recording { try $0.memberCount(of: self, key: key) } ?? nil
    }

    /// Tells whether something is a member of a to-many relationship; nil if only its value tells.
    func hasMember(_ member: Any, of key: String) -> Bool? {
        guard let member = member as? ManagedObject else { return false }
        return context?.recording { try $0.isMember(member, of: self, key: key) } ?? nil
    }

    /// Returns a number that changes whenever members may have changed; nil if there is none.
    func memberVersion(of key: String) -> UInt64? { context?.backing?.memberVersion(of: self, key: key) }
}

extension ManagedObjectContext {
    /// Runs a call on this side's objects that cannot throw to its caller; a failure is recorded.
    func recording<Value>(_ body: (any Backing) throws -> Value) -> Value? {
        guard let backing else { return nil }
        defer { refreshSets() }
        do {
            return try body(backing)
        } catch {
            record(error)
            return nil
        }
    }
}
