import Diagnostics
import Foundation
import ManagedModel
import PersistentStore
import Rows

/// The source's objects: faults over the batch at hand, or over single rows fetched by key. Read-only.
final class SourceObjects: ManagedObjectContext.Backing {
    private let session: MigrationSession
    private let schema: StoreSchema
    /// The context of these objects; set once, right after it is made.
    weak var context: ManagedObjectContext?

    /// The batch that stage 1 is working on: all own columns of its table, slot by column index.
    var window: RowBatch
    private(set) var windowTable: Int?
    private var readers: [Int: PointReader] = [:]
    private var fetched: [Int: Fetched] = [:]

    /// The row fetched last from a table.
    private final class Fetched {
        var batch: RowBatch
        var key: Int64?

        init(columns: Int) { batch = RowBatch(slots: columns, rowCapacity: 1, byteTarget: 4096) }
    }

    init(session: MigrationSession) {
        self.session = session
        schema = session.layout.schema
        window = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
    }

    // MARK: - Identity

    /// The id of a row; nil where there is no such row, or it is of no entity of the model.
    func id(table: Int, key: Int64) throws(MigrationError) -> ManagedObjectID? {
        let number = try read(table: table, key: key) { batch, row throws(MigrationError) in
            batch[row, EntityTable.entityColumn].integerValue
        }
        guard let number,
            let index = session.layout.entity(inTable: table, forFileNumber: Int(truncatingIfNeeded: number))
        else { return nil }
        return id(entity: schema.model.entity(at: index), table: table, key: key)
    }

    func id(entity: EntityDescription, table: Int, key: Int64) -> ManagedObjectID {
        ManagedObjectID(
            entity: entity, key: key, table: table, storeUUID: session.source.metadata.uuid, isDestination: false)
    }

    func object(table: Int, key: Int64) throws(MigrationError) -> ManagedObject? {
        guard let id = try id(table: table, key: key) else { return nil }
        return context?.object(with: id)
    }

    // MARK: - Rows

    /// Lets objects of a table be read from a batch that the caller fills.
    func openWindow(_ batch: consuming RowBatch, table: Int) {
        window = batch
        windowTable = table
    }

    /// Objects of the table are fetched by key again.
    func closeWindow() {
        windowTable = nil
        window = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
    }

    /// The place of a row in the batch at hand; nil where it is not there.
    func rowInWindow(table: Int, key: Int64) -> Int? {
        guard windowTable == table, window.count > 0, key >= window.key(0), key <= window.key(window.count - 1)
        else { return nil }
        var low = 0
        var high = window.count - 1
        while low < high {
            let middle = (low + high) / 2
            if window.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        return window.key(low) == key ? low : nil
    }

    /// Reads a row with all own columns, slot by column index.
    func read<Value>(
        table: Int, key: Int64, _ body: (borrowing RowBatch, Int) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value? {
        if let row = rowInWindow(table: table, key: key) { return try body(window, row) }
        let columns = schema.tables[table].columns.count
        let slot: Fetched
        if let known = fetched[table] {
            slot = known
        } else {
            slot = Fetched(columns: columns)
            fetched[table] = slot
        }
        if slot.key != key {
            slot.batch.removeAll()
            slot.key = nil
            let reader: PointReader
            if let known = readers[table] {
                reader = known
            } else {
                reader = try session.source.pointReader(
                    table: table, columns: (0..<columns).map { .own($0) }, in: session.layout)
                readers[table] = reader
            }
            guard try reader.fetch(key, into: &slot.batch) else { return nil }
            slot.key = key
        }
        return try body(slot.batch, 0)
    }

    // MARK: - Members

    /// The members of a to-many relationship, in its order: key, ordering key, entity index where the row exists.
    func forEachMember(
        of key: Int64, _ relationship: RelationshipDescription, _ body: (Int64, Int64?, Int?) throws -> Void
    ) throws {
        let cursor: MemberCursor
        switch schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            cursor = try session.source.members(
                table: table, column: column, owner: key, orderColumn: relationship.isOrdered ? order : nil,
                in: session.layout)
        case .join(let table, let side):
            cursor = try session.source.joined(joinTable: table, side: side, key: key, in: session.layout)
        case .toOne, .none: return
        }
        while let member = try cursor.next() {
            try body(member.key, member.order, session.layout.entity(forFileNumber: member.fileNumber))
        }
    }

    // MARK: - Backing

    func value(of object: ManagedObject, key name: String) throws -> Any? {
        let id = object.objectID
        if let attribute = id.entity.attribute(named: name) {
            guard let column = schema.column(of: attribute) else { return nil }
            return try read(table: id.table, key: id.key) { batch, row throws(MigrationError) in
                ValueBridge.object(batch[row, column], in: batch, attribute: attribute.definition)
            } ?? nil
        }
        guard let relationship = id.entity.relationship(named: name) else { throw ObjectFailure.unknownKey(name, id) }
        let table = schema.tableIndex(of: relationship.destination)
        if case .toOne(_, let column, _, _) = schema.storage(of: relationship) {
            let reference = try read(table: id.table, key: id.key) { batch, row throws(MigrationError) in
                batch[row, column]
            }
            guard let reference, reference.kind == .integer else { return nil }
            return try self.object(table: table, key: reference.integerValue)
        }
        var members: [ManagedObject] = []
        try forEachMember(of: id.key, relationship) { key, _, entity in
            guard let entity, let context else { return }
            members.append(
                context.object(with: self.id(entity: schema.model.entity(at: entity), table: table, key: key)))
        }
        return relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) throws {
        throw MigrationError(
            "object.readOnly", .data, "Source objects cannot be changed",
            remedy: "Set the value on the destination object",
            context: .init(entity: object.entity.definition.name, objectID: object.objectID.description, property: key))
    }

    func insert(_ entity: EntityDescription) throws -> ManagedObjectID {
        throw MigrationError(
            "object.readOnly", .data, "Objects cannot be inserted into the source",
            remedy: "Insert into the manager's destinationContext", context: .init(entity: entity.definition.name))
    }

    func delete(_ object: ManagedObject) throws {
        throw MigrationError(
            "object.readOnly", .data, "Source objects cannot be deleted",
            context: .init(entity: object.entity.definition.name, objectID: object.objectID.description))
    }

    func entity(named name: String) throws -> EntityDescription { try ObjectFailure.entity(name, in: schema.model) }

    var placeholder: ManagedObjectID { id(entity: schema.model.entity(at: 0), table: 0, key: .min) }

    func exists(_ id: ManagedObjectID) throws -> Bool { try self.id(table: id.table, key: id.key) != nil }
}

/// Failures that both sides' objects share.
enum ObjectFailure {
    static func entity(_ name: String, in model: ManagedObjectModel) throws(MigrationError) -> EntityDescription {
        guard let entity = model.entity(named: name) else {
            throw MigrationError(
                "object.unknownEntity", .data, "The model has no entity \(name)", context: .init(entity: name))
        }
        return entity
    }

    static func gone(_ id: ManagedObjectID) -> MigrationError {
        MigrationError(
            "object.unknown", .data, "There is no such object",
            context: .init(entity: id.entity.definition.name, objectID: id.description))
    }

    static func unknownKey(_ name: String, _ id: ManagedObjectID) -> MigrationError {
        MigrationError(
            "object.unknownKey", .data, "The entity \(id.entity) has no property \(name)",
            context: .init(entity: id.entity.definition.name, objectID: id.description, property: name))
    }
}
