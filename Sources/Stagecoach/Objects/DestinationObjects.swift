import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Rows
import SpillStorage

/// The destination's objects: faults over open rows and spills. Their links are kept in ``LinkStore``s.
final class DestinationObjects: ManagedObjectContext.Backing {
    let modelRun: ModelRun
    let schema: StoreSchema
    let rows: [DestinationRows]
    let links: LinkStores
    /// The context of these objects; set once, right after it is made.
    unowned(unsafe) var context: ManagedObjectContext?
    let properties: ObjectProperties
    let transients: TransientValues
    /// The index of the mapping that creates objects now; nil if none does.
    @exclusivity(unchecked) var creating: Int?
    /// The number of objects created by each mapping's policy, by mapping index; none for mappings beyond its end.
    @exclusivity(unchecked) private(set) var createdByMapping: [Int] = []
    /// The number of objects that policies made, less the deleted ones, by entity index.
    @exclusivity(unchecked) var createdByEntity: [Int]
    private let isAbstract: [Bool]
    /// The deleted objects: entity index, key, 0.
    let deletions: RecordLog
    /// True if any object was deleted: the ends of links are then checked for existence.
    var hasDeletions: Bool
    /// The objects that count as if they had never been made; nil if there are none.
    private var rejected: RejectedKeys?
    /// The association tables of all mappings; set once, right after the runtime is made.
    var associations: [MappingAssociations] = []
    let indexes: EqualityIndexes
    private(set) lazy var externalNames = schema.model.externalAttributeNames
    /// The counts and indexes that follow the changes of rows, by table.
    var followers: [Int: TableFollower] = [:]
    /// Figures on the rows that fetches have read.
    var statistics = FetchStatistics()
    /// Stored defaults by entity index: column and value.
    private var defaults: [Int: [(column: Int, value: ColumnValue)]] = [:]

    init(modelRun: ModelRun, rows: [DestinationRows], links: LinkStores) {
        self.modelRun = modelRun
        schema = modelRun.inputs.destinationSchema
        self.rows = rows
        self.links = links
        hasDeletions = modelRun.archive.hasDeletions
        deletions = RecordLog(
            directory: modelRun.inputs.work, name: "deleted", width: 3, indexWords: 2,
            memory: RecordMemory(bytes: modelRun.inputs.budget.links / 32))
        properties = ObjectProperties(schema: schema, stores: links)
        transients = TransientValues(
            folder: modelRun.inputs.work.inside, cacheBytes: modelRun.inputs.budget.sourceCache)
        indexes = EqualityIndexes(directory: modelRun.inputs.work, memory: modelRun.inputs.budget.sorts / 2)
        createdByEntity = Array(repeating: 0, count: schema.model.entities.count)
        isAbstract = schema.model.entities.map(\.isAbstract)
    }

    /// Adds rows and links on top of those that the store has already.
    func begin(on destination: DestinationStore, touched: TouchedRows) throws(MigrationError) {
        for table in rows { table.begin(on: destination, touched: touched) }
        try links.begin(on: destination, modelRun.keysBefore)
    }

    /// Releases the statements on the destination.
    func end() {
        for table in rows { table.end() }
        links.end()
    }

    /// Writes rows, links and counts to a checkpoint, or restores them into empty objects. Parts held in memory go to their
    /// files before.
    ///
    /// - Parameter keys: the keys of mappings without a policy, by index.
    func code(with coder: inout StateCoder, keys: [Int: DestinationKeys]) throws(MigrationError) {
        for table in rows { try table.code(with: &coder, keys: keys) }
        try links.code(with: &coder)
        let entities = createdByEntity.count
        try coder.code(&createdByMapping)
        try coder.code(&createdByEntity)
        guard createdByEntity.count == entities else { throw StateReader.damaged("other entities") }
        try coder.code(&hasDeletions)
        try deletions.code(with: &coder)
    }

    func place(entity: EntityDescription, key: Int64) -> ObjectPlace {
        ObjectPlace(entity: entity, key: key, table: schema.tableIndex(of: entity))
    }

    /// Returns the object at a link's end.
    func object(of end: LinkEnd) -> ManagedObject? {
        guard let entity = schema.entityByNumber[Int(end.entity)] else { return nil }
        return context?.object(at: place(entity: schema.model.entity(at: entity), key: end.key))
    }

    func end(_ place: ObjectPlace) -> LinkEnd {
        LinkEnd(key: place.key, entity: UInt32(schema.number(of: place.entity)))
    }

    // MARK: - Making

    func insert(_ entity: EntityDescription) throws -> ObjectPlace {
        let initial = defaultValues(of: entity)
        let key = try insertBare(entity, table: schema.tableIndex(of: entity)) { batch, row, _ in
            for (column, value) in initial { value.store(in: &batch, row: row, slot: column) }
        }
        return place(entity: entity, key: key)
    }

    /// Makes an object, lets a closure fill its cells, and returns its key.
    ///
    /// - Parameters:
    ///   - table: the entity's table.
    ///   - fill: called with the batch, the row and the key. Every cell is null except Z_ENT and Z_OPT.
    func insertBare(
        _ entity: EntityDescription, table: Int, _ fill: (inout RowBatch, Int, Int64) throws(MigrationError) -> Void
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

    /// Returns the number of objects that a mapping's policy has made so far.
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

    private func defaultValues(of entity: EntityDescription) -> [(column: Int, value: ColumnValue)] {
        if let known = defaults[entity.index] { return known }
        let found = Self.defaultValues(of: entity, schema: schema)
        defaults[entity.index] = found
        return found
    }

    /// Returns the model's default values for a new object of an entity, each with its column.
    static func defaultValues(
        of entity: EntityDescription, schema: StoreSchema
    ) -> [(column: Int, value: ColumnValue)] {
        entity.attributes.compactMap { attribute in
            guard let column = schema.column(of: attribute), let value = ColumnValue(initial: attribute) else {
                return nil
            }
            return (column, value)
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

    /// Tells whether an object was in the store before the mapping model at work.
    func isStored(_ place: ObjectPlace) -> Bool {
        rows.indices.contains(place.table) && rows[place.table].isStored(place.key)
    }

    /// Tells whether an attribute or a link of an object of the store was changed.
    func isChanged(_ place: ObjectPlace) throws -> Bool {
        guard isStored(place) else { return false }
        if try modelRun.touched?.isChanged(place.key, table: place.table) == true { return true }
        for relationship in place.entity.relationships {
            guard let (store, side) = links.store(of: relationship) else { continue }
            if try store.hasChanged(place.key, side: side) { return true }
        }
        return false
    }

    /// True if an object of the store was changed or deleted.
    var hasStoredChanges: Bool {
        modelRun.touched?.isEmpty == false || rows.contains(where: \.hasDeletedStored)
            || links.all.contains { $0.existing != nil && $0.hasRecent }
    }

    var insertionLimits: [Int64] { rows.map(\.nextKey) }

    /// Tells whether a link's end has a row and is not rejected.
    func exists(_ end: LinkEnd) throws(MigrationError) -> Bool {
        guard let entity = schema.entityByNumber[Int(end.entity)] else { return false }
        let table = schema.tableByEntity[entity]
        if try rejected?.contains(end.key, table: table) == true { return false }
        if try rows[table].read(end.key, { _, _ throws(MigrationError) in true }) == true { return true }
        return try links.isDeletedLater(end)
    }

    /// Makes rejected objects count as if they had never been made.
    func leaveOut(_ rejected: RejectedKeys) {
        self.rejected = rejected
        hasDeletions = true
    }

    // MARK: - Reading

    func value(of object: ManagedObject, key name: String) throws -> Any? {
        let place = object.place
        guard let property = properties.property(name, of: place.entity) else {
            throw ObjectFailure.unknownKey(name, object)
        }
        guard property.relationship != nil else {
            guard let column = property.column else { return try transients.value(name, of: place) }
            let value: Any? =
                try rows[place.table].read(place.key) { batch, row throws(MigrationError) in
                    try ValueBridge.object(
                        batch[row, column], in: batch, type: property.type, isExternal: property.isExternal)
                } ?? nil
            guard let reference = value as? ExternalFileReference else { return value }
            return try modelRun.external.data(reference, isSource: false, object.errorContext(property: name))
        }
        guard let (store, side) = property.links else { return try transients.value(name, of: place) }
        try links.use(store)
        let partners = try store.partners(of: place.key, side: side)
        guard property.isToMany else { return partners.first.flatMap { self.object(of: $0.partner) } }
        guard property.isOrdered else { return NSSet(array: partners.compactMap { self.object(of: $0.partner) }) }
        return NSOrderedSet(array: LinkView.inOrder(partners).compactMap { self.object(of: $0.partner) })
    }

    // MARK: - Setting

    func setValue(_ value: Any?, of object: ManagedObject, key name: String) throws {
        let place = object.place
        guard let property = properties.property(name, of: place.entity) else {
            throw ObjectFailure.unknownKey(name, object)
        }
        do {
            if property.column == nil, property.links == nil {
                try transients.set(value, property, name, of: place)
            } else {
                try set(value, property, of: object)
            }
        } catch let error as MigrationError {
            throw error.inside(object.errorContext(property: name))
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
                "value.type", .data, "A to-one relationship was given \(members.count.counted("object"))")
        }
        try links.use(store)
        store.isSetByPolicy = true
        try links.set(end(place), store, side, to: members)
    }

    /// Returns the objects in a policy's value: an object, a set, an ordered set or an array, without deleted ones.
    private func members(_ value: Any?, of property: ObjectProperties.Property) throws -> [LinkMember] {
        // Swift code mostly gives this type, so test it first: every other cast of a set makes a bridged copy of it.
        if let value, type(of: value) == Set<ManagedObject>.self, let set = value as? Set<ManagedObject> {
            var members: [LinkMember] = []
            members.reserveCapacity(set.count)
            for object in set { if let member = try member(object, of: property) { members.append(member) } }
            members.sort { $0.end.key < $1.end.key }
            return members
        }
        if let one = value as? ManagedObject { return try member(one, of: property).map { [$0] } ?? [] }
        let given = try GivenObjects(value)
        var members: [LinkMember] = []
        members.reserveCapacity(given.objects.count)
        for object in given.objects { if let member = try member(object, of: property) { members.append(member) } }
        if members.count > 1 {
            var seen: Set<Int64> = []
            members.removeAll { !seen.insert($0.end.key).inserted }
        }
        // A set has no order of its own; sorting by key gives one that is the same in every run.
        if !given.isOrdered { members.sort { $0.end.key < $1.end.key } }
        return members
    }

    /// Returns the members in a value expression's result, as for a policy's value. Objects that do not fit the
    /// relationship are left out, as in a lookup.
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

    /// Returns an object as a member of a relationship; nil if it is deleted.
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
