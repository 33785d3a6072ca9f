import CoreDataStore
import ManagedModel
import Rows

extension SourceObjects {
    var isSource: Bool { true }

    func scan(_ rows: FetchRows, _ body: FetchedRow) throws {
        let reader = try modelRun.inputs.source.rows(
            RowSelection(table: rows.table, columns: rows.columns, entities: rows.entities), in: modelRun.inputs.layout)
        let most = modelRun.inputs.fetchCapacity(slots: rows.columns.count)
        // Begin with small batches: a fetch with a limit often needs no more.
        var capacity = min(16, most)
        while true {
            var batch = RowBatch(
                slots: rows.columns.count, rowCapacity: capacity, byteTarget: modelRun.inputs.budget.batch)
            repeat {
                guard try reader.next(into: &batch) else { return }
                try modelRun.services.checkCancelled()
                for row in 0..<batch.count {
                    statistics.scannedRows += 1
                    guard let entity = entity(of: batch, row, rows.table) else { continue }
                    guard try body(batch, row, entity) else { return }
                }
            } while capacity == most
            capacity = min(most, capacity * 8)
        }
    }

    private func entity(of batch: borrowing RowBatch, _ row: Int, _ table: Int) -> EntityDescription? {
        modelRun.inputs.layout.entity(
            inTable: table, forFileNumber: Int(truncatingIfNeeded: batch[row, 0].integerValue)
        ).map(schema.model.entity(at:))
    }

    func probe(_ rows: FetchRows, keys: [Int64], _ body: FetchedRow) throws {
        guard !keys.isEmpty else { return }
        let reader: PointReader
        if let lastProbe, lastProbe.rows == rows {
            reader = lastProbe.reader
        } else {
            reader = try PointReader(
                modelRun.inputs.source, table: rows.table, columns: rows.columns, in: modelRun.inputs.layout)
            lastProbe = (rows, reader)
        }
        var batch = RowBatch(slots: rows.columns.count, rowCapacity: 1, byteTarget: 4096)
        for key in keys {
            batch.removeAll()
            statistics.probedRows += 1
            guard try reader.fetch(key, into: &batch), let entity = entity(of: batch, 0, rows.table),
                rows.entities.contains(entity.index)
            else { continue }
            guard try body(batch, 0, entity) else { return }
        }
    }

    func count(of entity: EntityDescription) throws -> Int {
        let table = schema.tableIndex(of: entity)
        if let known = rowCounts[table] { return Int(clamping: known.byEntity[entity.index] ?? 0) }
        let counts = try modelRun.inputs.source.counts(table: table, in: modelRun.inputs.layout)
        rowCounts[table] = counts
        return Int(clamping: counts.byEntity[entity.index] ?? 0)
    }

    func insertedCount() -> Int { 0 }
    func isStored(_ place: ObjectPlace) -> Bool { true }
    func isChanged(_ place: ObjectPlace) throws -> Bool {
        try changes?.hasChanged(place.key, table: place.table) ?? false
    }
    var hasStoredChanges: Bool { changes != nil }
    var hasDeletions: Bool { false }

    func index(of column: FetchColumn) throws -> EqualityIndex? {
        // Changes of other rows would have to be noted for the values of related ones.
        if changes != nil, case .own = column.column {} else if changes != nil { return nil }
        if let index = indexes.index(of: column) { return index }
        guard indexes.noteUse(of: column) else { return nil }
        let index = indexes.add(column)
        let rows = FetchRows(
            table: column.table, entities: schema.tables[column.table].entities,
            columns: [.own(EntityTable.entityColumn), column.column])
        try scan(rows) { batch, row, _ in
            try index.add(batch[row, 1], of: batch, key: batch.key(row))
            return true
        }
        statistics.indexesBuilt += 1
        return index
    }
}
