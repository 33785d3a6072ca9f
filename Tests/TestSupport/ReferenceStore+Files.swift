import Archives
import CSQLite
import CoreDataStore
import Foundation
import ManagedModel

/// A file that is not the store that its model says.
package struct ReferenceFileError: Error, CustomStringConvertible {
    package var description: String
}

extension ReferenceStore {
    /// Reads a store with plain SQLite, from a copy (a live `-wal` is read, the original is not touched).
    ///
    /// - Throws: ``ReferenceFileError`` where a table or column of the model is not in the file; SQLite's errors.
    package static func read(path: String, model: ManagedObjectModel) throws -> ReferenceStore {
        let folder = try TemporaryFolder()
        let copy = try folder.copyStore(URL(fileURLWithPath: path))
        let connection = try Connection(path: copy, flags: SQLITE_OPEN_READWRITE)
        var store = ReferenceStore(model: model)
        store.primaryKey = [:]
        let keys = try connection.prepare("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT < 16000")
        while try keys.step() {
            store.primaryKey[Int(keys.integer(0))] = ReferencePrimaryKey(
                name: keys.text(1) ?? "", parent: Int(keys.integer(2)), maximum: keys.integer(3))
        }
        let metadata = try connection.prepare("SELECT Z_UUID FROM Z_METADATA")
        if try metadata.step(), let uuid = metadata.text(0) { store.uuid = uuid }

        for (index, table) in store.schema.tables.enumerated() {
            let columns = (["Z_PK"] + table.columns.map(\.name)).map(quoted).joined(separator: ", ")
            let rows = try connection.prepare("SELECT \(columns) FROM \(quoted(table.name))")
            while try rows.step() {
                let values = table.columns.indices.map { value(rows, Int32($0 + 1)) }
                store.tables[index][rows.integer(0)] = ReferenceRow(values: values)
            }
        }
        for (index, join) in store.schema.joinTables.enumerated() {
            let found = [join.name, join.alternativeName ?? join.name].first { name in
                ((try? connection.integer("SELECT count(*) FROM pragma_table_info('\(name)')")) ?? 0) > 0
            }
            guard let found else { throw ReferenceFileError(description: "\(path): no table \(join.name)") }
            let columns = join.columnNames.map(quoted).joined(separator: ", ")
            let rows = try connection.prepare("SELECT \(columns) FROM \(quoted(found))")
            while try rows.step() {
                var next: Int32 = 2
                func order(_ side: Int) -> Int64? {
                    guard join.sides[side].orderColumn != nil else { return nil }
                    defer { next += 1 }
                    return value(rows, next).integer
                }
                let orders = ReferenceOrders(first: order(0), second: order(1))
                store.joins[index][ReferencePair(rows.integer(0), rows.integer(1))] = orders
            }
        }
        return store
    }

    /// Writes the store as a fresh Core Data-shaped SQLite file: DDL, rows by plain SQL, indexes, metadata.
    ///
    /// Rows are inserted in the order of the tables' and keys' numbers; triggers of derived attributes are created
    /// last, so they do not fire.
    package func write(path: String) throws {
        var store = self
        store.complete()
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        try connection.execute(
            """
            PRAGMA page_size = 4096; PRAGMA auto_vacuum = 2; PRAGMA journal_mode = DELETE; PRAGMA synchronous = OFF; BEGIN
            """)
        for statement in schema.tableStatements() + schema.fixedTableStatements() { try connection.execute(statement) }
        for (index, table) in schema.tables.enumerated() {
            let marks = Array(repeating: "?", count: table.columns.count + 1).joined(separator: ", ")
            let insert = try connection.prepare("INSERT INTO \(Self.quoted(table.name)) VALUES (\(marks))")
            for (key, row) in store.tables[index].sorted(by: { $0.key < $1.key }) {
                insert.bind(key, at: 1)
                for (position, value) in row.values.enumerated() { Self.bind(value, insert, Int32(position + 2)) }
                try insert.run()
            }
        }
        for (index, join) in schema.joinTables.enumerated() {
            let marks = join.columnNames.map { _ in "?" }.joined(separator: ", ")
            let insert = try connection.prepare("INSERT INTO \(Self.quoted(join.name)) VALUES (\(marks))")
            let rows = store.joins[index].sorted { ($0.key.first, $0.key.second) < ($1.key.first, $1.key.second) }
            for (pair, orders) in rows {
                var values: [Int64?] = [pair.first, pair.second]
                if join.sides[0].orderColumn != nil { values.append(orders.first) }
                if join.sides[1].orderColumn != nil { values.append(orders.second) }
                for (position, value) in values.enumerated() {
                    Self.bind(ReferenceValue(key: value), insert, Int32(position + 1))
                }
                try insert.run()
            }
        }
        let primary = try connection.prepare("INSERT INTO Z_PRIMARYKEY VALUES (?, ?, ?, ?)")
        for (number, row) in store.primaryKey.sorted(by: { $0.key < $1.key }) {
            primary.bind(Int64(number), at: 1)
            primary.bind(row.name, at: 2)
            primary.bind(Int64(row.parent), at: 3)
            primary.bind(row.maximum, at: 4)
            try primary.run()
        }
        let description = try connection.prepare("INSERT INTO Z_METADATA VALUES (1, ?, ?)")
        description.bind(uuid, at: 1)
        description.bind(try metadata(), at: 2)
        try description.run()
        let indexes =
            schema.tables.indices.flatMap { schema.indexStatements(forTable: $0) }
            + schema.joinTables.map(\.index.statement)
        for statement in indexes + schema.triggerStatements { try connection.execute(statement) }
        try connection.execute("COMMIT")
    }

    private func metadata() throws -> [UInt8] {
        let hashes = model.entityVersionHashesByName.mapValues { Array($0) }
        var metadata = DestinationMetadata(
            uuid: uuid, sourceProperties: [:], versionHashes: hashes,
            versionIdentifiers: model.definition.versionIdentifiers)
        // Composites in composites: nobody but Core Data knows their hashes.
        metadata.omitsUnknownHashes = true
        return try BinaryPropertyList.encode(try metadata.propertyList(for: model))
    }

    static func quoted(_ name: String) -> String { "\"" + name.replacingOccurrences(of: "\"", with: "\"\"") + "\"" }

    private static func value(_ rows: Statement, _ column: Int32) -> ReferenceValue {
        switch rows.type(column) {
        case SQLITE_INTEGER: .integer(rows.integer(column))
        case SQLITE_FLOAT: .real(rows.double(column))
        case SQLITE_TEXT: .text(rows.text(column) ?? "")
        case SQLITE_BLOB: .blob(rows.blob(column) ?? [])
        default: .null
        }
    }

    private static func bind(_ value: ReferenceValue, _ statement: Statement, _ index: Int32) {
        switch value {
        case .null: statement.bindNull(at: index)
        case .integer(let value): statement.bind(value, at: index)
        case .real(let value): statement.bind(value, at: index)
        case .text(let value): statement.bind(value, at: index)
        case .blob(let value): statement.bind(value, at: index)
        }
    }
}
