import Diagnostics
import ManagedModel

/// A model's schema as one file really has it: actual table and column names, and the entity numbers of its rows.
///
/// Positions are those of the schema: of a table in ``StoreSchema/tables``, of a column in its columns, of a join
/// table, of an entity in the model.
package struct StoreLayout: Sendable {
    /// The schema that Core Data would give the model today.
    package let schema: StoreSchema
    /// By table index.
    package internal(set) var tables: [SourceTable]
    /// By join table index.
    package let joinTables: [SourceJoinTable]
    let fileNumbers: [Int]
    let entityByFileNumber: [Int: Int]
    /// What the file lacks, and is read as empty or nil.
    package internal(set) var damages: [StoreDamage] = []

    /// The Z_ENT that the file's rows of an entity carry.
    package func fileNumber(ofEntity entity: Int) -> Int { fileNumbers[entity] }

    /// The entity of a Z_ENT in the file; nil for a number of no entity of the model.
    package func entity(forFileNumber number: Int) -> Int? { entityByFileNumber[number] }

    /// The entity of a row of a table; nil where its Z_ENT is that of no entity of the table.
    ///
    /// Core Data does not look at Z_ENT in a table of a single entity, and real rows have a wrong one there
    /// (ArtsyPartner 1.3: an Artwork with the number of Collection), so it is not looked at here either.
    package func entity(inTable table: Int, forFileNumber number: Int) -> Int? {
        let entities = schema.tables[table].entities
        if entities.count == 1 { return entities[0] }
        guard let entity = entityByFileNumber[number], schema.tableByEntity[entity] == table else { return nil }
        return entity
    }
}

/// An entity table of a file.
package struct SourceTable: Sendable, Equatable {
    /// Name in the file.
    package var name: String
    /// Names in the file, by column index of the schema.
    package var columns: [String]
    /// The highest key handed out, 0 for none: Z_MAX of the root entity, or the greatest key where that is higher
    /// (ArtsyPartner 1.4 has -1 beside rows).
    package var maximumKey: Int64
}

/// A join table of a file.
package struct SourceJoinTable: Sendable, Equatable {
    /// Name in the file.
    package var name: String
    /// By side of the schema, whatever the order of the file's columns. Always two.
    package var sides: [SourceJoinSide]
}

/// A side of a join table of a file.
package struct SourceJoinSide: Sendable, Equatable {
    /// Name in the file.
    package var column: String
    /// Name in the file; nil where the other side's relationship is not ordered.
    package var orderColumn: String?
}

extension String {
    /// The text as an SQL identifier.
    var quoted: String {
        var result = "\""
        for character in unicodeScalars {
            if character == "\"" { result.unicodeScalars.append(character) }
            result.unicodeScalars.append(character)
        }
        return result + "\""
    }
}
