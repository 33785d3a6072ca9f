import Diagnostics
import ManagedModel

extension SourceStore {
    /// Finds a model's tables, columns and entity numbers in the file.
    ///
    /// Names decide, never positions: a store that was migrated in place has its columns in another order, leftover columns,
    /// and join tables with an older number or name (wire 1-27: Z_14TRUSTEDBYCLIENTS).
    ///
    /// - Parameter damage: the treatment of a store that lacks a table or a column of the model, although its metadata say that
    ///   the model wrote it.
    /// - Throws: `store.schemaMismatch` (65) naming the entity and the property that is missing; `store.incomplete` (65) if the
    ///   metadata say that the model wrote the store; `store.damaged`.
    /// - Complexity: O(tables + columns), and O(rows) of tables that lack a column.
    package func layout(
        for model: ManagedObjectModel, damage choice: DamageChoice = .refuse
    ) throws(MigrationError) -> StoreLayout {
        var resolution = try resolution(of: model)
        var layout = resolution.layout
        if let mismatch = resolution.mismatch {
            guard isKnown(as: model) else { throw mismatch }
            guard choice == .repair else {
                throw refusal(of: resolution.damages, offersRepair: choice == .offerRepair)
            }
            try repair(&resolution.damages, layout)
            layout.damages = resolution.damages
        }
        for table in layout.tables.indices {
            let greatest = try greatestKey(table: table, in: layout) ?? 0
            layout.tables[table].maximumKey = max(layout.tables[table].maximumKey, greatest)
        }
        return layout
    }

    /// Returns the places of the model's parts in the file, and the missing parts.
    func resolution(of model: ManagedObjectModel) throws(MigrationError) -> ResolvedLayout {
        let files = try fileTables()
        let byRule = StoreSchema(model: model)
        var resolution = LayoutResolution(
            schema: StoreSchema(model: model, columnNames: byRule.columnNames(in: files)), primaryKeys: primaryKeys,
            files: files, path: path,
            isKnown: isKnown(as: model), hasNumbers: hasNumbers)
        return try resolution.resolve()
    }

    private func fileTables() throws(MigrationError) -> [FileTable] {
        try blamingData { () throws(MigrationError) in
            let names = try connection.texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            return try names.filter { $0.hasPrefix("Z") || $0.hasPrefix("z") }.map { name throws(MigrationError) in
                let info = try connection.prepare("PRAGMA main.table_info(\(name.quoted))")
                var table = FileTable(name: name, columns: [:], isKeyed: false)
                var keys: [Bool] = []
                while try info.step() {
                    guard let column = info.text(1) else { continue }
                    table.columns[column.uppercased()] = column
                    table.types[column.uppercased()] = info.text(2)?.uppercased()
                    guard info.integer(5) > 0 else { continue }
                    keys.append(column.uppercased() == "Z_PK" && info.text(2)?.uppercased() == "INTEGER")
                }
                table.isKeyed = keys == [true]
                return table
            }
        }
    }
}

/// The places of a model's parts in a file, as far as the file has them.
struct ResolvedLayout {
    /// The layout. Missing parts have the names that Core Data would give them.
    let layout: StoreLayout
    var damages: [StoreDamage]
    /// The error for a missing part if nothing shows that the model wrote the store.
    let mismatch: MigrationError?
}

/// A table as the file declares it.
struct FileTable {
    var name: String
    /// The names in the file by upper-cased name.
    var columns: [String: String]
    /// The declared types in upper case, by upper-cased name.
    var types: [String: String] = [:]
    /// True if Z_PK is the row's key.
    var isKeyed: Bool

    /// Returns the name of a column in the file: the same name, or the only one that differs by its entity number alone, as
    /// Z3_OBJECT for Z4_OBJECT.
    ///
    /// - Parameter others: names that are not searched, in upper case.
    func column(_ name: String, except others: Set<String> = []) -> String? {
        if let exact = columns[name.uppercased()] { return exact }
        guard let pattern = LayoutResolution.withoutNumber(name.uppercased()) else { return nil }
        let alike = columns.keys.filter { !others.contains($0) && LayoutResolution.withoutNumber($0) == pattern }
        return alike.count == 1 ? alike.first.flatMap { columns[$0] } : nil
    }
}

/// The search for a schema's tables and columns in a file.
struct LayoutResolution {
    let schema: StoreSchema
    let primaryKeys: [PrimaryKeyRow]
    let files: [FileTable]
    let path: String
    /// True if the metadata say that the model wrote the store. A missing part is then damage.
    let isKnown: Bool
    /// True if the file has Z_PRIMARYKEY.
    let hasNumbers: Bool
    fileprivate lazy var byName = Dictionary(
        files.enumerated().map { ($1.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
    /// The indices of file tables that are already assigned.
    fileprivate var claimed: Set<Int> = []
    fileprivate var damages: [StoreDamage] = []
    /// The first missing part.
    fileprivate var mismatch: MigrationError?

    mutating func resolve() throws(MigrationError) -> ResolvedLayout {
        let numbers = try entityNumbers()
        if !hasNumbers, !schema.model.entities.isEmpty {
            note(.numbers, "Z_PRIMARYKEY", nil, .init(entity: 0, name: ""), "The store has no table Z_PRIMARYKEY")
        }
        var tables: [SourceTable] = []
        for table in schema.tables { tables.append(try resolve(table, numbers)) }
        // Tables with their own names come first, so that the search among the rest cannot take one of them.
        let named = schema.joinTables.map { exact($0) }
        let joins = zip(schema.joinTables, named).map { join, found in found ?? search(join) ?? missing(join) }
        let layout = StoreLayout(
            schema: schema, tables: tables, joinTables: joins, fileNumbers: numbers,
            entityByFileNumber: Dictionary(
                numbers.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first }))
        return ResolvedLayout(layout: layout, damages: damages, mismatch: mismatch)
    }

    /// Returns the error for a missing part that cannot be read as empty or nil.
    ///
    /// - Parameter message: a sentence without a full stop that begins in lower case.
    private func irreparable(_ message: String, entity: Int) -> MigrationError {
        let context = MigrationError.Context(
            path: path, entity: schema.model.entity(at: entity).definition.name)
        guard isKnown else {
            return MigrationError(
                "store.schemaMismatch", .data, message.prefix(1).uppercased() + message.dropFirst(),
                remedy: "Give the model version that wrote the store with --from", context: context)
        }
        return MigrationError(
            "store.incomplete", .data, "The store is damaged and cannot be repaired: \(message)",
            remedy: "Use an undamaged copy of the store", context: context)
    }

    /// Records a missing part.
    ///
    /// - Parameter place: the property; for a whole table its name is empty.
    private mutating func note(
        _ part: StoreDamage.Part, _ table: String, _ column: String?, _ place: PropertyReference,
        numbers: [Int] = [], _ message: String
    ) {
        let entity = schema.model.entity(at: place.entity).definition.name
        let property = place.name.isEmpty ? nil : place.name
        damages.append(
            StoreDamage(
                part: part, table: table, column: column, entity: entity, property: property, entityNumbers: numbers))
        mismatch =
            mismatch
            ?? MigrationError(
                "store.schemaMismatch", .data, message,
                remedy: "Give the model version that wrote the store with --from",
                context: .init(path: path, entity: entity, property: property))
    }

    // MARK: Entity numbers

    /// Returns the numbers by name. If Z_PRIMARYKEY lacks a name, the computed number is used, provided that its row has no
    /// name of another entity of the model: a migration in place keeps the old name of a renamed entity (SampleModel_V2:
    /// ExpensiveSportCar).
    private func entityNumbers() throws(MigrationError) -> [Int] {
        let numberByName = Dictionary(primaryKeys.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
        let nameByNumber = Dictionary(primaryKeys.map { ($0.number, $0.name) }, uniquingKeysWith: { _, last in last })
        let known = Set(schema.model.entities.map(\.definition.name))
        return try schema.model.entities.map { entity throws(MigrationError) in
            if let number = numberByName[entity.definition.name] { return number }
            let computed = schema.entityNumbers[entity.index]
            if let name = nameByNumber[computed], known.contains(name) {
                throw irreparable("Z_PRIMARYKEY has no row for the entity", entity: entity.index)
            }
            return computed
        }
    }

    // MARK: Entity tables

    private mutating func resolve(_ table: EntityTable, _ numbers: [Int]) throws(MigrationError) -> SourceTable {
        let root = numbers[table.root]
        let stated = primaryKeys.first { $0.number == root }?.maximum
        let maximum = max(0, stated ?? 0)
        guard let index = byName[table.name.uppercased()] else {
            note(
                .table, table.name, nil, .init(entity: table.root, name: ""), "The store has no table \(table.name)")
            return SourceTable(
                name: table.name, columns: table.columns.map(\.name), maximumKey: maximum, statedMaximum: stated)
        }
        let file = files[index]
        guard file.isKeyed else {
            throw irreparable("the key of the table \(file.name) is not Z_PK", entity: table.root)
        }
        claimed.insert(index)
        let predicted = Set(table.columns.map { $0.name.uppercased() })
        var columns: [String] = []
        for column in table.columns {
            guard let actual = file.column(column.name, except: predicted) else {
                let message = "the table \(file.name) has no column \(column.name)"
                if column.role == .entity { throw irreparable(message, entity: table.root) }
                note(
                    .column, file.name, column.name, column.role.reference ?? .init(entity: table.root, name: ""),
                    numbers: rowNumbers(of: column.role, in: table, numbers), "The" + message.dropFirst(3))
                columns.append(column.name)
                continue
            }
            columns.append(actual)
        }
        return SourceTable(name: file.name, columns: columns, maximumKey: maximum, statedMaximum: stated)
    }

    /// Returns the Z_ENT of the rows whose property a column holds; empty if these are all rows of the table.
    private func rowNumbers(of role: ColumnRole, in table: EntityTable, _ numbers: [Int]) -> [Int] {
        guard table.entities.count > 1 else { return [] }
        switch role {
        case .attribute(let reference), .toOne(let reference), .toOneEntity(let reference):
            return schema.model.entity(at: reference.entity).withDescendants.map { numbers[$0.index] }
        case .entity, .lock, .order, .hiddenOwner, .hiddenOrder: return []
        }
    }

    /// Returns an upper-cased name with its entity number replaced by `#`: `Z_FOK_#NAME`, `Z_#NAME`, `Z#_NAME`, `Z#NAME`. Nil
    /// if it has none.
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
        for name in join.names {
            guard let index = byName[name.uppercased()], !claimed.contains(index),
                let found = match(join, files[index], { $0 })
            else { continue }
            claimed.insert(index)
            return found
        }
        return nil
    }

    /// Finds a join table by its columns: first by their exact names, then with any entity numbers.
    private mutating func search(_ join: JoinTable) -> SourceJoinTable? {
        let numberless: (String) -> String = { LayoutResolution.withoutNumber($0) ?? $0 }
        let names = Set(join.names.map { numberless($0.uppercased()) })
        let free = files.indices.filter { !claimed.contains($0) && !files[$0].isKeyed }
        let alike = free.filter {
            names.contains(LayoutResolution.withoutNumber(files[$0].name.uppercased()) ?? "")
        }
        let tries: [([Int], (String) -> String)] = [
            (free, { $0 }), (alike, numberless), (free, numberless), (alike, LayoutResolution.bare),
        ]
        for (candidates, normal) in tries {
            let found = candidates.compactMap { index in match(join, files[index], normal).map { (index, $0) } }
            if found.count == 1 {
                claimed.insert(found[0].0)
                return found[0].1
            }
        }
        return nil
    }

    /// Returns a join table that the file lacks, or whose columns it lacks.
    private mutating func missing(_ join: JoinTable) -> SourceJoinTable {
        let message = "The store has no join table \(join.name)"
        let place = join.sides[0].relationship
        let index = join.names.compactMap { byName[$0.uppercased()] }.first {
            !claimed.contains($0) && !files[$0].isKeyed
        }
        guard let index else {
            note(.joinTable, join.name, nil, place, message)
            return SourceJoinTable(
                name: join.name, sides: join.sides.map { .init(column: $0.column, orderColumn: $0.orderColumn) })
        }
        claimed.insert(index)
        let file = files[index]
        var sides: [SourceJoinSide] = []
        for (number, side) in join.sides.enumerated() {
            sides.append(
                SourceJoinSide(
                    column: file.column(side.column) ?? side.column,
                    orderColumn: side.orderColumn.map { file.column($0) ?? $0 }))
            if file.column(side.column) == nil { note(.joinTable, file.name, side.column, place, message) }
            // The column holds the position among the members of the other side's object.
            if let order = side.orderColumn, file.column(order) == nil {
                note(.linkOrder, file.name, order, join.sides[1 - number].relationship, message)
            }
        }
        return SourceJoinTable(name: file.name, sides: sides)
    }

    /// Returns a name without its number and without the digits added after a collision.
    private static func bare(_ name: String) -> String {
        var text = withoutNumber(name) ?? name
        while let last = text.utf8.last, (0x30...0x39).contains(last) { text.removeLast() }
        return text
    }

    /// Returns the file's names for a join table's columns, if each has exactly one match under a normal form.
    private func match(_ join: JoinTable, _ file: FileTable, _ normal: (String) -> String) -> SourceJoinTable? {
        var found: [String: [String]] = [:]
        for (upper, actual) in file.columns { found[normal(upper), default: []].append(actual) }
        func actual(_ name: String) -> String? {
            guard let candidates = found[normal(name.uppercased())], candidates.count == 1 else { return nil }
            return candidates[0]
        }
        let sides = join.sides.compactMap { side -> SourceJoinSide? in
            let order = side.orderColumn.map(actual)
            guard let column = actual(side.column), order != .some(nil) else { return nil }
            return SourceJoinSide(column: column, orderColumn: order ?? nil)
        }
        guard sides.count == 2, sides[0].column != sides[1].column else { return nil }
        return SourceJoinTable(name: file.name, sides: sides)
    }
}
