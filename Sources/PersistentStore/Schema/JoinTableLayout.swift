import ManagedModel

/// The join tables of a model's many-to-many pairs, while a schema is laid out.
struct JoinTableLayout {
    /// By the number of the entity that names the table, then by the naming relationship, descending.
    private(set) var tables: [JoinTable] = []
    /// The table and the side that holds the owners' keys, by relationship.
    private(set) var places: [PropertyReference: (table: Int, ownerSide: Int)] = [:]

    /// Two relationships that share a join table.
    private struct Pair: Hashable {
        let first: PropertyReference
        let second: PropertyReference

        init(_ one: PropertyReference, _ other: PropertyReference) {
            let ordered = (one.entity, one.name) <= (other.entity, other.name)
            first = ordered ? one : other
            second = ordered ? other : one
        }
    }

    private struct Created {
        var table: JoinTable
        var number: Int
        var name: NameKey
        /// Relationships whose links are here, with their owners' side.
        var owners: [(PropertyReference, Int)]
    }

    /// - Parameter tableNames: names already given; receives the tables' names.
    /// - Complexity: O(n log n) in relationships.
    init(model: ManagedObjectModel, numbering: EntityNumbering, tableNames: inout NamePool) {
        var columnNames = NamePool()
        var seen: Set<Pair> = []
        var created: [Created] = []
        // The order in which Core Data makes them decides who gets a collision suffix: entities by name, inside an
        // entity relationships by name descending (wire: Reaction's `Z_21USERS` before SystemMessage's `Z_21USERS1`).
        for entity in model.entities.sortedByName(\.definition.name) {
            for definition in entity.definition.relationships.sortedByName(\.name).reversed() {
                guard let relationship = entity.relationship(named: definition.name),
                    case .join(let inverse) = RelationshipKind(relationship),
                    seen.insert(Pair(relationship.reference, inverse.reference)).inserted
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

    private static func create(
        _ relationship: RelationshipDescription, _ inverse: RelationshipDescription, numbers: [Int],
        tableNames: inout NamePool, columnNames: inout NamePool
    ) -> Created {
        let number = numbers[relationship.entity.index]
        let inverseNumber = numbers[inverse.entity.index]
        if relationship == inverse {
            return reflexive(relationship, number: number, tableNames: &tableNames, columnNames: &columnNames)
        }
        // The entity with the lower number names the table; on one entity the relationship met first, the greater.
        let (near, far) = number <= inverseNumber ? (relationship, inverse) : (inverse, relationship)
        let (nearNumber, farNumber) = (min(number, inverseNumber), max(number, inverseNumber))
        let base = "Z_\(nearNumber)" + near.name.uppercased()
        let name = tableNames.take(base)
        let nearColumn = columnNames.take("Z_\(nearNumber)" + far.name.uppercased())
        let farColumn = columnNames.take("Z_\(farNumber)" + near.name.uppercased())
        var alternative: String?
        let namesDisagree = NameKey(far.entity.definition.name) < NameKey(near.entity.definition.name)
        if nearNumber == farNumber || namesDisagree { alternative = "Z_\(farNumber)" + far.name.uppercased() }
        let table = JoinTable(
            name: name,
            sides: [
                JoinSide(
                    column: nearColumn, relationship: near.reference,
                    orderColumn: far.isOrdered ? "Z_FOK_" + nearColumn.dropFirst(2) : nil),
                JoinSide(
                    column: farColumn, relationship: far.reference,
                    orderColumn: near.isOrdered ? "Z_FOK_" + farColumn.dropFirst(2) : nil),
            ],
            alternativeName: name == base ? alternative : nil)
        // A side whose own inverse is another relationship has its links in that other table.
        var owners = [(PropertyReference, Int)]()
        for (side, owner) in [near, far].enumerated() {
            let other = side == 0 ? far : near
            if owner.inverseRelationship == other { owners.append((owner.reference, side)) }
        }
        return Created(table: table, number: nearNumber, name: NameKey(near.name), owners: owners)
    }

    /// A relationship that is its own inverse: its members' column is named as usual, the owners' is REFLEXIVE,
    /// and each pair stands in both directions. No real store shows one.
    private static func reflexive(
        _ relationship: RelationshipDescription, number: Int, tableNames: inout NamePool,
        columnNames: inout NamePool
    ) -> Created {
        let base = "Z_\(number)" + relationship.name.uppercased()
        let column = columnNames.take(base)
        let table = JoinTable(
            name: tableNames.take(base),
            sides: [
                JoinSide(
                    column: column, relationship: relationship.reference,
                    orderColumn: relationship.isOrdered ? "Z_FOK_" + column.dropFirst(2) : nil),
                JoinSide(column: "REFLEXIVE", relationship: relationship.reference, orderColumn: nil),
            ],
            alternativeName: nil)
        return Created(
            table: table, number: number, name: NameKey(relationship.name), owners: [(relationship.reference, 1)])
    }
}
