import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows

/// The source's objects: faults over the current batch, or over single rows fetched by key. Their changes are kept beside the
/// source: ``SourceObjectChanges``.
final class SourceObjects: ManagedObjectContext.Backing {
    let modelRun: ModelRun
    let schema: StoreSchema
    /// The context of these objects; set once, right after it is made.
    unowned(unsafe) var context: ManagedObjectContext?
    let properties: ObjectProperties
    let transients: TransientValues
    /// Called before the first change, and after an object was deleted.
    var willChange: (() throws(MigrationError) -> Void)?
    var hasDeleted: (() -> Void)?

    /// The batch that stage 1 works on: all own columns of its table, with slots in the order of columns.
    @exclusivity(unchecked) var window: RowBatch
    @exclusivity(unchecked) private(set) var windowTable: Int?
    /// The rows and members that objects of the window refer to.
    let relations: WindowRelations
    private let rows: PointRows

    let indexes: EqualityIndexes
    /// The reader of rows that fetches look up, and the rows that it was made for.
    var lastProbe: (rows: FetchRows, reader: PointReader)?
    private(set) lazy var externalNames = schema.model.externalAttributeNames
    /// The number of rows by entity, for tables that were counted.
    var rowCounts: [Int: TableCounts] = [:]
    /// Figures on the rows that fetches have read.
    var statistics = FetchStatistics()

    init(modelRun: ModelRun) {
        self.modelRun = modelRun
        schema = modelRun.inputs.layout.schema
        properties = ObjectProperties(schema: schema, stores: nil)
        transients = TransientValues(folder: modelRun.inputs.work.inside, cacheBytes: 64 << 10)
        indexes = EqualityIndexes(directory: modelRun.inputs.work, memory: modelRun.inputs.budget.sorts / 4)
        window = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
        relations = WindowRelations(run: modelRun.run)
        rows = PointRows(source: modelRun.inputs.source, layout: modelRun.inputs.layout, streams: true)
    }

    /// The changes of source objects; nil if there are none.
    var changes: SourceObjectChanges? { modelRun.run.sourceChanges }

    /// Tells whether an object may have been changed or deleted, so that only its row as it is now counts.
    func mayHaveChanged(_ key: Int64, table: Int) -> Bool { changes?.mayHaveChanged(key, table: table) ?? false }

    /// Drops the rows read last.
    func forget() { rows.forget() }

    // MARK: - Identity

    /// Returns the place of a row; nil if there is no such row, or if it belongs to no entity of the model.
    func place(table: Int, key: Int64) throws(MigrationError) -> ObjectPlace? {
        let entities = schema.tables[table].entities
        if entities.count == 1, let keys = modelRun.sourceKeys?.byTable[table], !mayHaveChanged(key, table: table) {
            // The keys are in memory, so the row need not be read to know that it exists.
            guard try keys.contains(key) else { return nil }
            return ObjectPlace(entity: schema.model.entity(at: entities[0]), key: key, table: table)
        }
        let number = try read(table: table, key: key) { batch, row throws(MigrationError) in
            batch[row, EntityTable.entityColumn].integerValue
        }
        guard let number,
            let index = modelRun.inputs.layout.entity(inTable: table, forFileNumber: Int(truncatingIfNeeded: number))
        else { return nil }
        return ObjectPlace(entity: schema.model.entity(at: index), key: key, table: table)
    }

    /// Returns the entity of a row, also if a policy deleted it; nil if there never was one, or if it has no entity.
    func entity(table: Int, key: Int64) throws(MigrationError) -> EntityDescription? {
        if let place = try place(table: table, key: key) { return place.entity }
        return try changes?.entity(ofDeleted: key, table: table)
    }

    func object(table: Int, key: Int64) throws(MigrationError) -> ManagedObject? {
        guard let place = try place(table: table, key: key) else { return nil }
        return context?.object(at: place)
    }

    // MARK: - Rows

    /// Opens a window: objects of a table are read from a batch that the caller fills.
    func openWindow(_ batch: consuming RowBatch, table: Int) {
        window = batch
        windowTable = table
    }

    /// Closes the window: objects of the table are fetched by key again.
    func closeWindow() {
        windowTable = nil
        relations.removeAll()
        window = RowBatch(slots: 0, rowCapacity: 1, byteTarget: 1)
    }

    /// Returns the position of a row in the current batch; nil if it is not there.
    func rowInWindow(table: Int, key: Int64) -> Int? {
        windowTable == table ? window.row(ofKey: key) : nil
    }

    /// Reads a row with all own columns, with slots in the order of columns.
    func read<Value>(
        table: Int, key: Int64, _ body: (borrowing RowBatch, Int) throws(MigrationError) -> Value
    ) throws(MigrationError) -> Value? {
        if mayHaveChanged(key, table: table) {
            return try rows.row(key, table: table).map { row throws(MigrationError) in try body(row.batch, 0) }
        }
        if let row = rowInWindow(table: table, key: key) { return try body(window, row) }
        if relations.related(table, key) == nil { try relations.noteMember(key, table: table) }
        if let related = relations.related(table, key) {
            guard let row = related.row(key) else { return nil }
            return try body(related.batch, row)
        }
        return try rows.row(key, table: table).map { row throws(MigrationError) in try body(row.batch, 0) }
    }

    // MARK: - Members

    /// Calls a closure with the members of a to-many relationship in its order: key, ordering key, and entity index if
    /// the row exists.
    func forEachMember(
        of key: Int64, _ relationship: RelationshipDescription, _ body: (Int64, Int64?, Int?) throws -> Void
    ) throws {
        let inputs = modelRun.inputs
        func show(_ member: Member) throws {
            try body(member.key, member.order, inputs.layout.entity(forFileNumber: member.fileNumber))
        }
        if let members = try groupedMembers(of: key, relationship) { return try members.forEach(show) }
        let cursor = try inputs.source.members(of: relationship, owners: key...key, in: inputs.layout)
        while let member = try cursor?.next() { try show(member) }
    }

    /// Returns the members of an object, read together with those of other objects; nil if they have to be read alone.
    private func groupedMembers(
        of key: Int64, _ relationship: RelationshipDescription
    ) throws(MigrationError) -> ArraySlice<Member>? {
        if let changes, changes.hasChanged(relationship) { return nil }
        let table = schema.tableIndex(of: relationship.entity)
        let members = schema.tableIndex(of: relationship.destination)
        guard rowInWindow(table: table, key: key) != nil else {
            return try relations.deepMembers(of: key, relationship, ownerTable: table, memberTable: members)
        }
        relations.enter(windowFrom: window.key(0))
        let last = window.key(window.count - 1)
        return try relations.members(of: key, relationship.reference, table: members, last: last) {
            owners throws(MigrationError) in
            try modelRun.inputs.source.members(of: relationship, owners: owners, in: modelRun.inputs.layout)
        }
    }

    /// Reads the rows that the window's objects refer to, if this is not the first of these objects that is asked.
    private func readAhead(
        from key: Int64, _ relationship: RelationshipDescription, column: Int, to target: Int64, table: Int
    ) throws(MigrationError) {
        guard let row = rowInWindow(table: schema.tableIndex(of: relationship.entity), key: key),
            rowInWindow(table: table, key: target) == nil
        else { return }
        relations.enter(windowFrom: window.key(0))
        try relations.noteReference(to: target, relationship.reference, table: table) {
            (row..<window.count).compactMap { index in
                let cell = window[index, column]
                return cell.kind == .integer ? cell.integerValue : nil
            }
        }
    }

    // MARK: - Backing

    func value(of object: ManagedObject, key name: String) throws -> Any? {
        let place = object.place
        guard let property = properties.property(name, of: place.entity) else {
            throw ObjectFailure.unknownKey(name, object)
        }
        guard let relationship = property.relationship else {
            guard let column = property.column else { return try transients.value(name, of: place) }
            let value: Any? =
                try read(table: place.table, key: place.key) { batch, row throws(MigrationError) in
                    try ValueBridge.object(
                        batch[row, column], in: batch, type: property.type, isExternal: property.isExternal)
                } ?? nil
            guard let reference = value as? ExternalFileReference else { return value }
            return try modelRun.external.data(reference, isSource: true, object.errorContext(property: name))
        }
        if let column = property.column {
            let reference = try read(table: place.table, key: place.key) { batch, row throws(MigrationError) in
                batch[row, column]
            }
            guard let reference, reference.kind == .integer else { return nil }
            try readAhead(
                from: place.key, relationship, column: column, to: reference.integerValue, table: property.targetTable)
            return try self.object(table: property.targetTable, key: reference.integerValue)
        }
        var members: [ManagedObject] = []
        try forEachMember(of: place.key, relationship) { key, _, entity in
            guard let entity, let context else { return }
            let place = ObjectPlace(entity: schema.model.entity(at: entity), key: key, table: property.targetTable)
            members.append(context.object(at: place))
        }
        return property.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members)
    }

    // Nil: the members of a source object are cached with its batch, so the value is cheap to ask.
    func memberCount(of object: ManagedObject, key: String) -> Int? { nil }
    func isMember(_ member: ManagedObject, of object: ManagedObject, key: String) -> Bool? { nil }
    func memberVersion(of object: ManagedObject, key: String) -> UInt64? { nil }

    func insert(_ entity: EntityDescription) throws -> ObjectPlace {
        throw MigrationError(
            "object.readOnly", .data, "Objects cannot be inserted into the source",
            remedy: "Insert into the manager's destinationContext", context: .init(entity: entity.definition.name))
    }

    func exists(_ place: ObjectPlace) throws -> Bool { try self.place(table: place.table, key: place.key) != nil }

    func existingPlace(entity: EntityDescription, key: Int64) throws -> ObjectPlace? {
        try place(table: schema.tableIndex(of: entity), key: key)
    }

    func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace] { [] }
    var insertionLimits: [Int64] { [] }
}

/// Errors that the objects of both sides share.
enum ObjectFailure {
    static func gone(_ object: ManagedObject) -> MigrationError {
        MigrationError("object.unknown", .data, "There is no such object", context: object.errorContext())
    }

    /// Returns the error for an object of the other side, or of a previous run.
    static func foreign(_ object: ManagedObject) -> MigrationError {
        MigrationError(
            "value.type", .data, "\(object.objectID.shortName) is an object of another context",
            context: object.errorContext())
    }

    static func unknownKey(_ name: String, _ object: ManagedObject) -> MigrationError {
        MigrationError(
            "object.unknownKey", .data, "The entity \(object.entity) has no property \(name)",
            remedy: EditDistance.question(name, among: object.entity.propertyNames),
            context: object.errorContext(property: name))
    }
}
