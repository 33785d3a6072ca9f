import CoreDataStore
import Rows

/// The links of one set of the source, each once, with those to objects that do not exist.
struct SourceLinks {
    /// Receives the source keys of a link's owner and member.
    typealias Body = (Int64, Int64) throws -> Void

    let run: MigrationRun
    let set: SourceLinkSet

    private var layout: StoreLayout { run.inputs.layout }

    /// Shows all links.
    ///
    /// - Complexity: one scan of the table that holds the links; memory is one batch. A one-to-one pair is read through SQLite,
    ///   with a lookup for each link.
    func forEachLink(_ body: Body) throws {
        switch set.links.place {
        case .owners(let table, let column):
            guard let inverse = LinkPlanner.mutualInverse(of: set.relationship), !inverse.isToMany,
                case .toOne(let members, let back, _, _) = layout.schema.storage(of: inverse)
            else { return try forEachReference(table, column, body) }
            try forEachOfPair((table, column), (members, back), isOwnInverse: inverse == set.relationship, body)
        case .members(let table, let column):
            try forEachReference(table, column) { member, owner in try body(owner, member) }
        case .join(let table, let side):
            let reader = try run.inputs.source.links(joinTable: table, in: layout, orderedBySide: side)
            var batch = run.inputs.sourceBatch(slots: 4)
            while try reader.next(into: &batch) {
                try run.services.checkCancelled()
                for row in 0..<batch.count {
                    try body(batch[row, side].integerValue, batch[row, 1 - side].integerValue)
                }
            }
        }
    }

    /// Shows the keys of rows with the keys in a column of theirs.
    private func forEachReference(_ table: Int, _ column: Int, _ body: Body) throws {
        let reader = try run.inputs.source.rows(
            RowSelection(table: table, columns: [.own(column)]), in: layout)
        var batch = run.inputs.sourceBatch(slots: 1)
        while try reader.next(into: &batch) {
            try run.services.checkCancelled()
            for row in 0..<batch.count where batch[row, 0].kind == .integer {
                try body(batch.key(row), batch[row, 0].integerValue)
            }
        }
    }

    /// Shows the links of a one-to-one pair: those of the owners' column, then those that only the members' column has.
    private func forEachOfPair(
        _ own: (table: Int, column: Int), _ other: (table: Int, column: Int), isOwnInverse: Bool, _ body: Body
    ) throws {
        let (owners, members) = (layout.tables[own.table], layout.tables[other.table])
        let (column, back) = (owners.columns[own.column].quoted, members.columns[other.column].quoted)
        let (ownerTable, memberTable) = (owners.name.quoted, members.name.quoted)
        // Of two objects that name each other by the same relationship, the one with the lower key has the link.
        let once = isOwnInverse ? "AND NOT (o.\(back) IS r.Z_PK AND r.Z_PK > o.Z_PK)" : ""
        try forEachRow(
            """
            SELECT r.Z_PK, r.\(column) FROM \(ownerTable) AS r NOT INDEXED
            LEFT JOIN \(memberTable) AS o ON o.Z_PK = r.\(column) WHERE r.\(column) IS NOT NULL \(once)
            """, body)
        guard !isOwnInverse else { return }
        try forEachRow(
            """
            SELECT r.\(back), r.Z_PK FROM \(memberTable) AS r NOT INDEXED
            LEFT JOIN \(ownerTable) AS o ON o.Z_PK = r.\(back)
            WHERE r.\(back) IS NOT NULL AND o.\(column) IS NOT r.Z_PK
            """, body)
    }

    private func forEachRow(_ sql: String, _ body: Body) throws {
        let statement = try run.inputs.source.query(sql)
        var rows = 0
        while try run.inputs.source.stepping(statement) {
            try body(statement.integer(0), statement.integer(1))
            rows += 1
            if rows % 10_000 == 0 { try run.services.checkCancelled() }
        }
    }
}
