import CoreDataStore
import Diagnostics
import Glibc
import Rows

/// Tells whether SQLite's own check of a file would find anything, without its look-up of each row in each index.
///
/// SQLite checks all pages and the rows of all tables. The entries of each index must ascend, must not repeat where it is
/// unique, and must be those of its table, by their number and a sum of hashes. If anything is otherwise, or cannot be told in
/// this way, SQLite's full check says what is wrong.
///
/// Memory: a page cache.
struct FileScreen {
    /// An index of the file.
    private struct Index {
        let name: String
        let isUnique: Bool
        /// The places of its columns among the columns that are read of the table.
        let places: [Int]
        var count = 0
        var sum: UInt64 = 0
    }

    private let store: SourceStore
    private let layout: StoreLayout
    /// Called with the number of rows of each batch; it may end the reading.
    private let noteRead: (Int) throws -> Void
    /// The columns of the unique indexes that were checked, by table.
    private(set) var unique: [String: Set<[String]>] = [:]

    init(_ store: SourceStore, _ layout: StoreLayout, noteRead: @escaping (Int) throws -> Void) {
        (self.store, self.layout, self.noteRead) = (store, layout, noteRead)
    }

    /// Tells whether the file is known to be sound.
    ///
    /// - Complexity: a pass over all pages, and one over the rows and the indexes of each table that has indexes.
    mutating func isSound() throws -> Bool {
        do {
            let check = try store.query("PRAGMA quick_check(1)")
            guard try check.step(), check.text(0) == "ok" else { return false }
            let names = try store.query("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
            var tables: [String] = []
            while try names.step() { if let name = names.text(0) { tables.append(name) } }
            for table in tables where try !isSound(table) { return false }
            return true
        } catch let error as MigrationError where error.category == .data {
            return false
        }
    }

    private mutating func isSound(_ table: String) throws -> Bool {
        var columns: [String] = []
        var indexes: [Index] = []
        let list = try store.query("SELECT name, \"unique\", partial FROM pragma_index_list(\(SQLName.literal(table)))")
        while try list.step() {
            guard let name = list.text(0), list.integer(2) == 0 else { return false }
            var places: [Int] = []
            let terms = try store.query(
                "SELECT name, coll, \"desc\" FROM pragma_index_xinfo(\(SQLName.literal(name))) WHERE key = 1 ORDER BY seqno"
            )
            while try terms.step() {
                guard let column = terms.text(0), terms.text(1) == "BINARY", terms.integer(2) == 0 else { return false }
                if !columns.contains(column) { columns.append(column) }
                places.append(columns.firstIndex(of: column) ?? 0)
            }
            indexes.append(Index(name: name, isUnique: list.integer(1) == 1, places: places))
        }
        guard !indexes.isEmpty else { return true }
        func note(_ key: Int64, _ cell: (Int) -> VerifiedCell) {
            for index in indexes.indices {
                indexes[index].sum &+= Self.hash(key, indexes[index].places, cell)
                indexes[index].count += 1
            }
        }
        if let place = layout.tables.firstIndex(where: { $0.name == table }),
            let known = columns.reduce(
                [Int]?.some([]),
                { found, column in
                    layout.tables[place].columns.firstIndex(of: column).flatMap { index in found.map { $0 + [index] } }
                })
        {
            let rows = try SequentialRows(store, layout, table: place, columns: known, noteRead: noteRead)
            while try rows.advance() { note(rows.key, rows.cell) }
        } else {
            let names = columns.map(SQLName.quoted).joined(separator: ", ")
            let rows = try store.query("SELECT rowid, \(names) FROM \(SQLName.quoted(table)) NOT INDEXED")
            while try rows.step() { note(rows.integer(0)) { VerifiedCell(rows, Int32($0 + 1)) } }
        }
        for index in indexes {
            let own = index.places.map { columns[$0] }
            guard try isSound(index, of: table, own) else { return false }
            if index.isUnique { unique[table, default: []].insert(own) }
        }
        return true
    }

    private static func hash(_ key: Int64, _ places: [Int], _ cell: (Int) -> VerifiedCell) -> UInt64 {
        var hash = VerificationChecksum.mix(UInt64(bitPattern: key))
        for place in places { hash = VerificationChecksum.mix(hash &+ cell(place).hash) }
        return hash
    }

    private func isSound(_ index: Index, of table: String, _ columns: [String]) throws -> Bool {
        var walk = IndexWalk(columns: columns.count, isUnique: index.isUnique)
        if let entries = try store.entries(ofIndex: index.name, table: table, columns: columns) {
            var batch = RowBatch(slots: columns.count, rowCapacity: 512, byteTarget: 4096)
            while try entries.next(into: &batch) {
                try noteRead(0)
                for row in 0..<batch.count {
                    for place in columns.indices { walk.cells[place] = VerifiedCell(batch[row, place], batch) }
                    guard walk.step(batch.key(row)) else { return false }
                }
            }
        } else {
            let names = columns.map(SQLName.quoted).joined(separator: ", ")
            let entries = try store.query(
                "SELECT rowid, \(names) FROM \(SQLName.quoted(table)) INDEXED BY \(SQLName.quoted(index.name))")
            while try entries.step() {
                for place in columns.indices { walk.cells[place] = VerifiedCell(entries, Int32(place + 1)) }
                guard walk.step(entries.integer(0)) else { return false }
            }
        }
        return walk.count == index.count && walk.sum == index.sum
    }

    /// The entries of an index, one after the other.
    private struct IndexWalk: ~Copyable {
        /// The values of the entry in view.
        var cells: [VerifiedCell]
        private let isUnique: Bool
        private var before: RowBatch
        private var lastKey = Int64.min
        private(set) var count = 0
        private(set) var sum: UInt64 = 0

        init(columns: Int, isUnique: Bool) {
            cells = Array(repeating: .null, count: columns)
            self.isUnique = isUnique
            before = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096)
        }

        /// Adds the entry in view. Returns false if it does not follow the entry before.
        mutating func step(_ key: Int64) -> Bool {
            var hash = VerificationChecksum.mix(UInt64(bitPattern: key))
            var order = 0
            var hasNull = false
            for place in cells.indices {
                let cell = cells[place]
                hash = VerificationChecksum.mix(hash &+ cell.hash)
                if cell.isNull { hasNull = true }
                if count > 0, order == 0 { order = cell.order(after: VerifiedCell(before[0, place], before)) }
            }
            if count > 0, order < 0 || order == 0 && (key <= lastKey || isUnique && !hasNull) { return false }
            sum &+= hash
            count += 1
            lastKey = key
            before.removeAll()
            before.appendRow(key: key)
            for place in cells.indices { cells[place].store(in: &before, row: 0, slot: place) }
            return true
        }
    }
}

extension VerifiedCell {
    /// The order of the value and of one before it, as in an index of SQLite: less than, equal to or greater than 0.
    fileprivate func order(after other: VerifiedCell) -> Int {
        func order<Value: Comparable>(_ one: Value, _ other: Value) -> Int { one == other ? 0 : one < other ? -1 : 1 }
        switch (self, other) {
        case (.integer(let one), .integer(let other)): return order(one, other)
        case (.text(let one), .text(let other)), (.blob(let one), .blob(let other)):
            let count = min(one.count, other.count)
            if count > 0, let first = one.baseAddress, let second = other.baseAddress {
                let difference = memcmp(first, second, count)
                if difference != 0 { return Int(difference) }
            }
            return order(one.count, other.count)
        default:
            if let one = realValue, let other = other.realValue { return order(one, other) }
            return order(storageClass, other.storageClass)
        }
    }

    private var storageClass: Int {
        switch self {
        case .null: 0
        case .integer, .real: 1
        case .text: 2
        case .blob: 3
        }
    }

    fileprivate func store(in batch: inout RowBatch, row: Int, slot: Int) {
        switch self {
        case .null: batch[row, slot] = .null
        case .integer(let number): batch[row, slot] = .integer(number)
        case .real(let number): batch[row, slot] = .real(number)
        case .text(let bytes): batch.setBytes(bytes, kind: .text, row: row, slot: slot)
        case .blob(let bytes): batch.setBytes(bytes, kind: .blob, row: row, slot: slot)
        }
    }
}
