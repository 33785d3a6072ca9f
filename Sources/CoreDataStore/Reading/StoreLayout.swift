/// A model's schema as found in one file: the actual table and column names, and the entity numbers of its rows.
///
/// Indices are those of the schema: of a table in ``StoreSchema/tables``, of a column in its columns, of a join table, of an
/// entity in the model.
package struct StoreLayout: Sendable {
    /// The schema that Core Data would give the model today.
    package let schema: StoreSchema
    /// The tables by table index.
    package internal(set) var tables: [SourceTable]
    /// The join tables by join table index.
    package let joinTables: [SourceJoinTable]
    let fileNumbers: [Int]
    let entityByFileNumber: [Int: Int]
    /// The parts that the file lacks and that are read as empty or nil.
    package internal(set) var damages: [StoreDamage] = []

    /// Returns the Z_ENT of an entity's rows in the file.
    package func fileNumber(ofEntity entity: Int) -> Int { fileNumbers[entity] }

    /// Returns the entity of a Z_ENT in the file; nil if no entity of the model has the number.
    package func entity(forFileNumber number: Int) -> Int? { entityByFileNumber[number] }

    /// Returns the entity of a row of a table; nil if no entity of the table has its Z_ENT.
    ///
    /// In a table with a single entity, Core Data ignores Z_ENT, and real rows have wrong ones (ArtsyPartner 1.3: an Artwork
    /// with the number of Collection). So it is ignored here too.
    package func entity(inTable table: Int, forFileNumber number: Int) -> Int? {
        let entities = schema.tables[table].entities
        if entities.count == 1 { return entities[0] }
        guard let entity = entityByFileNumber[number], schema.tableByEntity[entity] == table else { return nil }
        return entity
    }

    /// Returns the name of the index that Core Data makes for a join table: it follows the table's name in the file, and with it
    /// the side that names the table.
    func indexName(ofJoinTable index: Int) -> String {
        let (file, join) = (joinTables[index], schema.joinTables[index])
        func isNamed(_ name: String) -> Bool {
            LayoutResolution.withoutNumber(file.name.uppercased()) == LayoutResolution.withoutNumber(name.uppercased())
        }
        let isNamedByOther = join.alternativeName.map(isNamed) ?? false && !isNamed(join.name)
        return "\(file.name)_\(file.sides[isNamedByOther ? 0 : 1].column)_INDEX"
    }
}

/// An entity table of a file.
package struct SourceTable: Sendable, Equatable {
    /// The name in the file.
    package var name: String
    /// The names in the file, by column index of the schema.
    package var columns: [String]
    /// The highest key given out, 0 for none: Z_MAX of the root entity, or the greatest key if that is higher
    /// (ArtsyPartner 1.4 has -1 and has rows).
    package var maximumKey: Int64
    /// Z_MAX of the root entity as it stands in the file; nil if there is none.
    package var statedMaximum: Int64?
}

/// A join table of a file.
package struct SourceJoinTable: Sendable, Equatable {
    /// The name in the file.
    package var name: String
    /// The two sides, in the order of the schema, whatever the order of the file's columns.
    package var sides: [SourceJoinSide]
}

/// A side of a join table of a file.
package struct SourceJoinSide: Sendable, Equatable {
    /// The name in the file.
    package var column: String
    /// The name in the file; nil if the other side's relationship is not ordered.
    package var orderColumn: String?
}

extension StoreSchema {
    /// Returns the schema with the names and entity numbers of one file, for writing into an existing store.
    ///
    /// Indices stay the same, so a plan by indices is valid for both. A file that was altered in place has its columns in
    /// another order, leftover columns, or join tables with an older name (wire 1-27: Z_14TRUSTEDBYCLIENTS).
    ///
    /// - Parameter layout: the layout of a file of the same model.
    /// - Complexity: O(columns).
    package func adopting(_ layout: StoreLayout) -> StoreSchema {
        var adopted = self
        for (index, found) in layout.tables.enumerated() {
            adopted.tables[index].name = found.name
            for (column, name) in found.columns.enumerated() { adopted.tables[index].columns[column].name = name }
        }
        for (index, found) in layout.joinTables.enumerated() {
            adopted.joinTables[index].name = found.name
            for (side, place) in found.sides.enumerated() {
                adopted.joinTables[index].sides[side].column = place.column
                adopted.joinTables[index].sides[side].orderColumn = place.orderColumn
            }
        }
        adopted.entityNumbers = model.entities.indices.map(layout.fileNumber(ofEntity:))
        adopted.entityByNumber = layout.entityByFileNumber
        adopted.sourceNames = []
        return adopted
    }
}

extension String {
    /// The text as an SQL identifier.
    package var quoted: String { SQLName.enclosed(self, in: "\"") }
}
