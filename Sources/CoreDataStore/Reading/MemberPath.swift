/// The path from owners to the members of a to-many relationship, in terms of columns and tables.
package struct MemberPath: Sendable, Hashable {
    package enum Step: Sendable, Hashable {
        /// The rows of a table whose column holds the key of the previous object.
        case owned(table: Int, column: Int)
        /// The rows that a join table links to the previous object; `ownerSide` is the side of that object.
        case joined(joinTable: Int, ownerSide: Int, table: Int)
        /// The row of a table that a column of the previous row refers to.
        case toOne(column: Int, table: Int)

        /// The table index of the rows.
        package var table: Int {
            switch self {
            case .owned(let table, _), .joined(_, _, let table), .toOne(_, let table): table
            }
        }
    }

    /// The steps: at least one, and the first is not `toOne`.
    package let steps: [Step]

    package init(steps: [Step]) {
        precondition(!steps.isEmpty)
        self.steps = steps
    }

    /// The table index of the members.
    package var table: Int { steps[steps.count - 1].table }
}

/// The columns to read of the members of many owners.
package struct MemberSelection: Sendable, Hashable {
    package var path: MemberPath
    /// The columns relative to the member's table, one for each slot of the batch.
    package var columns: [SelectedColumn]
    /// The slot for the owner's key; its column is `computed`.
    package var ownerSlot: Int
    /// The column of the members' table by whose values each owner's members are ordered. Of members with equal values one is
    /// returned, and members without a value are left out. Nil: members are ordered by key, and each is returned once.
    package var distinctColumn: Int?
    /// True if the column holds Floats. Numbers that round to the same Float are then equal.
    package var distinctsFloats = false
    /// The slot for the member's position in the join table of the last step; its column is `computed`.
    package var placeSlot: Int?

    package init(path: MemberPath, columns: [SelectedColumn], ownerSlot: Int, distinctColumn: Int? = nil) {
        self.path = path
        self.columns = columns
        self.ownerSlot = ownerSlot
        self.distinctColumn = distinctColumn
    }
}
