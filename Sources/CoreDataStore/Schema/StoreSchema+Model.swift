import Diagnostics
import ManagedModel

extension StoreSchema {
    /// Lays out the schema that Core Data (framework 1044 and later) gives a model.
    ///
    /// If Core Data's own choice is unknown, the safe form is used. Omitted parts are in ``notes``.
    ///
    /// - Complexity: O(n log n) in own properties of all entities; O(1) once the model has been laid out.
    package init(model: ManagedObjectModel) {
        self = model.computedOnce { StoreSchema(layingOut: model).of(Self.noModel) }.of(model)
    }

    /// The model of a schema that its own model keeps: the two must not hold each other.
    private static let noModel = ManagedObjectModel()

    /// Lays out the schema of a model with the names of columns that a store numbers in its own way.
    ///
    /// - Parameter columnNames: the names; of the columns that want one name all or none.
    init(model: ManagedObjectModel, columnNames: [PropertyReference: String]) {
        self = columnNames.isEmpty ? StoreSchema(model: model) : StoreSchema(layingOut: model, columnNames)
    }

    private init(layingOut model: ManagedObjectModel, _ columnNames: [PropertyReference: String] = [:]) {
        let numbering = EntityNumbering(model: model)
        var tableNames = NamePool(reserved: FixedTables.names)
        let layout = TableLayout(
            model: model, numbering: numbering, columnNames: columnNames, tableNames: &tableNames)
        let joins = JoinTableLayout(model: model, numbering: numbering, tableNames: &tableNames)
        let indexes = IndexLayout(model: model, layout: layout, names: tableNames)
        let triggers = TriggerLayout(model: model, numbering: numbering, layout: layout)

        var storage: [PropertyReference: RelationshipStorage] = [:]
        for entity in model.entities {
            for definition in entity.definition.relationships {
                guard let relationship = entity.relationship(named: definition.name) else { continue }
                storage[relationship.reference] = Self.storage(of: relationship, layout, joins)
            }
        }
        var byNumber: [Int: Int] = [:]
        for (position, entity) in numbering.order.enumerated() { byNumber[position + 1] = entity }
        self.init(
            model: model, entityNumbers: numbering.numbers, entityByNumber: byNumber, tables: layout.tables,
            tableByEntity: layout.tableByEntity, joinTables: joins.tables, relationshipStorage: storage,
            indexes: indexes.indexes, triggerStatements: triggers.statements,
            unstorableAttributes: Self.unstorable(model, numbering), notes: indexes.notes + triggers.notes,
            leftOutIndexes: indexes.leftOut, trees: indexes.trees, columnNames: columnNames)
        for table in tables {
            for group in table.unprovenNumbers
            where !group.contains(where: { table.columns[$0].role.reference.map { columnNames[$0] != nil } ?? false }) {
                notes.append(table.unprovenNote(group))
            }
        }
    }

    private static func storage(
        of relationship: RelationshipDescription, _ layout: TableLayout, _ joins: JoinTableLayout
    ) -> RelationshipStorage {
        let reference = relationship.reference
        switch RelationshipKind(relationship) {
        case .transient: return .none
        case .toOne:
            guard let place = layout.toOneColumns[reference] else { return .none }
            var order: Int?
            if let inverse = relationship.inverseRelationship,
                case .byInverse(let back) = RelationshipKind(inverse), back == relationship
            {
                order = layout.orderColumns[inverse.reference]
            }
            return .toOne(
                table: place.table, column: place.column, entityColumn: place.entityColumn, orderColumn: order)
        case .byInverse(let inverse):
            guard let place = layout.toOneColumns[inverse.reference] else { return .none }
            return .toManyByInverse(
                table: place.table, column: place.column, entityColumn: place.entityColumn,
                orderColumn: layout.orderColumns[reference])
        case .join:
            guard let place = joins.places[reference] else { return .none }
            return .join(table: place.table, ownerSide: place.ownerSide)
        case .hidden:
            guard let column = layout.hiddenColumns[reference] else { return .none }
            return .toManyHidden(
                table: layout.tableByEntity[relationship.destination.index], column: column,
                orderColumn: layout.orderColumns[reference])
        }
    }

    private static func unstorable(_ model: ManagedObjectModel, _ numbering: EntityNumbering) -> [PropertyReference] {
        numbering.order.flatMap { index in
            model.entity(at: index).ownAttributes
                .filter { $0.isStored && ColumnClass.of($0.attributeType) == nil }
                .map { PropertyReference(entity: index, name: $0.name) }
        }
    }
}

extension StoreSchema {
    /// Refuses a model with attributes whose columns are unknown, because Core Data might read such a store differently.
    ///
    /// - Parameter path: the path of the store to be made.
    /// - Throws: `model.unstorableAttribute` (78) naming the first.
    package func refuseUnstorable(_ path: String) throws(MigrationError) {
        guard let reference = unstorableAttributes.first else { return }
        let entity = model.entity(at: reference.entity)
        let type = entity.attribute(named: reference.name)?.attributeType.label ?? "?"
        throw MigrationError(
            "model.unstorableAttribute", .configuration,
            "How Core Data stores an attribute of type \(type) is not known",
            remedy: "Make the attribute transient or replace it by attributes of simple types",
            context: .init(path: path, entity: entity.definition.name, property: reference.name))
    }
}
