import ManagedModel

/// The indexes of all entity tables, and remarks on omitted ones.
struct IndexLayout {
    /// The indexes by table; within a table those of to-one columns, Z_ENT, fetch indexes, uniqueness constraints.
    private(set) var indexes: [[StoreIndex]] = []
    private(set) var notes: [String] = []
    private(set) var leftOut: [LeftOutIndex] = []

    private let model: ManagedObjectModel
    private let tables: [EntityTable]
    private let toOneColumns: [PropertyReference: TableLayout.ToOneColumn]
    private var names: NamePool

    /// - Parameter names: the names already taken, because an index must not have the name of a table.
    init(model: ManagedObjectModel, layout: TableLayout, names: NamePool) {
        self.model = model
        tables = layout.tables
        toOneColumns = layout.toOneColumns
        self.names = names
        for table in tables {
            var own = keyIndexes(table)
            for entity in table.entities { own += fetchIndexes(model.entity(at: entity), table) }
            for entity in table.entities { own += uniqueIndexes(model.entity(at: entity), table) }
            indexes.append(own)
        }
    }

    private mutating func keyIndexes(_ table: EntityTable) -> [StoreIndex] {
        var found: [StoreIndex] = []
        for (position, column) in table.columns.enumerated() {
            switch column.role {
            case .toOne, .hiddenOwner:
                found.append(
                    StoreIndex(
                        name: names.take("\(table.name)_\(column.name)_INDEX"),
                        terms: [.init(column: position, isAscending: true)], purpose: .relationship))
            default: break
            }
        }
        // Also if only one entity is not abstract (SampleModel2_V1: ZWRITER). Photos has none for ZGENERICASSET; in such a case
        // the index that the source lacks decides.
        if table.entities.count > 1 {
            found.append(
                StoreIndex(
                    name: names.take("\(table.name)_Z_ENT_INDEX"),
                    terms: [.init(column: EntityTable.entityColumn, isAscending: true)], purpose: .entity))
        }
        return found
    }

    /// Returns the declared fetch indexes, then the old styles in today's form: `indexed="YES"` as an index named after the
    /// attribute (xcs 2.0.0), compound indexes named by their properties joined with `_` (wire-2-101).
    ///
    /// A compiled model marks the attributes of its fetch indexes in the old styles too. These are not indexes of their own
    /// (BeamExport.Beam3: `bid` has only `byPropertyId`, Bookmarks_V3: no `url_isPendingDeletion`).
    private mutating func fetchIndexes(_ entity: EntityDescription, _ table: EntityTable) -> [StoreIndex] {
        var indexes = entity.definition.indexes
        var names = Set(indexes.map(\.name))
        var covered = Set(indexes.map { index in index.elements.map(\.propertyName) })
        func add(_ name: String, _ properties: [String]) {
            guard covered.insert(properties).inserted, names.insert(name).inserted else { return }
            var index = FetchIndexDefinition(name: name)
            index.elements = properties.map { FetchIndexElement(propertyName: $0) }
            indexes.append(index)
        }
        for attribute in entity.definition.attributes.sortedByName(\.name)
        where attribute.isIndexed && !attribute.isTransient {
            add(attribute.name, [attribute.name])
        }
        for properties in entity.definition.compoundIndexes where !properties.isEmpty {
            add(properties.joined(separator: "_"), properties)
        }
        return indexes.compactMap { fetchIndex($0, entity, table) }
    }

    private mutating func fetchIndex(
        _ index: FetchIndexDefinition, _ entity: EntityDescription, _ table: EntityTable
    ) -> StoreIndex? {
        func leaveOut(_ reason: String) -> StoreIndex? {
            let note = "Fetch index \(index.name) of \(entity.definition.name) is left out: \(reason)"
            notes.append(note)
            leftOut.append(
                LeftOutIndex(
                    definition: index, entity: entity.index, name: "Z_\(entity.definition.name)_\(index.name)",
                    treeName: "Z_RT_\(entity.definition.name)_\(index.name)",
                    isTree: index.elements.contains(where: \.isRTree), note: note))
            return nil
        }
        guard !index.elements.isEmpty else { return leaveOut("it has no elements") }
        // The relationship's own index already exists (such a fetch index is absent in 101 of 101 cases: Accounts, WhatsApp,
        // Viber, Photos).
        if index.elements.count == 1, index.partialIndexPredicate?.isEmpty ?? true,
            let property = index.elements[0].propertyName, entity.relationship(named: property)?.isToMany == false
        {
            return nil
        }
        var terms: [StoreIndex.Term] = []
        for element in index.elements {
            if element.isRTree { return leaveOut("R-tree indexes are made by Core Data's own virtual table") }
            guard let property = element.propertyName else {
                return leaveOut("an element is the expression \(element.expression ?? "?")")
            }
            guard let column = column(of: property, entity, table) else {
                return leaveOut("\(property) has no column")
            }
            terms.append(.init(column: column, isAscending: element.isAscending))
        }
        var condition: String?
        if let predicate = index.partialIndexPredicate, !predicate.isEmpty {
            let translated = PartialIndexPredicate.sql(predicate) { name in
                guard let column = column(of: name, entity, table) else { return nil }
                return (SQLName.quoted(table.columns[column].name), entity.attribute(named: name)?.attributeType)
            }
            guard let translated else { return leaveOut("its predicate \(predicate) has no certain form in SQL") }
            condition = translated
        }
        return StoreIndex(
            name: names.take("Z_\(entity.definition.name)_\(index.name)"), terms: terms,
            purpose: .fetch(entity: entity.index), condition: condition)
    }

    private mutating func uniqueIndexes(_ entity: EntityDescription, _ table: EntityTable) -> [StoreIndex] {
        let inherited = entity.superentity?.allUniquenessConstraints.map(\.attributes) ?? []
        var found: [StoreIndex] = []
        for constraint in entity.definition.uniquenessConstraints where !constraint.isEmpty {
            // The parent's index covers the whole table (cdp1: Car's `numberPlate`, none for SportCar).
            if inherited.contains(constraint) { continue }
            let columns = constraint.compactMap { column(of: $0, entity, table) }
            guard columns.count == constraint.count else {
                notes.append(
                    "Uniqueness constraint \(constraint.joined(separator: ", ")) of \(entity.definition.name) "
                        + "is left out: a property has no column")
                continue
            }
            let name = "Z_\(entity.definition.name)_UNIQUE_" + constraint.joined(separator: "_")
            found.append(
                StoreIndex(
                    name: names.take(name), terms: columns.map { .init(column: $0, isAscending: true) },
                    purpose: .unique(entity: entity.index, attributes: constraint)))
        }
        return found
    }

    /// Returns the column of a stored attribute or to-one relationship, own or inherited.
    private func column(of property: String, _ entity: EntityDescription, _ table: EntityTable) -> Int? {
        if let attribute = entity.attribute(named: property) { return table.attributeColumns[attribute.reference] }
        return entity.relationship(named: property).flatMap { toOneColumns[$0.reference]?.column }
    }
}
