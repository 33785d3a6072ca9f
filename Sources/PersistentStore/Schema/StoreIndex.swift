import ManagedModel

/// An index of an entity table.
package struct StoreIndex: Sendable, Equatable {
    /// The purpose of an index.
    package enum Purpose: Sendable, Equatable {
        /// For a to-one or hidden key column.
        case relationship
        /// For the Z_ENT of a table with subentities.
        case entity
        /// For a fetch index of an entity (index in the model).
        case fetch(entity: Int)
        /// For a uniqueness constraint of an entity (index in the model), with its attributes in declared order.
        case unique(entity: Int, attributes: [String])
    }

    /// A column of an index.
    package struct Term: Sendable, Equatable {
        /// The index in the table's columns.
        package var column: Int
        package var isAscending: Bool
    }

    package var name: String
    package var terms: [Term]
    package var purpose: Purpose
    /// The SQL condition of a partial index; nil for a full index.
    package var condition: String?

    package var isUnique: Bool {
        if case .unique = purpose { true } else { false }
    }
}

extension StoreIndex {
    /// Returns the CREATE statement, in the form of framework 1044 and later.
    func statement(on table: EntityTable) -> String {
        var text = isUnique ? "CREATE UNIQUE INDEX " : "CREATE INDEX "
        text += SQLName.quoted(name) + " ON " + SQLName.quoted(table.name) + " ("
        let columns = terms.map { term in
            let column = SQLName.quoted(table.columns[term.column].name)
            return switch purpose {
            case .relationship, .entity: column
            case .fetch, .unique: column + " COLLATE BINARY " + (term.isAscending ? "ASC" : "DESC")
            }
        }
        text += columns.joined(separator: ", ") + ")"
        if let condition { text += " WHERE " + condition }
        return text
    }
}

/// A fetch index of the model that the schema omits, because its form in a file is unknown.
package struct LeftOutIndex: Sendable, Equatable {
    package var definition: FetchIndexDefinition
    /// The index of the entity that declares it.
    package var entity: Int
    /// The name in a file.
    package var name: String
    /// The name of the virtual table in a file, for an R-tree.
    package var treeName: String
    package var isTree: Bool
    /// The sentence on it in ``StoreSchema/notes``.
    package var note: String
}
