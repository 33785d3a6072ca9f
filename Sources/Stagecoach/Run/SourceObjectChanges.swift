import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// The changes that policies made to source objects. The source itself is never written: see ``SourceChanges``.
///
/// They hold from the moment they are made to the end of the run, also for later mapping models. A log of them is kept, from
/// which a resumed run makes them again.
///
/// Memory: 1 MiB, and a filter of at most 32 KiB for each changed table; the rest is in the work directory.
final class SourceObjectChanges {
    /// The kind of a logged change, and the cells that follow it in a row of the log.
    private enum Kind: Int64 {
        /// Table, key, column, value.
        case set
        /// Entity, key.
        case delete
        /// Join table, both keys, both places.
        case link
        /// Join table, both keys.
        case unlink
        /// Join table, both keys, both places; a place that stays is left out.
        case place
    }

    private static let slots = 6
    private static let memory = 512 << 10
    private static let filterBytes = 32 << 10
    private let layout: StoreLayout
    private let stored: SourceChanges
    private let work: WorkDirectory
    private var log: RowSpill
    /// One row of the log.
    private var entry = RowBatch(slots: slots, rowCapacity: 1, byteTarget: 4096)
    /// The changed and deleted objects: table, key.
    private let objects: RecordLog
    /// One of their records.
    private let record: UnsafeMutablePointer<UInt64>
    private var filters: [Int: KeyFilter] = [:]
    /// The references without an inverse, by the index of the entity that they refer to.
    private var oneWay: [Int: [OneWayReference]] = [:]
    /// The number of changes made so far.
    var made: Int { log.appended }
    /// The number of objects that were changed or deleted.
    var count: Int { objects.count }
    /// The number of objects that were deleted.
    private(set) var deleted = 0

    init(_ inputs: RunInputs) {
        layout = inputs.layout
        work = inputs.work
        stored = SourceChanges(inputs.source, in: inputs.layout)
        log = RowSpill(directory: work, name: "source-log", slots: Self.slots, memory: Self.memory)
        objects = RecordLog(
            directory: work, name: "source-changed", width: 2, indexWords: 2, memory: RecordMemory(bytes: Self.memory))
        record = .allocate(capacity: 2)
        record.initialize(repeating: 0, count: 2)
    }

    deinit { record.deallocate() }

    // MARK: - What changed

    /// Tells whether an object may have been changed or deleted. An object that was is never missed.
    func mayHaveChanged(_ key: Int64, table: Int) -> Bool { filters[table]?.mayContain(key) ?? false }

    /// Tells whether rows of a table were changed or deleted.
    func hasChanged(table: Int) -> Bool { stored.hasChanged(table: table) }

    /// Tells whether the members of a to-many relationship may be others than the file says.
    func hasChanged(_ relationship: RelationshipDescription) -> Bool {
        let members = layout.schema.tableIndex(of: relationship.destination)
        if case .join(let join, _) = layout.schema.storage(of: relationship), stored.hasChanged(joinTable: join) {
            return true
        }
        return stored.hasChanged(table: members)
    }

    /// Shows the keys of a table's changed and deleted objects, ascending.
    func forEachChanged(table: Int, _ body: (Int64) throws -> Void) throws {
        let cursor = try objects.scan(prefix: [UInt64(table)])
        try withRecords(2) { words, _ in while try cursor.next(into: words) { try body(SortKey.decode(words[1])) } }
    }

    /// Tells whether an object was changed or deleted.
    func hasChanged(_ key: Int64, table: Int) throws(MigrationError) -> Bool {
        guard mayHaveChanged(key, table: table) else { return false }
        (record[0], record[1]) = (UInt64(table), SortKey.encode(key))
        var isFound = false
        try objects.forEach(prefix: record, words: 2) { _ in isFound = true }
        return isFound
    }

    /// Returns the entity of a deleted object; nil if the source never had it.
    func entity(ofDeleted key: Int64, table: Int) throws(MigrationError) -> EntityDescription? {
        guard try hasChanged(key, table: table) else { return nil }
        return try stored.entityInFile(of: key, table: table).map { layout.schema.model.entity(at: $0) }
    }

    private func note(_ key: Int64, table: Int) throws(MigrationError) {
        if try hasChanged(key, table: table) { return }
        (record[0], record[1]) = (UInt64(table), SortKey.encode(key))
        try objects.append(record)
        filters[table, default: KeyFilter(bytes: Self.filterBytes)].insert(key)
    }

    // MARK: - Changes

    /// Sets a column of an object's row.
    ///
    /// - Parameter fill: sets the cell in the batch, at the row and the slot that it receives.
    /// - Returns: what the body makes of the new cell.
    func set<Value>(
        _ key: Int64, table: Int, column: Int, _ fill: (inout RowBatch, Int, Int) throws(MigrationError) -> Void,
        then body: (borrowing RowBatch, Cell) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value {
        let row = begin(.set, Int64(table), key, Int64(column))
        try fill(&entry, row, 4)
        try append()
        try applySet(entry, row)
        return try body(entry, entry[row, 4])
    }

    /// Sets a column of an object's row to an integer or NULL.
    func set(_ key: Int64, table: Int, column: Int, to value: Int64?) throws(MigrationError) {
        try set(key, table: table, column: column) { batch, row, slot in
            batch[row, slot] = value.map(Cell.integer) ?? .null
        } then: { _, _ in
        }
    }

    /// Deletes an object, and removes it from the relationships that refer to it.
    func delete(_ key: Int64, _ entity: EntityDescription) throws(MigrationError) {
        _ = begin(.delete, Int64(entity.index), key)
        try append()
        try applyDeletion(of: key, entity)
    }

    /// Links two objects in a join table.
    ///
    /// - Parameters:
    ///   - keys: the keys of both sides' objects.
    ///   - places: the places of both sides' objects among those of the other.
    func link(_ keys: (Int64, Int64), places: (Int64?, Int64?), joinTable: Int) throws(MigrationError) {
        let row = begin(.link, Int64(joinTable), keys.0, keys.1)
        entry[row, 4] = places.0.map(Cell.integer) ?? .null
        entry[row, 5] = places.1.map(Cell.integer) ?? .null
        try append()
        try stored.link(keys, places: places, joinTable: joinTable)
    }

    func unlink(_ keys: (Int64, Int64), joinTable: Int) throws(MigrationError) {
        _ = begin(.unlink, Int64(joinTable), keys.0, keys.1)
        try append()
        try stored.unlink(keys, joinTable: joinTable)
    }

    /// Changes the places of two objects in the relationships of a link that is there.
    ///
    /// - Parameters:
    ///   - keys: the keys of both sides' objects.
    ///   - places: the new places of both sides' objects; nil for one that stays.
    func setPlaces(_ keys: (Int64, Int64), _ places: (Int64?, Int64?), joinTable: Int) throws(MigrationError) {
        let row = begin(.place, Int64(joinTable), keys.0, keys.1)
        entry[row, 4] = places.0.map(Cell.integer) ?? .null
        entry[row, 5] = places.1.map(Cell.integer) ?? .null
        try append()
        try stored.setPlaces(keys, places, joinTable: joinTable)
    }

    /// Returns the place after the last member of an ordered to-many relationship of an object; nil if it has no order.
    func nextPlace(of key: Int64, _ relationship: RelationshipDescription) throws(MigrationError) -> Int64? {
        guard relationship.isOrdered else { return nil }
        var last: Int64?
        switch layout.schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let order?), .toManyHidden(let table, let column, let order?):
            last = try stored.greatest(order, table: table, where: column, is: key)
        case .join(let table, let side):
            last = try stored.greatestPlace(
                of: key, joinTable: table, side: side, to: layout.schema.tableIndex(of: relationship.destination))
        default: return nil
        }
        return OrderingKey.next(after: last ?? OrderingKey.before)
    }

    private func begin(_ kind: Kind, _ first: Int64, _ second: Int64, _ third: Int64? = nil) -> Int {
        entry.removeAll()
        let row = entry.appendRow(key: Int64(log.appended) + 1)
        entry[row, 0] = .integer(kind.rawValue)
        entry[row, 1] = .integer(first)
        entry[row, 2] = .integer(second)
        entry[row, 3] = third.map(Cell.integer) ?? .null
        for slot in 4..<Self.slots { entry[row, slot] = .null }
        return row
    }

    private func append() throws(MigrationError) { try log.append(row: 0, of: entry) }

    private func applySet(_ batch: borrowing RowBatch, _ row: Int) throws(MigrationError) {
        let (table, key) = (Int(batch[row, 1].integerValue), batch[row, 2].integerValue)
        try stored.set(
            key, table: table, column: Int(batch[row, 3].integerValue), to: batch[row, 4], of: batch)
        try note(key, table: table)
    }

    private func applyDeletion(of key: Int64, _ entity: EntityDescription) throws(MigrationError) {
        let schema = layout.schema
        for relationship in entity.relationships {
            switch schema.storage(of: relationship) {
            case .toOne:
                // The other side of a one-to-one pair. That of any other pair is in this row.
                guard let inverse = relationship.inverseRelationship, !inverse.isToMany,
                    case .toOne(let table, let column, let entityColumn, let order) = schema.storage(of: inverse)
                else { continue }
                try clear(table, column, [entityColumn, order], key)
            case .toManyByInverse(let table, let column, let entityColumn, let order):
                try clear(table, column, [entityColumn, order], key)
            case .toManyHidden(let table, let column, let order): try clear(table, column, [order], key)
            case .join(let table, let side):
                try stored.unlinkAll(key, joinTable: table, side: side)
                if relationship.inverseRelationship == relationship {
                    try stored.unlinkAll(key, joinTable: table, side: 1 - side)
                }
            case .none: break
            }
        }
        for reference in oneWayReferences(to: entity) {
            try clear(reference.table, reference.column, reference.others, key)
        }
        let table = schema.tableIndex(of: entity)
        try stored.delete(key, table: table)
        try note(key, table: table)
        deleted += 1
    }

    /// The columns of a reference whose relationship has no inverse.
    private struct OneWayReference {
        let table: Int
        let column: Int
        let others: [Int?]
    }

    /// Returns the references without an inverse that objects of an entity may be the target of.
    private func oneWayReferences(to entity: EntityDescription) -> [OneWayReference] {
        if let known = oneWay[entity.index] { return known }
        var seen: Set<[Int]> = []
        var found: [OneWayReference] = []
        for relationship in layout.schema.model.entities.lazy.flatMap(\.relationships)
        where entity.isKindOf(entity: relationship.destination) && LinkPlanner.mutualInverse(of: relationship) == nil {
            guard
                case .toOne(let table, let column, let entityColumn, let order) = layout.schema.storage(
                    of: relationship),
                seen.insert([table, column]).inserted
            else { continue }
            found.append(OneWayReference(table: table, column: column, others: [entityColumn, order]))
        }
        oneWay[entity.index] = found
        return found
    }

    /// Clears the references of rows to an object.
    private func clear(_ table: Int, _ column: Int, _ others: [Int?], _ key: Int64) throws(MigrationError) {
        try stored.clearReferences(to: key, table: table, column: column, others.compactMap { $0 }) {
            key throws(MigrationError) in try note(key, table: table)
        }
    }

    // MARK: - Resuming

    /// Writes the log of changes, or restores it and makes those changes that have not been made yet.
    func code(with coder: inout StateCoder) throws(MigrationError) {
        guard coder.isReading else { return try log.code(with: &coder) }
        let done = log.appended
        log = RowSpill(directory: work, name: "source-log", slots: Self.slots, memory: Self.memory)
        try log.code(with: &coder)
        let reader = log.makeReader(from: Int64(done) + 1)
        var batch = RowBatch(slots: Self.slots, rowCapacity: 64, byteTarget: 64 << 10)
        while try reader.next(into: &batch) {
            for row in 0..<batch.count { try makeAgain(batch, row) }
            batch.removeAll()
        }
    }

    private func makeAgain(_ batch: borrowing RowBatch, _ row: Int) throws(MigrationError) {
        func number(_ slot: Int) -> Int64 { batch[row, slot].integerValue }
        func place(_ slot: Int) -> Int64? { batch[row, slot].kind == .integer ? number(slot) : nil }
        let (first, keys) = (Int(number(1)), (number(2), number(3)))
        let (tables, joinTables) = (layout.tables, layout.joinTables)
        switch Kind(rawValue: number(0)) {
        case .set where tables.indices.contains(first) && tables[first].columns.indices.contains(Int(keys.1)):
            try applySet(batch, row)
        case .delete where layout.schema.model.entities.indices.contains(first):
            try applyDeletion(of: keys.0, layout.schema.model.entity(at: first))
        case .link where joinTables.indices.contains(first):
            try stored.link(keys, places: (place(4), place(5)), joinTable: first)
        case .unlink where joinTables.indices.contains(first): try stored.unlink(keys, joinTable: first)
        case .place where joinTables.indices.contains(first):
            try stored.setPlaces(keys, (place(4), place(5)), joinTable: first)
        default: throw StateReader.damaged("a change of the source")
        }
    }
}
