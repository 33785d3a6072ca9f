import DatabasePages
import Diagnostics
import Rows

/// Puts the rows of one empty table into a fresh file by pages, without SQLite.
///
/// No statement may run on the file's connection between the first append and ``finish()``; the next one reads the file
/// anew.
///
/// Memory: as ``DatabaseFileWriter``.
final class PageTableWriter: TableWriter {
    /// The table, as its schema in the file says.
    struct Target {
        var name: String
        var root: UInt32
        /// Of the columns that a batch has slots for.
        var affinities: [ColumnAffinity]
        /// Whether the first column is Z_PK, taken from the batch's keys.
        var isKeyed: Bool
        /// The automatic index of a join table's primary key: its root page and the slots of its columns.
        var primary: (root: UInt32, slots: [Int])?
        /// Indexes whose entries are sorted meanwhile.
        var indexes: [SortedIndex]
    }

    /// An index that was made before the rows came.
    struct SortedIndex {
        var name: String
        var root: UInt32
        var sorter: IndexSorter
    }

    private struct Open {
        let target: Target
        let file: DatabaseFileWriter
        let table: TableLoader
        let primary: IndexLoader?
    }

    private let path: String
    /// Root entity of the table, for messages.
    private let entity: String
    private let begin: () throws(MigrationError) -> Target
    private let end: (Set<String>) throws(MigrationError) -> Void
    /// Nil before the first row: a table without rows costs nothing.
    private var open: Open?
    private var rows: Int64 = 0
    private var last: [Int64] = []
    private var isFinished = false

    /// - Parameters:
    ///   - begin: called before the first row: ends the connection's transaction and says what to fill.
    ///   - end: called after the last row where there was one: gets the names of the indexes that were built.
    init(
        path: String, entity: String, begin: @escaping () throws(MigrationError) -> Target,
        end: @escaping (Set<String>) throws(MigrationError) -> Void
    ) {
        self.path = path
        self.entity = entity
        self.begin = begin
        self.end = end
    }

    func append(_ batch: borrowing RowBatch) throws(MigrationError) {
        precondition(!isFinished, "append after finish")
        guard !batch.isEmpty else { return }
        let open = try opened()
        let firstID = open.target.isKeyed ? nil : rows + 1
        do {
            try open.table.append(batch, firstKey: firstID)
        } catch {
            throw error.inside(.init(entity: entity))
        }
        if let index = open.primary, let slots = open.target.primary?.slots {
            for row in 0..<batch.count { try enter(batch, row, slots, rows + Int64(row) + 1, index) }
        }
        for index in open.target.indexes { try index.sorter.append(batch, firstID: firstID) }
        rows += Int64(batch.count)
    }

    private func opened() throws(MigrationError) -> Open {
        if let open { return open }
        let target = try begin()
        let file = try DatabaseFileWriter(path: path)
        let made = Open(
            target: target, file: file,
            table: file.table(root: target.root, affinities: target.affinities, isKeyed: target.isKeyed),
            primary: target.primary.map { file.index(root: $0.root) })
        open = made
        return made
    }

    /// Adds a row's entry to the primary key's index.
    private func enter(
        _ batch: borrowing RowBatch, _ row: Int, _ slots: [Int], _ rowID: Int64, _ index: IndexLoader
    ) throws(MigrationError) {
        var isGreater = last.isEmpty
        if last.isEmpty { last = Array(repeating: 0, count: slots.count) }
        for (position, slot) in slots.enumerated() {
            let value = batch[row, slot].integerValue
            if !isGreater {
                guard value >= last[position] else {
                    throw MigrationError(
                        "store.keyOrder", .internal, "The links are not in ascending order",
                        context: .init(path: path, entity: entity))
                }
                isGreater = value > last[position]
            }
            last[position] = value
        }
        guard isGreater else {
            throw MigrationError(
                "store.constraint", .io,
                "Writing failed: the link (\(last.map(String.init).joined(separator: ", "))) comes twice",
                context: .init(path: path, entity: entity))
        }
        do throws(MigrationError) {
            try index.append(integers: last, rowID)
        } catch {
            throw error.inside(.init(entity: entity))
        }
    }

    func finish() throws(MigrationError) {
        isFinished = true
        guard let open else { return }
        self.open = nil
        try open.table.finish()
        try open.primary?.finish()
        var built: Set<String> = []
        for index in open.target.indexes {
            if case .built = try index.sorter.build(into: open.file.index(root: index.root)) {
                built.insert(index.name)
            }
        }
        try open.file.finish()
        try end(built)
    }
}
