import ManagedModel

/// The indexes of all entity tables, and remarks on omitted ones.
struct IndexLayout {
    /// The indexes by table; within a table those of to-one columns, Z_ENT, fetch indexes, uniqueness constraints.
    private(set) var indexes: [[StoreIndex]] = []
    private(set) var notes: [String] = []
    private(set) var leftOut: [LeftOutIndex] = []
    private(set) var trees: [StoreTree] = []

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
    /// Fetch indexes of one name make one index, the first (no real store has two of them). A compiled model marks the columns
    /// of its fetch indexes in the old styles too. These are not indexes of their own (BeamExport.Beam3: `bid` has only
    /// `byPropertyId`, Bookmarks_V3: no `url_isPendingDeletion`, Photos: no index for `kind` and `self` beside a fetch index
    /// over `kind` and `SELF`).
    private mutating func fetchIndexes(_ entity: EntityDescription, _ table: EntityTable) -> [StoreIndex] {
        var names: Set<String> = []
        var indexes = entity.definition.indexes.filter { names.insert($0.name).inserted }
        var covered = Set(indexes.map { columns(of: $0.elements, entity, table) })
        func add(_ name: String, _ properties: [String]) {
            var index = FetchIndexDefinition(name: name)
            index.elements = properties.map { FetchIndexElement(propertyName: $0) }
            guard covered.insert(columns(of: index.elements, entity, table)).inserted, names.insert(name).inserted
            else {
                return
            }
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
        guard !index.elements.isEmpty else { return leaveOut(index, entity, "it has no elements") }
        let relationships = index.elements.map { $0.propertyName.flatMap(entity.relationship(named:)) }
        let isPartial = !(index.partialIndexPredicate ?? "").isEmpty
        // A to-many has no column to be indexed (Photos: `byAlbumsIndex`).
        if index.repeatsRelationshipIndex(of: entity) { return nil }
        if relationships.contains(where: { $0?.isToMany ?? false }) { return nil }
        if index.elements.contains(where: \.isRTree) { return layTree(index, entity, table) }
        var terms: [StoreIndex.Term] = []
        for element in index.elements {
            // A composite attribute stands for its elements.
            let names: [String?] = element.propertyName.map { entity.attributeNames(of: $0) } ?? [nil]
            for name in names {
                var part = element
                part.propertyName = name
                guard let column = place(of: part, entity, table) else {
                    return leaveOut(
                        index, entity,
                        name.map { "\($0) has no column" }
                            ?? "an element is the expression \(element.expression ?? "?")")
                }
                terms.append(.init(column: column, isAscending: element.isAscending))
            }
        }
        var condition: String?
        if let predicate = index.partialIndexPredicate, isPartial {
            let translated = PartialIndexPredicate.sql(predicate) { name in
                guard let column = column(of: name, entity, table) else { return nil }
                return (SQLName.quoted(table.columns[column].name), entity.attribute(named: name)?.attributeType)
            }
            guard let translated else {
                return leaveOut(index, entity, "its predicate \(predicate) has no certain form in SQL")
            }
            condition = translated
        }
        return StoreIndex(
            name: names.take("Z_\(entity.definition.name)_\(index.name)"), terms: terms,
            purpose: .fetch(entity: entity.index), condition: condition)
    }

    private mutating func leaveOut(
        _ index: FetchIndexDefinition, _ entity: EntityDescription, _ reason: String
    ) -> StoreIndex? {
        let left = LeftOutIndex(
            index, of: entity,
            note: "Fetch index \(index.name) of \(entity.definition.name) is left out: \(reason)")
        notes.append(left.note)
        leftOut.append(left)
        return nil
    }

    /// An R-tree, which is no index of the table.
    private mutating func layTree(
        _ index: FetchIndexDefinition, _ entity: EntityDescription, _ table: EntityTable
    ) -> StoreIndex? {
        guard index.elements.allSatisfy(\.isRTree) else {
            return leaveOut(index, entity, "only some of its elements are of an R-tree")
        }
        guard index.elements.count <= StoreTree.mostCoordinates else {
            return leaveOut(index, entity, "an R-tree has at most \(StoreTree.mostCoordinates) elements")
        }
        guard (index.partialIndexPredicate ?? "").isEmpty else {
            return leaveOut(index, entity, "an R-tree has no predicate")
        }
        var columns: [Int] = []
        for element in index.elements {
            let attribute = element.propertyName.flatMap(entity.attribute(named:))
            guard let attribute, let column = table.attributeColumns[attribute.reference],
                attribute.attributeType.isNumeric || attribute.attributeType == .date
            else {
                let subject = element.propertyName ?? element.expression ?? "?"
                return leaveOut(index, entity, "\(subject) is no attribute with numbers in a column")
            }
            columns.append(column)
        }
        guard Set(columns).count == columns.count else {
            return leaveOut(index, entity, "an attribute is in it twice")
        }
        let tree = StoreTree(
            index: LeftOutIndex(
                index, of: entity,
                note: "Fetch index \(index.name) of \(entity.definition.name) is left out: SQLite here has no R-trees"),
            table: tables.firstIndex { $0.name == table.name } ?? 0, columns: columns)
        trees.append(tree)
        return nil
    }

    /// The column of an element: of a property, of the object id (`Z_PK COLLATE BINARY ASC`), or of the entity (Photos:
    /// `Z_ENT COLLATE BINARY ASC`, for the expression `entity`).
    private func place(of element: FetchIndexElement, _ entity: EntityDescription, _ table: EntityTable) -> Int? {
        guard let subject = element.propertyName ?? element.expression else { return nil }
        if element.propertyName != nil, let column = column(of: subject, entity, table) { return column }
        let isProperty =
            element.propertyName != nil
            && (entity.attribute(named: subject) != nil || entity.relationship(named: subject) != nil)
        switch subject {
        case _ where isProperty: return nil
        case "entity", "self.entity", "SELF.entity": return EntityTable.entityColumn
        case "self", "SELF", "objectID", "self.objectID", "SELF.objectID": return StoreIndex.Term.key
        default: return element.propertyName == nil ? column(of: subject, entity, table) : nil
        }
    }

    /// Returns the names of the columns of an index's elements; the text of an element that has no column.
    private func columns(
        of elements: [FetchIndexElement], _ entity: EntityDescription, _ table: EntityTable
    ) -> [String] {
        elements.map { element in
            let column = place(of: element, entity, table)
            return column.map { table.name(of: .init(column: $0, isAscending: true)) }
                ?? element.propertyName ?? element.expression ?? ""
        }
    }

    private mutating func uniqueIndexes(_ entity: EntityDescription, _ table: EntityTable) -> [StoreIndex] {
        let inherited = entity.superentity?.allUniquenessConstraints.map(\.attributes) ?? []
        var found: [StoreIndex] = []
        for constraint in entity.definition.uniquenessConstraints where !constraint.isEmpty {
            // The parent's index covers the whole table (cdp1: Car's `numberPlate`, nothing for SportCar).
            let properties = constraint.flatMap(entity.attributeNames(of:))
            if inherited.contains(properties) { continue }
            let columns = properties.compactMap { column(of: $0, entity, table) }
            guard columns.count == properties.count else {
                notes.append(
                    "Uniqueness constraint \(constraint.joined(separator: ", ")) of \(entity.definition.name) "
                        + "is left out: a property has no column")
                continue
            }
            let name = "Z_\(entity.definition.name)_UNIQUE_" + constraint.joined(separator: "_")
            found.append(
                StoreIndex(
                    name: names.take(name), terms: columns.map { .init(column: $0, isAscending: true) },
                    purpose: .unique(entity: entity.index, attributes: properties)))
        }
        return found
    }

    /// Returns the column of a stored attribute or to-one relationship, own or inherited.
    private func column(of property: String, _ entity: EntityDescription, _ table: EntityTable) -> Int? {
        if let attribute = entity.attribute(named: property) { return table.attributeColumns[attribute.reference] }
        return entity.relationship(named: property).flatMap { toOneColumns[$0.reference]?.column }
    }
}

extension FetchIndexDefinition {
    /// True over exactly one to-one relationship, which has an index of its own: Core Data makes no second one (absent in 101
    /// of 101 cases: Accounts, WhatsApp, Viber, Photos).
    func repeatsRelationshipIndex(of entity: EntityDescription) -> Bool {
        guard elements.count == 1, (partialIndexPredicate ?? "").isEmpty, let name = elements[0].propertyName else {
            return false
        }
        return entity.relationship(named: name)?.isToMany == false
    }
}
