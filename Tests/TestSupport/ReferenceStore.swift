import CoreDataStore
import Diagnostics
import ManagedModel

/// A store in memory: every row of every table, column by column, as plain values.
///
/// The reference of the engine's tests: obvious, slow, and O(store) in memory. Made by hand with ``make(_:_:)``, read
/// from a file with ``read(path:model:)``, written with ``write(path:)``, compared with ``differences(from:)``.
/// A reference to a key that no row has is simply a number in a column.
package struct ReferenceStore {
    package let schema: StoreSchema
    /// Rows by key, one dictionary for each of the schema's tables.
    package var tables: [[Int64: ReferenceRow]]
    /// Order columns by pair of keys, one dictionary for each of the schema's join tables.
    package var joins: [[ReferencePair: ReferenceOrders]]
    /// Rows of Z_PRIMARYKEY by Z_ENT, without those of persistent history.
    package var primaryKey: [Int: ReferencePrimaryKey]
    package var uuid = "5E0C8D1A-0000-4000-8000-7374616765AA"

    /// An empty store of a model.
    package init(model: ManagedObjectModel) {
        schema = StoreSchema(model: model)
        tables = Array(repeating: [:], count: schema.tables.count)
        joins = Array(repeating: [:], count: schema.joinTables.count)
        primaryKey = [:]
        for entity in model.entities {
            primaryKey[schema.number(of: entity)] = ReferencePrimaryKey(
                name: entity.definition.name, parent: entity.superentity.map { schema.number(of: $0) } ?? 0, maximum: 0)
        }
    }

    /// Makes a store by hand; entity columns of to-one references and Z_MAX are filled in at the end where the body
    /// left them out.
    package static func make(
        _ model: ManagedObjectModel, _ body: (inout ReferenceStore) throws -> Void
    ) rethrows -> ReferenceStore {
        var store = ReferenceStore(model: model)
        try body(&store)
        store.complete()
        return store
    }

    package var model: ManagedObjectModel { schema.model }

    /// The entity of a row: by the name that its Z_ENT has in Z_PRIMARYKEY, else by number, since an in-place
    /// migration leaves old names behind (SampleModel_V2.sqlite).
    package func entity(of row: ReferenceRow) -> EntityDescription? {
        guard let number = row.values[EntityTable.entityColumn].integer.flatMap({ Int(exactly: $0) }) else {
            return nil
        }
        if let name = primaryKey[number]?.name, let entity = model.entity(named: name) { return entity }
        return schema.entityByNumber[number].map { model.entity(at: $0) }
    }

    /// The entity of a row of a table. Core Data does not look at Z_ENT in a table of one entity (ArtsyPartner 1.3: an
    /// Artwork with the number of Collection); a number of another table's entity is that of none.
    package func entity(of row: ReferenceRow, inTable table: Int) -> EntityDescription? {
        let entities = schema.tables[table].entities
        if entities.count == 1 { return model.entity(at: entities[0]) }
        return entity(of: row).flatMap { entities.contains($0.index) ? $0 : nil }
    }

    /// The highest key handed out in the table of an entity (Z_MAX of its root).
    package func maximum(of entity: EntityDescription) -> Int64 {
        primaryKey[schema.number(of: entity.root)]?.maximum ?? 0
    }

    package mutating func setMaximum(_ value: Int64, of entityName: String) {
        guard let entity = model.entity(named: entityName) else { preconditionFailure("no entity \(entityName)") }
        primaryKey[schema.number(of: entity.root)]?.maximum = value
    }

    /// Number of rows in all entity tables.
    package var rowCount: Int { tables.reduce(0) { $0 + $1.count } }
}

/// A row of an entity table: the values of all columns after Z_PK, in the schema's order.
package struct ReferenceRow: Hashable, Sendable {
    package var values: [ReferenceValue]

    package init(values: [ReferenceValue]) { self.values = values }
}

/// A row of a join table: the keys in the order of its key columns.
package struct ReferencePair: Hashable, Sendable {
    package var first: Int64
    package var second: Int64

    package init(_ first: Int64, _ second: Int64) {
        self.first = first
        self.second = second
    }
}

/// The order columns of a join row, nil if there is no such column or it is NULL.
package struct ReferenceOrders: Hashable, Sendable {
    package var first: Int64?
    package var second: Int64?

    package init(first: Int64? = nil, second: Int64? = nil) {
        self.first = first
        self.second = second
    }
}

/// A row of Z_PRIMARYKEY.
package struct ReferencePrimaryKey: Hashable, Sendable {
    package var name: String
    package var parent: Int
    package var maximum: Int64

    package init(name: String, parent: Int, maximum: Int64) {
        self.name = name
        self.parent = parent
        self.maximum = maximum
    }
}
