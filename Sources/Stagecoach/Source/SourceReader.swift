import CoreDataStore
import Diagnostics
import Rows

/// The filling of values that the rows of a batch lack.
protocol RowFilling: AnyObject {
    /// Fills the nil values of a batch, as far as there are others for them.
    func fill(_ batch: inout RowBatch) throws(MigrationError)
}

/// A scan of a source table that also fills computed slots: columns, and values folded over to-many relationships.
final class SourceReader {
    private let rows: any RowReader
    private let folds: SourceFolds
    private let filling: (any RowFilling)?

    /// - Parameters:
    ///   - entities: the indices of the entities whose rows are read.
    ///   - range: the range of keys that are read.
    ///   - streams: true to get huge values that are only copied as references; false to refuse them.
    ///   - runs: slots that are only copied and may come in their stored form.
    ///   - filling: fills the nil values of merged objects; nil if there are none.
    init(
        run: MigrationRun, slots: SourceColumns, table: Int, entities: [Int], range: SourceKeyRange = .all,
        streams: Bool = false, runs: [RowSelection.Run] = [], filling: (any RowFilling)? = nil
    ) throws(MigrationError) {
        var selection = RowSelection(table: table, columns: slots.columns, entities: entities)
        selection.afterKey = range.after
        selection.throughKey = range.through
        if streams { selection.streamed = slots.streamed }
        selection.runs = runs
        rows = try run.inputs.source.rows(selection, in: run.inputs.layout)
        folds = try SourceFolds(run: run, slots: slots, isScan: true)
        self.filling = filling
    }

    /// Clears the batch and fills it until it is full or the rows end.
    ///
    /// - Returns: false if there was no further row.
    /// - Precondition: the batch has one slot for each of the slots.
    func next(into batch: inout RowBatch) throws(MigrationError) -> Bool {
        guard try rows.next(into: &batch) else { return false }
        try folds.fill(&batch)
        try filling?.fill(&batch)
        return true
    }
}

/// A reader of single source rows by key that also fills computed slots. Huge values that are only copied come as references.
final class SourceRowReader {
    private let run: MigrationRun
    private let table: Int
    private let columns: [SelectedColumn]
    private let streamed: Set<Int>
    private let folds: SourceFolds

    init(run: MigrationRun, slots: SourceColumns, table: Int) throws(MigrationError) {
        self.run = run
        self.table = table
        columns = slots.columns
        streamed = slots.streamed
        folds = try SourceFolds(run: run, slots: slots, isScan: false)
    }

    /// Clears the batch and puts the row of a key into it. Returns false if there is no such row.
    func fetch(_ key: Int64, into batch: inout RowBatch) throws(MigrationError) -> Bool {
        batch.removeAll()
        guard
            try run.inputs.source.row(
                table: table, key: key, columns: columns, in: run.inputs.layout, streamed: streamed, into: &batch)
        else { return false }
        try folds.fill(&batch)
        return true
    }
}
