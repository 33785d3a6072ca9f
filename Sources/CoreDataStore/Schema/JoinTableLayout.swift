import ManagedModel

/// The join tables of a model's many-to-many pairs, during the layout of a schema.
struct JoinTableLayout {
    /// The tables by the number of the entity that names them, then by the naming relationship, descending.
    private(set) var tables: [JoinTable] = []
    /// The table of a relationship, and the side with the owners' keys.
    private(set) var places: [PropertyReference: (table: Int, ownerSide: Int)] = [:]

    private struct Created {
        var table: JoinTable
        var number: Int
        var name: NameKey
        /// The relationships whose links are in the table, with their owners' side.
        var owners: [(PropertyReference, Int)]
    }

    /// - Parameter tableNames: the names already taken; the tables' names are added.
    /// - Complexity: O(n log n) in relationships.
    init(model: ManagedObjectModel, numbering: EntityNumbering, tableNames: inout NamePool) {
        var columnNames = NamePool()
        // Pairs of relationships that share a table.
        var seen: Set<Set<PropertyReference>> = []
        var created: [Created] = []
        // Core Data walks the entities by name, and each entity's relationships, inherited ones included, by name descending.
        // The first side found names the table (Photos: `Z_26ASSETS`, although the assets' entity declares its side with a
        // lower number), and the first table made keeps a column name without a suffix (wire: Reaction's `Z_21USERS` before
        // SystemMessage's `Z_21USERS1`).
        for entity in model.entities.sortedByName(\.definition.name) {
            for relationship in entity.relationships.sortedByName(\.name).reversed() {
                guard case .join(let inverse) = RelationshipKind(relationship),
                    seen.insert([relationship.reference, inverse.reference]).inserted
                else { continue }
                created.append(
                    Self.create(
                        relationship, inverse, numbers: numbering.numbers, tableNames: &tableNames,
                        columnNames: &columnNames))
            }
        }
        created.sort { $0.number == $1.number ? $1.name < $0.name : $0.number < $1.number }
        for (index, entry) in created.enumerated() {
            tables.append(entry.table)
            for (reference, side) in entry.owners { places[reference] = (index, side) }
        }
    }

    /// Makes the table of a pair. The members' column of a relationship that is its own inverse is named as usual, the owners' is
    /// REFLEXIVE, and each pair is stored in both directions. No real store shows one.
    ///
    /// - Parameters:
    ///   - near: the side that names the table.
    ///   - far: its inverse.
    private static func create(
        _ near: RelationshipDescription, _ far: RelationshipDescription, numbers: [Int],
        tableNames: inout NamePool, columnNames: inout NamePool
    ) -> Created {
        let (nearNumber, farNumber) = (numbers[near.entity.index], numbers[far.entity.index])
        let isReflexive = near == far
        let base = "Z_\(nearNumber)" + near.name.uppercased()
        let name = tableNames.take(base)
        let nearColumn = columnNames.take("Z_\(nearNumber)" + far.name.uppercased())
        let farColumn = isReflexive ? "REFLEXIVE" : columnNames.take("Z_\(farNumber)" + near.name.uppercased())
        let hasAlternative = name == base && nearNumber >= farNumber && !isReflexive
        let table = JoinTable(
            name: name,
            sides: [
                JoinSide(
                    column: nearColumn, relationship: near.reference,
                    orderColumn: far.isOrdered ? "Z_FOK_" + nearColumn.dropFirst(2) : nil),
                JoinSide(
                    column: farColumn, relationship: far.reference,
                    orderColumn: near.isOrdered && !isReflexive ? "Z_FOK_" + farColumn.dropFirst(2) : nil),
            ],
            alternativeName: hasAlternative ? "Z_\(farNumber)" + far.name.uppercased() : nil)
        // A side whose own inverse is another relationship has its links in the table of that pair. Of the two places of a
        // relationship that is its own inverse the last counts.
        var owners: [(PropertyReference, Int)] = []
        if near.inverseRelationship == far { owners.append((near.reference, 0)) }
        if far.inverseRelationship == near { owners.append((far.reference, 1)) }
        return Created(table: table, number: nearNumber, name: NameKey(near.name), owners: owners)
    }
}
