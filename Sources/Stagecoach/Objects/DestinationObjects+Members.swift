import Diagnostics
import ManagedModel

// Access to single members of to-many relationships, for mutable sets.
extension DestinationObjects {
    func changeMembers(
        of object: ManagedObject, key name: String, adding added: [Any], removing removed: [Any]
    ) throws {
        let place = object.place
        guard let property = properties.property(name, of: place.entity), property.isToMany else {
            throw ObjectFailure.unknownKey(name, object)
        }
        guard let (store, side) = property.links else { return }
        if hasDeletions, try !exists(place) { return }
        try links.use(store)
        store.isSetByPolicy = true
        do {
            for item in removed {
                guard let member = item as? ManagedObject, member.context === context else { continue }
                try links.remove(end(member.place), from: end(place), store, side)
            }
            for item in added {
                guard let member = item as? ManagedObject else {
                    throw MigrationError("value.type", .data, "A value of type \(type(of: item)) is no object")
                }
                guard let member = try self.member(member, of: property) else { continue }
                try links.add(member.end, to: end(place), store, side)
            }
        } catch let error as MigrationError {
            throw error.inside(object.errorContext(property: name))
        }
    }

    func memberCount(of object: ManagedObject, key: String) throws -> Int? {
        guard let property = properties.property(key, of: object.place.entity), property.isToMany,
            let (store, side) = property.links
        else { return nil }
        try links.use(store)
        return try links.count(of: object.place.key, store, side)
    }

    func isMember(_ member: ManagedObject, of object: ManagedObject, key: String) throws -> Bool? {
        guard let property = properties.property(key, of: object.place.entity), property.isToMany,
            let (store, side) = property.links, let relationship = property.relationship
        else { return nil }
        guard member.context === context, member.entity.isKindOf(entity: relationship.destination) else { return false }
        try links.use(store)
        return try store.link(of: object.place.key, to: member.place.key, side: side) != nil
    }

    func memberVersion(of object: ManagedObject, key: String) -> UInt64? {
        properties.property(key, of: object.place.entity)?.links?.store.sequence
    }
}
