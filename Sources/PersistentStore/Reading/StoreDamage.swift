import Diagnostics
import ManagedModel

/// A table, a column or a row of its bookkeeping that a store lacks of the model version that wrote it, and how it is read
/// all the same.
package struct StoreDamage: Sendable, Equatable {
    /// A kind of part.
    package enum Part: String, Sendable {
        /// An entity's table: read as empty.
        case table
        /// A column of an entity's table: read as nil, Z_OPT as 1.
        case column
        /// A join table, or a column of keys in one: read as empty.
        case joinTable
        /// The column of the places of ordered links in a join table: read as nil.
        case linkOrder
        /// Z_PRIMARYKEY: entities get the numbers that their model gives them.
        case numbers
    }

    /// What is missing.
    package let part: Part
    /// The table that is missing, or that lacks the column.
    package let table: String
    /// The column; nil where the whole table is missing.
    package let column: String?
    /// The entity whose table it is, or that declares the property.
    package let entity: String
    /// The attribute or relationship; nil where it is not one that suffers.
    package let property: String?
    /// Rows that are read without what is missing; of a missing table the highest key that it gave, which is how many rows
    /// it had at the most. Known once the repair is made.
    package internal(set) var rows: Int64 = 0
    /// Z_ENT of the rows that have the property, where they are not all rows of the table.
    let entityNumbers: [Int]

    /// What is missing, in words.
    package var shortName: String {
        switch part {
        case .table, .numbers: "the table \(table) is missing"
        case .joinTable where column == nil: "the join table \(table) is missing"
        case .column, .joinTable, .linkOrder: "the column \(table).\(column ?? "") is missing"
        }
    }

    /// What is missing and how it is read, a sentence without a full stop.
    package var sentence: String {
        func count(_ one: String, _ several: String) -> String { rows == 1 ? "1 \(one)" : "\(rows) \(several)" }
        let what = property.map { "\(entity).\($0)" } ?? entity
        let text =
            switch part {
            case .table:
                "\(shortName) and is read as empty: all objects of \(entity) are lost, "
                    + (rows > 0 ? "\(rows) at the most" : "if there were any")
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

/// What becomes of a store that lacks a table or a column of the model version that wrote it.
package enum DamageChoice: Sendable {
    /// It is refused.
    case refuse
    /// It is refused, and people are told of `--repair`.
    case offerRepair
    /// What is missing is read as empty or nil.
    case repair
}

extension SourceStore {
    /// What the store lacks of a model version; empty where nothing does, and where the store is not known to be of it.
    ///
    /// - Throws: as ``layout(for:damage:)``, for what cannot be repaired.
    package func damages(of model: ManagedObjectModel) throws(MigrationError) -> [StoreDamage] {
        isKnown(as: model) ? try resolution(of: model).damages : []
    }

    /// True where the metadata say that a model version wrote the store.
    func isKnown(as model: ManagedObjectModel) -> Bool {
        let hashes = metadata.versionHashes
        return hashes.values.contains { !$0.isEmpty } && ModelDifference.describe(store: hashes, model: model).isEmpty
    }

    /// The error for a store that lacks something, and is not to be repaired.
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

    /// Lets the connection see the tables and columns that the file lacks, and counts the rows that are read without them.
    ///
    /// They are temporary tables and views of this connection: a table without rows, or the file's own with a constant for
    /// each missing column. Every query finds them before the file's tables; readers of pages leave such tables to SQLite.
    /// Nothing is written to the file or beside it.
    ///
    /// - Throws: `store.incomplete` (65) where rows have numbers that the model does not give; `store.damaged`.
    func repair(_ damages: inout [StoreDamage], _ layout: StoreLayout) throws(MigrationError) {
        try checkNumbers(damages, layout)
        for index in damages.indices { damages[index].rows = try affectedRows(damages[index], layout) }
        let statements = try RepairStatements(damages, layout, columns: fileColumns).all
        guard !statements.isEmpty else { return }
        try writingTemporary { () throws(MigrationError) in
            for statement in statements { try connection.execute(statement) }
        }
        for damage in damages { repaired.insert(damage.table.uppercased()) }
    }

    private func fileColumns(of table: String) throws(MigrationError) -> [String] {
        let info = try connection.prepare("PRAGMA main.table_info(\(table.quoted))")
        var names: [String] = []
        while try info.step() { if let name = info.text(1) { names.append(name) } }
        return names
    }

    private func affectedRows(_ damage: StoreDamage, _ layout: StoreLayout) throws(MigrationError) -> Int64 {
        func count(_ condition: String = "") throws(MigrationError) -> Int64 {
            try blamingData { () throws(MigrationError) in
                try connection.integer("SELECT count(*) FROM main.\(damage.table.quoted)\(condition)") ?? 0
            }
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

    /// Makes sure that rows have the numbers that the model gives their entities, where nothing else says the numbers.
    private func checkNumbers(_ damages: [StoreDamage], _ layout: StoreLayout) throws(MigrationError) {
        guard damages.contains(where: { $0.part == .numbers }) else { return }
        let missing = Set(damages.filter { $0.part == .table }.map(\.table))
        for (table, own) in zip(layout.schema.tables, layout.tables)
        where table.entities.count > 1 && !missing.contains(own.name) {
            let numbers = table.entities.map { String(layout.fileNumber(ofEntity: $0)) }.joined(separator: ", ")
            let stray = try blamingData { () throws(MigrationError) in
                try connection.integer(
                    "SELECT Z_ENT FROM main.\(own.name.quoted) WHERE Z_ENT NOT IN (\(numbers)) LIMIT 1")
            }
            guard let stray else { continue }
            throw MigrationError(
                "store.incomplete", .data,
                "The store is damaged and cannot be repaired: Z_PRIMARYKEY is missing, and rows of \(own.name) have the entity number \(stray), which the model gives to no entity of the table",
                remedy: "Use an undamaged copy of the store",
                context: .init(path: path, entity: layout.schema.model.entity(at: table.root).definition.name))
        }
    }
}

/// The SQL that puts temporary tables and views in the place of what a file lacks.
private struct RepairStatements {
    let all: [String]

    /// - Parameter columns: the names of a table's columns in the file.
    init(
        _ damages: [StoreDamage], _ layout: StoreLayout,
        columns fileColumns: (String) throws(MigrationError) -> [String]
    ) throws(MigrationError) {
        var statements: [String] = []
        for (table, own) in zip(layout.schema.tables, layout.tables) {
            let concerned = damages.filter { $0.table == own.name }
            if concerned.contains(where: { $0.part == .table }) {
                let columns = zip(own.columns, table.columns).map { ", \($0.quoted) \($1.type)" }.joined()
                statements.append(
                    "CREATE TEMP TABLE IF NOT EXISTS \(own.name.quoted) (\"Z_PK\" INTEGER PRIMARY KEY\(columns))")
                continue
            }
            let missing = concerned.filter { $0.part == .column }.compactMap(\.column)
            guard !missing.isEmpty else { continue }
            let selected =
                try fileColumns(own.name).map(\.quoted)
                + missing.map { "\($0.uppercased() == "Z_OPT" ? "1" : "NULL") AS \($0.quoted)" }
            statements.append(Self.view(own.name, selected))
        }
        for join in layout.joinTables {
            let concerned = damages.filter { $0.table == join.name }
            if concerned.contains(where: { $0.part == .joinTable }) {
                let columns = join.sides.flatMap { [$0.column, $0.orderColumn].compactMap { $0 } }
                let list = columns.map { "\($0.quoted) INTEGER" }.joined(separator: ", ")
                statements.append("CREATE TEMP TABLE IF NOT EXISTS \(join.name.quoted) (\(list))")
                continue
            }
            let missing = concerned.filter { $0.part == .linkOrder }.compactMap(\.column)
            guard !missing.isEmpty else { continue }
            let selected =
                ["rowid AS rowid"] + (try fileColumns(join.name)).map(\.quoted)
                + missing.map { "NULL AS \($0.quoted)" }
            statements.append(Self.view(join.name, selected))
        }
        all = statements
    }

    private static func view(_ name: String, _ columns: [String]) -> String {
        "CREATE TEMP VIEW IF NOT EXISTS \(name.quoted) AS SELECT \(columns.joined(separator: ", ")) FROM main.\(name.quoted)"
    }
}
