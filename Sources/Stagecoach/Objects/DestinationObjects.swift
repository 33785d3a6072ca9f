import Diagnostics
import Foundation
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// The destination's objects: faults over open rows and spills; their links stand in ``LinkStore``s.
final class DestinationObjects: ManagedObjectContext.Backing {
    let session: MigrationSession
    let schema: StoreSchema
    let rows: [DestinationRows]
    let links: LinkStores
    /// The context of these objects; set once, right after it is made.
    unowned(unsafe) var context: ManagedObjectContext?
    let properties: ObjectProperties
    /// The mapping that creates objects now, and how many each mapping made.
    @exclusivity(unchecked) var creating: Int?
    /// By mapping index; of mappings beyond its end none.
    @exclusivity(unchecked) private(set) var createdByMapping: [Int] = []
    /// Objects that policies made, less the deleted ones, by entity index.
    @exclusivity(unchecked) private(set) var createdByEntity: [Int]
    private let isAbstract: [Bool]
    /// Whether any object was deleted: links are then checked for their ends.
    private(set) var hasDeletions: Bool
    /// The association tables of all mappings; set once, right after the runtime is made.
    var associations: [MappingAssociations] = []
    /// Temporary indexes of fetches.
    let indexes: EqualityIndexes
    /// What counts and indexes know of the rows, by table.
    var followers: [Int: TableFollower] = [:]
    /// What fetches have read.
    var statistics = FetchStatistics()
    /// Stored defaults by entity index: column and value.
    private var defaults: [Int: [(column: Int, value: StoredValue)]] = [:]

    init(session: MigrationSession, rows: [DestinationRows], links: LinkStores) {
        self.session = session
        schema = session.destinationSchema
        self.rows = rows
        self.links = links
        hasDeletions = session.associations.hasDeletions
        properties = ObjectProperties(schema: schema, stores: links)
        indexes = EqualityIndexes(directory: session.work, memory: session.budget.sorts / 4)
        createdByEntity = Array(repeating: 0, count: schema.model.entities.count)
        isAbstract = schema.model.entities.map(\.isAbstract)
    }

    /// Lays rows and links on those that the store has already.
    func begin(on destination: DestinationStore, touched: TouchedRows) throws(MigrationError) {
        for table in rows { table.begin(on: destination, touched: touched) }
        try links.begin(on: destination, session: session)
    }

    /// Lets the statements on the destination go.
    func end() {
        for table in rows { table.end() }
        links.end()
    }

    /// Writes rows, links and counts; what is in memory goes to their files.
    func save(to state: inout StateWriter) throws(MigrationError) {
        for table in rows { try table.save(to: &state) }
        try links.save(to: &state)
        state.write(words: createdByMapping.map { UInt64(bitPattern: Int64($0)) })
        state.write(words: createdByEntity.map { UInt64(bitPattern: Int64($0)) })
        state.write(hasDeletions)
    }

    /// Takes over what was written; there is nothing yet.
    ///
    /// - Parameter keys: those of mappings without policy, by index.
    func restore(from state: inout StateReader, keys: [Int: MappingKeys]) throws(MigrationError) {
        for table in rows { try table.restore(from: &state, keys: keys) }
        try links.restore(from: &state)
        createdByMapping = try state.words().map { Int(Int64(bitPattern: $0)) }
        let byEntity = try state.words().map { Int(Int64(bitPattern: $0)) }
        guard byEntity.count == createdByEntity.count else { throw StateReader.damaged("other entities") }
        createdByEntity = byEntity
        hasDeletions = try state.flag()
    }

    func place(entity: EntityDescription, key: Int64) -> ObjectPlace {
        ObjectPlace(entity: entity, key: key, table: schema.tableIndex(of: entity))
    }

    /// The object of a link's end.
    func object(of end: LinkEnd) -> ManagedObject? { object(end) }

    private func object(_ end: LinkEnd) -> ManagedObject? {
        guard let entity = schema.entityByNumber[Int(end.entity)] else { return nil }
        return context?.object(at: place(entity: schema.model.entity(at: entity), key: end.key))
    }

    func end(_ place: ObjectPlace) -> LinkEnd {
        LinkEnd(key: place.key, entity: UInt32(schema.number(of: place.entity)))
    }

    func entity(named name: String) throws -> EntityDescription { try ObjectFailure.entity(name, in: schema.model) }

    var placeholder: ObjectPlace { place(entity: schema.model.entity(at: 0), key: .min) }

    // MARK: - Making and deleting

    func insert(_ entity: EntityDescription) throws -> ObjectPlace {
        let initial = defaultValues(of: entity)
        let key = try insertBare(entity, table: schema.tableIndex(of: entity)) { batch, row, _ in
            for (column, value) in initial { value.store(in: &batch, row: row, slot: column) }
        }
        return place(entity: entity, key: key)
    }

    /// Makes an object whose cells a body fills, and returns its key.
    ///
    /// - Parameters:
    ///   - table: that of the entity.
    ///   - fill: gets the batch, the row and the key. Every cell is null but Z_ENT and Z_OPT.
    func insertBare(
        _ entity: EntityDescription, table: Int,
        _ fill: (inout RowBatch, Int, Int64) throws(MigrationError) -> Void
    ) throws(MigrationError) -> Int64 {
        guard !isAbstract[entity.index] else {
            throw MigrationError(
                "object.abstract", .data, "The entity is abstract and can have no objects",
                context: .init(entity: entity.definition.name))
        }
        let key = try rows[table].insert(entityNumber: schema.number(of: entity), fill)
        countInserted(1, entity: entity.index)
        return key
    }

    /// Objects that a mapping's policy has made so far.
    func createdCount(ofMapping index: Int) -> Int {
        createdByMapping.indices.contains(index) ? createdByMapping[index] : 0
    }

    /// Counts objects that a policy made.
    func countInserted(_ count: Int, entity index: Int) {
        if let creating {
            if creating >= createdByMapping.count {
                createdByMapping += Array(repeating: 0, count: creating + 1 - createdByMapping.count)
            }
            createdByMapping[creating] += count
        }
        createdByEntity[index] += count
    }

    private func defaultValues(of entity: EntityDescription) -> [(column: Int, value: StoredValue)] {
        if let known = defaults[entity.index] { return known }
        let found = Self.defaultValues(of: entity, schema: schema)
        defaults[entity.index] = found
        return found
    }

    /// What a new object of an entity has in its columns, by the model.
    static func defaultValues(
        of entity: EntityDescription, schema: StoreSchema
    ) -> [(column: Int, value: StoredValue)] {
        var found: [(column: Int, value: StoredValue)] = []
        for attribute in entity.attributes {
            guard let column = schema.column(of: attribute), let initial = attribute.definition.defaultValue,
                var value = StoredValue(initial, type: attribute.attributeType)
            else { continue }
            if attribute.definition.allowsExternalBinaryDataStorage { value = value.withInlineMarker }
            found.append((column, value))
        }
        return found
    }

    func delete(_ object: ManagedObject) throws {
        let id = object.place
        guard try exists(id) else { return }
        if isStored(id) { try noteEarlierPartners(of: id) }
        try links.unlinkAll(end(id), of: id.entity, isStored: isStored(id))
        try followers[id.table]?.willDelete(entity: id.entity.index, isStored: isStored(id))
        try rows[id.table].delete(id.key)
        hasDeletions = true
        try countDeletion(of: id)
        // What was there before the run is no object that it made.
        if !session.isOlder(id.key, table: id.table) { createdByEntity[id.entity.index] -= 1 }
    }

    /// An object of the store goes: those that it was linked to there change with it.
    private func noteEarlierPartners(of id: ObjectPlace) throws(MigrationError) {
        for (store, side) in links.ends(of: id.entity) {
            guard let earlier = store.earlier, let partners = store.relationship(of: side.other) else { continue }
            let table = schema.tableIndex(of: partners.entity)
            for view in try earlier.views(of: id.key, side: side)
            where earlier.isExisting(view.partner.key, side: side.other) {
                try session.touched?.note(view.partner.key, table: table, .values)
            }
        }
    }

    /// A row that a mapping without policy made is gone: its source object counts as dropped by a policy.
    private func countDeletion(of id: ObjectPlace) throws(MigrationError) {
        for table in associations where table.isCreated && table.mapping.destination == id.entity {
            guard let keys = table.keys, try keys.sourceKey(of: id.key) != nil else { continue }
            session.counts.mappings[table.mapping.index].migrated -= 1
            session.counts.mappings[table.mapping.index].droppedByPolicy += 1
        }
    }

    func exists(_ id: ObjectPlace) throws(MigrationError) -> Bool {
        guard rows.indices.contains(id.table) else { return false }
        return try rows[id.table].read(id.key) { _, _ throws(MigrationError) in true } ?? false
    }

    func existingPlace(entity: EntityDescription, key: Int64) throws -> ObjectPlace? {
        let table = rows[schema.tableIndex(of: entity)]
        let number = try table.read(key) { batch, row throws(MigrationError) in
            batch[row, EntityTable.entityColumn].integerValue
        }
        return number.flatMap { schema.entity(inTable: table.table, number: $0) }.map {
            place(entity: schema.model.entity(at: $0), key: key)
        }
    }

    /// Whether an object was in the store before the mapping model at work.
    func isStored(_ place: ObjectPlace) -> Bool {
        rows.indices.contains(place.table) && rows[place.table].isStored(place.key)
    }

    /// Whether anything was set on an object of the store that it did not have.
    func isChanged(_ place: ObjectPlace) throws -> Bool {
        guard isStored(place) else { return false }
        if try session.touched?.isChanged(place.key, table: place.table) == true { return true }
        for relationship in place.entity.relationships {
            guard let (store, side) = links.store(of: relationship) else { continue }
            if try store.hasChanged(place.key, side: side) { return true }
        }
        return false
    }

    /// Whether an object of the store was changed or deleted.
    var hasStoredChanges: Bool {
        session.touched?.isEmpty == false || rows.contains(where: \.hasDeletedStored)
            || links.all.contains { $0.earlier != nil && $0.hasRecent }
    }

    var fetchEngine: FetchEngine { FetchEngine(side: self, session: session) }
    func insertedPlaces(table: Int, from key: Int64) throws -> [ObjectPlace] { try places(inTable: table, from: key) }
    var insertionLimits: [Int64] { rows.map(\.nextKey) }

    /// Whether a link's end has a row.
    func exists(_ end: LinkEnd) throws(MigrationError) -> Bool {
        guard let entity = schema.entityByNumber[Int(end.entity)] else { return false }
        return try rows[schema.tableByEntity[entity]].read(end.key) { _, _ throws(MigrationError) in true } ?? false
    }

    // MARK: - Reading

    func value(of object: ManagedObject, key name: String) throws -> Any? {
        let place = object.place
        guard let property = properties.property(name, of: place.entity) else {
            throw ObjectFailure.unknownKey(name, object)
        }
        guard property.relationship != nil else {
            guard let column = property.column else { return nil }
            let value: Any? =
                try rows[place.table].read(place.key) { batch, row throws(MigrationError) in
                    try ValueBridge.object(
                        batch[row, column], in: batch, type: property.type, isExternal: property.isExternal)
                } ?? nil
            guard let reference = value as? StoredReference else { return value }
            return try session.externalData(reference, of: object, property: name) { external throws(MigrationError) in
                try external.destinationFile(reference)
            }
        }
        guard let (store, side) = property.links else { return nil }
        let partners = try store.partners(of: place.key, side: side)
        guard property.isToMany else { return partners.first.flatMap { self.object($0.partner) } }
        guard property.isOrdered else { return NSSet(array: partners.compactMap { self.object($0.partner) }) }
        return NSOrderedSet(array: LinkView.inOrder(partners).compactMap { self.object($0.partner) })
    }

    // MARK: - Setting

    func setValue(_ value: Any?, of object: ManagedObject, key name: String) throws {
        let place = object.place
        guard let property = properties.property(name, of: place.entity) else {
            throw ObjectFailure.unknownKey(name, object)
        }
        do {
            try set(value, property, of: object)
        } catch let error as MigrationError {
            throw error.inside(
                .init(entity: place.entity.definition.name, objectID: object.objectID.shortName, property: name))
        }
    }

    private func set(_ value: Any?, _ property: ObjectProperties.Property, of object: ManagedObject) throws {
        let place = object.place
        guard property.relationship != nil else {
            guard let column = property.column else { return }
            try rows[place.table].write(place.key) { batch, row throws(MigrationError) in
                try ValueBridge.store(
                    value, type: property.type, isExternal: property.isExternal, in: &batch, row: row, slot: column)
            }
            return
        }
        guard let (store, side) = property.links else { return }
        if hasDeletions, try !exists(place) { return }
        let members = try members(value, of: property)
        guard property.isToMany || members.count <= 1 else {
            throw MigrationError(
                "value.type", .data, "A to-one relationship was given \(members.count) objects")
        }
        try links.set(end(place), store, side, to: members)
    }

    /// The objects of a policy's value: one object, or a set, ordered set or array of objects. Deleted ones are left out.
    private func members(_ value: Any?, of property: ObjectProperties.Property) throws -> [LinkMember] {
        // What Swift code gives first: every other cast of a set makes a bridged copy of it.
        if let value, type(of: value) == Set<ManagedObject>.self, let set = value as? Set<ManagedObject> {
            var members: [LinkMember] = []
            members.reserveCapacity(set.count)
            for object in set { if let member = try member(object, of: property) { members.append(member) } }
            members.sort { $0.end.key < $1.end.key }
            return members
        }
        if let one = value as? ManagedObject { return try member(one, of: property).map { [$0] } ?? [] }
        guard let value = ValueBridge.unwrapped(value) else { return [] }
        let items: [Any]
        switch value {
        case let one as ManagedObject: return try member(one, of: property).map { [$0] } ?? []
        case let ordered as NSOrderedSet: items = ordered.array
        case let set as Set<ManagedObject>: items = Array(set)
        case let array as [Any]: items = array
        case let set as NSSet: items = set.allObjects
        case let array as NSArray: items = Array(array)
        default:
            throw MigrationError(
                "value.type", .data, "A value of type \(type(of: value)) is no object or collection of objects")
        }
        var members: [LinkMember] = []
        members.reserveCapacity(items.count)
        for item in items {
            guard let object = item as? ManagedObject else {
                throw MigrationError("value.type", .data, "A value of type \(type(of: item)) is no object")
            }
            if let member = try member(object, of: property) { members.append(member) }
        }
        if members.count > 1 {
            var seen: Set<Int64> = []
            members.removeAll { !seen.insert($0.end.key).inserted }
        }
        // A set has no order of its own: keys give one that does not change from run to run.
        if !(value is NSOrderedSet), !(value is [Any]), !(value is NSArray) {
            members.sort { $0.end.key < $1.end.key }
        }
        return members
    }

    /// The members that a value expression gives a relationship: as a policy's value, but objects that do not fit the
    /// relationship are passed over, as in a lookup.
    func members(fitting relationship: RelationshipDescription, of value: Any?) throws -> [LinkMember] {
        func fits(_ item: Any) -> Bool {
            guard let object = item as? ManagedObject else { return true }
            return object.entity.isKindOf(entity: relationship.destination) || object.context !== context
        }
        let fitting: Any?
        switch ValueBridge.unwrapped(value) {
        case let one as ManagedObject: fitting = fits(one) ? one : nil
        case let ordered as NSOrderedSet: fitting = NSOrderedSet(array: ordered.array.filter(fits))
        case let set as NSSet: fitting = NSSet(array: set.allObjects.filter(fits))
        case let array as [Any]: fitting = array.filter(fits)
        case let other: fitting = other
        }
        guard let property = properties.property(relationship.name, of: relationship.entity) else { return [] }
        return try members(fitting, of: property)
    }

    /// An object as a member of a relationship; nil for a deleted one.
    func member(_ object: ManagedObject, of property: ObjectProperties.Property) throws -> LinkMember? {
        if object is UnreadMembers { throw UnreadMembers.failure }
        guard object.context === context else {
            throw MigrationError("value.type", .data, "\(object.objectID.shortName) is an object of another context")
        }
        guard let relationship = property.relationship, object.entity.isKindOf(entity: relationship.destination) else {
            throw MigrationError(
                "value.type", .data,
                "An object of \(object.entity) does not fit a relationship to \(property.relationship?.destination.definition.name ?? "")"
            )
        }
        if hasDeletions, try !exists(object.place) { return nil }
        return LinkMember(end: end(object.place))
    }
}
