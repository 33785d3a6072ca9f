import Diagnostics
import Rows

/// The columns and rows to read of a source table; columns are its own or reached through to-one relationships.
package struct RowSelection: Sendable {
    /// The table index in the layout's schema.
    package var table: Int
    /// The columns, one for each slot of the batch.
    package var columns: [SelectedColumn]
    /// The entities of the rows (indices in the model); nil for all rows.
    package var entities: [Int]?
    /// The key after which the rows begin; nil for all rows.
    package var afterKey: Int64?
    /// The key of the last row, inclusive; nil for all rows.
    package var throughKey: Int64?
    /// Slots of own columns whose values become ``HugeValue``s if they are too large to read.
    package var streamed: Set<Int> = []
    /// Slots of own columns that are only copied, to adjacent columns. A reader that lends its pages may leave their values in
    /// stored form (``CellKind/encoded``).
    package var runs: [Run] = []

    /// Slots that may be read together, in the order of their columns.
    package struct Run: Sendable, Equatable {
        package var slots: [Int]
        /// The declared types of the destination columns, with the same affinities as the source columns.
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
    /// A column of a row reached through to-one columns. Each step is a column index in the current table and the index of the
    /// table that it points into; `column` is an index in the last table. Null if a step is null or dangling.
    case related(path: [ToOneStep], column: Int)
    /// The key (Z_PK) of the row at the end of the path; null if it does not exist. An empty path is the row itself.
    case relatedKey(path: [ToOneStep])
    /// A slot that the reader leaves null, because its owner computes the value. The number distinguishes such slots.
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
    /// - Returns: false if there were no further rows; the batch is then empty.
    /// - Throws: `store.damaged`, `store.valueTooLarge`, `store.io`.
    func next(into batch: inout RowBatch) throws(MigrationError) -> Bool
}
