import DatabasePages
import Diagnostics
import Rows
import SpillStorage

/// Writes the rows of one empty table into a fresh file by pages, without SQLite.
///
/// No statement may run on the file's connection between the first append and ``finish()``. The next statement reads the file
/// anew.
///
/// Memory: as ``DatabaseFileWriter``.
package final class PageTableWriter: TableWriter {
    /// The table, as declared by its schema in the file.
    struct Target {
        var name: String
        var root: UInt32
        /// The affinities of the columns for which a batch has slots.
        var affinities: [ColumnAffinity]
        /// True if the first column is Z_PK, taken from the batch's keys.
        var isKeyed: Bool
        /// The automatic index of a join table's primary key: its root page and the slots of its two columns.
        var primary: (root: UInt32, slots: (Int, Int))?
        /// The indexes whose entries are sorted while rows are written.
        var indexes: [SortedIndex]
    }

    /// An index that was made before the rows are inserted.
    struct SortedIndex {
        var name: String
        var root: UInt32
        var slots: [Int]
        /// The sorter; nil once the index is built, or if it cannot be.
        var sorter: IndexSorter?
    }

    struct Open {
        var target: Target
        let file: DatabaseFileWriter
        let table: TableLoader
        let primary: IndexLoader?

        init(_ target: Target, file: DatabaseFileWriter) {
            (self.target, self.file) = (target, file)
            table = file.table(root: target.root, affinities: target.affinities, isKeyed: target.isKeyed)
            primary = target.primary.map { file.index(root: $0.root) }
        }
    }

    let path: String
    /// The root entity of the table, for messages.
    private let entity: String
    private let begin: () throws(MigrationError) -> Target
    private let end: (Set<String>) throws(MigrationError) -> Void
    /// The open file; nil before the first row, so that a table without rows costs nothing.
    private var open: Open?
    private var rows: Int64 = 0
    /// The last entry of the primary key's index; nil before the first one.
    @exclusivity(unchecked) private var last: (Int64, Int64)?
    private var built: Set<String> = []
    private var isFinished = false
    /// Called now and then while an index is built, which may take seconds.
    private let checkCancelled: () throws(MigrationError) -> Void

    /// - Parameters:
    ///   - begin: called before the first row. It ends the connection's transaction and returns the target.
    ///   - end: called after the last row, if there was one, with the names of the indexes that were built.
    init(
        path: String, entity: String, checkCancelled: @escaping () throws(MigrationError) -> Void,
        begin: @escaping () throws(MigrationError) -> Target,
        end: @escaping (Set<String>) throws(MigrationError) -> Void
    ) {
        self.path = path
        self.entity = entity
        self.checkCancelled = checkCancelled
        self.begin = begin
        self.end = end
    }

    package func append(_ batch: borrowing RowBatch) throws(MigrationError) {
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
            for row in 0..<batch.count {
                try enter((batch[row, slots.0].integerValue, batch[row, slots.1].integerValue), of: row, index)
            }
        }
        for index in open.target.indexes { try index.sorter?.append(batch, firstID: firstID) }
        rows += Int64(batch.count)
    }

    private func opened() throws(MigrationError) -> Open {
        if let open { return open }
        let made = Open(try begin(), file: try DatabaseFileWriter(path: path))
        open = made
        return made
    }

    /// Adds the entry of a row of the batch to the primary key's index.
    @inline(__always)
    private func enter(_ link: (Int64, Int64), of row: Int, _ index: IndexLoader) throws(MigrationError) {
        if let last, link <= last { throw refusal(of: link, isRepeated: link == last) }
        last = link
        do throws(MigrationError) {
            try index.append(link.0, link.1, columns: 2, rows + Int64(row) + 1)
        } catch {
            throw error.inside(.init(entity: entity))
        }
    }

    private func refusal(of link: (Int64, Int64), isRepeated: Bool) -> MigrationError {
        MigrationError(
            isRepeated ? "store.constraint" : "store.keyOrder", isRepeated ? .io : .internal,
            isRepeated
                ? "Writing failed: the link (\(link.0), \(link.1)) comes twice"
                : "The links are not in ascending order", context: .init(path: path, entity: entity))
    }

    package func finish() throws(MigrationError) {
        isFinished = true
        guard let open else { return }
        try open.table.finish()
        try open.primary?.finish()
        for (place, index) in open.target.indexes.enumerated() {
            guard let sorter = index.sorter else { continue }
            try checkCancelled()
            let outcome = try sorter.build(into: open.file.index(root: index.root), checkCancelled: checkCancelled)
            if case .built = outcome { built.insert(index.name) }
            self.open?.target.indexes[place].sorter = nil
        }
        self.open = nil
        try open.file.finish()
        try end(built)
    }
}
