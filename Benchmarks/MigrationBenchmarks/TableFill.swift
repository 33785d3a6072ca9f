import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows

/// Rows of one table on their way into a store that is being made: a batch that is handed on when it is full.
struct TableFill: ~Copyable {
    private var batch: RowBatch
    private let writer: any TableWriter
    private let columns: [String]
    /// Z_ENT of the rows; nil in a join table.
    private let entityNumber: Int?
    private var row = 0

    /// - Parameter name: a root entity, whose table is filled.
    init(_ store: DestinationStore, entity name: String) throws(MigrationError) {
        guard let entity = store.schema.model.entity(named: name) else {
            throw MigrationError("benchmark.model", .internal, "The model has no entity", context: .init(entity: name))
        }
        let table = store.schema.tableIndex(of: entity)
        self.init(
            try store.tableWriter(table), store.schema.tables[table].columns.map(\.name),
            entityNumber: store.schema.number(of: entity))
    }

    /// For a join table.
    init(_ store: DestinationStore, joinTable: Int) throws(MigrationError) {
        self.init(
            try store.joinWriter(joinTable), store.schema.joinTables[joinTable].columnNames, entityNumber: nil)
    }

    private init(_ writer: any TableWriter, _ columns: [String], entityNumber: Int?) {
        self.writer = writer
        self.columns = columns
        self.entityNumber = entityNumber
        batch = RowBatch(slots: columns.count, rowCapacity: 500, byteTarget: 1 << 20)
    }

    /// The slot of a column.
    ///
    /// - Precondition: the table has the column: it comes from this program's own model.
    func slot(_ column: String) -> Int {
        guard let slot = columns.firstIndex(of: column) else { preconditionFailure("no column \(column)") }
        return slot
    }

    /// Begins a row: nulls, and of an entity table Z_ENT and Z_OPT.
    ///
    /// - Parameter lock: Z_OPT.
    mutating func begin(key: Int64 = 0, lock: Int = 1) throws(MigrationError) {
        if batch.isFull {
            try writer.append(batch)
            batch.removeAll()
        }
        row = batch.appendRow(key: key)
        guard let entityNumber else { return }
        set(EntityTable.entityColumn, entityNumber)
        set(EntityTable.lockColumn, lock)
    }

    mutating func set(_ slot: Int, _ value: Int) { batch[row, slot] = .integer(Int64(value)) }
    mutating func set(_ slot: Int, _ value: Double) { batch[row, slot] = .real(value) }
    mutating func set(_ slot: Int, _ text: borrowing RandomText) {
        text.bytes.withUnsafeBytes { batch.setBytes($0, kind: .text, row: row, slot: slot) }
    }
    mutating func set(_ slot: Int, blob: some ContiguousBytes) {
        blob.withUnsafeBytes { batch.setBytes($0, kind: .blob, row: row, slot: slot) }
    }

    /// Writes what is left.
    mutating func finish() throws(MigrationError) {
        try writer.append(batch)
        batch.removeAll()
        try writer.finish()
    }
}
