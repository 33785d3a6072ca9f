import ManagedModel

/// What a derived attribute is, as SQL over the tables of one schema: a count or sum over a to-many relationship, or an
/// attribute of a to-one relationship's object.
///
/// Core Data's triggers keep such values while it saves; rows that come without triggers leave them as they were. What
/// else Core Data derives (texts in another form, the time of a save) has no value before it saves the object.
struct DerivedValue {
    /// Table and column of the derived attribute, quoted.
    let table: String
    let column: String
    /// Z_ENT of the entities that have the attribute.
    let numbers: [Int]
    /// A scalar subquery over `t`, the attribute's row.
    let value: String
    /// Whether the sum of the same numbers may differ in its last bits.
    let isInexact: Bool

    /// - Returns: nil for other expressions, and for attributes without a column.
    init?(_ attribute: AttributeDefinition, of entity: EntityDescription, in schema: StoreSchema) {
        guard let expression = attribute.derivationExpression, !attribute.isTransient else { return nil }
        let own = schema.tables[schema.tableIndex(of: entity)]
        let reference = PropertyReference(entity: entity.index, name: attribute.name)
        guard let position = own.attributeColumns[reference] else { return nil }
        table = SQLName.quoted(own.name)
        column = SQLName.quoted(own.columns[position].name)
        numbers = entity.withDescendants.map(schema.number(of:)).sorted()
        let parts = expression.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard let first = parts.first, let relationship = entity.relationship(named: first) else { return nil }
        switch parts.count {
        case 2 where parts[1] == "@count":
            guard let members = Members(relationship, in: schema) else { return nil }
            value = "(SELECT count(*) FROM \(members.links) AS m WHERE m.\(members.owner) = t.Z_PK)"
            isInexact = false
        case 2:
            guard case .toOne(_, let key, _, _) = schema.storage(of: relationship),
                let (other, name, _) = Self.column(parts[1], of: relationship.destination, in: schema)
            else { return nil }
            let reference = SQLName.quoted(own.columns[key].name)
            value = "(SELECT r.\(name) FROM \(other) AS r WHERE r.Z_PK = t.\(reference))"
            isInexact = false
        case 3:
            // `items.@sum.price`, and in models made by code `items.price.@sum`.
            guard parts[1] == "@sum" || parts[2] == "@sum",
                let members = Members(relationship, in: schema),
                let (other, name, type) = Self.column(
                    parts[1] == "@sum" ? parts[2] : parts[1], of: relationship.destination, in: schema),
                type.isNumeric
            else { return nil }
            let rows = members.member.map { "\(members.links) AS m JOIN \(other) AS r ON r.Z_PK = m.\($0)" }
            value =
                "(SELECT ifnull(sum(r.\(name)), 0) FROM \(rows ?? "\(other) AS r") "
                + "WHERE \(rows == nil ? "r" : "m").\(members.owner) = t.Z_PK)"
            isInexact = ![.integer16, .integer32, .integer64].contains(type)
        default: return nil
        }
    }

    /// The statement that sets the attribute in every row where it is something else.
    ///
    /// - Complexity: O(rows of the table and of the members), by the members' indexes.
    var refresh: String {
        let among = numbers.map(String.init).joined(separator: ", ")
        let close = isInexact ? " AND NOT ifnull(abs(\(column) - \(value)) <= 1e-9 * abs(\(value)), 0)" : ""
        return "UPDATE \(table) AS t SET \(column) = \(value) WHERE Z_ENT IN (\(among)) AND \(column) IS NOT \(value)"
            + close
    }

    /// Where the members of a to-many relationship are.
    private struct Members {
        /// The table whose rows are the links.
        let links: String
        /// Its column with the owners' keys.
        let owner: String
        /// Its column with the members' keys; nil where it is the members' own table.
        let member: String?

        init?(_ relationship: RelationshipDescription, in schema: StoreSchema) {
            switch schema.storage(of: relationship) {
            case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
                links = SQLName.quoted(schema.tables[table].name)
                owner = SQLName.quoted(schema.tables[table].columns[column].name)
                member = nil
            case .join(let table, let side):
                let join = schema.joinTables[table]
                links = SQLName.quoted(join.name)
                owner = SQLName.quoted(join.sides[side].column)
                member = SQLName.quoted(join.sides[1 - side].column)
            case .toOne, .none: return nil
            }
        }
    }

    private static func column(
        _ name: String, of entity: EntityDescription, in schema: StoreSchema
    ) -> (table: String, column: String, type: AttributeType)? {
        guard let attribute = entity.attribute(named: name), let column = schema.column(of: attribute) else {
            return nil
        }
        let table = schema.tables[schema.tableIndex(of: entity)]
        return (SQLName.quoted(table.name), SQLName.quoted(table.columns[column].name), attribute.attributeType)
    }
}

extension StoreSchema {
    /// Statements that bring derived attributes up to date, for rows that came while there were no triggers; by Z_ENT.
    ///
    /// - Complexity: O(attributes).
    func derivedRefreshes() -> [String] {
        entityNumbers.indices.sorted { entityNumbers[$0] < entityNumbers[$1] }.flatMap { index in
            let entity = model.entity(at: index)
            return entity.definition.attributes.sortedByName(\.name).compactMap {
                DerivedValue($0, of: entity, in: self)?.refresh
            }
        }
    }
}
