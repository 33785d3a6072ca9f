import Diagnostics

/// Builds the SQL that reads members owner by owner: a chain of joins from the owners' keys to the members `t`.
struct MemberQuery {
    private let selection: MemberSelection
    private let layout: StoreLayout
    private let columns: SelectionQuery
    private var chain = ""
    private var owner = ""
    private var conditions: [String] = []
    /// The columns searched after the first step: table name and column name.
    private(set) var searched: [(table: String, column: String)] = []

    /// - Throws: `store.tooManyPaths` (78) above SQLite's limit of 64 tables in a join.
    init(_ selection: MemberSelection, layout: StoreLayout) throws(MigrationError) {
        self.selection = selection
        self.layout = layout
        columns = try SelectionQuery(table: selection.path.table, columns: selection.columns, layout: layout)
        for (position, step) in selection.path.steps.enumerated() { add(step, position) }
        if let column = selection.distinctColumn {
            conditions.append("t.\(layout.tables[selection.path.table].columns[column].quoted) IS NOT NULL")
        }
    }

    /// The columns of the batch, including the position in a join table.
    private var selected: [String] {
        var selected = columns.columns
        let steps = selection.path.steps
        if let slot = selection.placeSlot, case .joined(let index, let side, _) = steps[steps.count - 1],
            let order = layout.joinTables[index].sides[1 - side].orderColumn
        {
            selected[slot] = "j\(steps.count - 1).\(order.quoted)"
        }
        return selected
    }

    private mutating func add(_ step: MemberPath.Step, _ position: Int) {
        let steps = selection.path.steps
        let alias = position == steps.count - 1 ? "t" : "m\(position)"
        let before = "m\(position - 1)"
        let table = layout.tables[step.table]
        // CROSS JOIN keeps the order of the chain, whatever the planner infers from table sizes.
        switch step {
        case .owned(_, let column):
            let key = "\(alias).\(table.columns[column].quoted)"
            if position == 0 {
                owner = key
                chain = "\(table.name.quoted) AS \(alias)"
            } else {
                searched.append((table.name, table.columns[column]))
                chain += " CROSS JOIN \(table.name.quoted) AS \(alias) ON \(key) = \(before).\"Z_PK\""
            }
        case .joined(let index, let side, _):
            let join = layout.joinTables[index]
            let key = "j\(position).\(join.sides[side].column.quoted)"
            let member = "j\(position).\(join.sides[1 - side].column.quoted)"
            if position == 0 {
                owner = key
                chain = "\(join.name.quoted) AS j0"
            } else {
                searched.append((join.name, join.sides[side].column))
                chain += " CROSS JOIN \(join.name.quoted) AS j\(position) ON \(key) = \(before).\"Z_PK\""
            }
            chain += " CROSS JOIN \(table.name.quoted) AS \(alias) ON \(alias).\"Z_PK\" = \(member)"
        case .toOne(let column, _):
            let from = layout.tables[steps[position - 1].table].columns[column].quoted
            chain += " CROSS JOIN \(table.name.quoted) AS \(alias) ON \(alias).\"Z_PK\" = \(before).\(from)"
        }
        // Rows without an entity of the model are not objects.
        let entities = layout.schema.tables[step.table].entities
        if entities.count > 1 {
            let numbers = entities.map { String(layout.fileNumber(ofEntity: $0)) }.joined(separator: ", ")
            conditions.append("+\(alias).\(table.columns[EntityTable.entityColumn].quoted) IN (\(numbers))")
        }
    }

    /// Returns the statement: the owner's key, the member's key, the columns; ascending by owner, then member or value.
    ///
    /// - Parameter count: the number of owners whose keys are parameters; nil: all owners.
    func sql(owners count: Int?) -> String {
        let keys = count.map { (1...$0).map { "?\($0)" }.joined(separator: ", ") }
        let restriction = "\(owner) " + (keys.map { "IN (\($0))" } ?? "IS NOT NULL")
        let place =
            selection.distinctColumn.map { "t.\(layout.tables[selection.path.table].columns[$0].quoted)" }
            ?? "t.\"Z_PK\""
        return "SELECT " + ([owner, "t.\"Z_PK\""] + selected).joined(separator: ", ") + " FROM " + chain + " "
            + columns.joins.joined(separator: " ") + " WHERE "
            + ([restriction] + conditions).joined(separator: " AND ") + " ORDER BY \(owner), \(place)"
    }
}
