import Diagnostics
import Rows

/// What to read of a source table: columns, own or reached through to-one relationships, and which rows.
package struct RowSelection: Sendable {
    /// Table index in the layout's schema.
    package var table: Int
    /// One slot of the batch each.
    package var columns: [SelectedColumn]
    /// Only rows of these entities (indices in the model); nil: all rows.
    package var entities: [Int]?
    /// Only rows with a greater key.
    package var afterKey: Int64?
    /// Only rows up to this key, itself included.
    package var throughKey: Int64?
    /// Slots of own columns whose values, where they are too large to be read, become ``HugeValue``s.
    package var streamed: Set<Int> = []
    /// Slots of own columns that are only copied, to columns that follow each other: a reader that lends its pages may leave
    /// their values as they are stored there (``CellKind/encoded``).
    package var runs: [Run] = []

    /// Slots that may come together, in the order of their columns.
    package struct Run: Sendable, Equatable {
        package var slots: [Int]
        /// The declared types of the columns that they are copied to, of the same affinities as their own.
        package var types: [String]

        package init(slots: [Int], types: [String]) {
            self.slots = slots
            self.types = types
        }
    }

    package init(table: Int, columns: [SelectedColumn], entities: [Int]? = nil) {
        self.table = table
        self.columns = columns
        self.entities = entities
    }
}

/// A column of a selection.
package enum SelectedColumn: Sendable, Hashable {
    /// A column of the table itself, by index.
    case own(Int)
    /// A column of a row reached by following to-one columns: each step is a column index in the table so far and
    /// the index of the table it points into; `column` is an index in the last table. Null where a step is null or
    /// dangling.
    case related(path: [ToOneStep], column: Int)
    /// The key (Z_PK) of the row that the path ends at; null where it does not exist. An empty path means the row itself.
    case relatedKey(path: [ToOneStep])
    /// A slot that the reader leaves null: its owner computes the value. The number tells such slots apart.
    case computed(Int)
}

/// One step of a key path through a to-one relationship.
package struct ToOneStep: Sendable, Hashable {
    package var column: Int
    package var destinationTable: Int

    package init(column: Int, destinationTable: Int) {
        self.column = column
        self.destinationTable = destinationTable
    }
}

/// A stream of rows in ascending key order.
package protocol RowReader: AnyObject {
    /// Clears the batch and fills it until it is full or the rows end.
    ///
    /// - Returns: false when there was no further row; the batch is then empty.
    /// - Throws: `store.damaged`, `store.valueTooLarge`, `store.io`.
    func next(into batch: inout RowBatch) throws(MigrationError) -> Bool
}
