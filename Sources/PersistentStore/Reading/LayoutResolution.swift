import Diagnostics
import ManagedModel

extension SourceStore {
    /// Finds a model's tables, columns and entity numbers in the file.
    ///
    /// Names decide, never positions: a store that was migrated in place has its columns in another order, columns
    /// left over, and join tables under an older number or name (wire 1-27: Z_14TRUSTEDBYCLIENTS).
    ///
    /// - Throws: `store.schemaMismatch` (65) naming the entity and the property that has no place; `store.damaged`.
    /// - Complexity: O(tables + columns).
    package func layout(for model: ManagedObjectModel) throws(MigrationError) -> StoreLayout {
        let schema = StoreSchema(model: model)
        var resolution = LayoutResolution(
            schema: schema, primaryKeys: primaryKeys, files: try fileTables(), path: path)
        var layout = try resolution.resolve()
        for table in layout.tables.indices {
            let greatest = try greatestKey(table: table, in: layout) ?? 0
            layout.tables[table].maximumKey = max(layout.tables[table].maximumKey, greatest)
        }
        return layout
    }

    /// All tables with their columns.
    private func fileTables() throws(MigrationError) -> [FileTable] {
        try blamingData { () throws(MigrationError) in
            let names = try connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            var tables: [FileTable] = []
            while try names.step() {
                guard let name = names.text(0), name.hasPrefix("Z") || name.hasPrefix("z") else { continue }
                let info = try connection.prepare("PRAGMA table_info(\(name.quoted))")
                var table = FileTable(name: name, columns: [:], isKeyed: false)
                var keyCount = 0
                var isKeyed = false
                while try info.step() {
                    guard let column = info.text(1) else { continue }
                    table.columns[column.uppercased()] = column
                    if info.integer(5) > 0 {
                        keyCount += 1
                        isKeyed = column.uppercased() == "Z_PK" && info.text(2)?.uppercased() == "INTEGER"
                    }
                }
                table.isKeyed = isKeyed && keyCount == 1
                tables.append(table)
            }
            return tables
        }
    }
}

/// A table as the file declares it.
struct FileTable {
    var name: String
    /// Upper-cased name to the name in the file.
    var columns: [String: String]
    /// Whether Z_PK is the row's key.
    var isKeyed: Bool
}

/// The search for a schema's places in a file.
struct LayoutResolution {
    private let schema: StoreSchema
    private let primaryKeys: [PrimaryKeyRow]
    private let files: [FileTable]
    private let path: String
    private let byName: [String: Int]
    /// Indices of file tables that have been given away.
    private var claimed: Set<Int> = []

    init(schema: StoreSchema, primaryKeys: [PrimaryKeyRow], files: [FileTable], path: String) {
        self.schema = schema
        self.primaryKeys = primaryKeys
        self.files = files
        self.path = path
        byName = Dictionary(
            files.enumerated().map { ($1.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
    }

    mutating func resolve() throws(MigrationError) -> StoreLayout {
        let numbers = try entityNumbers()
        var tables: [SourceTable] = []
        for table in schema.tables { tables.append(try resolve(table, numbers)) }
        var joins: [SourceJoinTable?] = []
        // Tables under their own names first, so that the search among the others cannot take one away.
        for join in schema.joinTables { joins.append(exact(join)) }
        var complete: [SourceJoinTable] = []
        for (join, found) in zip(schema.joinTables, joins) {
            if let found { complete.append(found) } else { complete.append(try search(join)) }
        }
        return StoreLayout(
            schema: schema, tables: tables, joinTables: complete, fileNumbers: numbers,
            entityByFileNumber: Dictionary(
                numbers.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first }))
    }

    private func mismatch(_ message: String, entity: Int, property: String? = nil) -> MigrationError {
        MigrationError(
            "store.schemaMismatch", .data, message, remedy: "Give the model version that wrote the store with --from",
            context: .init(path: path, entity: schema.model.entity(at: entity).definition.name, property: property))
    }

    // MARK: Entity numbers

    /// By name; for a name that Z_PRIMARYKEY lacks, the computed number where its row bears the name of no entity of
    /// the model: an in-place migration leaves the old name of a renamed entity (SampleModel_V2: ExpensiveSportCar).
    private func entityNumbers() throws(MigrationError) -> [Int] {
        var numberByName: [String: Int] = [:]
        var nameByNumber: [Int: String] = [:]
        for row in primaryKeys {
            numberByName[row.name] = numberByName[row.name] ?? row.number
            nameByNumber[row.number] = row.name
        }
        let entities = schema.model.entities
        let known = Set(entities.map(\.definition.name))
        var numbers: [Int] = []
        for entity in entities {
            if let number = numberByName[entity.definition.name] {
                numbers.append(number)
                continue
            }
            let computed = schema.entityNumbers[entity.index]
            if let name = nameByNumber[computed], known.contains(name) {
                throw mismatch("Z_PRIMARYKEY has no row for the entity", entity: entity.index)
            }
            numbers.append(computed)
        }
        return numbers
    }

    // MARK: Entity tables

    private mutating func resolve(_ table: EntityTable, _ numbers: [Int]) throws(MigrationError) -> SourceTable {
        guard let index = byName[table.name.uppercased()] else {
            throw mismatch("The store has no table \(table.name)", entity: table.root)
        }
        let file = files[index]
        guard file.isKeyed else {
            throw mismatch("The key of the table \(file.name) is not Z_PK", entity: table.root)
        }
        claimed.insert(index)
        let predicted = Set(table.columns.map { $0.name.uppercased() })
        var columns: [String] = []
        for column in table.columns {
            if let actual = file.columns[column.name.uppercased()] {
                columns.append(actual)
                continue
            }
            // A number of another generation inside the name: Z3_OBJECT for Z4_OBJECT.
            let pattern = LayoutResolution.withoutNumber(column.name.uppercased())
            let others = file.columns.keys.filter {
                !predicted.contains($0) && LayoutResolution.withoutNumber($0) == pattern
            }
            let place = LayoutResolution.property(of: column.role)
            guard let pattern, !pattern.isEmpty, others.count == 1, let only = others.first,
                let actual = file.columns[only]
            else {
                throw mismatch(
                    "The table \(file.name) has no column \(column.name)", entity: place?.entity ?? table.root,
                    property: place?.name)
            }
            columns.append(actual)
        }
        let root = numbers[table.root]
        let maximum = primaryKeys.first { $0.number == root }?.maximum ?? 0
        return SourceTable(name: file.name, columns: columns, maximumKey: max(0, maximum))
    }

    private static func property(of role: ColumnRole) -> PropertyReference? {
        switch role {
        case .entity, .lock: nil
        case .attribute(let reference), .toOne(let reference), .toOneEntity(let reference), .order(let reference),
            .hiddenOwner(let reference), .hiddenOrder(let reference):
            reference
        }
    }

    /// An upper-cased name with the entity number in it replaced by `#`: `Z_FOK_#NAME`, `Z_#NAME`, `Z#_NAME`,
    /// `Z#NAME`. Nil where there is none.
    static func withoutNumber(_ name: String) -> String? {
        for prefix in ["Z_FOK_", "Z_", "Z"] where name.hasPrefix(prefix) {
            let rest = name.utf8.dropFirst(prefix.utf8.count)
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { continue }
            return prefix + "#" + String(decoding: rest.dropFirst(digits.count), as: UTF8.self)
        }
        return nil
    }

    // MARK: Join tables

    private mutating func exact(_ join: JoinTable) -> SourceJoinTable? {
        for name in [join.name] + (join.alternativeName.map { [$0] } ?? []) {
            guard let index = byName[name.uppercased()], !claimed.contains(index),
                let found = match(join, files[index], { $0 })
            else { continue }
            claimed.insert(index)
            return found
        }
        return nil
    }

    /// Finds a join table by its columns: as they are named, then whatever their entity numbers.
    private mutating func search(_ join: JoinTable) throws(MigrationError) -> SourceJoinTable {
        let names = Set(
            ([join.name] + (join.alternativeName.map { [$0] } ?? [])).map {
                LayoutResolution.withoutNumber($0.uppercased()) ?? $0.uppercased()
            })
        let free = files.indices.filter { !claimed.contains($0) && !files[$0].isKeyed }
        let alike = free.filter {
            names.contains(LayoutResolution.withoutNumber(files[$0].name.uppercased()) ?? "")
        }
        let numberless: (String) -> String = { LayoutResolution.withoutNumber($0) ?? $0 }
        let tries: [([Int], (String) -> String)] = [
            (free, { $0 }), (alike, numberless), (free, numberless), (alike, { LayoutResolution.bare($0) }),
        ]
        for (candidates, normal) in tries {
            let found = candidates.compactMap { index in match(join, files[index], normal).map { (index, $0) } }
            if found.count == 1 {
                claimed.insert(found[0].0)
                return found[0].1
            }
        }
        let reference = join.sides[0].relationship
        throw mismatch("The store has no join table \(join.name)", entity: reference.entity, property: reference.name)
    }

    /// A name without its number and without the digits that a collision appended.
    private static func bare(_ name: String) -> String {
        var text = withoutNumber(name) ?? name
        while let last = text.utf8.last, (0x30...0x39).contains(last) { text.removeLast() }
        return text
    }

    /// The file's names for a join table's columns, where each has exactly one partner under a normal form.
    private func match(_ join: JoinTable, _ file: FileTable, _ normal: (String) -> String) -> SourceJoinTable? {
        var found: [String: [String]] = [:]
        for (upper, actual) in file.columns { found[normal(upper), default: []].append(actual) }
        func actual(_ name: String) -> String? {
            guard let candidates = found[normal(name.uppercased())], candidates.count == 1 else { return nil }
            return candidates[0]
        }
        var sides: [SourceJoinSide] = []
        for side in join.sides {
            guard let column = actual(side.column) else { return nil }
            var order: String?
            if let wanted = side.orderColumn {
                guard let place = actual(wanted) else { return nil }
                order = place
            }
            sides.append(SourceJoinSide(column: column, orderColumn: order))
        }
        guard sides.count == 2, sides[0].column != sides[1].column else { return nil }
        return SourceJoinTable(name: file.name, sides: sides)
    }
}
