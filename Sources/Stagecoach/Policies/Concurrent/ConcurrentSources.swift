import ManagedModel

/// The source's objects as the lane sees them. It may read attributes of the current batch; all other calls wait for the lane's
/// turn.
final class ConcurrentSources: ManagedObjectContext.Backing {
    private unowned let lane: ConcurrentCaller
    private let sources: SourceObjects
    private let properties: ObjectProperties

    init(lane: ConcurrentCaller, sources: SourceObjects) {
        self.lane = lane
        self.sources = sources
        properties = ObjectProperties(schema: sources.schema, stores: nil)
    }

    /// The source's objects once all earlier calls are done.
    private var inTurn: SourceObjects {
        lane.takeTurn()
        return sources
    }

    func value(of object: ManagedObject, key: String) throws -> Any? {
        let place = object.place
        guard let property = properties.property(key, of: place.entity), property.relationship == nil else {
            return try inTurn.value(of: object, key: key)
        }
        guard let column = property.column else { return nil }
        guard let row = sources.rowInWindow(table: place.table, key: place.key),
            sources.window[row, column].kind != .huge
        else { return try inTurn.value(of: object, key: key) }
        let value = try ValueBridge.object(
            sources.window[row, column], in: sources.window, type: property.type, isExternal: property.isExternal)
        return value is ExternalFileReference ? try inTurn.value(of: object, key: key) : value
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) throws {
        try inTurn.setValue(value, of: object, key: key)
    }

    func changeMembers(of object: ManagedObject, key: String, adding added: [Any], removing removed: [Any]) throws {
        try inTurn.changeMembers(of: object, key: key, adding: added, removing: removed)
    }

    func memberCount(of object: ManagedObject, key: String) throws -> Int? {
        inTurn.memberCount(of: object, key: key)
    }

    func isMember(_ member: ManagedObject, of object: ManagedObject, key: String) throws -> Bool? {
        inTurn.isMember(member, of: object, key: key)
    }

    func memberVersion(of object: ManagedObject, key: String) -> UInt64? {
        inTurn.memberVersion(of: object, key: key)
    }

    func insert(_ entity: EntityDescription) throws -> ObjectPlace { try inTurn.insert(entity) }
    func delete(_ object: ManagedObject) throws { try inTurn.delete(object) }
    func exists(_ place: ObjectPlace) throws -> Bool { try inTurn.exists(place) }
    func entity(named name: String) throws -> EntityDescription { try sources.entity(named: name) }

    func existingPlace(entity: EntityDescription, key: Int64) throws -> ObjectPlace? {
        try inTurn.existingPlace(entity: entity, key: key)
    }

    var placeholder: ObjectPlace { sources.placeholder }
    var fetchEngine: FetchEngine { inTurn.fetchEngine }
    func insertedCount() throws -> Int { inTurn.insertedCount() }
    func isStored(_ place: ObjectPlace) -> Bool { inTurn.isStored(place) }
    func isChanged(_ place: ObjectPlace) throws -> Bool { inTurn.isChanged(place) }
    var hasStoredChanges: Bool { inTurn.hasStoredChanges }

    func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace] {
        try inTurn.insertedPlaces(table: table, from: key)
    }

    var insertionLimits: [Int64] { inTurn.insertionLimits }
}
