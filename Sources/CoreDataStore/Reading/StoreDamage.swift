import Diagnostics
import ManagedModel

/// A table, a column or a bookkeeping row that a store lacks although its model version has it, and the way in which the store
/// is still read.
package struct StoreDamage: Sendable, Equatable {
    /// The kind of a missing part.
    package enum Part: String, Sendable {
        /// An entity's table. It is read as empty.
        case table
        /// A column of an entity's table. It is read as nil, Z_OPT as 1.
        case column
        /// A join table, or a key column of one. It is read as empty.
        case joinTable
        /// The column of positions of ordered links in a join table. It is read as nil.
        case linkOrder
        /// Z_PRIMARYKEY. Entities get the numbers of their model.
        case numbers
    }

    /// The missing part.
    package let part: Part
    /// The table that is missing or that lacks the column.
    package let table: String
    /// The column; nil if the whole table is missing.
    package let column: String?
    /// The entity of the table, or the entity that declares the property.
    package let entity: String
    /// The attribute or relationship; nil if no single one is affected.
    package let property: String?
    /// The number of rows that are read without the missing part. For a missing table, the highest key it gave out, which is
    /// the greatest possible number of its rows. Set by the repair.
    package internal(set) var rows: Int64 = 0
    /// The Z_ENT of the rows that have the property, unless these are all rows of the table.
    let entityNumbers: [Int]

    /// The missing part in words.
    package var shortName: String {
        switch part {
        case .table, .numbers: "the table \(table) is missing"
        case .joinTable where column == nil: "the join table \(table) is missing"
        case .column, .joinTable, .linkOrder: "the column \(table).\(column ?? "") is missing"
        }
    }

    /// The missing part and the way it is read, as a sentence without a full stop.
    package var sentence: String {
        func count(_ one: String, _ several: String) -> String { rows.counted(one, several) }
        let what = property.map { "\(entity).\($0)" } ?? entity
        let text =
            switch part {
            case .table:
                "\(shortName) and is read as empty: all objects of \(entity) are lost, "
                    + (rows > 0 ? "\(rows.grouped) at the most" : "if there were any")
            case .column where column?.uppercased() == "Z_OPT":
                "\(shortName) and is read as 1, for \(count("object", "objects"))"
            case .column: "\(shortName): \(what) is read as nil, for \(count("object", "objects"))"
            case .joinTable:
                "\(shortName), and the table is read as empty: all links of \(what) are lost"
                    + (column == nil ? "" : ", those of \(count("row", "rows"))")
            case .linkOrder: "\(shortName): the order of \(what) is lost, for \(count("link", "links"))"
            case .numbers:
                "\(shortName): \(count("entity has the number that its model gives it", "entities have the numbers that their model gives them")), and the highest keys are those of the rows"
            }
        return text.prefix(1).uppercased() + text.dropFirst()
    }
}

/// The treatment of a store that lacks a table or a column of its model version.
package enum DamageChoice: Sendable {
    /// The store is refused.
    case refuse
    /// The store is refused with a hint at `--repair`.
    case offerRepair
    /// Missing parts are read as empty or nil.
    case repair
}

extension SourceStore {
    /// Returns the parts of a model version that the store lacks; empty if none is missing or the store is not known to be of
    /// this version.
    ///
    /// - Throws: as ``layout(for:damage:)``, for damage that cannot be repaired.
    package func damages(of model: ManagedObjectModel) throws(MigrationError) -> [StoreDamage] {
        isKnown(as: model) ? try resolution(of: model).damages : []
    }

    /// Tells whether the metadata say that a model version wrote the store.
    func isKnown(as model: ManagedObjectModel) -> Bool {
        let hashes = metadata.versionHashes
        return hashes.values.contains { !$0.isEmpty } && ModelDifference.describe(store: hashes, model: model).isEmpty
    }

    /// Returns the error for a store with missing parts that may not be repaired.
    func refusal(of damages: [StoreDamage], offersRepair: Bool) -> MigrationError {
        let shown = damages.prefix(5).map(\.shortName).joined(separator: "; ")
        return MigrationError(
            "store.incomplete", .data,
            "The store is damaged: \(shown)" + (damages.count > 5 ? "; and \(damages.count - 5) more" : ""),
            remedy: "Use an undamaged copy of the store"
                + (offersRepair
                    ? ", or give --repair: what is missing is read as empty or nil, and named and counted" : ""),
            context: .init(path: path, entity: damages.first?.entity, property: damages.first?.property))
    }

    /// Adds the tables and columns that the file lacks to this connection, and counts the rows that are read without them.
    ///
    /// They are temporary tables and views of this connection: a table without rows, or the file's own table with a constant
    /// for each missing column. Queries find them before the file's tables; page readers leave such tables to SQLite. Nothing
    /// is written to the file or beside it.
    ///
    /// - Throws: `store.incomplete` (65) if rows have numbers that the model does not give; `store.damaged`.
    func repair(_ damages: inout [StoreDamage], _ layout: StoreLayout) throws(MigrationError) {
        try checkNumbers(damages, layout)
        for index in damages.indices { damages[index].rows = try affectedRows(damages[index], layout) }
        let statements = try replacements(of: damages, layout)
        guard !statements.isEmpty else { return }
        try writingTemporary { () throws(MigrationError) in
            for statement in statements { try connection.execute(statement) }
        }
        for damage in damages { replaced[damage.table.uppercased()] = "what it lacks is read as empty or nil" }
    }

    /// Returns the statements that replace the missing parts by temporary tables and views.
    private func replacements(
        of damages: [StoreDamage], _ layout: StoreLayout
    ) throws(MigrationError) -> [String] {
        var statements: [String] = []
        /// Replaces a table if its damage is `whole`, or some of its columns if their damage is `part`.
        func replace(
            _ name: String, _ whole: StoreDamage.Part, columns: [String], _ part: StoreDamage.Part, keys: [String]
        ) throws(MigrationError) {
            let concerned = damages.filter { $0.table == name }
            if concerned.contains(where: { $0.part == whole }) {
                statements.append(
                    "CREATE TEMP TABLE IF NOT EXISTS \(name.quoted) (\(columns.joined(separator: ", ")))")
                return
            }
            let missing = concerned.filter { $0.part == part }.compactMap(\.column)
            guard !missing.isEmpty else { return }
            let present = try connection.texts(
                "SELECT name FROM pragma_table_info(\(SQLName.literal(name)), 'main') ORDER BY cid")
            let selected =
                keys + present.map(\.quoted)
                + missing.map { "\($0.uppercased() == "Z_OPT" ? "1" : "NULL") AS \($0.quoted)" }
            statements.append(
                "CREATE TEMP VIEW IF NOT EXISTS \(name.quoted) AS SELECT \(selected.joined(separator: ", ")) "
                    + "FROM main.\(name.quoted)")
        }
        for (table, own) in zip(layout.schema.tables, layout.tables) {
            let columns = zip(own.columns, table.columns).map { "\($0.quoted) \($1.type)" }
            try replace(own.name, .table, columns: ["\"Z_PK\" INTEGER PRIMARY KEY"] + columns, .column, keys: [])
        }
        for join in layout.joinTables {
            let columns = join.sides.flatMap { [$0.column, $0.orderColumn].compactMap { $0 } }
            try replace(
                join.name, .joinTable, columns: columns.map { "\($0.quoted) INTEGER" }, .linkOrder,
                keys: ["rowid AS rowid"])
        }
        return statements
    }

    private func affectedRows(_ damage: StoreDamage, _ layout: StoreLayout) throws(MigrationError) -> Int64 {
        func count(_ condition: String = "") throws(MigrationError) -> Int64 {
            try integer("SELECT count(*) FROM main.\(damage.table.quoted)\(condition)") ?? 0
        }
        switch damage.part {
        case .table: return layout.tables.first { $0.name == damage.table }?.maximumKey ?? 0
        case .joinTable: return damage.column == nil ? 0 : try count()
        case .linkOrder: return try count()
        case .numbers: return Int64(layout.schema.model.entities.count)
        case .column:
            guard !damage.entityNumbers.isEmpty else { return try count() }
            return try count(" WHERE Z_ENT IN (\(damage.entityNumbers.map(String.init).joined(separator: ", ")))")
        }
    }

    /// Checks that rows have the numbers that the model gives their entities, if Z_PRIMARYKEY is missing.
    private func checkNumbers(_ damages: [StoreDamage], _ layout: StoreLayout) throws(MigrationError) {
        guard damages.contains(where: { $0.part == .numbers }) else { return }
        let missing = Set(damages.filter { $0.part == .table }.map(\.table))
        for (table, own) in zip(layout.schema.tables, layout.tables)
        where table.entities.count > 1 && !missing.contains(own.name) {
            let numbers = table.entities.map { String(layout.fileNumber(ofEntity: $0)) }.joined(separator: ", ")
            guard
                let stray = try integer(
                    "SELECT Z_ENT FROM main.\(own.name.quoted) WHERE Z_ENT NOT IN (\(numbers)) LIMIT 1")
            else { continue }
            throw MigrationError(
                "store.incomplete", .data,
                "The store is damaged and cannot be repaired: Z_PRIMARYKEY is missing, and rows of \(own.name) have the entity number \(stray), which the model gives to no entity of the table",
                remedy: "Use an undamaged copy of the store",
                context: .init(path: path, entity: layout.schema.entityName(of: table)))
        }
    }
}
