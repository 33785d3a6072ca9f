import Diagnostics
import ManagedModel

/// A link in the store that is being written, seen from one of its ends.
package struct StoredLink {
    /// The key of the other end.
    package var partner: Int64
    /// The Z_ENT of the other end.
    package var entityNumber: Int64
    /// The position of the other end among the object's members; nil if there is none.
    package var orderOfPartner: Int64?
    /// The position of the object among the other end's members; nil if there is none.
    package var orderOfObject: Int64?
}

/// The existing links of one relationship in the store that is being written: those of rows that previous mapping models made
/// or that were there before. They are looked up by one object at a time, through the key or an index.
///
/// Memory: two prepared statements. Release before the store is finished.
package final class ExistingLinkReader {
    private let statement: Statement
    private let pair: Statement

    /// - Parameters:
    ///   - isReversed: true if links are looked up by the members; for relationships without an inverse.
    /// - Returns: nil for a relationship that is not stored.
    package init?(
        _ store: DestinationStore, relationship: RelationshipDescription, isReversed: Bool
    ) throws(MigrationError) {
        guard let sql = ExistingLinkReader.query(store.schema, relationship, isReversed) else { return nil }
        statement = try store.connection.prepare(sql.text)
        pair = try store.connection.prepare(sql.text + " AND \(sql.partner) = ?2")
    }

    /// Returns the links of an object.
    package func links(of key: Int64) throws(MigrationError) -> [StoredLink] {
        defer { statement.reset() }
        statement.bind(key, at: 1)
        var found: [StoredLink] = []
        while try statement.step() { found.append(ExistingLinkReader.link(statement)) }
        return found
    }

    /// Returns the link between two objects; nil if there is none.
    package func link(of key: Int64, to partner: Int64) throws(MigrationError) -> StoredLink? {
        defer { pair.reset() }
        pair.bind(key, partner)
        return try pair.step() ? ExistingLinkReader.link(pair) : nil
    }

    private static func link(_ row: Statement) -> StoredLink {
        StoredLink(
            partner: row.integer(0), entityNumber: row.integer(1),
            orderOfPartner: row.optionalInteger(2), orderOfObject: row.optionalInteger(3))
    }

    /// Returns a query and the column of the partner. The query's columns are the partner, its Z_ENT, its position and the
    /// object's position; its one parameter is the object's key.
    private static func query(
        _ schema: StoreSchema, _ relationship: RelationshipDescription, _ isReversed: Bool
    ) -> (text: String, partner: String)? {
        /// Returns the name of a table; ``column(_:_:)`` returns that of a column.
        func name(_ table: Int) -> String { SQLName.quoted(schema.tables[table].name) }
        func column(_ table: Int, _ column: Int) -> String {
            "t." + SQLName.quoted(schema.tables[table].columns[column].name)
        }
        func order(_ table: Int, _ order: Int?) -> String { order.map { column(table, $0) } ?? "NULL" }
        /// Returns the Z_ENT of objects of an entity in column `key`, and the join that finds it if the entity has subentities.
        func entity(_ entity: EntityDescription, _ key: String) -> (number: String, join: String) {
            guard !entity.subentities.isEmpty else { return (String(schema.number(of: entity)), "") }
            return ("e.Z_ENT", " JOIN \(name(schema.tableIndex(of: entity))) AS e ON e.Z_PK = \(key)")
        }
        /// Returns the Z_ENT of a table's own rows, because real rows of a single entity may have a wrong one.
        func own(_ table: Int) -> String {
            let entities = schema.tables[table].entities
            return entities.count == 1 ? String(schema.entityNumbers[entities[0]]) : "t.Z_ENT"
        }
        switch schema.storage(of: relationship) {
        case .none: return nil
        case .toOne(let table, let foreign, let entityColumn, let orderColumn):
            let key = column(table, foreign)
            if isReversed {
                return ("SELECT t.Z_PK, \(own(table)), NULL, NULL FROM \(name(table)) AS t WHERE \(key) = ?1", "t.Z_PK")
            }
            let number = entityColumn.map { column(table, $0) } ?? String(schema.number(of: relationship.destination))
            return (
                "SELECT \(key), \(number), NULL, \(order(table, orderColumn)) FROM \(name(table)) AS t "
                    + "WHERE t.Z_PK = ?1 AND \(key) IS NOT NULL", key
            )
        case .toManyByInverse(let table, let foreign, _, let orderColumn),
            .toManyHidden(let table, let foreign, let orderColumn):
            let key = column(table, foreign)
            if isReversed {
                let owner = entity(relationship.entity, key)
                return (
                    "SELECT \(key), \(owner.number), NULL, \(order(table, orderColumn)) FROM \(name(table)) AS t"
                        + "\(owner.join) WHERE t.Z_PK = ?1 AND \(key) IS NOT NULL", key
                )
            }
            return (
                "SELECT t.Z_PK, \(own(table)), \(order(table, orderColumn)), NULL FROM \(name(table)) AS t "
                    + "WHERE \(key) = ?1", "t.Z_PK"
            )
        case .join(let table, let ownerSide):
            let join = schema.joinTables[table]
            let near = isReversed ? 1 - ownerSide : ownerSide
            func place(_ side: Int) -> String {
                join.sides[side].orderColumn.map { "t." + SQLName.quoted($0) } ?? "NULL"
            }
            let key = "t." + SQLName.quoted(join.sides[1 - near].column)
            let partner = entity(isReversed ? relationship.entity : relationship.destination, key)
            return (
                "SELECT \(key), \(partner.number), \(place(1 - near)), \(place(near)) "
                    + "FROM \(SQLName.quoted(join.name)) AS t\(partner.join) "
                    + "WHERE t.\(SQLName.quoted(join.sides[near].column)) = ?1", key
            )
        }
    }
}

/// Changes join rows between objects that are already in the store.
package final class StoredJoinRows {
    private let store: DestinationStore
    private let delete: Statement
    private let upsert: Statement
    private let isOrdered: [Bool]

    /// - Parameter joinTable: the index in the schema's join tables.
    package init(_ store: DestinationStore, joinTable: Int) throws(MigrationError) {
        self.store = store
        let join = store.schema.joinTables[joinTable]
        let name = SQLName.quoted(join.name)
        let keys = join.sides.map { SQLName.quoted($0.column) }
        delete = try store.connection.prepare("DELETE FROM \(name) WHERE \(keys[0]) = ?1 AND \(keys[1]) = ?2")
        var columns = keys
        var values = ["?1", "?2"]
        var sets: [String] = []
        for (side, place) in join.sides.enumerated() {
            guard let order = place.orderColumn.map(SQLName.quoted) else { continue }
            columns.append(order)
            values.append("?\(side + 3)")
            sets.append("\(order) = coalesce(?\(side + 3), \(order))")
        }
        let conflict =
            sets.isEmpty
            ? "DO NOTHING" : "(\(keys.joined(separator: ", "))) DO UPDATE SET \(sets.joined(separator: ", "))"
        upsert = try store.connection.prepare(
            "INSERT INTO \(name) (\(columns.joined(separator: ", "))) VALUES (\(values.joined(separator: ", "))) "
                + "ON CONFLICT \(conflict)")
        isOrdered = join.sides.map { $0.orderColumn != nil }
    }

    /// Removes a link.
    package func remove(_ first: Int64, _ second: Int64) throws(MigrationError) {
        try store.beginTransaction()
        delete.bind(first, second)
        try delete.run()
    }

    /// Adds a link, or gives an existing one the positions that are not nil.
    package func set(_ first: Int64, _ second: Int64, orders: [Int64?]) throws(MigrationError) {
        try store.beginTransaction()
        upsert.bind(first, second)
        for side in 0...1 where isOrdered[side] {
            if let order = orders[side] {
                upsert.bind(order, at: Int32(side + 3))
            } else {
                upsert.bindNull(at: Int32(side + 3))
            }
        }
        try upsert.run()
    }
}
