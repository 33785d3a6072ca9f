import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage

/// Reads single objects of a store, by key and by predicate. The store is not changed, and nothing is put beside it.
///
/// Memory: a page cache and a row of each table that is read, within the memory limit, whatever the size of the store.
public final class ObjectReader {
    /// The number of objects of a collection that are named unless more are asked for.
    public static let members = 10

    /// The greatest number of objects that are named for each to-many relationship.
    public var mostMembers = ObjectReader.members

    let store: SourceStore
    let layout: StoreLayout
    let objects: VerifiedObjects
    private let rows: PointRows
    private let external: ExternalFolder
    private let transforms: Bool
    /// The memory in bytes between what the process has at the start and its limit.
    private let room: Int
    private var schema: StoreSchema { layout.schema }

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - path: the store.
    ///   - model: the model version that wrote it.
    ///   - isKnownByTables: true if only tables and columns tell that the model wrote the store. If false, its version
    ///     hashes must be the model's.
    ///   - repairs: true to read missing tables and columns of a damaged store as empty and nil.
    ///   - memoryLimit: the peak resident memory in bytes; nil: the standard one.
    /// - Throws: `store.otherModel` (78), `store.schemaMismatch`, `store.incomplete` (65) if the model does not fit; the
    ///   errors of opening a store (65, 66, 75, 77).
    /// - Complexity: O(model).
    public convenience init(
        path: String, model: ManagedObjectModel, isKnownByTables: Bool = false, repairs: Bool = false,
        memoryLimit: Int? = nil
    ) throws(MigrationError) {
        var options = MigrationOptions()
        options.sourceIsKnownByTables = isKnownByTables
        options.repairs = repairs
        options.memoryLimit = memoryLimit
        try self.init(path: path, model: model, options: options)
    }

    /// Opens a store as a migration with some options reads it.
    init(path: String, model: ManagedObjectModel, options: MigrationOptions) throws(MigrationError) {
        let resident = ProcessMemory.currentResident() ?? 0
        room = max(0, (options.memoryLimit ?? MemoryLimit.standard(resident: resident)) - resident)
        store = try SourceStore(
            path: path, cacheBytes: min(1 << 20, room / 16), valueLimit: min(32 << 20, max(1 << 20, room / 8)),
            temporaryDirectory: FileManager.default.temporaryDirectory.path)
        store.readsPages = true
        store.limitNeeded = { (resident + 8 * $0) >> 20 + 1 }
        if !options.sourceIsKnownByTables { try StoreMatch.check(store.metadata, against: model, path: path) }
        layout = try store.layout(for: model, damage: options.damage)
        transforms = options.transformsValues
        rows = PointRows(source: store, layout: layout, streams: true)
        let given = ExternalFolder(store: path)
        external = try given.exists() ? given : ExternalFolder(store: store.path)
        objects = VerifiedObjects(source: store, layout: layout, external: external, transforms: transforms)
    }

    /// True if the store's header says that it is written by way of a `-wal`, and there is none beside it. Rows may be missing
    /// then.
    public var lacksLog: Bool { store.file.journalMode == .wal && store.file.walSize == nil }

    /// The names of the store's entities.
    public var entityNames: [String] { schema.model.entities.map(\.definition.name) }

    /// Ends the reading.
    ///
    /// - Throws: `store.moved` (75) if another process wrote to the store meanwhile.
    public func close() throws(MigrationError) {
        objects.release()
        rows.removeAll()
        try store.checkUnchanged()
        try store.close()
    }

    // MARK: - One object

    /// Reads an object.
    ///
    /// - Parameter id: `Entity/p<key>`, by the object's own entity or one that it inherits from, or the URI of its object
    ///   id.
    /// - Throws: `object.unknown`, `object.unknownEntity`, `object.otherStore` (66); the errors of reading.
    /// - Complexity: O(log rows), and O(members) of its to-many relationships.
    public func object(_ id: String) throws -> StoredObject {
        let (entity, key) = try place(of: id)
        return try object(entity, key)
    }

    /// Finds the own entity of an object.
    func place(of id: String) throws(MigrationError) -> (EntityDescription, Int64) {
        let name = ObjectName(id)
        // 'Book/777' is an entity's name and no key.
        let first = String(id.prefix { $0 != "/" })
        let asked = try entity(named: schema.model.entity(named: first) == nil ? name.entity : first)
        guard let key = name.key else {
            throw MigrationError(
                "object.unknown", .noInput, "'\(id)' names no object",
                remedy: "Write \(asked)/p and the object's key: \(asked)/p1")
        }
        if let uuid = name.storeUUID, uuid.uppercased() != store.metadata.uuid.uppercased() {
            throw MigrationError(
                "object.otherStore", .noInput, "\(id) is an object of another store",
                remedy: "The UUID of this one is \(store.metadata.uuid)", context: .init(path: store.givenPath))
        }
        let found = try store.entity(ofKey: key, table: schema.tableIndex(of: asked), in: layout)
            .map(schema.model.entity(at:))
        guard let found, found.isKindOf(entity: asked) else {
            throw MigrationError(
                "object.unknown", .noInput, "The store has no object \(asked)/p\(key)",
                remedy: found.map { "The object with this key is \($0)/p\(key)" }, context: .init(path: store.givenPath)
            )
        }
        return (found, key)
    }

    private func entity(named name: String) throws(MigrationError) -> EntityDescription {
        guard let entity = schema.model.entity(named: name) else {
            throw MigrationError(
                "object.unknownEntity", .noInput, "The store has no entity \(name)",
                remedy: EditDistance.question(name, among: schema.model.entities.map(\.definition.name))
                    ?? "Run inspect to see its entities", context: .init(path: store.givenPath))
        }
        return entity
    }

    /// Returns the row of an object, valid until another row of its table is read.
    func row(_ entity: EntityDescription, _ key: Int64) throws(MigrationError) -> ShownRow {
        guard let row = try rows.row(key, table: schema.tableIndex(of: entity)) else { throw gone(entity, key) }
        return ShownRow(row: row, schema: schema, external: external, transforms: transforms)
    }

    func object(_ entity: EntityDescription, _ key: Int64) throws -> StoredObject {
        let values = try row(entity, key)
        let relationships = try entity.relationships.filter { !$0.isTransient }.map {
            try relationship($0, of: key, values.row)
        }
        return StoredObject(
            entity: entity.definition.name, key: key, attributes: try values.attributes(of: entity),
            relationships: relationships)
    }

    private func gone(_ entity: EntityDescription, _ key: Int64) -> MigrationError {
        MigrationError(
            "object.unknown", .noInput, "The store has no object \(entity)/p\(key)",
            context: .init(path: store.givenPath))
    }

    private func relationship(
        _ relationship: RelationshipDescription, of key: Int64, _ row: PointRows.Row
    ) throws(MigrationError) -> StoredObject.Relationship {
        let target = schema.tableIndex(of: relationship.destination)
        var members: [(key: Int64, entity: Int?)] = []
        var count = 0
        if case .toOne(_, let column, _, _) = schema.storage(of: relationship) {
            let cell = row.batch[0, column]
            if cell.kind == .integer {
                count = 1
                members = [(cell.integerValue, try store.entity(ofKey: cell.integerValue, table: target, in: layout))]
            }
        } else {
            let cursor = try store.members(of: relationship, owners: key...key, limit: mostMembers, in: layout)
            while let member = try cursor?.next() {
                // A join table may name a member of which there is no row.
                let isThere = member.fileNumber != 0
                let entity = isThere ? layout.entity(inTable: target, forFileNumber: member.fileNumber) : nil
                members.append((member.key, entity))
            }
            count =
                members.count < mostMembers
                ? members.count : try store.memberCount(of: relationship, owner: key, in: layout) ?? 0
        }
        func id(_ member: (key: Int64, entity: Int?)) -> String {
            "\(member.entity.map(schema.model.entity(at:)) ?? relationship.destination)/p\(member.key)"
        }
        return StoredObject.Relationship(
            name: relationship.name, isToMany: relationship.isToMany, isOrdered: relationship.isOrdered, count: count,
            members: members.map(id), missing: members.filter { $0.entity == nil }.map(id))
    }

    // MARK: - Many objects

    /// Reads objects of an entity and its subentities, ascending by key, until the closure returns false.
    ///
    /// - Parameters:
    ///   - entity: the entity's name.
    ///   - predicate: an NSPredicate format string that the objects satisfy, as in a source filter; nil: all.
    ///   - body: called with each object; returns false to end.
    /// - Throws: `object.unknownEntity` (66); `expression.syntax`, `mapping.unknownKeyPath`, `expression.type` (78) as for
    ///   a source filter; the errors of evaluating the predicate and of reading.
    /// - Complexity: O(rows) of the table until the closure returns false.
    public func forEach(
        of entity: String, where predicate: String? = nil, _ body: (StoredObject) throws -> Bool
    ) throws {
        let root = try self.entity(named: entity)
        let filter = try filter(predicate, from: root)
        let scan = try scan(root, unread: unreadColumns(ofTable: schema.tableIndex(of: root), by: filter))
        try each(of: root, scan, filter) { entity in try body(try object(entity, scan.key)) }
    }

    /// The number of objects that are read one by one before it pays to read in whole the tables that they refer to.
    var few = 256

    /// Writes objects of an entity and its subentities as lines of JSON, ascending by key: each as its ``StoredObject`` is
    /// encoded, with sorted keys.
    ///
    /// - Parameters:
    ///   - entity: the entity's name.
    ///   - predicate: as in ``forEach(of:where:_:)``.
    ///   - limit: the greatest number of objects; nil: all.
    ///   - write: called with some lines.
    /// - Returns: the number of objects written, and true if there are more.
    /// - Throws: as ``forEach(of:where:_:)``.
    /// - Complexity: O(rows) of the table until the limit is reached. Beyond 256 objects also one pass over the links of their
    ///   relationships and over the keys of the tables that these lead to, whose memory is a byte a key within a quarter of the
    ///   memory limit.
    public func writeLines(
        of entity: String, where predicate: String? = nil, limit: Int? = nil, to write: (String) throws -> Void
    ) throws -> (count: Int, hasMore: Bool) {
        let root = try self.entity(named: entity)
        let table = schema.tableIndex(of: root)
        let filter = try filter(predicate, from: root)
        // Data is shown by its size and first bytes, which are read one by one.
        let large = schema.tables[table].columns.indices.filter { column in
            guard case .attribute(let reference) = schema.tables[table].columns[column].role else { return false }
            return schema.model.entity(at: reference.entity).attribute(named: reference.name)?.attributeType.isBytes
                ?? false
        }
        let unread = Set(large).intersection(unreadColumns(ofTable: table, by: filter))
        let scan = try scan(root, unread: unread)
        let lines = ObjectLines(self, scan, room: room / 4)
        var (count, hasMore) = (0, false)
        try each(of: root, scan, filter) { entity in
            hasMore = count == limit ?? .max
            guard !hasMore else { return false }
            count += 1
            if count <= few {
                try write(JSONEncoder.text(object(entity, scan.key), []))
            } else {
                try lines.append(entity)
                if lines.line.bytes.count >= 64 << 10 { try write(lines.take()) }
            }
            return true
        }
        if !lines.line.bytes.isEmpty { try write(lines.take()) }
        return (count, hasMore)
    }

    private func filter(_ predicate: String?, from root: EntityDescription) throws(MigrationError) -> SourcePredicate? {
        let filter = try predicate.map { text throws(MigrationError) in try SourcePredicate(format: text) }
        try filter?.check(from: root, in: schema.model)
        return filter
    }

    private func scan(_ root: EntityDescription, unread: Set<Int>) throws(MigrationError) -> SequentialRows {
        try SequentialRows(
            store, layout, table: schema.tableIndex(of: root), entities: root.withDescendants.map(\.index),
            unread: unread, streams: true, noteRead: { _ in })
    }

    /// Calls a closure for each row in view that satisfies a predicate, with its entity, until it returns false.
    private func each(
        of root: EntityDescription, _ scan: SequentialRows, _ filter: SourcePredicate?,
        _ body: (EntityDescription) throws -> Bool
    ) throws {
        let table = schema.tableIndex(of: root)
        objects.pass = (table, scan)
        defer { objects.pass = nil }
        while try scan.advance() {
            let number = Int(scan.integer(EntityTable.entityColumn) ?? 0)
            guard let index = layout.entity(inTable: table, forFileNumber: number) else { continue }
            let entity = schema.model.entity(at: index)
            if let filter {
                let object = EvaluatedSource(entity: entity, table: table, key: scan.key, objects: objects)
                guard try holds(filter, for: object) else { continue }
            }
            guard try body(entity) else { return }
        }
    }

    /// Returns the columns that a predicate does not read. Large values that nobody asks for then cost nothing.
    private func unreadColumns(ofTable table: Int, by filter: SourcePredicate?) -> Set<Int> {
        guard let names = filter == nil ? [] : filter?.namesRead else { return [] }
        let columns = schema.tables[table].columns
        return Set(
            columns.indices.filter { column in
                guard case .attribute(let reference) = columns[column].role else { return false }
                return !reference.name.split(separator: ".").contains { names.contains(String($0)) }
            })
    }

    private func holds(_ filter: SourcePredicate, for object: EvaluatedSource) throws -> Bool {
        do {
            return try filter.filterTruth(of: object, variables: [:]) == true
        } catch let error as MigrationError {
            throw error.inside(.init(path: store.givenPath, objectID: object.objectName))
        } catch let obstacle as VerificationObstacle {
            throw MigrationError(
                "value.unreadable", .data, "The predicate cannot be evaluated: \(obstacle.reason)",
                context: .init(path: store.givenPath, objectID: object.objectName, expression: filter.format))
        }
    }
}
