/// The way from owners to the members of a to-many, as columns and tables.
package struct MemberPath: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// The rows of a table whose column holds the key of the object before.
        case owned(table: Int, column: Int)
        /// The rows that a join table gives the object before; `ownerSide` is that object's side.
        case joined(joinTable: Int, ownerSide: Int, table: Int)
        /// The row of a table that a column of the row before refers to.
        case toOne(column: Int, table: Int)

        /// Table index of the rows.
        package var table: Int {
            switch self {
            case .owned(let table, _), .joined(_, _, let table), .toOne(_, let table): table
            }
        }
    }

    /// At least one, the first of them no `toOne`.
    package let steps: [Step]

    package init(steps: [Step]) {
        precondition(!steps.isEmpty)
        self.steps = steps
    }

    /// Table index of the members.
    package var table: Int { steps[steps.count - 1].table }
}

/// What to read of the members of many owners at once.
package struct MemberSelection: Sendable, Hashable {
    package var path: MemberPath
    /// One slot of the batch each, relative to the member's table.
    package var columns: [SelectedColumn]
    /// The slot that takes the owner's key; its column is `computed`.
    package var ownerSlot: Int
    /// The own column by which the members of an owner are ordered, equal values shown once and nulls never; nil: by
    /// key, each member once.
    package var distinctColumn: Int?
    /// Whether that column is a Float's: numbers that one Float stands for are equal.
    package var distinctsFloats = false
    /// The slot that takes the member's place in the join table of the last step; its column is `computed`.
    package var placeSlot: Int?

    package init(path: MemberPath, columns: [SelectedColumn], ownerSlot: Int, distinctColumn: Int? = nil) {
        self.path = path
        self.columns = columns
        self.ownerSlot = ownerSlot
        self.distinctColumn = distinctColumn
    }
}
