import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

extension DestinationObjects {
    var isSource: Bool { false }

    func scan(_ wanted: FetchRows, _ body: FetchedRow) throws {
        let entities = Set(wanted.entities)
        let table = rows[wanted.table]
        let most = modelRun.inputs.fetchCapacity(slots: table.columns)
        let columns = wanted.columns.compactMap { if case .own(let column) = $0 { column } else { nil } }
        // Begin with small batches: a fetch with a limit often needs no more.
        var capacity = min(16, most)
        var nextKey: Int64 = .min
        while true {
            let scan = try DestinationScan(
                table, from: nextKey, storedColumns: columns, capacity: capacity, inputs: modelRun.inputs)
            repeat {
                guard try scan.next() else { return }
                try modelRun.services.checkCancelled()
                try refuseHugeValues(scan.batch, columns)
                for row in 0..<scan.batch.count {
                    statistics.scannedRows += 1
                    guard let index = entity(of: scan.batch, row, wanted.table), entities.contains(index) else {
                        continue
                    }
                    guard try body(scan.batch, row, schema.model.entity(at: index)) else { return }
                }
                let last = scan.batch.key(scan.batch.count - 1)
                guard last < .max else { return }
                nextKey = last + 1
            } while capacity == most
            capacity = min(most, capacity * 8)
        }
    }

    /// Refuses values that a fetch would have to read and that do not fit the memory limit.
    private func refuseHugeValues(_ batch: borrowing RowBatch, _ columns: [Int]) throws(MigrationError) {
        guard batch.hasHugeValues else { return }
        for row in 0..<batch.count {
            for column in columns where batch[row, column].kind == .huge {
                let value = batch.huge(batch[row, column])
                throw value.source.refusal(value, for: "a fetch that looks into it")
            }
        }
    }

    private func entity(of batch: borrowing RowBatch, _ row: Int, _ table: Int) -> Int? {
        schema.entity(inTable: table, number: batch[row, EntityTable.entityColumn].integerValue)
    }

    func probe(_ wanted: FetchRows, keys: [Int64], _ body: FetchedRow) throws {
        guard !keys.isEmpty else { return }
        let table = rows[wanted.table]
        let columns = wanted.columns.compactMap { if case .own(let column) = $0 { column } else { nil } }
        // The batch is a copy, because the closure may read other rows through objects.
        var copy = RowBatch(slots: table.columns, rowCapacity: 1, byteTarget: 4096)
        for key in keys {
            copy.removeAll()
            statistics.probedRows += 1
            let found = try table.read(key) { batch, row throws(MigrationError) in
                let new = copy.appendRow(key: key)
                for column in columns {
                    copy.copy(batch[row, column], from: batch, row: new, slot: column)
                }
                return true
            }
            guard found != nil, let index = entity(of: copy, 0, wanted.table), wanted.entities.contains(index) else {
                continue
            }
            try refuseHugeValues(copy, columns)
            guard try body(copy, 0, schema.model.entity(at: index)) else { return }
        }
    }

    func count(of entity: EntityDescription) throws -> Int {
        let follower = follower(of: schema.tableIndex(of: entity))
        try follower.catchUp()
        return try follower.counts[entity.index, default: 0] + follower.storedCount(of: entity.index)
    }

    /// Returns the number of objects that are in no store yet.
    ///
    /// - Complexity: O(new rows) the first time, then O(rows added since).
    func insertedCount() throws -> Int {
        var count = 0
        for table in rows.indices {
            let follower = follower(of: table)
            try follower.catchUp()
            count += follower.counts.values.reduce(0, +)
        }
        return count
    }

    func index(of column: FetchColumn) throws -> EqualityIndex? {
        let follower = follower(of: column.table)
        if let index = indexes.index(of: column) {
            try follower.catchUp()
            return index
        }
        guard indexes.noteUse(of: column), case .own(let own) = column.column else { return nil }
        try follower.catchUp()
        let index = indexes.add(column)
        for follower in followers.values { follower.takeIndexes() }
        follower.followChanges()
        let scan = try DestinationScan(rows[column.table], storedColumns: [own], inputs: modelRun.inputs)
        while try scan.next() {
            try modelRun.services.checkCancelled()
            for row in 0..<scan.batch.count {
                statistics.scannedRows += 1
                try index.add(scan.batch[row, own], of: scan.batch, key: scan.batch.key(row))
            }
        }
        statistics.indexesBuilt += 1
        return index
    }

    private func follower(of table: Int) -> TableFollower {
        if let known = followers[table] { return known }
        let follower = TableFollower(rows: rows[table], objects: self, modelRun: modelRun)
        followers[table] = follower
        return follower
    }

    /// Releases the indexes and counts of fetches, once no more fetches will come.
    func endFetches() {
        for (table, _) in followers { rows[table].changed = nil }
        followers = [:]
        indexes.removeAll()
    }

    /// Returns a page of places of new rows in a table, ascending by key from a given key on; empty at the end.
    func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace] {
        let scan = try DestinationScan(
            rows[table], from: key, storedColumns: nil, capacity: 128, inputs: modelRun.inputs)
        guard try scan.next() else { return [] }
        return (0..<scan.batch.count).compactMap { row in
            entity(of: scan.batch, row, table).map {
                place(entity: schema.model.entity(at: $0), key: scan.batch.key(row))
            }
        }
    }
}

/// Keeps counts and indexes of an open destination table up to date. New rows are read once, when the counts or indexes
/// are needed. The values of changed rows are added when they change. Rows from before the mapping model are counted
/// separately, and are in an index from its beginning.
final class TableFollower {
    private let rows: DestinationRows
    private unowned(unsafe) let objects: DestinationObjects
    private let modelRun: ModelRun
    /// The key after the last one read, for each run of rows.
    private var nextKeys: [ObjectIdentifier: Int64] = [:]
    /// The number of new rows by entity index.
    private(set) var counts: [Int: Int] = [:]
    /// The number of rows from before the mapping model, by entity index; nil until it is needed.
    private var storedCounts: [Int: Int]?

    init(rows: DestinationRows, objects: DestinationObjects, modelRun: ModelRun) {
        self.rows = rows
        self.objects = objects
        self.modelRun = modelRun
    }

    /// Begins to note changes.
    func followChanges() {
        guard rows.changed == nil else { return }
        rows.changed = { [unowned self] batch, row, key throws(MigrationError) in try note(batch, row, key) }
    }

    /// Reads new rows. Complexity: O(new rows).
    func catchUp() throws(MigrationError) {
        for run in try rows.runs {
            let next = nextKeys[ObjectIdentifier(run)] ?? .min
            guard let last = run.lastKey, last >= next else { continue }
            if let spilled = run.spill.lastKey, spilled >= next {
                let reader = run.spill.makeReader(from: next)
                var batch = RowBatch(
                    slots: rows.columns, rowCapacity: modelRun.inputs.fetchCapacity(slots: rows.columns),
                    byteTarget: modelRun.inputs.budget.batch)
                while try reader.next(into: &batch) {
                    for row in 0..<batch.count { try noteNew(batch, row) }
                    batch.removeAll()
                }
            }
            var row = run.open.count
            while row > 0, run.open.key(row - 1) >= next { row -= 1 }
            for row in row..<run.open.count { try noteNew(run.open, row) }
            nextKeys[ObjectIdentifier(run)] = last == .max ? .max : last + 1
        }
    }

    private func noteNew(_ batch: borrowing RowBatch, _ row: Int) throws(MigrationError) {
        objects.statistics.scannedRows += 1
        count(batch, row)
        try note(batch, row, batch.key(row))
    }

    /// Adds a row's values to the indexes. Cells of kind absent are left out.
    private func note(_ batch: borrowing RowBatch, _ row: Int, _ key: Int64) throws(MigrationError) {
        for (index, column) in columns { try index.add(batch[row, column], of: batch, key: key) }
    }

    private func count(_ batch: borrowing RowBatch, _ row: Int) {
        let number = batch[row, EntityTable.entityColumn].integerValue
        if let entity = objects.schema.entity(inTable: rows.table, number: number) { counts[entity, default: 0] += 1 }
    }

    /// Returns the number of an entity's rows that existed before the mapping model and still exist.
    ///
    /// - Complexity: O(rows) the first time, then O(1).
    func storedCount(of entity: Int) throws(MigrationError) -> Int {
        if let storedCounts { return storedCounts[entity, default: 0] }
        var counts: [Int: Int] = [:]
        for (number, count) in try rows.storedCounts() {
            if let entity = objects.schema.entity(inTable: rows.table, number: number) {
                counts[entity, default: 0] += count
            }
        }
        storedCounts = counts
        return counts[entity, default: 0]
    }

    /// The indexes of the table, each with its column.
    var columns: [(index: EqualityIndex, column: Int)] = []

    /// Takes the indexes of the table that there are now.
    func takeIndexes() {
        columns = objects.indexes.indexes.compactMap { column, index in
            guard column.table == rows.table, case .own(let own) = column.column else { return nil }
            return (index, own)
        }
    }

    /// Subtracts an object that is about to be deleted.
    func willDelete(entity: Int, isStored: Bool) throws(MigrationError) {
        guard !isStored else {
            storedCounts?[entity, default: 0] -= 1
            return
        }
        try catchUp()
        counts[entity, default: 0] -= 1
    }
}

extension StoreSchema {
    /// Returns the entity of a row by its Z_ENT; nil if the table has no entity with this number. In a table with a
    /// single entity the number is ignored, as Core Data does (ArtsyPartner 1.3: an Artwork with the number of
    /// Collection).
    func entity(inTable table: Int, number: Int64) -> Int? {
        let entities = tables[table].entities
        if entities.count == 1 { return entities[0] }
        return entityByNumber[Int(truncatingIfNeeded: number)].flatMap { entities.contains($0) ? $0 : nil }
    }
}
