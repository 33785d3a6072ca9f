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
        /// Index into the table's columns, or ``key``.
        package var column: Int
        package var isAscending: Bool

        /// The place of Z_PK, which is none of the table's columns: a fetch index over the object id.
        package static let key = -1
    }

    /// The place of a uniqueness constraint in the CREATE TABLE statement.
    package enum Clause: Sendable {
        /// After its one column: `ZHASH VARCHAR UNIQUE` (knowledgeC of framework 851).
        case column
        /// After all columns: `CONSTRAINT ZA_ZB UNIQUE (ZA, ZB)` (frameworks up to 641).
        case table
    }

    package var name: String
    package var terms: [Term]
    package var purpose: Purpose
    /// The SQL condition of a partial index; nil for a full index.
    package var condition: String?
    /// The source's CREATE statement, if it has the same meaning as the predicted one.
    var text: String?
    /// The place in the table's statement, if the source has the constraint there; nil for an index of its own.
    package internal(set) var clause: Clause?

    package var isUnique: Bool {
        if case .unique = purpose { true } else { false }
    }
}

extension StoreIndex {
    /// Returns the CREATE statement, in the form of framework 1044 and later.
    package func statement(on table: EntityTable) -> String {
        if let text { return text }
        var text = isUnique ? "CREATE UNIQUE INDEX " : "CREATE INDEX "
        text += SQLName.quoted(name) + " ON " + SQLName.quoted(table.name) + " ("
        let columns = terms.map { term in
            let column = SQLName.quoted(table.name(of: term))
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

extension EntityTable {
    /// The name of the column that a term of an index is over.
    func name(of term: StoreIndex.Term) -> String {
        term.column == StoreIndex.Term.key ? "Z_PK" : columns[term.column].name
    }
}

/// A fetch index of the model that is no index of a table: one whose form in a file is not known, or an R-tree.
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

    init(_ definition: FetchIndexDefinition, of entity: EntityDescription, note: String) {
        self.definition = definition
        self.entity = entity.index
        name = "Z_\(entity.definition.name)_\(definition.name)"
        treeName = "Z_RT_\(entity.definition.name)_\(definition.name)"
        isTree = definition.elements.contains(where: \.isRTree)
        self.note = note
    }
}

extension StoreSchema {
    /// Returns the terms of a table's unique indexes: column indexes, entity, attributes, SQL condition.
    package func uniqueTerms(ofTable table: Int) -> [(
        columns: [Int], entity: Int, attributes: [String], condition: String?
    )] {
        indexes[table].compactMap { index in
            guard case .unique(let entity, let attributes) = index.purpose else { return nil }
            return (index.terms.map(\.column), entity, attributes, index.condition)
        }
    }
}
