import Diagnostics
import Foundation
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// The destination's objects: faults over open rows and spills; their links stand in ``LinkStore``s.
final class DestinationObjects: ManagedObjectContext.Backing {
    private let session: MigrationSession
    private let schema: StoreSchema
    let rows: [DestinationRows]
    let links: LinkStores
    private let storeUUID: String
    /// The context of these objects; set once, right after it is made.
    weak var context: ManagedObjectContext?
    /// The mapping that creates objects now, and how many each mapping made.
    var creating: Int?
    var createdByMapping: [Int: Int] = [:]
    /// Whether any object was deleted: links are then checked for their ends.
    private(set) var hasDeletions = false
    /// The association tables of all mappings; set once, right after the runtime is made.
    var associations: [MappingAssociations] = []
    /// Stored defaults by entity index: column and value.
    private var defaults: [Int: [(column: Int, value: StoredValue)]] = [:]

    init(session: MigrationSession, rows: [DestinationRows], links: LinkStores, storeUUID: String) {
        self.session = session
        schema = session.destinationSchema
        self.rows = rows
        self.links = links
        self.storeUUID = storeUUID
    }

    func id(entity: EntityDescription, key: Int64) -> ManagedObjectID {
        ManagedObjectID(
            entity: entity, key: key, table: schema.tableIndex(of: entity), storeUUID: storeUUID, isDestination: true)
    }

    /// The object of a link's end.
    private func object(_ end: LinkEnd) -> ManagedObject? {
        guard let entity = schema.entityByNumber[Int(end.entity)] else { return nil }
        return context?.object(with: id(entity: schema.model.entity(at: entity), key: end.key))
    }

    func end(_ id: ManagedObjectID) -> LinkEnd {
        LinkEnd(key: id.key, entity: UInt32(schema.number(of: id.entity)))
    }

    func entity(named name: String) throws -> EntityDescription { try ObjectFailure.entity(name, in: schema.model) }

    var placeholder: ManagedObjectID { id(entity: schema.model.entity(at: 0), key: .min) }

    // MARK: - Making and deleting

    func insert(_ entity: EntityDescription) throws -> ManagedObjectID {
        let id = try insertBare(entity)
        let initial = defaultValues(of: entity)
        if !initial.isEmpty {
            try rows[id.table].write(id.key) { batch, row throws(MigrationError) in
                for (column, value) in initial { value.store(in: &batch, row: row, slot: column) }
            }
        }
        return id
    }

    /// Makes an object without its defaults, for a program that sets them.
    func insertBare(_ entity: EntityDescription) throws(MigrationError) -> ManagedObjectID {
        guard !entity.isAbstract else {
            throw MigrationError(
                "object.abstract", .data, "The entity is abstract and can have no objects",
                context: .init(entity: entity.definition.name))
        }
        let table = rows[schema.tableIndex(of: entity)]
        let key = try table.insert(entityNumber: schema.number(of: entity))
        if let creating { createdByMapping[creating, default: 0] += 1 }
        session.counts.created[entity.definition.name, default: 0] += 1
        return id(entity: entity, key: key)
    }

    private func defaultValues(of entity: EntityDescription) -> [(column: Int, value: StoredValue)] {
        if let known = defaults[entity.index] { return known }
        var found: [(column: Int, value: StoredValue)] = []
        for attribute in entity.attributes {
            guard let column = schema.column(of: attribute), let initial = attribute.definition.defaultValue,
                var value = StoredValue(initial, type: attribute.attributeType)
            else { continue }
            if attribute.definition.allowsExternalBinaryDataStorage { value = value.withInlineMarker }
            found.append((column, value))
        }
        defaults[entity.index] = found
        return found
    }

    func delete(_ object: ManagedObject) throws {
        let id = object.objectID
        guard id.isDestination else { throw foreign(object, nil) }
        guard try exists(id) else { return }
        for relationship in id.entity.relationships {
            guard let (store, side) = links.store(of: relationship) else { continue }
            for view in try store.partners(of: id.key, side: side) {
                try store.remove(view.object, view.partner, side: side)
            }
        }
        // What refers to it without an inverse.
        for store in links.all where store.second == nil && id.entity.isKindOf(entity: store.first.destination) {
            for view in try store.partners(of: id.key, side: .second) {
                try store.remove(view.object, view.partner, side: .second)
            }
        }
        try rows[id.table].delete(id.key)
        hasDeletions = true
        try countDeletion(of: id)
        session.counts.created[id.entity.definition.name, default: 0] -= 1
    }

    /// A row that a mapping without policy made is gone: its source object counts as dropped by a policy.
    private func countDeletion(of id: ManagedObjectID) throws(MigrationError) {
        for table in associations where table.isCreated && table.mapping.destination == id.entity {
            guard let keys = table.keys, try keys.sourceKey(of: id.key) != nil else { continue }
            session.counts.mappings[table.mapping.index].migrated -= 1
            session.counts.mappings[table.mapping.index].droppedByPolicy += 1
        }
    }

    func exists(_ id: ManagedObjectID) throws(MigrationError) -> Bool {
        guard rows.indices.contains(id.table) else { return false }
        return try rows[id.table].read(id.key) { _, _ throws(MigrationError) in true } ?? false
    }

    /// Whether a link's end has a row.
    func exists(_ end: LinkEnd) throws(MigrationError) -> Bool {
        guard let entity = schema.entityByNumber[Int(end.entity)] else { return false }
        return try rows[schema.tableByEntity[entity]].read(end.key) { _, _ throws(MigrationError) in true } ?? false
    }

    // MARK: - Reading

    func value(of object: ManagedObject, key name: String) throws -> Any? {
        let id = object.objectID
        if let attribute = id.entity.attribute(named: name) {
            guard let column = schema.column(of: attribute) else { return nil }
            return try rows[id.table].read(id.key) { batch, row throws(MigrationError) in
                ValueBridge.object(batch[row, column], in: batch, attribute: attribute.definition)
            } ?? nil
        }
        guard let relationship = id.entity.relationship(named: name) else { throw ObjectFailure.unknownKey(name, id) }
        guard let (store, side) = links.store(of: relationship) else { return nil }
        let partners = try store.partners(of: id.key, side: side)
        guard relationship.isToMany else { return partners.first.flatMap { self.object($0.partner) } }
        guard relationship.isOrdered else { return NSSet(array: partners.compactMap { self.object($0.partner) }) }
        // Members without a place of their own follow in ascending key order.
        func rank(_ view: LinkView) -> Int64 {
            switch view.orderOfPartner {
            case .key(let key), .rank(let key): key
            case .null: .min
            case .none: .max
            }
        }
        let sorted = partners.enumerated().sorted {
            (rank($0.element), $0.offset) < (rank($1.element), $1.offset)
        }
        return NSOrderedSet(array: sorted.compactMap { self.object($0.element.partner) })
    }

    // MARK: - Setting

    func setValue(_ value: Any?, of object: ManagedObject, key name: String) throws {
        let id = object.objectID
        if let attribute = id.entity.attribute(named: name) {
            guard let column = schema.column(of: attribute) else { return }
            do {
                try rows[id.table].write(id.key) { batch, row throws(MigrationError) in
                    try ValueBridge.store(value, attribute: attribute, in: &batch, row: row, slot: column)
                }
            } catch {
                throw error.inside(.init(objectID: id.description))
            }
            return
        }
        guard let relationship = id.entity.relationship(named: name) else { throw ObjectFailure.unknownKey(name, id) }
        guard let (store, side) = links.store(of: relationship) else { return }
        let members = try members(value, of: relationship, owner: object)
        guard relationship.isToMany || members.count <= 1 else {
            throw MigrationError(
                "value.type", .data, "A to-one relationship was given \(members.count) objects",
                context: .init(entity: id.entity.definition.name, objectID: id.description, property: name))
        }
        try links.set(end(id), store, side, to: members.map { LinkMember(end: end($0)) })
    }

    /// The objects of a policy's value: one object, or a set, ordered set or array of objects.
    private func members(
        _ value: Any?, of relationship: RelationshipDescription, owner: ManagedObject
    ) throws -> [ManagedObjectID] {
        guard let value = ValueBridge.unwrapped(value) else { return [] }
        let items: [Any]
        switch value {
        case let one as ManagedObject: items = [one]
        case let ordered as NSOrderedSet: items = ordered.array
        case let set as NSSet: items = set.allObjects
        case let array as [Any]: items = array
        case let set as Set<ManagedObject>: items = Array(set)
        default:
            throw foreign(
                owner, relationship.name, "A value of type \(type(of: value)) is no object or collection of objects")
        }
        var ids: [ManagedObjectID] = []
        var seen: Set<ManagedObjectID> = []
        for item in items {
            guard let member = item as? ManagedObject else {
                throw foreign(owner, relationship.name, "A value of type \(type(of: item)) is no object")
            }
            guard member.objectID.isDestination else {
                throw foreign(owner, relationship.name, "\(member.objectID) is an object of the source")
            }
            guard member.entity.isKindOf(entity: relationship.destination) else {
                throw foreign(
                    owner, relationship.name,
                    "An object of \(member.entity) does not fit a relationship to \(relationship.destination)")
            }
            if seen.insert(member.objectID).inserted { ids.append(member.objectID) }
        }
        // A set has no order of its own: keys give one that does not change from run to run.
        if !(value is NSOrderedSet) && !(value is [Any]) { ids.sort { $0.key < $1.key } }
        return ids
    }

    private func foreign(_ object: ManagedObject, _ property: String?, _ message: String? = nil) -> MigrationError {
        MigrationError(
            "value.type", .data, message ?? "The object belongs to the source",
            context: .init(
                entity: object.entity.definition.name, objectID: object.objectID.description, property: property))
    }
}
