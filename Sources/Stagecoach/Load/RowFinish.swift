import CoreDataStore
import Rows

/// The end of the way of a table's rows, on both paths: links are set, rules checked, large values given their place, and the
/// rows written.
struct RowFinish {
    let modelRun: ModelRun
    let table: Int
    let patches: [any RowPatches]
    /// The rules of rows by their Z_ENT.
    let rules: [Int64: RowRules]
    let writer: any TableWriter

    /// Writes a batch of rows and empties it. Keys ascend from batch to batch.
    func write(_ batch: inout RowBatch) throws {
        guard !batch.isEmpty else { return }
        for patch in patches { try patch.apply(to: &batch) }
        try modelRun.validation.check(batch, rules, modelRun.tally)
        try modelRun.finalizeExternalValues(&batch, table: table)
        try writer.append(batch)
        modelRun.tally.rowsWritten[table] += batch.count
        batch.removeAll()
    }
}
