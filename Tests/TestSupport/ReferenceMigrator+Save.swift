import CoreDataStore
import ManagedModel
import Mapping

extension ReferenceMigrator {
    /// Turns the objects into rows of the destination's store.
    func save() -> ReferenceStore {
        var store = destination
        let schema = store.schema
        if destination.rowCount == 0 { store.uuid = source.uuid }
        for object in existing { store.tables[schema.tableIndex(of: object.entity)][object.key] = nil }
        // Links are written anew, those of rows that were there before too.
        store.joins = store.joins.map { _ in [:] }
        for object in objects where !object.isGone {
            let table = schema.tableIndex(of: object.entity)
            var values = [ReferenceValue](repeating: .null, count: schema.tables[table].columns.count)
            values[EntityTable.entityColumn] = .integer(Int64(schema.number(of: object.entity)))
            // A save raises Z_OPT of the objects that it changes.
            values[EntityTable.lockColumn] = .integer(object.lock + (hasChanged(object) ? 1 : 0))
            for attribute in object.entity.attributes {
                guard let column = schema.column(of: attribute) else { continue }
                values[column] = object[attribute.name].stored(
                    inColumnOfType: schema.tables[table].columns[column].type)
            }
            for relationship in object.entity.relationships {
                guard case .toOne(_, let column, let entityColumn, let orderColumn) = schema.storage(of: relationship),
                    let target = object.toOne[relationship.name]
                else { continue }
                values[column] = .integer(target.key)
                if let entityColumn { values[entityColumn] = .integer(Int64(schema.number(of: target.entity))) }
                if let orderColumn, let inverse = Self.inverse(of: relationship) {
                    values[orderColumn] = ReferenceValue(key: Self.order(of: object, in: target, inverse.name))
                }
            }
            for (reference, owner) in object.hiddenOwners {
                guard let relationship = owner.entity.relationship(named: reference.name),
                    case .toManyHidden(_, let column, let orderColumn) = schema.storage(of: relationship)
                else { continue }
                values[column] = .integer(owner.key)
                if let orderColumn {
                    values[orderColumn] = ReferenceValue(key: Self.order(of: object, in: owner, reference.name))
                }
            }
            store.tables[table][object.key] = ReferenceRow(values: values)
        }
        for object in objects where !object.isGone {
            for relationship in object.entity.relationships {
                guard case .join(let table, let side) = schema.storage(of: relationship) else { continue }
                for member in object.toMany[relationship.name] ?? [] {
                    store.setJoin(
                        table, ownerSide: side, owner: object.key, member: member.object.key, order: member.order)
                }
            }
        }
        for (root, numbers) in numbering {
            store.primaryKey[schema.entityNumbers[root]]?.maximum = numbers.maximum
        }
        return store
    }

    /// Tells whether an existing object now has other values, other members, or another order of members.
    private func hasChanged(_ object: ReferenceObject) -> Bool {
        guard object.isExisting, let before = links[ObjectIdentifier(object)] else { return false }
        if object.entity.attributes.contains(where: { (before.attributes[$0.name] ?? .null) != object[$0.name] }) {
            return true
        }
        return object.entity.relationships.contains { relationship in
            let name = relationship.name
            guard relationship.isToMany else { return before.toOne[name] !== object.toOne[name] }
            func members(_ list: [ReferenceMember]?) -> [ObjectIdentifier] {
                (list ?? []).sorted { ($0.order ?? .min, $0.object.key) < ($1.order ?? .min, $1.object.key) }
                    .map { ObjectIdentifier($0.object) }
            }
            let (old, new) = (members(before.toMany[name]), members(object.toMany[name]))
            return relationship.isOrdered ? old != new : Set(old) != Set(new)
        }
    }

    private static func order(of member: ReferenceObject, in owner: ReferenceObject, _ name: String) -> Int64? {
        owner.toMany[name]?.first { $0.object === member }?.order
    }

    /// Fills the counts that are known only at the end.
    func finishReport() {
        // Decision: what counts is whether a source object has a destination object in the end; policies may associate
        // later, and delete.
        for (index, source) in fetched {
            let made = (pairsBySource[ObjectIdentifier(source)] ?? []).filter {
                $0.mapping == index && !$0.destination.isDeleted
            }
            if made.contains(where: { !$0.destination.isRejected }) {
                report.migrated[mappings[index].name, default: 0] += 1
            } else if !made.isEmpty {
                report.rejected[mappings[index].name, default: 0] += 1
            } else {
                report.droppedByPolicy[mappings[index].name, default: 0] += 1
            }
        }
        for (index, mapping) in mappings.enumerated() {
            for pair in pairsByMapping[index] ?? [] where !pair.destination.isGone {
                report.associations.append(
                    ReferenceAssociation(
                        mapping: mapping.name, sourceEntity: pair.source.entity.definition.name,
                        sourceKey: pair.source.key, destinationEntity: pair.destination.entity.definition.name,
                        destinationKey: pair.destination.key))
            }
        }
        let associated = Set(pairsByMapping.values.joined().map { ObjectIdentifier($0.destination) })
        for object in objects
        where !object.isGone && !object.isExisting && !associated.contains(ObjectIdentifier(object)) {
            report.createdByPolicy[object.entity.definition.name, default: 0] += 1
        }
        for object in sourceObjects.joined() {
            let name = object.entity.definition.name
            let readers = mappings.filter { $0.sourceEntityName == name }
            if readers.isEmpty {
                report.withoutMapping[name, default: 0] += 1
            } else if readers.allSatisfy({ $0.destinationEntityName == nil }) {
                report.removed[name, default: 0] += 1
            }
        }
    }
}
