import ManagedModel

extension StoreSchema {
    /// Returns the schema with the names and entity numbers of one file, for writing into an existing store.
    ///
    /// Indices stay the same, so a plan by indices is valid for both. A file that was altered in place has its columns in
    /// another order, leftover columns, or join tables with an older name (wire 1-27: Z_14TRUSTEDBYCLIENTS).
    ///
    /// - Parameter layout: the layout of a file of the same model.
    /// - Complexity: O(columns).
    package func adopting(_ layout: StoreLayout) -> StoreSchema {
        var tables = tables
        for (index, found) in layout.tables.enumerated() {
            tables[index].name = found.name
            for (column, name) in found.columns.enumerated() { tables[index].columns[column].name = name }
        }
        var joinTables = joinTables
        for (index, found) in layout.joinTables.enumerated() {
            joinTables[index].name = found.name
            for (side, place) in found.sides.enumerated() {
                joinTables[index].sides[side].column = place.column
                joinTables[index].sides[side].orderColumn = place.orderColumn
            }
        }
        let numbers = model.entities.indices.map(layout.fileNumber(ofEntity:))
        return StoreSchema(
            model: model, entityNumbers: numbers, entityByNumber: layout.entityByFileNumber, tables: tables,
            tableByEntity: tableByEntity, joinTables: joinTables, relationshipStorage: relationshipStorage,
            indexes: indexes, triggers: triggers,
            unstorableAttributes: unstorableAttributes, notes: notes, leftOutIndexes: leftOutIndexes, trees: trees)
    }
}
