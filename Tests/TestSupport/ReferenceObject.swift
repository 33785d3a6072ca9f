import CoreDataStore
import ManagedModel

/// An object of the in-memory graph, of the source or of the destination.
package final class ReferenceObject {
    package let entity: EntityDescription
    package let key: Int64
    /// Z_OPT.
    package var lock: Int64
    /// Place in the order of creation, over all entities.
    package let creation: Int
    /// Stored values by attribute name; a missing one is NULL.
    package var attributes: [String: ReferenceValue] = [:]
    package internal(set) var toOne: [String: ReferenceObject] = [:]
    /// Members in the relationship's order; by key where it is unordered and came from a store.
    package internal(set) var toMany: [String: [ReferenceMember]] = [:]
    /// The owner in a to-many without inverse: its one column holds one owner.
    var hiddenOwners: [PropertyReference: ReferenceObject] = [:]
    /// Relationships of a source object to rows that do not exist, and how many.
    package internal(set) var dangling: [String: Int] = [:]
    package internal(set) var isDeleted = false
    /// True if the destination had the object before.
    package internal(set) var isExisting = false
    package internal(set) var isRejected = false
    /// True if the object is not saved.
    var isGone: Bool { isDeleted || isRejected }

    init(entity: EntityDescription, key: Int64, lock: Int64, creation: Int) {
        self.entity = entity
        self.key = key
        self.lock = lock
        self.creation = creation
    }

    package subscript(attribute: String) -> ReferenceValue {
        get { attributes[attribute] ?? .null }
        set { attributes[attribute] = newValue }
    }

    /// The members of a to-many, or the to-one's object, if any.
    package func related(_ name: String) -> [ReferenceObject] {
        if let members = toMany[name] { return members.map(\.object) }
        return toOne[name].map { [$0] } ?? []
    }
}

extension ReferenceObject: CustomStringConvertible {
    package var description: String { "\(entity)/p\(key)" }
}

/// An object's values and links at one time.
struct ReferenceLinks {
    let attributes: [String: ReferenceValue]
    let toOne: [String: ReferenceObject]
    let toMany: [String: [ReferenceMember]]
    let hiddenOwners: [PropertyReference: ReferenceObject]

    init(of object: ReferenceObject) {
        attributes = object.attributes
        toOne = object.toOne
        toMany = object.toMany
        hiddenOwners = object.hiddenOwners
    }
}

/// A member of a to-many with its ordering key, where the relationship is ordered.
package struct ReferenceMember {
    package var object: ReferenceObject
    package var order: Int64?
    /// The entity mapping through which a lookup found it.
    var mapping = 0
}

extension ReferenceStore {
    /// The rows as objects, by table and ascending key, their references resolved. What refers to no row, or to a row
    /// of no entity, is nil and noted in ``ReferenceObject/dangling``.
    package func objects() -> [[ReferenceObject]] {
        var creation = 0
        var byKey: [[Int64: ReferenceObject]] = []
        for (table, rows) in tables.enumerated() {
            var objects: [Int64: ReferenceObject] = [:]
            for (key, row) in rows.sorted(by: { $0.key < $1.key }) {
                guard let entity = entity(of: row, inTable: table) else { continue }
                let lock = row.values[EntityTable.lockColumn].integer ?? 1
                let object = ReferenceObject(entity: entity, key: key, lock: lock, creation: creation)
                creation += 1
                for attribute in entity.attributes {
                    if let column = schema.column(of: attribute) { object[attribute.name] = row.values[column] }
                }
                objects[key] = object
            }
            byKey.append(objects)
        }
        for objects in byKey {
            for object in objects.values {
                for relationship in object.entity.relationships { resolve(relationship, of: object, byKey) }
            }
        }
        return byKey.map { $0.values.sorted { $0.key < $1.key } }
    }

    private func resolve(
        _ relationship: RelationshipDescription, of object: ReferenceObject, _ byKey: [[Int64: ReferenceObject]]
    ) {
        let name = relationship.name
        let targets = schema.tableIndex(of: relationship.destination)
        var members: [ReferenceMember] = []
        func collect(_ key: Int64, in table: Int, order: ReferenceValue) {
            if let member = byKey[table][key] {
                members.append(ReferenceMember(object: member, order: order.integer))
            } else {
                object.dangling[name, default: 0] += 1
            }
        }
        switch schema.storage(of: relationship) {
        case .none: return
        case .toOne(let table, let column, _, _):
            guard let key = tables[table][object.key]?.values[column].integer else { return }
            if let target = byKey[targets][key] { object.toOne[name] = target } else { object.dangling[name] = 1 }
            return
        case .toManyByInverse(let table, let column, _, let orderColumn),
            .toManyHidden(let table, let column, let orderColumn):
            for (key, row) in tables[table] where row.values[column] == .integer(object.key) {
                collect(key, in: table, order: orderColumn.map { row.values[$0] } ?? .null)
            }
        case .join(let table, let side):
            for (pair, orders) in joins[table] where (side == 0 ? pair.first : pair.second) == object.key {
                // The order column of a side gives the place of that column's object: the member's.
                collect(
                    side == 0 ? pair.second : pair.first, in: targets,
                    order: ReferenceValue(key: side == 0 ? orders.second : orders.first))
            }
        }
        object.toMany[name] = members.sorted {
            ($0.order ?? .min, $0.object.key) < ($1.order ?? .min, $1.object.key)
        }
    }
}
