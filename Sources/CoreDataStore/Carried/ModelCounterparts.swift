import ManagedModel

/// The counterparts of a destination's entities, relationships and columns in a source, by equal renaming identifiers.
struct ModelCounterparts {
    let schema: StoreSchema
    let layout: StoreLayout
    private let entities: [String: EntityDescription]

    init(of schema: StoreSchema, in layout: StoreLayout) {
        self.schema = schema
        self.layout = layout
        entities = Dictionary(
            layout.schema.model.entities.map { ($0.renamingIdentifier ?? $0.name, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    func entity(_ entity: EntityDescription) -> EntityDescription? {
        entities[entity.renamingIdentifier ?? entity.name]
    }

    func relationship(_ reference: PropertyReference) -> RelationshipDescription? {
        guard let own = schema.model.entity(at: reference.entity).relationship(named: reference.name),
            let entity = entity(own.entity)
        else { return nil }
        return entity.relationships.first { $0.renamingIdentifier == own.renamingIdentifier }
    }

    private func attribute(_ reference: PropertyReference) -> AttributeDescription? {
        guard let own = schema.model.entity(at: reference.entity).attribute(named: reference.name),
            let entity = entity(schema.model.entity(at: reference.entity))
        else { return nil }
        return entity.attributes.first {
            $0.renamingIdentifier == own.renamingIdentifier && $0.attributeType == own.attributeType
        }
    }

    /// Returns the columns of a destination's table that mean the same in the source's table of the same name, in upper case.
    /// Returns nil if the source's table has another root entity.
    ///
    /// - Parameters:
    ///   - table: the table of the destination.
    ///   - source: the source's table of that name.
    func equalColumns(ofTable table: Int, _ source: Int) -> Set<String>? {
        let own = schema.tables[table]
        guard let root = entity(schema.model.entity(at: own.root)),
            layout.schema.tableIndex(of: root) == source, root.superentity == nil
        else { return nil }
        var equal: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
        for column in own.columns {
            guard let role = role(column.role),
                let place = layout.schema.tables[source].columns.firstIndex(where: { $0.role == role }),
                layout.tables[source].columns[place].uppercased() == column.name.uppercased()
            else { continue }
            equal.insert(column.name.uppercased())
        }
        return equal
    }

    /// Returns the source's counterpart of the property of a destination's column.
    func property(_ role: ColumnRole) -> PropertyReference? { self.role(role)?.reference }

    /// Returns the role of a destination's column as the source's counterpart has it.
    private func role(_ role: ColumnRole) -> ColumnRole? {
        switch role {
        case .entity, .lock: return role
        case .attribute(let reference): return attribute(reference).map { .attribute($0.reference) }
        case .toOne(let reference): return link(reference).map { .toOne($0) }
        case .toOneEntity(let reference): return link(reference).map { .toOneEntity($0) }
        case .order(let reference): return link(reference).map { .order($0) }
        case .hiddenOwner(let reference): return link(reference).map { .hiddenOwner($0) }
        case .hiddenOrder(let reference): return link(reference).map { .hiddenOrder($0) }
        }
    }

    /// Returns the source's counterpart of a relationship if it leads to the same table.
    private func link(_ reference: PropertyReference) -> PropertyReference? {
        guard let own = schema.model.entity(at: reference.entity).relationship(named: reference.name),
            let before = relationship(reference), let destination = entity(own.destination),
            layout.schema.tableIndex(of: destination) == layout.schema.tableIndex(of: before.destination)
        else { return nil }
        return before.reference
    }

    /// Tells whether a join table of the destination has the links of a source's join table in the same columns.
    func isEqual(_ join: JoinTable, _ source: Int) -> Bool {
        let before = layout.schema.joinTables[source]
        let file = layout.joinTables[source]
        return zip(join.sides.indices, join.sides).allSatisfy { _, side in
            guard let link = link(side.relationship),
                let place = before.sides.firstIndex(where: {
                    $0.relationship == link
                        // Both sides of a relationship that is its own inverse are of one relationship.
                        && ($0.column == "REFLEXIVE") == (side.column == "REFLEXIVE")
                })
            else { return false }
            return file.sides[place].column.uppercased() == side.column.uppercased()
                && file.sides[place].orderColumn?.uppercased() == side.orderColumn?.uppercased()
        }
    }

    /// True if every entity has the same number in source and destination.
    var hasEqualNumbers: Bool {
        schema.model.entities.allSatisfy { own in
            entity(own).map { layout.fileNumber(ofEntity: $0.index) } == schema.number(of: own)
        }
    }
}
