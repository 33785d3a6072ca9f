import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The source data that the relationship mappings of one entity mapping need, read in parallel with the destination objects:
/// to-one columns in a scan of the source table, members of to-many relationships along their owners.
///
/// The objects that a policy relates mostly come in the order of their sources. A query out of order gets no answer here, and
/// the caller reads single rows instead. Nothing is read twice, so the whole costs no more than one scan for each.
///
/// Memory: a batch of 256 rows for the columns, and one for each to-many relationship.
final class SourceStream {
    private static let rows = 256

    private let run: MigrationRun
    private let reader: (any RowReader)?
    private var batch: RowBatch
    private var row = 0
    private var isAtEnd = false
    private var members: [MemberStream] = []

    /// - Parameters:
    ///   - table: the source table of the mapping.
    ///   - entity: the source entity of the mapping.
    ///   - columns: the to-one columns to read. If a query cannot join that many, no query is answered.
    init(run: MigrationRun, table: Int, entity: EntityDescription, columns: [SelectedColumn]) throws(MigrationError) {
        self.run = run
        batch = RowBatch(slots: columns.count, rowCapacity: SourceStream.rows, byteTarget: 16 * 1024)
        guard !columns.isEmpty else {
            reader = nil
            return
        }
        do throws(MigrationError) {
            reader = try run.inputs.source.rows(
                RowSelection(table: table, columns: columns, entities: [entity.index]), in: run.inputs.layout)
        } catch {
            guard error.code == "store.tooManyPaths" else { throw error }
            reader = nil
        }
    }

    /// The answer to a query for a column of a source row.
    enum Answer {
        /// The scan has passed the row, or the row does not belong to the entity.
        case unknown
        /// The key to which the row refers; nil if it is NULL.
        case key(Int64?)
    }

    /// Returns the reference in a column of a source row.
    func reference(_ column: Int, of key: Int64) throws(MigrationError) -> Answer {
        guard let reader, !isAtEnd || batch.count > 0 else { return .unknown }
        while !isAtEnd, batch.count == 0 || batch.key(batch.count - 1) < key {
            row = 0
            isAtEnd = try !reader.next(into: &batch)
        }
        guard batch.count > 0, batch.key(0) <= key else { return .unknown }
        if row >= batch.count || batch.key(row) > key { row = 0 }
        while row < batch.count, batch.key(row) < key { row += 1 }
        guard row < batch.count, batch.key(row) == key else { return .unknown }
        let cell = batch[row, column]
        return .key(cell.kind == .integer ? cell.integerValue : nil)
    }

    /// Opens the members of a to-many relationship of the source entity.
    ///
    /// - Returns: the number with which to query them; nil for a relationship that is not stored.
    func open(_ relationship: RelationshipDescription) throws(MigrationError) -> Int? {
        guard let reader = try run.inputs.source.membersByOwner(of: relationship, in: run.inputs.layout) else {
            return nil
        }
        members.append(MemberStream(reader))
        return members.count - 1
    }

    /// Shows the members of an owner in their order: key and ordering key.
    ///
    /// - Returns: false if the owner was already passed; nothing is shown then.
    func forEachMember(_ number: Int, of owner: Int64, _ body: (Int64, Int64?) throws -> Void) throws -> Bool {
        let stream = members[number]
        guard try stream.seek(owner) else { return false }
        while let (key, order) = try stream.next(of: owner) { try body(key, order) }
        return true
    }
}

/// A position in the members of all owners.
private final class MemberStream {
    private let reader: OwnerReader
    private var batch = RowBatch(slots: 1, rowCapacity: 256, byteTarget: 16 * 1024)
    private var row = 0
    private var isAtEnd = false
    /// The owner queried last, and the row where its members begin; nil if that is in an earlier batch.
    private var owner: Int64?
    private var start: Int?

    init(_ reader: OwnerReader) { self.reader = reader }

    /// Moves forward to an owner's first member, or back to it if it is in the current batch. Returns false if it was passed.
    func seek(_ wanted: Int64) throws(MigrationError) -> Bool {
        if let owner, wanted <= owner {
            guard wanted == owner, let start else { return false }
            row = start
            return true
        }
        while true {
            while row < batch.count, reader.owners[row] < wanted { row += 1 }
            if row < batch.count { break }
            guard try refill() else { break }
        }
        owner = wanted
        start = row
        return true
    }

    /// Returns the next member of the owner that was sought.
    func next(of owner: Int64) throws(MigrationError) -> (key: Int64, order: Int64?)? {
        if row >= batch.count {
            let hadMembers = start.map { $0 < row } ?? true
            guard try refill() else { return nil }
            start = hadMembers ? nil : 0
        }
        guard reader.owners[row] == owner else { return nil }
        let cell = batch[row, 0]
        defer { row += 1 }
        return (batch.key(row), cell.kind == .integer ? cell.integerValue : nil)
    }

    /// Reads the next batch. Returns false at the end and keeps the last batch.
    private func refill() throws(MigrationError) -> Bool {
        guard !isAtEnd else { return false }
        guard try reader.next(into: &batch) else {
            isAtEnd = true
            row = 0
            start = nil
            return false
        }
        row = 0
        return true
    }
}
