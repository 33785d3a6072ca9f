import CoreDataStore
import Diagnostics
import Rows

/// A fast check of a database file, which shows that SQLite's full check (`PRAGMA integrity_check`) is not needed.
///
/// SQLite's `quick_check` covers all pages and the rows of all tables, but does not compare indexes with rows. This class does:
/// the entries of an index must ascend, must not repeat if the index is unique, and must agree with the rows of its table in
/// their number and in a sum of hashes. The caller passes the rows of entity tables, which it reads anyway. If the check fails,
/// the file need not be damaged, as the check does not know every kind of index: SQLite's full check decides.
///
/// Memory: a page cache.
final class FileScreen {
    /// An index of the file.
    private struct Index {
        let name: String
        let isUnique: Bool
        /// The names of its columns, and their places among the columns that are read of the table.
        var columns: [String] = []
        var places: [Int] = []
        /// The entries that it has, and those that the table's rows need.
        var own = VerificationChecksum()
        var needed = VerificationChecksum()
    }

    private let store: SourceStore
    private let layout: StoreLayout
    /// Called with the number of rows of each batch; it may end the reading.
    private let noteRead: (Int) throws -> Void
    private var indexes: [String: [Index]] = [:]
    /// The links of each join table whose keys are all integers, by its columns.
    private(set) var links: [Int: VerificationChecksum] = [:]

    init(_ store: SourceStore, _ layout: StoreLayout, noteRead: @escaping (Int) throws -> Void) {
        (self.store, self.layout, self.noteRead) = (store, layout, noteRead)
    }

    /// Tells whether the file is known to be sound, except for the rows of entity tables that have indexes.
    ///
    /// - Complexity: a pass over all pages, and one over the indexes and over the rows of each other table that has indexes.
    func isSound() throws -> Bool {
        do {
            store.readAhead()
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

    private func isSound(_ table: String) throws -> Bool {
        let place = layout.tables.firstIndex { $0.name == table }
        // The columns that are read of the table; all of an entity table's.
        var columns = place.map { layout.tables[$0].columns } ?? []
        var found: [Index] = []
        let list = try store.query("SELECT name, \"unique\", partial FROM pragma_index_list(\(SQLName.literal(table)))")
        while try list.step() {
            guard let name = list.text(0), list.integer(2) == 0 else { return false }
            var index = Index(name: name, isUnique: list.integer(1) == 1)
            let terms = try store.query(
                "SELECT name, coll, \"desc\" FROM pragma_index_xinfo(\(SQLName.literal(name))) WHERE key = 1 ORDER BY seqno"
            )
            while try terms.step() {
                guard let column = terms.text(0), terms.text(1) == "BINARY", terms.integer(2) == 0 else { return false }
                if !columns.contains(column) {
                    guard place == nil else { return false }
                    columns.append(column)
                }
                index.columns.append(column)
                index.places.append(columns.firstIndex(of: column) ?? 0)
            }
            guard let own = try entries(of: index, table) else { return false }
            index.own = own
            found.append(index)
        }
        guard place == nil else {
            indexes[table] = found
            return true
        }
        return try found.isEmpty || agrees(table, columns, found)
    }

    /// Tells whether a table that is none of an entity has the rows that its indexes need.
    private func agrees(_ table: String, _ columns: [String], _ indexes: [Index]) throws -> Bool {
        guard let rows = try store.rows(ofTable: table, columns: columns) else {
            let check = try store.query("PRAGMA integrity_check(\(SQLName.literal(table)))")
            return try check.step() && check.text(0) == "ok"
        }
        let join = layout.joinTables.firstIndex { $0.name == table }
        let ends = join.map { layout.joinTables[$0].sides.compactMap { columns.firstIndex(of: $0.column) } } ?? []
        var indexes = indexes
        var links = ends.count == 2 ? VerificationChecksum() : nil
        var batch = RowBatch(slots: columns.count, rowCapacity: 512, byteTarget: 4096)
        while try rows.next(into: &batch) {
            try noteRead(batch.count)
            for index in indexes.indices { Self.add(batch, indexes[index].places, to: &indexes[index].needed) }
            for row in 0..<batch.count where links != nil {
                let (one, other) = (batch[row, ends[0]], batch[row, ends[1]])
                if one.kind == .integer, other.kind == .integer {
                    links?.add(link: (one.integerValue, other.integerValue))
                } else {
                    links = nil
                }
            }
        }
        if let join { self.links[join] = links }
        return indexes.allSatisfy { $0.own == $0.needed }
    }

    /// Adds rows of an entity table, whose slots are its columns.
    func add(_ batch: borrowing RowBatch, ofTable table: Int) {
        let name = layout.tables[table].name
        guard var indexes = indexes.removeValue(forKey: name) else { return }
        for index in indexes.indices { Self.add(batch, indexes[index].places, to: &indexes[index].needed) }
        self.indexes[name] = indexes
    }

    /// True if all indexes have the entries that the rows of their tables need.
    var isComplete: Bool { indexes.keys.allSatisfy(isComplete) }

    private func isComplete(_ table: String) -> Bool { indexes[table, default: []].allSatisfy { $0.own == $0.needed } }

    /// Tells whether a sound unique index keeps two rows of a table from having the same values in columns.
    func isUnique(_ table: String, _ columns: [String]) -> Bool {
        isComplete(table) && indexes[table, default: []].contains { $0.isUnique && $0.columns == columns }
    }

    private static func add(_ batch: borrowing RowBatch, _ places: [Int], to entries: inout VerificationChecksum) {
        var found = entries
        for row in 0..<batch.count {
            var hash = VerificationChecksum.mix(UInt64(bitPattern: batch.key(row)))
            for place in places {
                hash = VerificationChecksum.mix(hash &+ VerifiedCell(batch[row, place], batch).hash)
            }
            found.add(hash)
        }
        entries = found
    }

    /// Returns the entries of an index; nil if one does not follow the entry before, or if they cannot be read from its pages.
    private func entries(of index: Index, _ table: String) throws -> VerificationChecksum? {
        guard let entries = try store.entries(ofIndex: index.name, table: table, columns: index.columns) else {
            return nil
        }
        // The reader makes sure that they ascend, with their rows' ids.
        var found = VerificationChecksum()
        let places = Array(index.columns.indices)
        var batch = RowBatch(slots: places.count, rowCapacity: 512, byteTarget: 4096)
        var last: [Cell?] = places.map { _ in nil }
        while try entries.next(into: &batch) {
            try noteRead(0)
            Self.add(batch, places, to: &found)
            for row in 0..<batch.count where index.isUnique {
                var isRepeated = true
                for place in places {
                    let cell = batch[row, place]
                    if cell != last[place] || cell.kind == .null { isRepeated = false }
                    last[place] = cell
                }
                if isRepeated { return nil }
            }
        }
        return found
    }
}
