import Archives
import CSQLite
import CoreDataStore
import DatabasePages
import Diagnostics
import Foundation
import ManagedModel
import Rows
import SpillStorage

/// Stores as inputs: a file of mutated pages is read from its pages and through SQLite, and both have to give the same
/// rows, or one of them an error.
enum FuzzStores {
    private static let folder = FuzzTarget.scratch + "-store"
    private static var path: String {
        mkdir(folder, 0o700)
        return folder + "/store.sqlite"
    }

    private static func write(_ bytes: [UInt8]) {
        guard let file = fopen(path, "w") else { preconditionFailure("no file can be made in /dev/shm") }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    static func compareReaders(_ bytes: [UInt8]) throws {
        guard bytes.count > 512, bytes.count < 1 << 20 else { return }
        write(bytes)
        let store = try SourceStore(path: path, cacheBytes: 1 << 18, valueLimit: 1 << 18, temporaryDirectory: nil)
        defer { try? store.close() }
        do { _ = try store.cachedModel() } catch { precondition(error.category != .internal, "\(error)") }
        let model = FuzzModels.shared.source
        let layout = try store.layout(for: model)
        for table in layout.tables.indices {
            let columns = (0..<layout.schema.tables[table].columns.count).map { SelectedColumn.own($0) }
            var selection = RowSelection(table: table, columns: columns)
            selection.streamed = Set(columns.indices)
            store.readsPages = true
            let pages = rows(store, selection, layout)
            let types = layout.schema.tables[table].columns.map(\.type)
            selection.runs = [.init(slots: Array(columns.indices.dropFirst(2)), types: Array(types.dropFirst(2)))]
            if columns.count < 4 { selection.runs = [] }
            let areReal = types.map { ColumnAffinity(declaredType: $0) == .real }
            let copied = rows(store, selection, layout, areReal: areReal)
            selection.runs = []
            store.readsPages = false
            let statement = rows(store, selection, layout)
            guard case .success(let first) = pages, case .success(let second) = statement else { continue }
            precondition(first == second, "the readers give other rows of \(layout.tables[table].name)")
            guard case .success(let third) = copied else { continue }
            precondition(first == third, "values that are copied are others in \(layout.tables[table].name)")
        }
    }

    /// - Parameter areReal: where a selection has runs: by slot, whether its column takes reals.
    private static func rows(
        _ store: SourceStore, _ selection: RowSelection, _ layout: StoreLayout, areReal: [Bool] = []
    ) -> Result<[String], MigrationError> {
        var found: [String] = []
        var batch = RowBatch(slots: selection.columns.count, rowCapacity: 50, byteTarget: 1 << 16)
        batch.borrowsPages = !areReal.isEmpty
        do throws(MigrationError) {
            let reader = try store.rows(selection, in: layout)
            // Cycles of pages would go on for ever: no store of this size has so many rows.
            while found.count < 100_000, try reader.next(into: &batch) {
                for row in 0..<batch.count {
                    var text = "\(batch.key(row))"
                    for slot in 0..<batch.slots {
                        if batch[row, slot].kind == .rawRecord {
                            let count = batch[row, slot].rawRecordSlots
                            EncodedValues.decode(batch.cells(ofRow: row) + slot, of: batch)
                            // A column of reals has some of them as integers.
                            for slot in slot..<slot + count where areReal[slot] && batch[row, slot].kind == .integer {
                                batch[row, slot] = .real(Double(batch[row, slot].integerValue))
                            }
                        }
                        let cell = batch[row, slot]
                        switch cell.kind {
                        case .text, .blob: text += " \(cell.kind) \(Array(batch.bytes(cell)))"
                        case .huge: text += " huge \(batch.huge(cell).count)"
                        default: text += " \(cell.kind) \(cell.bits)"
                        }
                    }
                    found.append(text)
                }
            }
        } catch {
            precondition(error.category != .internal, "\(error)")
            return .failure(error)
        }
        precondition(found.count < 100_000, "a store without an end")
        return .success(found)
    }

    /// Z_METADATA's property list.
    static func readMetadata(_ bytes: [UInt8]) throws {
        guard case .dictionary(let list) = try BinaryPropertyList.decode(bytes) else { return }
        let metadata = StoreMetadata(uuid: "", propertyList: list.byKey)
        _ = (metadata.versionHashes, metadata.versionIdentifiers, metadata.versionChecksum, metadata.applicationValues)
        _ = VersionHash.digest(of: metadata.versionHashes)
        _ = ModelDifference.describe(store: metadata.versionHashes, model: FuzzModels.shared.source)
    }

    /// A store with rows, as a seed.
    static func seed(at path: String) throws {
        let schema = StoreSchema(model: FuzzModels.shared.source)
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
        try connection.execute("PRAGMA page_size = 512; PRAGMA auto_vacuum = 0; BEGIN")
        for statement in schema.tableStatements() + schema.fixedTableStatements() { try connection.execute(statement) }
        for table in schema.tables {
            let marks = Array(repeating: "?", count: table.columns.count + 1).joined(separator: ", ")
            let insert = try connection.prepare("INSERT INTO \(table.name) VALUES (\(marks))")
            for key in 1...40 as ClosedRange<Int64> {
                insert.bind(key, at: 1)
                for (index, column) in table.columns.enumerated() {
                    switch column.type {
                    case "VARCHAR":
                        insert.bind(
                            String(repeating: "text ", count: Int(key % 7) * (key == 9 ? 90 : 1)), at: Int32(index + 2))
                    case "BLOB": insert.bind([UInt8](repeating: 7, count: key == 5 ? 1500 : 3), at: Int32(index + 2))
                    case "INTEGER": insert.bind(index == 0 ? 1 : key * 3, at: Int32(index + 2))
                    default: insert.bind(Double(key) / 3, at: Int32(index + 2))
                    }
                }
                try insert.run()
            }
        }
        let metadata = try connection.prepare("INSERT INTO Z_METADATA VALUES (1, 'F0', ?)")
        metadata.bind(
            try BinaryPropertyList.encode(.dictionary(["NSStoreModelVersionHashesVersion": .integer(3)])), at: 1)
        try metadata.run()
        for entity in FuzzModels.shared.source.entities {
            try connection.execute(
                "INSERT INTO Z_PRIMARYKEY VALUES (\(schema.number(of: entity)), '\(entity.definition.name)', 0, 40)")
        }
        for table in schema.tables.indices {
            for index in schema.indexes[table] { try connection.execute(index.statement(on: schema.tables[table])) }
        }
        // Closed with its last statement, when both are released.
        try connection.execute("COMMIT")
    }
}

/// Spills and association tables whose files somebody else changed: what is read is right, or an error.
enum FuzzSpills {
    private static let folder = FuzzTarget.scratch + "-spill"

    /// The bytes say what is added, and where the files are changed.
    static func read(_ bytes: [UInt8]) throws {
        guard bytes.count >= 8 else { return }
        try? FileManager.default.removeItem(atPath: folder)
        mkdir(folder, 0o700)
        let directory = try WorkDirectory(path: folder + "/work")
        let table = AssociationTable(
            directory: directory, name: "pairs", memory: 256 << 10, logs: RecordMemory(bytes: 384 << 10))
        var expected: [Int64: Int64] = [:]
        let count = 3000
        var key: Int64 = 0
        for number in 0..<count {
            key &+= Int64(bytes[number % 4] & 15) + 1
            let destination = Int64((number &* (Int(bytes[4]) | 1)) % count)
            expected[key] = destination
            try table.add(
                source: ObjectReference(entity: UInt32(bytes[5] & 1), key: key),
                destination: ObjectReference(entity: 2, key: destination))
        }
        try table.park()
        try table.prepareForLookups()
        change(in: folder, bytes.dropFirst(6))
        for (source, destination) in expected.sorted(by: { $0.key < $1.key }) where source % 7 == 0 {
            var found: [ObjectReference] = []
            try table.destinations(of: ObjectReference(entity: UInt32(bytes[5] & 1), key: source), into: &found)
            precondition(found.first?.key == destination, "a damaged block gives a wrong destination")
        }
    }

    private static func change(in folder: String, _ bytes: ArraySlice<UInt8>) {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder))?.sorted() ?? []
        var rest = Array(bytes)
        while rest.count >= 4 {
            let (pick, high, low, value) = (rest[0], rest[1], rest[2], rest[3])
            rest.removeFirst(4)
            guard !names.isEmpty else { return }
            guard let file = fopen("\(folder)/\(names[Int(pick) % names.count])", "r+") else { continue }
            fseek(file, 0, SEEK_END)
            let size = ftell(file)
            if size > 0 {
                fseek(file, (Int(high) << 8 | Int(low)) % size, SEEK_SET)
                fputc(Int32(value), file)
            }
            fclose(file)
        }
    }
}
