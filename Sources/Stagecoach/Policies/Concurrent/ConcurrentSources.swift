import Diagnostics
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
    private var settled: SourceObjects {
        lane.takeTurn()
        return sources
    }

    func value(of object: ManagedObject, key: String) throws -> Any? {
        let place = object.place
        guard let property = properties.property(key, of: place.entity), property.relationship == nil else {
            return try settled.value(of: object, key: key)
        }
        guard let column = property.column else { return nil }
        guard let row = sources.rowInWindow(table: place.table, key: place.key),
            sources.window[row, column].kind != .huge
        else { return try settled.value(of: object, key: key) }
        let value = try ValueBridge.object(
            sources.window[row, column], in: sources.window, type: property.type, isExternal: property.isExternal)
        return value is ExternalFileReference ? try settled.value(of: object, key: key) : value
    }

    func setValue(_ value: Any?, of object: ManagedObject, key: String) throws {
        try settled.setValue(value, of: object, key: key)
    }

    func changeMembers(of object: ManagedObject, key: String, adding added: [Any], removing removed: [Any]) throws {
        try settled.changeMembers(of: object, key: key, adding: added, removing: removed)
    }

    func memberCount(of object: ManagedObject, key: String) throws -> Int? {
        settled.memberCount(of: object, key: key)
    }

    func isMember(_ member: ManagedObject, of object: ManagedObject, key: String) throws -> Bool? {
        settled.isMember(member, of: object, key: key)
    }

    func memberVersion(of object: ManagedObject, key: String) -> UInt64? {
        settled.memberVersion(of: object, key: key)
    }

    func insert(_ entity: EntityDescription) throws -> ObjectPlace { try settled.insert(entity) }
    func delete(_ object: ManagedObject) throws { try settled.delete(object) }
    func exists(_ place: ObjectPlace) throws -> Bool { try settled.exists(place) }
    func entity(named name: String) throws -> EntityDescription { try sources.entity(named: name) }

    func existingPlace(entity: EntityDescription, key: Int64) throws -> ObjectPlace? {
        try settled.existingPlace(entity: entity, key: key)
    }

    var placeholder: ObjectPlace { sources.placeholder }
    var fetchEngine: FetchEngine { settled.fetchEngine }
    func insertedCount() throws -> Int { settled.insertedCount() }
    func isStored(_ place: ObjectPlace) -> Bool { settled.isStored(place) }
    func isChanged(_ place: ObjectPlace) throws -> Bool { settled.isChanged(place) }
    var hasStoredChanges: Bool { settled.hasStoredChanges }

    func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace] {
        try settled.insertedPlaces(table: table, from: key)
    }

    var insertionLimits: [Int64] { settled.insertionLimits }
}
