import ManagedModel

extension StoreSchema {
    /// A column whose values may be in files.
    package struct ExternalColumn: Sendable {
        /// The index in the table's columns.
        package let column: Int
        package let name: String
        package let attribute: String
    }

    /// The columns of attributes that allow external storage, by table, in the order of the columns.
    package var externalColumns: [[ExternalColumn]] { tables.indices.map(externalColumns(ofTable:)) }

    /// The columns of a table's attributes that allow external storage.
    package func externalColumns(ofTable table: Int) -> [ExternalColumn] {
        tables[table].columns.enumerated().compactMap { index, column in
            guard case .attribute(let reference) = column.role,
                let attribute = model.entity(at: reference.entity).attribute(named: reference.name),
                attribute.definition.allowsExternalBinaryDataStorage
            else { return nil }
            return ExternalColumn(column: index, name: column.name, attribute: reference.name)
        }
    }
}
