import ManagedModel

extension StoreSchema {
    /// The schema under the names and entity numbers of one file: what is written into a store that stands already.
    ///
    /// Positions are the same, so whatever was planned by positions holds for both. A file that was altered in place has
    /// its columns in another order, columns left over, or join tables of an older name (wire 1-27: Z_14TRUSTEDBYCLIENTS).
    ///
    /// - Parameter layout: of a file of the same model.
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
