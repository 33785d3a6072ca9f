import Diagnostics

/// Builds the SQL of a selection: columns by name, one join for each distinct path prefix.
struct SelectionQuery {
    /// The columns of the result after the key, as SQL.
    private(set) var columns: [String] = []
    /// The joins from `t` to the related rows.
    private(set) var joins: [String] = []
    private var aliases: [[ToOneStep]: String] = [:]
    private let layout: StoreLayout
    private let table: Int

    /// - Throws: `store.tooManyPaths` (78) above SQLite's limit of 64 tables in a join.
    init(table: Int, columns selected: [SelectedColumn], layout: StoreLayout) throws(MigrationError) {
        self.layout = layout
        self.table = table
        for column in selected {
            switch column {
            case .own(let index): columns.append("t.\(layout.tables[table].columns[index].quoted)")
            case .related(let path, let index):
                let (alias, last) = join(path[...])
                columns.append("\(alias).\(layout.tables[last].columns[index].quoted)")
            case .computed: columns.append("NULL")
            case .relatedKey(let path): columns.append("\(join(path[...]).alias).\"Z_PK\"")
            }
        }
        guard joins.count < 64 else {
            throw MigrationError(
                "store.tooManyPaths", .configuration,
                "The entity mapping follows \(joins.count) different relationships of one entity; 63 are possible",
                remedy: "Split the entity mapping",
                context: .init(
                    entity: layout.schema.entityName(of: layout.schema.tables[table])))
        }
    }

    private mutating func join(_ path: ArraySlice<ToOneStep>) -> (alias: String, table: Int) {
        guard let step = path.last else { return ("t", table) }
        if let alias = aliases[Array(path)] { return (alias, step.destinationTable) }
        let (owner, ownerTable) = join(path.dropLast())
        let alias = "r\(joins.count)"
        joins.append(
            "LEFT JOIN \(layout.tables[step.destinationTable].name.quoted) AS \(alias) ON \(alias).\"Z_PK\" = "
                + "\(owner).\(layout.tables[ownerTable].columns[step.column].quoted)")
        aliases[Array(path)] = alias
        return (alias, step.destinationTable)
    }

    /// - Parameter inFile: true to read the file's rows, also if ``SourceChanges`` changed them since.
    func sql(where conditions: [String], ordered: Bool, inFile: Bool = false) -> String {
        let source = (inFile ? "main." : "") + layout.tables[table].name.quoted
        // NOT INDEXED makes rows come by rowid, so the order needs no sort.
        return "SELECT " + (["t.\"Z_PK\""] + columns).joined(separator: ", ") + " FROM \(source) AS t NOT INDEXED "
            + joins.joined(separator: " ")
            + (conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND "))
            + (ordered ? " ORDER BY t.\"Z_PK\"" : "")
    }
}
