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
        var index: (root: UInt32, slots: [Int])?
        /// Root entity of the table, for messages.
        var entity: String
    }

    private let path: String
    private let target: Target
    /// Nil before the first row: a table without rows costs nothing.
    private var open: (file: DatabaseFileWriter, table: TableLoader, index: IndexLoader?)?
    private var rows: Int64 = 0
    private var last: [Int64] = []
    private var record: [UInt8] = []
    private var isFinished = false

    init(path: String, target: Target) {
        self.path = path
        self.target = target
    }

    func append(_ batch: borrowing RowBatch) throws(MigrationError) {
        precondition(!isFinished, "append after finish")
        guard !batch.isEmpty else { return }
        if open == nil {
            let file = try DatabaseFileWriter(path: path)
            let table = file.table(root: target.root, affinities: target.affinities, isKeyed: target.isKeyed)
            open = (file, table, target.index.map { file.index(root: $0.root) })
        }
        guard let open else { return }
        do {
            try open.table.append(batch, firstKey: target.isKeyed ? nil : rows + 1)
        } catch {
            throw error.inside(.init(entity: target.entity))
        }
        if let index = open.index, let slots = target.index?.slots {
            for row in 0..<batch.count { try enter(batch, row, slots, rows + Int64(row) + 1, index) }
        }
        rows += Int64(batch.count)
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
                        "store.keyOrder", .internal, "The links of \(target.name) are not in ascending order",
                        context: .init(path: path, entity: target.entity))
                }
                isGreater = value > last[position]
            }
            last[position] = value
        }
        guard isGreater else {
            throw MigrationError(
                "store.constraint", .io,
                "Writing table \(target.name) failed: the link (\(last.map(String.init).joined(separator: ", "))) comes twice",
                context: .init(path: path, entity: target.entity))
        }
        do throws(MigrationError) {
            try index.append(integers: last, rowID)
        } catch {
            throw error.inside(.init(entity: target.entity))
        }
    }

    func finish() throws(MigrationError) {
        isFinished = true
        guard let open else { return }
        try open.table.finish()
        try open.index?.finish()
        try open.file.finish()
        self.open = nil
    }
}
