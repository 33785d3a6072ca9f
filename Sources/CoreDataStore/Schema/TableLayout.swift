import ManagedModel

/// The columns of all entity tables, during the layout of a schema.
struct TableLayout {
    private(set) var tables: [EntityTable] = []
    private(set) var tableByEntity: [Int]
    /// The column of each to-one relationship.
    private(set) var toOneColumns: [PropertyReference: ToOneColumn] = [:]
    /// The column with the positions of an ordered to-many relationship's members, by that relationship.
    private(set) var orderColumns: [PropertyReference: Int] = [:]
    /// The hidden column of a to-many relationship without inverse, by that relationship.
    private(set) var hiddenColumns: [PropertyReference: Int] = [:]

    struct ToOneColumn {
        var table: Int
        var column: Int
        var entityColumn: Int?
    }

    /// A column without its place, and its class.
    private typealias Pending = (columnClass: ColumnClass, column: StoreColumn)

    private let model: ManagedObjectModel
    private let numbering: EntityNumbering
    private let columnNames: [PropertyReference: String]

    /// - Parameters:
    ///   - columnNames: the names of columns that a store numbers in its own way, all that want one name.
    ///   - tableNames: the names already taken; the tables' names are added.
    /// - Complexity: O(n log n) in own properties.
    init(
        model: ManagedObjectModel, numbering: EntityNumbering, columnNames: [PropertyReference: String],
        tableNames: inout NamePool
    ) {
        self.model = model
        self.numbering = numbering
        self.columnNames = columnNames
        tableByEntity = [Int](repeating: 0, count: numbering.numbers.count)
        var groups: [(root: Int, entities: [Int])] = []
        for index in numbering.order {
            let entity = model.entity(at: index)
            // Numbers are depth-first, so a hierarchy is one run that starts with its root.
            if entity.superentity == nil { groups.append((index, [])) }
            groups[groups.count - 1].entities.append(index)
            tableByEntity[index] = groups.count - 1
        }
        let incoming = membersColumns()
        for (table, group) in groups.enumerated() {
            let name = tableNames.take("Z" + model.entity(at: group.root).definition.name.uppercased())
            lay(table: table, name: name, root: group.root, entities: group.entities, incoming: incoming[table])
        }
    }

    /// The to-many relationships that need columns in their members' table.
    private struct Incoming {
        /// The ordered ones with a to-one inverse, by owner's Z_ENT, then by name descending (bm-V1: favorites before
        /// children).
        var ordered: [(owner: RelationshipDescription, inverse: RelationshipDescription)] = []
        /// The hidden columns by destination entity, by owner's Z_ENT, then by name.
        var hidden: [Int: [RelationshipDescription]] = [:]
    }

    private func membersColumns() -> [Int: Incoming] {
        var incoming: [Int: Incoming] = [:]
        for index in numbering.order {
            for relationship in ownRelationships(index).reversed() {
                switch RelationshipKind(relationship) {
                case .byInverse(let toOne):
                    guard relationship.isOrdered else { continue }
                    incoming[tableByEntity[toOne.entity.index], default: Incoming()].ordered.append(
                        (relationship, toOne))
                case .hidden:
                    incoming[tableByEntity[relationship.destination.index], default: Incoming()]
                        .hidden[relationship.destination.index, default: []].append(relationship)
                case .transient, .toOne, .join: continue
                }
            }
        }
        return incoming
    }

    private func ownRelationships(_ entity: Int) -> [RelationshipDescription] {
        let description = model.entity(at: entity)
        return description.definition.relationships.sortedByName(\.name).compactMap {
            description.relationship(named: $0.name)
        }
    }

    private mutating func lay(table: Int, name: String, root: Int, entities: [Int], incoming: Incoming?) {
        var names = NamePool(reserved: ["Z_PK", "Z_ENT", "Z_OPT"])
        var pending: [Pending] = []
        var toOneNames: [PropertyReference: String] = [:]
        var wanting: [String: [PropertyReference]] = [:]
        func take(_ wanted: String, for property: PropertyReference) -> String {
            wanting[wanted, default: []].append(property)
            guard let given = columnNames[property] else { return names.take(wanted) }
            names.reserve(given)
            return given
        }
        func add(_ columnClass: ColumnClass, _ name: String, _ type: String, _ role: ColumnRole) {
            pending.append((columnClass, StoreColumn(name: name, type: type, role: role)))
        }
        // Names are assigned entity by entity, attributes before relationships. The names of the hidden and order columns are
        // derived from these.
        for index in entities {
            // With regard to case, unlike all other names (knowledgeC of macOS 10.13: ZURL before ZCITY for `URL`, `city`). The
            // elements of a composite attribute take its place, under their own names without its own (MetaCocktails).
            for attribute in model.entity(at: index).ownAttributes where !attribute.isTransient {
                guard let (columnClass, type) = ColumnClass.of(attribute.attributeType) else { continue }
                let reference = PropertyReference(entity: index, name: attribute.name)
                add(
                    columnClass, take("Z" + attribute.elementName.uppercased(), for: reference), type,
                    .attribute(reference))
            }
            for relationship in ownRelationships(index) {
                guard case .toOne = RelationshipKind(relationship) else { continue }
                let reference = PropertyReference(entity: index, name: relationship.name)
                let column = take("Z" + relationship.name.uppercased(), for: reference)
                toOneNames[reference] = column
                add(.integer, column, "INTEGER", .toOne(reference))
                if !relationship.destination.subentities.isEmpty {
                    let number = numbering.numbers[relationship.destination.index]
                    add(
                        .integer, names.take("Z\(number)_" + column.dropFirst()), "INTEGER", .toOneEntity(reference))
                }
            }
            for owner in (incoming?.hidden[index] ?? []).reversed().sorted(by: ownerPrecedes) {
                let number = numbering.numbers[owner.entity.index]
                add(
                    .integer, names.take("Z\(number)" + owner.name.uppercased()), "INTEGER",
                    .hiddenOwner(owner.reference))
                guard owner.isOrdered else { continue }
                add(
                    .integer, names.take("Z_FOK_\(number)" + owner.name.uppercased()), "INTEGER",
                    .hiddenOrder(owner.reference))
            }
        }
        for (owner, inverse) in incoming?.ordered ?? [] {
            guard let column = toOneNames[inverse.reference] else { continue }
            add(.order, names.take("Z_FOK_" + column.dropFirst()), "INTEGER", .order(owner.reference))
        }
        place(table: table, name: name, root: root, entities: entities, pending: pending)
        noteUnproven(wanting.values.filter { $0.count > 1 }, table)
    }

    /// Records the columns that want one name, unless all are attributes of different entities or elements of composites.
    private mutating func noteUnproven(_ groups: [[PropertyReference]], _ table: Int) {
        for properties in groups {
            let plain = properties.filter { !$0.name.contains(".") }
            let isProven =
                Set(plain.map(\.entity)).count == plain.count
                && plain.allSatisfy { tables[table].attributeColumns[$0] != nil }
            guard !isProven else { continue }
            tables[table].unprovenNumbers.append(
                properties.compactMap { tables[table].attributeColumns[$0] ?? toOneColumns[$0]?.column })
        }
        tables[table].unprovenNumbers.sort { $0[0] < $1[0] }
    }

    private func ownerPrecedes(_ first: RelationshipDescription, _ second: RelationshipDescription) -> Bool {
        let numbers = (numbering.numbers[first.entity.index], numbering.numbers[second.entity.index])
        return numbers.0 == numbers.1 ? NameKey(first.name) < NameKey(second.name) : numbers.0 < numbers.1
    }

    /// Puts the columns into their final order and records the place of each property.
    private mutating func place(table: Int, name: String, root: Int, entities: [Int], pending: [Pending]) {
        var columns = [
            StoreColumn(name: "Z_ENT", type: "INTEGER", role: .entity),
            StoreColumn(name: "Z_OPT", type: "INTEGER", role: .lock),
        ]
        // Within a class the columns stay as they were added: by entity, then attributes, to-one, hidden.
        for columnClass in ColumnClass.allCases {
            for candidate in pending where candidate.columnClass == columnClass { columns.append(candidate.column) }
        }
        var attributeColumns: [PropertyReference: Int] = [:]
        for (index, column) in columns.enumerated() {
            switch column.role {
            case .entity, .lock: break
            case .attribute(let reference): attributeColumns[reference] = index
            case .toOne(let reference):
                toOneColumns[reference] = ToOneColumn(table: table, column: index, entityColumn: nil)
            case .toOneEntity(let reference): toOneColumns[reference]?.entityColumn = index
            case .order(let reference), .hiddenOrder(let reference): orderColumns[reference] = index
            case .hiddenOwner(let reference): hiddenColumns[reference] = index
            }
        }
        tables.append(
            EntityTable(
                name: name, root: root, entities: entities, columns: columns, attributeColumns: attributeColumns))
    }
}
