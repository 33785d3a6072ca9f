import Diagnostics
import ManagedModel
import Rows

/// The destination's objects as the lane sees them. It may use the attributes of objects that it has made itself; all other
/// calls wait for the lane's turn.
final class ConcurrentDestinations: ManagedObjectContext.Backing {
    private unowned let lane: ConcurrentCaller
    private let objects: DestinationObjects
    private let results: ConcurrentResults
    private let properties: ObjectProperties
    /// The stored defaults, by entity index.
    private var defaults: [Int: [(column: Int, value: ColumnValue)]] = [:]

    init(lane: ConcurrentCaller, objects: DestinationObjects, results: ConcurrentResults) {
        self.lane = lane
        self.objects = objects
        self.results = results
        properties = ObjectProperties(schema: objects.schema, stores: nil)
    }

    /// The destination's objects once all earlier calls are done. Objects that were made ahead have their final places then.
    private var inTurn: DestinationObjects {
        lane.takeTurn()
        return objects
    }

    /// Returns an attribute of an object that was made ahead, and its row. Returns nil for everything else.
    private func attribute(
        _ key: String, of place: ObjectPlace
    ) -> (property: ObjectProperties.Property, table: ConcurrentResults.Table, row: Int)? {
        guard let property = properties.property(key, of: place.entity), property.relationship == nil,
            property.column != nil, !property.isExternal, let (table, row) = results.row(of: place)
        else { return nil }
        return (property, table, row)
    }

    func value(of object: ManagedObject, key: String) throws -> Any? {
        guard let (property, table, row) = attribute(key, of: object.place) else {
            return try inTurn.value(of: object, key: key)
        }
        guard let column = property.column else { return nil }
        guard table.batch[row, column].kind != .huge else { return try inTurn.value(of: object, key: key) }
        return try ValueBridge.object(
            table.batch[row, column], in: table.batch, type: property.type, isExternal: false)
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) throws {
        guard let (property, table, row) = attribute(key, of: object.place) else {
            return try inTurn.setValue(value, of: object, key: key)
        }
        guard let column = property.column else { return }
        do throws(MigrationError) {
            try ValueBridge.store(
                value, type: property.type, isExternal: false, in: &table.batch, row: row, slot: column)
        } catch {
            // The shared objects refuse the value again, in an error with the object's final key.
            return try inTurn.setValue(value, of: object, key: key)
        }
        // Replaced bytes stay in the batch.
        if table.batch.arenaCount > 2 * table.batch.byteTarget { lane.takeTurn() }
    }

    func changeMembers(of object: ManagedObject, key: String, adding added: [Any], removing removed: [Any]) throws {
        try inTurn.changeMembers(of: object, key: key, adding: added, removing: removed)
    }

    func memberCount(of object: ManagedObject, key: String) throws -> Int? {
        try inTurn.memberCount(of: object, key: key)
    }

    func isMember(_ member: ManagedObject, of object: ManagedObject, key: String) throws -> Bool? {
        try inTurn.isMember(member, of: object, key: key)
    }

    func memberVersion(of object: ManagedObject, key: String) -> UInt64? {
        inTurn.memberVersion(of: object, key: key)
    }

    func insert(_ entity: EntityDescription) throws -> ObjectPlace {
        let table = objects.schema.tableIndex(of: entity)
        guard !entity.isAbstract, let rows = results.room(inTable: table) else {
            return try inTurn.insert(entity)
        }
        let row = results.append(entity, to: rows)
        for (column, value) in defaultValues(of: entity) { value.store(in: &rows.batch, row: row, slot: column) }
        return results.place(of: row, in: rows, entity)
    }

    private func defaultValues(of entity: EntityDescription) -> [(column: Int, value: ColumnValue)] {
        if let known = defaults[entity.index] { return known }
        let found = DestinationObjects.defaultValues(of: entity, schema: objects.schema)
        defaults[entity.index] = found
        return found
    }

    func delete(_ object: ManagedObject) throws { try inTurn.delete(object) }

    // Objects that were made ahead are never deleted ahead and never existed before. A place that was obtained by its key
    // stands for the object that has the key once the turn has come.

    func exists(_ place: ObjectPlace) throws -> Bool {
        results.row(of: place) != nil ? true : try inTurn.exists(place)
    }

    func isStored(_ place: ObjectPlace) -> Bool {
        results.row(of: place) != nil ? false : inTurn.isStored(place)
    }

    func isChanged(_ place: ObjectPlace) throws -> Bool {
        results.row(of: place) != nil ? false : try inTurn.isChanged(place)
    }

    func entity(named name: String) throws -> EntityDescription { try objects.entity(named: name) }

    func existingPlace(entity: EntityDescription, key: Int64) throws -> ObjectPlace? {
        try inTurn.existingPlace(entity: entity, key: key)
    }

    var placeholder: ObjectPlace { objects.placeholder }
    var fetchEngine: FetchEngine { inTurn.fetchEngine }
    func insertedCount() throws -> Int { try inTurn.insertedCount() }
    var hasStoredChanges: Bool { inTurn.hasStoredChanges }

    func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace] {
        try inTurn.insertedPlaces(table: table, from: key)
    }

    var insertionLimits: [Int64] { inTurn.insertionLimits }
}
