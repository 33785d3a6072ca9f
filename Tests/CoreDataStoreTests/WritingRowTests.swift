import CSQLite
import Diagnostics
import Foundation
import ManagedModel
import Rows
import TestSupport
import Testing

@testable import CoreDataStore

/// Rows that go into a fresh store and come back through stock SQLite.
@Suite("Writing: rows")
struct WritingRowTests {
    private typealias M = SchemaTestModel
    private typealias W = WritingTestStore

    /// A value as SQLite gives it back.
    private enum Stored: Equatable {
        case null
        case integer(Int64)
        case real(Double)
        case text([UInt8])
        case blob([UInt8])
    }

    private func stored(_ statement: Statement, _ column: Int32) -> Stored {
        switch statement.type(column) {
        case SQLITE_INTEGER: .integer(statement.integer(column))
        case SQLITE_FLOAT: .real(statement.double(column))
        case SQLITE_TEXT: .text(statement.blob(column) ?? [])
        case SQLITE_BLOB: .blob(statement.blob(column) ?? [])
        default: .null
        }
    }

    /// Returns a value from a row of a Core Data store, converted by a column's affinity.
    private func affine(_ value: Stored, _ type: String) -> Stored {
        switch (type, value) {
        case ("FLOAT", .integer(let number)): .real(Double(number))
        case ("INTEGER", .real(let number)), ("TIMESTAMP", .real(let number)), ("DECIMAL", .real(let number)):
            // Whole reals of moderate size are stored as integers.
            number == number.rounded() && abs(number) < 1e15 ? .integer(Int64(number)) : value
        default: value
        }
    }

    private func random(_ generator: inout SeededGenerator, _ type: String) -> Stored {
        if generator.chance(5) { return .null }
        switch type {
        case "INTEGER":
            return .integer(Int64(bitPattern: generator.next()) >> Int64(generator.below(64)))
        case "FLOAT", "TIMESTAMP", "DECIMAL":
            return generator.chance(3)
                ? .integer(Int64(generator.below(1_000_000)) - 500_000)
                : .real(Double(generator.below(1 << 40)) / 1024 - 1_000_000)
        case "VARCHAR":
            let words = ["", "a", "Größe", "日本語", "nul\0inside", "😀", String(repeating: "long ", count: 100)]
            return .text(Array(words[generator.below(words.count)].utf8))
        default:
            return .blob((0..<generator.below(40)).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
        }
    }

    private func put(_ value: Stored, _ batch: inout RowBatch, _ row: Int, _ slot: Int) {
        switch value {
        case .null: batch[row, slot] = .null
        case .integer(let number): batch[row, slot] = .integer(number)
        case .real(let number): batch[row, slot] = .real(number)
        case .text(let bytes): bytes.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
        case .blob(let bytes): batch.set(bytes, row: row, slot: slot)
        }
    }

    @Test("Random rows of every type come back equal from batches of any size", arguments: [1, 2, 3])
    func randomRows(run: UInt64) throws {
        let seed = RandomSeeds.first ^ run
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let schema = try W.everyType()
        let store = try W.create(schema, folder.file("a.sqlite"))
        let columns = schema.tables[0].columns
        var expected: [(Int64, [Stored])] = []
        var key: Int64 = 0
        let writer = try store.tableWriter(0)
        for _ in 0..<20 {
            var batch = RowBatch(slots: columns.count, rowCapacity: 120, byteTarget: 4096)
            for _ in 0..<generator.below(120) {
                key += Int64(1 + generator.below(9))
                let row = batch.appendRow(key: key)
                let values = columns.map { random(&generator, $0.type) }
                for (slot, value) in values.enumerated() { put(value, &batch, row, slot) }
                expected.append((key, zip(values, columns).map { affine($0, $1.type) }))
            }
            try writer.append(batch)
        }
        try writer.finish()
        for table in schema.tables.indices { try store.createIndexes(table: table) }
        try W.finish(store)

        let connection = try W.open(store.path)
        #expect(try connection.prepare("PRAGMA integrity_check").firstText() == "ok")
        let select = try connection.prepare("SELECT * FROM ZITEM ORDER BY Z_PK")
        var count = 0
        while try select.step() {
            let (key, values) = expected[count]
            #expect(select.integer(0) == key)
            #expect(columns.indices.map { stored(select, Int32($0) + 1) } == values)
            count += 1
        }
        #expect(count == expected.count)
    }

    @Test("Every count of rows around a statement's is written", arguments: [0, 1, 2, 31, 49, 50, 51, 99, 100, 163])
    func counts(rows: Int) throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", [M.attribute("n", .integer64)]))
        let store = try W.create(schema, folder.file("a.sqlite"))
        let writer = try store.tableWriter(0)
        try writer.append(
            W.batch(slots: 3, keys: (0..<rows).map { Int64($0) * 3 - 20 }) { batch, row in
                batch[row, 0] = .integer(1)
                batch[row, 1] = .integer(1)
                batch[row, 2] = .reference(key: Int64(row), entity: 7)
            })
        try writer.finish()
        try W.finish(store)
        let connection = try W.open(store.path)
        #expect(try connection.integer("SELECT count(*) FROM ZA") == Int64(rows))
        #expect(try connection.integer("SELECT count(*) FROM ZA WHERE Z_PK = ZN * 3 - 20") == Int64(rows))
        #expect(try connection.prepare("PRAGMA integrity_check").firstText() == "ok")
    }

    @Test("A transaction ends with an emptied journal, which is on the disk, not a removed one, which may not be")
    func transactionEnd() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.sqlite")
        let store = try W.create(try M.schema(M.entity("A", [M.attribute("n", .integer64)])), path)
        store.keepJournal()
        try store.commitAndBegin()
        try store.write(stamp: 7)
        #expect(FileManager.default.contents(atPath: path + "-journal")?.isEmpty == false)
        try store.commitAndBegin()
        #expect(FileManager.default.contents(atPath: path + "-journal")?.isEmpty == true)
        try store.closeUnfinished()
        #expect(try DestinationStore.recover(path, vfs: nil) == 7)
    }

    @Test("Changes of single rows after a step's end belong to a transaction, which a killed process leaves undone")
    func transactions() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", [M.attribute("n", .integer64)]))
        var count = 0
        func changes(_ change: (ExistingRows, DestinationStore) throws -> Void) throws -> Bool {
            count += 1
            let path = folder.file("\(count).sqlite")
            let store = try W.create(schema, path)
            let writer = try store.tableWriter(0)
            try writer.append(W.batch(slots: 3, keys: [1, 2, 3]) { $0[$1, 2] = .integer(5) })
            try writer.finish()
            try store.endTransaction()
            #expect(!store.hasChanges)
            try change(ExistingRows(store, table: 0), store)
            return store.hasChanges
        }
        let changed = W.batch(slots: 3, keys: [2]) { batch, row in
            batch[row, 0] = .absent
            batch[row, 1] = .absent
            batch[row, 2] = .integer(6)
        }
        #expect(try changes { rows, _ in try rows.update(2, from: changed, row: 0) })
        #expect(try changes { rows, _ in try rows.delete(2) })
        #expect(
            try changes { rows, store in
                let touched = TouchedRows(store)
                try touched.note(2, table: 0, .values)
                try rows.raiseLocks(of: touched)
            })
        #expect(
            try changes { _, store in
                try store.raiseLocks(table: 0, through: 9, referredToBy: [.column(table: 0, column: 2, after: 0)])
            })
    }

    /// An append's second load dropped a unique index outside of a transaction, so a resumed run went without it.
    @Test("Indexes that go while rows come, and links that change, belong to a transaction too")
    func indexTransactions() throws {
        let folder = try TemporaryFolder()
        var entity = M.entity("A", [M.attribute("n", .integer64)], [M.toMany("tags", "T", inverse: "items")])
        entity.uniquenessConstraints = [["n"]]
        let schema = try M.schema(entity, M.entity("T", [], [M.toMany("items", "A", inverse: "tags")]))
        for number in 0..<4 {
            let path = folder.file("\(number).sqlite")
            let store = try W.create(schema, path)
            store.keepJournal()
            let writer = try store.tableWriter(0)
            try writer.append(W.batch(slots: 3, keys: [1, 2]) { $0[$1, 2] = .integer(Int64($1)) })
            try writer.finish()
            try store.createIndexes(table: 0)
            try store.createIndexes(joinTable: 0)
            try store.endTransaction()
            let before = try store.connection.integer("SELECT count(*) FROM sqlite_master")
            let links = number > 1 ? try StoredJoinRows(store, joinTable: 0) : nil
            switch number {
            case 0: #expect(try store.prepareDuplicates(table: 0))
            case 1: try store.prepareRows(table: 0, expecting: 100)
            case 2: try links?.set(1, 1, orders: [nil, nil])
            default: try links?.remove(1, 1)
            }
            #expect(store.hasChanges, "change \(number)")
            // As after a kill.
            try store.connection.execute("ROLLBACK")
            #expect(try store.connection.integer("SELECT count(*) FROM sqlite_master") == before)
        }
    }

    @Test("A table of as many columns as SQLite allows is written", arguments: [1, 7, 40])
    func wide(rows: Int) throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", (0..<1997).map { M.attribute("c\($0)") }))
        let store = try W.create(schema, folder.file("a.sqlite"))
        let writer = try store.tableWriter(0)
        try writer.append(
            W.batch(slots: 1999, keys: (1...rows).map { Int64($0) }) { batch, row in
                for slot in 2..<1999 { batch.set("\(row)/\(slot)", row: row, slot: slot) }
            })
        try writer.finish()
        try W.finish(store)
        let connection = try W.open(store.path)
        let names = schema.tables[0].columns.map(\.name)
        let select = try connection.prepare("SELECT \(names[2]), \(names[1000]), \(names[1998]) FROM ZA")
        var row = 0
        while try select.step() {
            #expect((0..<3).map { select.text($0) } == [2, 1000, 1998].map { "\(row)/\($0)" })
            row += 1
        }
        #expect(row == rows)
    }

    @Test("More columns than SQLite allows are refused, and nothing is left")
    func tooWide() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", (0..<1998).map { M.attribute("c\($0)") }))
        let error = #expect(throws: MigrationError.self) { _ = try W.create(schema, folder.file("a.sqlite")) }
        #expect(error?.code == "schema.tooManyColumns" && error?.category == .configuration)
        #expect(try folder.names().isEmpty)
    }

    @Test("Values of a megabyte and empty ones are written")
    func blobs() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", [M.attribute("t"), M.attribute("b", .binaryData)]))
        let store = try W.create(schema, folder.file("a.sqlite"))
        let writer = try store.tableWriter(0)
        let large = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try writer.append(
            W.batch(slots: 4, keys: [1, 2, 3]) { batch, row in
                batch.set(String(repeating: "x", count: row == 0 ? 1_048_576 : 0), row: row, slot: 2)
                batch.set(row == 2 ? large : [], row: row, slot: 3)
            })
        try writer.finish()
        try W.finish(store)
        let connection = try W.open(store.path)
        let select = try connection.prepare(
            "SELECT length(ZT), length(ZB), typeof(ZT), typeof(ZB), ZB FROM ZA ORDER BY Z_PK")
        for (text, blob) in [(1_048_576, 0), (0, 0), (0, 1_048_576)] as [(Int64, Int64)] {
            #expect(try select.step())
            #expect(select.integer(0) == text && select.integer(1) == blob)
            #expect(select.text(2) == "text" && select.text(3) == "blob")
        }
        #expect(select.blob(4) == large)
    }

    @Test("A key twice is a constraint error that names the table and the key")
    func duplicateKey() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A"))
        let store = try W.create(schema, folder.file("a.sqlite"))
        let writer = try store.tableWriter(0)
        try writer.append(W.batch(slots: 2, keys: [5, 6]) { _, _ in })
        let error = #expect(throws: MigrationError.self) {
            try writer.append(W.batch(slots: 2, keys: [6, 7]) { _, _ in })
        }
        #expect(error?.code == "store.constraint" && error?.category == .data)
        #expect(error?.message.contains("table ZA from key 6") == true)
        #expect(error?.context.entity == "A")
        try writer.finish()
        store.abandon()
        #expect(try folder.names().isEmpty)
    }

    @Test("Links are written with their places; a repeated link is refused, or skipped if asked")
    func links() throws {
        let folder = try TemporaryFolder()
        let schema = try W.everyType()
        func links(_ pairs: [(Int64, Int64)]) -> RowBatch {
            W.batch(slots: 3, keys: pairs.map(\.0)) { batch, row in
                batch[row, 0] = .reference(key: pairs[row].0, entity: 1)
                batch[row, 1] = .integer(pairs[row].1)
                batch[row, 2] = .integer(2048 + 1024 * Int64(row))
            }
        }
        let pairs = (0..<120).map { (Int64($0 / 10), Int64($0 % 10)) }
        #expect(schema.joinTables[0].columnNames == ["Z_1ITEMS", "Z_3TAGS", "Z_FOK_3TAGS"])

        let store = try W.create(schema, folder.file("a.sqlite"))
        let writer = try store.joinWriter(0, ignoresDuplicates: true)
        try writer.append(links(pairs))
        try writer.append(links([(11, 9), (12, 0), (12, 0)]))
        try writer.finish()
        try store.createIndexes(joinTable: 0)
        try W.finish(store)
        let connection = try W.open(store.path)
        #expect(try connection.integer("SELECT count(*) FROM Z_1TAGS") == 121)
        #expect(try connection.integer("SELECT Z_FOK_3TAGS FROM Z_1TAGS WHERE Z_1ITEMS = 1 AND Z_3TAGS = 2") == 14336)
        #expect(try connection.prepare("PRAGMA integrity_check").firstText() == "ok")

        let refusing = try W.create(schema, folder.file("b.sqlite"))
        let strict = try refusing.joinWriter(0)
        let error = #expect(throws: MigrationError.self) { try strict.append(links([(1, 1), (1, 2), (1, 1)])) }
        #expect(error?.code == "store.constraint")
        #expect(error?.message.contains("table Z_1TAGS from the link (1, 1)") == true)
        try strict.finish()
        refusing.abandon()
    }

    @Test("A disk that is full is store.full with exit code 74")
    func full() throws {
        let folder = try TemporaryFolder()
        let schema = try M.schema(M.entity("A", [M.attribute("b", .binaryData)]))
        let store = try W.create(schema, folder.file("a.sqlite"))
        try store.connection.execute("PRAGMA max_page_count=40")
        let writer = try store.tableWriter(0)
        let error = #expect(throws: MigrationError.self) {
            for key in 1...100 as ClosedRange<Int64> {
                try writer.append(
                    W.batch(slots: 3, keys: [key]) { batch, row in
                        batch.set([UInt8](repeating: 1, count: 4000), row: row, slot: 2)
                    })
            }
        }
        #expect(error?.code == "store.full" && error?.category == .io)
        try writer.finish()
        store.abandon()
    }
}

extension Statement {
    /// The text of the first column of the first row.
    func firstText() throws -> String? {
        defer { reset() }
        return try step() ? text(0) : nil
    }
}
