import ManagedModel

/// A derived attribute as SQL over the tables of one schema.
///
/// Core Data's triggers maintain such values while it saves; rows inserted without triggers leave them unchanged. Counts, sums
/// and key paths follow from the rows and are always updated. Converted texts and times of a save keep the value of the last
/// save, so they are computed only if they are not carried over.
struct DerivedValue {
    /// The table of the derived attribute, quoted, and below it its column.
    let table: String
    let column: String
    let reference: PropertyReference
    let form: DerivationForm
    /// The indices of the entities that have the attribute.
    let entities: [Int]
    /// The SQL expression of the value over `t`, the attribute's row.
    let value: String
    /// True if the sum of the same numbers may differ in its last bits.
    let isInexact: Bool

    /// - Parameter now: the time of the save, in seconds since 2001.
    /// - Returns: nil for other expressions, and for attributes without a column.
    init?(_ attribute: AttributeDefinition, of entity: EntityDescription, in schema: StoreSchema, now: Double = 0) {
        guard let expression = attribute.derivationExpression, !attribute.isTransient,
            let form = DerivationForm(expression)
        else { return nil }
        let own = schema.tables[schema.tableIndex(of: entity)]
        let reference = PropertyReference(entity: entity.index, name: attribute.name)
        guard let position = own.attributeColumns[reference],
            let term = Self.term(form, of: entity, in: schema, now: now)
        else { return nil }
        table = SQLName.quoted(own.name)
        column = SQLName.quoted(own.columns[position].name)
        self.reference = reference
        self.form = form
        entities = entity.withDescendants.map(\.index)
        value = term.sql
        isInexact = term.isInexact
    }

    private typealias Term = (sql: String, isInexact: Bool)

    private static func term(
        _ form: DerivationForm, of entity: EntityDescription, in schema: StoreSchema, now: Double
    ) -> Term? {
        switch form {
        case .now: return ("\(now)", false)
        case .text(let function, let inner):
            return term(inner, of: entity, in: schema, now: now).map { ("\(function.sqlName)(\($0.sql))", false) }
        case .keyPath(let parts): return path(parts[...], from: entity, key: "t.Z_PK", in: schema)
        }
    }

    /// - Parameter key: the key of the object at the start of the path.
    private static func path(
        _ parts: ArraySlice<String>, from entity: EntityDescription, key: String, in schema: StoreSchema
    ) -> Term? {
        guard let first = parts.first else { return nil }
        let rest = parts.dropFirst()
        /// Returns the SQL of a column of the object.
        func cell(_ column: Int) -> String {
            let table = schema.tables[schema.tableIndex(of: entity)]
            let name = SQLName.quoted(table.columns[column].name)
            return key == "t.Z_PK"
                ? "t.\(name)" : "(SELECT r.\(name) FROM \(SQLName.quoted(table.name)) AS r WHERE r.Z_PK = \(key))"
        }
        if let attribute = entity.attribute(named: first) {
            guard rest.isEmpty, let column = schema.column(of: attribute) else { return nil }
            return (cell(column), false)
        }
        guard let relationship = entity.relationship(named: first) else { return nil }
        if case .toOne(_, let column, _, _) = schema.storage(of: relationship) {
            return path(rest, from: relationship.destination, key: cell(column), in: schema)
        }
        guard let members = MemberTable(relationship, in: schema) else { return nil }
        if rest.elementsEqual(["@count"]) {
            return ("(SELECT count(*) FROM \(members.links) AS m WHERE m.\(members.owner) = \(key))", false)
        }
        guard rest.count == 2, let word = rest.first(where: { $0.hasPrefix("@") }), let aggregate = aggregates[word],
            let name = rest.first(where: { !$0.hasPrefix("@") }),
            let (other, column, type) = column(name, of: relationship.destination, in: schema),
            type.isNumeric || type == .date && (word == "@min" || word == "@max")
        else { return nil }
        let rows = members.member.map { "\(members.links) AS m JOIN \(other) AS r ON r.Z_PK = m.\($0)" }
        return (
            "(SELECT \(aggregate("r.\(column)")) FROM \(rows ?? "\(other) AS r") "
                + "WHERE \(rows == nil ? "r" : "m").\(members.owner) = \(key))",
            word == "@avg" || word == "@sum" && ![.integer16, .integer32, .integer64].contains(type)
        )
    }

    private static let aggregates: [String: @Sendable (String) -> String] = [
        "@sum": { "ifnull(sum(\($0)), 0)" }, "@min": { "min(\($0))" }, "@max": { "max(\($0))" },
        "@avg": { "ifnull(avg(\($0)), 0)" },
    ]

    /// Returns the statement that sets the attribute in every row with another value.
    ///
    /// - Parameters:
    ///   - numbers: the Z_ENT of the rows.
    ///   - onlyMissing: true to keep existing values.
    /// - Complexity: O(rows of the table and of the members), by the members' indexes.
    func refresh(numbers: [Int], onlyMissing: Bool = false) -> String {
        "UPDATE \(table) AS t SET \(column) = \(value) WHERE " + condition(numbers)
            + (onlyMissing ? " AND \(column) IS NULL" : "")
    }

    /// Returns the query of the rows with another value: key, entity number, the present value, the correct value.
    func differences(numbers: [Int]) -> String {
        "SELECT t.Z_PK, t.Z_ENT, t.\(column), \(value) FROM \(table) AS t NOT INDEXED WHERE " + condition(numbers)
    }

    private func condition(_ numbers: [Int]) -> String {
        let among = numbers.map(String.init).joined(separator: ", ")
        let close = isInexact ? " AND NOT ifnull(abs(\(column) - \(value)) <= 1e-9 * abs(\(value)), 0)" : ""
        return "Z_ENT IN (\(among)) AND \(column) IS NOT \(value)" + close
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

/// The place of the members of a to-many relationship.
package struct MemberTable {
    /// The table whose rows are the links.
    package let links: String
    /// The column with the owners' keys.
    package let owner: String
    /// The column with the members' keys; nil if the table is the members' own.
    package let member: String?

    package init?(_ relationship: RelationshipDescription, in schema: StoreSchema) {
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

/// A derived attribute of one entity.
package struct DerivedReference: Hashable, Sendable {
    package var attribute: PropertyReference
    /// The index of the entity, which may inherit the attribute.
    package var entity: Int

    package init(attribute: PropertyReference, entity: Int) {
        self.attribute = attribute
        self.entity = entity
    }
}

/// The derived attributes to compute.
package struct DerivedSelection: Sendable {
    /// The attributes that would be stored since the last save but are not carried over.
    package var anew: Set<DerivedReference>
    /// The time of the save, in seconds since 2001.
    package var now: Double

    package init(anew: Set<DerivedReference> = [], now: Double = 0) {
        self.anew = anew
        self.now = now
    }
}

extension StoreSchema {
    /// Returns the statements that update derived attributes for rows inserted without triggers, by Z_ENT. Some call the
    /// functions of ``Connection/addTextFunctions()``.
    ///
    /// - Parameter isAppended: true if there are older rows, whose texts and times stay.
    /// - Complexity: O(attributes).
    func derivedRefreshes(_ selection: DerivedSelection = .init(), isAppended: Bool = false) -> [String] {
        derivedValues(selection).map { value, numbers in
            value.refresh(numbers: numbers, onlyMissing: isAppended && value.form.isCarried)
        }
    }

    /// Returns the queries of rows with wrong derived attributes, by attribute. Times of a save are unknown.
    ///
    /// - Parameter numbers: returns the file's Z_ENT of an entity index.
    package func derivedDifferences(
        _ selection: DerivedSelection, numbers: (Int) -> Int
    ) -> [(attribute: PropertyReference, sql: String)] {
        derivedValues(selection).compactMap { value, own in
            guard value.form != .now else { return nil }
            let found = own.compactMap { entityByNumber[$0].map(numbers) }
            return (value.reference, value.differences(numbers: found))
        }
    }

    private func derivedValues(_ selection: DerivedSelection) -> [(DerivedValue, [Int])] {
        entityNumbers.indices.sorted { entityNumbers[$0] < entityNumbers[$1] }.flatMap { index in
            let entity = model.entity(at: index)
            let attributes = entity.definition.attributes.sortedByName(\.name)
            return attributes.compactMap { attribute -> (DerivedValue, [Int])? in
                guard let value = DerivedValue(attribute, of: entity, in: self, now: selection.now) else { return nil }
                let computed = value.entities.filter { entity in
                    !value.form.isCarried
                        || selection.anew.contains(DerivedReference(attribute: value.reference, entity: entity))
                }
                return computed.isEmpty ? nil : (value, computed.map { entityNumbers[$0] }.sorted())
            }
        }
    }
}
