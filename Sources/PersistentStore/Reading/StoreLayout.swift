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
    package let tables: [SourceTable]
    /// By join table index.
    package let joinTables: [SourceJoinTable]
    let fileNumbers: [Int]
    let entityByFileNumber: [Int: Int]

    /// The Z_ENT that the file's rows of an entity carry.
    package func fileNumber(ofEntity entity: Int) -> Int { fileNumbers[entity] }

    /// The entity of a Z_ENT in the file; nil for a number of no entity of the model.
    package func entity(forFileNumber number: Int) -> Int? { entityByFileNumber[number] }
}

/// An entity table of a file.
package struct SourceTable: Sendable, Equatable {
    /// Name in the file.
    package var name: String
    /// Names in the file, by column index of the schema.
    package var columns: [String]
    /// Z_MAX of the root entity: the highest key handed out, 0 for none.
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
