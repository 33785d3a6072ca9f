import CoreDataStore
import ManagedModel
import Rows
import SpillStorage

/// The rows of one join table, in primary key order.
struct JoinLinks: ModelStage {
    let stage: StageInputs
    /// The mappings that declare the links; those with a policy may be marked as related by keys.
    let mappings: [PlannedMapping]
    let keys: PlanKeys
    let joinTable: Int
    /// The ordering keys of members that rows of the destination had before the run, if source objects may become these rows.
    var standing: StandingOrders?
    /// Called with the number of records, just before the first is written.
    var prepare: (Int) throws -> Void = { _ in }

    /// The loader that needs no sort; nil if the links have to be sorted.
    var ordered: OrderedJoinLinks? {
        get throws {
            try OrderedJoinLinks(
                stage: stage, mappings: mappings, keys: keys, joinTable: joinTable)
        }
    }

    private var sort: JoinLinkSort {
        JoinLinkSort(
            stream: modelRun.links(by: keys), mappings: mappings, joinTable: joinTable, standing: standing)
    }

    /// Writes the links that mapping models declare.
    ///
    /// - Returns: the number of links written.
    /// - Complexity: O(n log n) in links, on disk above the run's share for sorting.
    func load(into writer: any TableWriter) throws -> Int {
        if let ordered = try ordered {
            return try ordered.load(into: writer, prepare: prepare)
        }
        return try load(try sort.collect(), into: writer)
    }

    /// Writes all rows from records of ``JoinLinkSort``, in which a link may occur several times.
    func load(_ records: SortedRecords, into writer: any TableWriter) throws -> Int {
        try prepare(records.count)
        return try write(try sort.placed(records), to: writer)
    }

    private func write(_ sorted: SortedRecords, to writer: any TableWriter) throws -> Int {
        let sides = modelRun.inputs.destinationSchema.joinTables[joinTable].sides
        let orderWords = (0...1).filter { sides[$0].orderColumn != nil }.map { 2 + 2 * $0 }
        var batch = modelRun.inputs.destinationBatch(slots: 2 + orderWords.count)
        var written = 0
        try sort.forEachMerged(sorted) { link in
            written += 1
            let row = batch.appendRow(key: Int64(written))
            batch[row, 0] = .integer(SortKey.decode(link[0]))
            batch[row, 1] = .integer(SortKey.decode(link[1]))
            for (slot, word) in orderWords.enumerated() {
                guard case .key(let order) = MemberOrder(kind: link[word], value: link[word + 1]) else { continue }
                batch[row, 2 + slot] = .integer(order)
            }
            if batch.isFull {
                try writer.append(batch)
                modelRun.services.progress.advance(rows: batch.count)
                batch.removeAll()
                try modelRun.services.checkCancelled()
            }
        }
        if !batch.isEmpty {
            try writer.append(batch)
            modelRun.services.progress.advance(rows: batch.count)
        }
        return written
    }
}
