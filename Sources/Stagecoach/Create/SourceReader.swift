import Diagnostics
import PersistentStore
import Rows

/// A scan of a source table with everything that programs read of its rows: columns, and values folded over to-many
/// relationships.
final class SourceReader {
    private let rows: any RowReader
    private let folds: SourceFolds

    /// - Parameters:
    ///   - entities: indices of the entities whose rows are read.
    ///   - range: keys of the rows that are read.
    ///   - streams: whether huge values that are only copied come as references; else they are refused.
    ///   - runs: slots that are only copied and may come as they are stored.
    init(
        session: MigrationSession, slots: SourceSlots, table: Int, entities: [Int], range: SourceKeyRange = .all,
        streams: Bool = false, runs: [RowSelection.Run] = []
    ) throws(MigrationError) {
        var selection = RowSelection(table: table, columns: slots.columns, entities: entities)
        selection.afterKey = range.after
        selection.throughKey = range.through
        if streams { selection.streamed = slots.streamed }
        selection.runs = runs
        rows = try session.source.rows(selection, in: session.layout)
        folds = try SourceFolds(session: session, slots: slots, isScan: true)
    }

    /// Clears the batch and fills it until it is full or the rows end.
    ///
    /// - Returns: false when there was no further row.
    /// - Precondition: the batch has one slot for each of the slots.
    func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        guard try rows.next(into: &batch) else { return false }
        try folds.fill(&batch)
        return true
    }
}

/// Single source rows by key, with everything that programs read of them; huge values that are only copied come as
/// references.
final class SourceRowReader {
    private let session: MigrationSession
    private let table: Int
    private let columns: [SelectedColumn]
    private let streamed: Set<Int>
    private let folds: SourceFolds

    init(session: MigrationSession, slots: SourceSlots, table: Int) throws(MigrationError) {
        self.session = session
        self.table = table
        columns = slots.columns
        streamed = slots.streamed
        folds = try SourceFolds(session: session, slots: slots, isScan: false)
    }

    /// Clears the batch and puts the row of a key into it.
    ///
    /// - Returns: false where there is none.
    func fetch(_ key: Int64, into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        guard
            try session.source.row(
                table: table, key: key, columns: columns, in: session.layout, streamed: streamed, into: &batch)
        else { return false }
        try folds.fill(&batch)
        return true
    }
}
