import CoreDataStore
import ManagedModel

// Helpers that put rows into a reference store by hand. Wrong names are programmer errors and trap.
extension ReferenceStore {
    /// Adds a row.
    ///
    /// - Parameters:
    ///   - attributes: stored values by attribute name; the rest are NULL.
    ///   - toOne: keys by relationship name; they need not exist.
    package mutating func insert(
        _ entityName: String, _ key: Int64, lock: Int64 = 1, _ attributes: [String: ReferenceValue] = [:],
        toOne: [String: Int64] = [:]
    ) {
        let entity = named(entityName)
        let table = schema.tableIndex(of: entity)
        precondition(tables[table][key] == nil, "two rows \(key) in the table of \(entityName)")
        var row = ReferenceRow(values: Array(repeating: .null, count: schema.tables[table].columns.count))
        row.values[EntityTable.entityColumn] = .integer(Int64(schema.number(of: entity)))
        row.values[EntityTable.lockColumn] = .integer(lock)
        tables[table][key] = row
        for (name, value) in attributes { set(entityName, key, name, value) }
        for (name, target) in toOne { setToOne(entityName, key, name, target) }
    }

    /// Sets an attribute, as its column stores the value.
    package mutating func set(_ entityName: String, _ key: Int64, _ attribute: String, _ value: ReferenceValue) {
        let entity = named(entityName)
        guard let description = entity.attribute(named: attribute), let column = schema.column(of: description) else {
            preconditionFailure("no stored attribute \(attribute) in \(entityName)")
        }
        let table = schema.tableIndex(of: entity)
        let type = schema.tables[table].columns[column].type
        setCell(table, key, column, value.stored(inColumnOfType: type))
    }

    /// Sets a to-one column, its ordering key and, where given, the entity number beside it.
    package mutating func setToOne(
        _ entityName: String, _ key: Int64, _ relationship: String, _ target: Int64?, order: Int64? = nil,
        entityNumber: Int? = nil
    ) {
        let description = relationshipNamed(relationship, of: entityName)
        guard case .toOne(let table, let column, let entityColumn, let orderColumn) = schema.storage(of: description)
        else { preconditionFailure("\(entityName).\(relationship) is no stored to-one") }
        setCell(table, key, column, ReferenceValue(key: target))
        if let entityColumn { setCell(table, key, entityColumn, ReferenceValue(key: entityNumber.map(Int64.init))) }
        if let orderColumn { setCell(table, key, orderColumn, ReferenceValue(key: order)) }
    }

    /// Sets the members of a to-many: columns of the members' rows or rows of the join table. Members with a column
    /// must exist. Ordering keys that are left out are 2048 + 1024·i where the relationship is ordered.
    package mutating func setMembers(
        _ entityName: String, _ key: Int64, _ relationship: String, _ members: [Int64], orders: [Int64?]? = nil
    ) {
        let description = relationshipNamed(relationship, of: entityName)
        let owner = schema.number(of: entity(of: row(entityName, key)) ?? named(entityName))
        for (position, member) in members.enumerated() {
            let fresh: Int64? = description.isOrdered ? 2048 + 1024 * Int64(position) : nil
            let order = orders.map { $0[position] } ?? fresh
            switch schema.storage(of: description) {
            case .toManyByInverse(let table, let column, let entityColumn, let orderColumn):
                setCell(table, member, column, .integer(key))
                if let entityColumn { setCell(table, member, entityColumn, .integer(Int64(owner))) }
                if let orderColumn { setCell(table, member, orderColumn, ReferenceValue(key: order)) }
            case .toManyHidden(let table, let column, let orderColumn):
                setCell(table, member, column, .integer(key))
                if let orderColumn { setCell(table, member, orderColumn, ReferenceValue(key: order)) }
            case .join(let table, let side):
                setJoin(table, ownerSide: side, owner: key, member: member, order: order)
            default: preconditionFailure("\(entityName).\(relationship) is no stored to-many")
            }
        }
    }

    /// Adds or changes a join row seen from one side. Where the relationship is its own inverse, both directions.
    package mutating func setJoin(_ table: Int, ownerSide: Int, owner: Int64, member: Int64, order: Int64?) {
        let sides = schema.joinTables[table].sides
        let pair = ownerSide == 0 ? ReferencePair(owner, member) : ReferencePair(member, owner)
        var orders = joins[table][pair] ?? ReferenceOrders()
        // The order column of a side gives the place of that column's object among the other one's members.
        if ownerSide == 0, sides[1].orderColumn != nil { orders.second = order }
        if ownerSide == 1, sides[0].orderColumn != nil { orders.first = order }
        joins[table][pair] = orders
        if sides[0].relationship == sides[1].relationship {
            let mirrored = ReferencePair(pair.second, pair.first)
            if joins[table][mirrored] == nil { joins[table][mirrored] = ReferenceOrders() }
        }
    }

    /// The row of an entity's table.
    package func row(_ entityName: String, _ key: Int64) -> ReferenceRow {
        guard let row = tables[schema.tableIndex(of: named(entityName))][key] else {
            preconditionFailure("no row \(key) in the table of \(entityName)")
        }
        return row
    }

    /// The stored value of an attribute.
    package func value(_ entityName: String, _ key: Int64, _ attribute: String) -> ReferenceValue {
        guard let description = named(entityName).attribute(named: attribute),
            let column = schema.column(of: description)
        else { preconditionFailure("no stored attribute \(attribute) in \(entityName)") }
        return row(entityName, key).values[column]
    }

    /// Fills in what the file must have and a test need not say: entity columns beside to-one references (the
    /// target's entity, or the relationship's destination entity where the target does not exist), and Z_MAX where it
    /// is below the highest key.
    package mutating func complete() {
        for (index, table) in schema.tables.enumerated() {
            for (position, column) in table.columns.enumerated() {
                guard case .toOneEntity(let reference) = column.role,
                    let relationship = model.entity(at: reference.entity).relationship(named: reference.name),
                    case .toOne(_, let keyColumn, _, _) = schema.storage(of: relationship)
                else { continue }
                for (key, row) in tables[index] {
                    guard let target = row.values[keyColumn].integer, row.values[position].isNull else { continue }
                    let destination = relationship.destination
                    let found = tables[schema.tableIndex(of: destination)][target].flatMap { entity(of: $0) }
                    let number = schema.number(of: found ?? destination)
                    setCell(index, key, position, .integer(Int64(number)))
                }
            }
            let root = schema.entityNumbers[table.root]
            let highest = tables[index].keys.max() ?? 0
            let known = primaryKey[root]?.maximum ?? 0
            primaryKey[root]?.maximum = max(known, highest)
        }
    }

    mutating func setCell(_ table: Int, _ key: Int64, _ column: Int, _ value: ReferenceValue) {
        guard tables[table][key] != nil else {
            preconditionFailure("no row \(key) in \(schema.tables[table].name)")
        }
        tables[table][key]?.values[column] = value
    }

    private func named(_ entityName: String) -> EntityDescription {
        guard let entity = model.entity(named: entityName) else { preconditionFailure("no entity \(entityName)") }
        return entity
    }

    private func relationshipNamed(_ name: String, of entityName: String) -> RelationshipDescription {
        guard let relationship = named(entityName).relationship(named: name) else {
            preconditionFailure("no relationship \(name) in \(entityName)")
        }
        return relationship
    }
}
