import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The objects and associations of a run with user code. The manager and the default policy methods work on them.
final class PolicyRuntime {
    let modelRun: ModelRun
    let mappings: [PlannedMapping]
    let associations: [MappingAssociations]
    let sources: SourceObjects
    let objects: DestinationObjects
    let sourceContext: ManagedObjectContext
    let destinationContext: ManagedObjectContext
    let failures = FailureRecord()
    let userCode = UserCodeNotes()
    /// True if failures of calls that cannot throw are recorded already.
    var hasScope = false
    let linkSetter: PolicyLinkSetter
    /// The source object whose destination objects are being created, and a flag set once something is associated with
    /// it.
    @exclusivity(unchecked) private(set) var creatingFrom: (mapping: Int, key: Int64)?
    @exclusivity(unchecked) private var isAssociated = false
    /// The number of objects that the mapping at work had made before the call.
    @exclusivity(unchecked) private var madeBefore = 0
    /// The destination object that a policy relates, with the key of the first source object associated with it and its place
    /// among the mapping's objects.
    @exclusivity(unchecked) var relatedNow: (mapping: Int, destination: ManagedObject, source: Int64, place: Int)?
    private var programs: [ObjectIdentifier: CreationProgram] = [:]
    /// The number of slots in all programs kept. One slot takes about 100 bytes.
    private var programSlots = 0
    private static let mostProgramSlots = 16 << 10
    private let edits: MappingEdits
    /// The evaluator of values that need objects; set once, right after the runtime is made.
    private(set) var dynamicValues: DynamicValues?
    /// The program whose slots the window of source rows has.
    @exclusivity(unchecked) var scanning: CreationProgram?
    /// Rows prepared for the default creation method, used when their turn comes.
    @exclusivity(unchecked) private var prepared: PreparedRows?
    @exclusivity(unchecked) private var lastPlanned: PlannedMapping?
    /// The result of a lookup; the array is reused for the next one.
    private var found: [ObjectReference] = []

    /// A mapping's attribute program and the source slots it reads. All own columns of the table come first.
    final class CreationProgram {
        /// The mapping, kept alive so that no other one gets its identity.
        private let mapping: PlannedMapping
        let attributes: AttributeProgram
        let slots: SourceColumns
        /// The reader of rows outside of the current batch.
        let rows: SourceRowReader
        var single: RowBatch

        init(mapping: PlannedMapping, attributes: AttributeProgram, slots: SourceColumns, rows: SourceRowReader) {
            self.mapping = mapping
            self.attributes = attributes
            self.slots = slots
            self.rows = rows
            single = RowBatch(slots: slots.columns.count, rowCapacity: 1, byteTarget: 4096)
        }
    }

    init(
        modelRun: ModelRun, mappings: [PlannedMapping], associations: [MappingAssociations],
        rows: [DestinationRows], links: LinkStores, storeUUID: String
    ) {
        self.modelRun = modelRun
        self.mappings = mappings
        self.associations = associations
        edits = MappingEdits(
            mappings: mappings, source: modelRun.inputs.layout.schema, destination: modelRun.inputs.destinationSchema)
        sources = SourceObjects(modelRun: modelRun)
        objects = DestinationObjects(modelRun: modelRun, rows: rows, links: links)
        sourceContext = PolicyRuntime.context(
            of: sources, modelRun.inputs, storeUUID: modelRun.inputs.source.metadata.uuid, failures: failures)
        destinationContext = PolicyRuntime.context(
            of: objects, modelRun.inputs, storeUUID: storeUUID, failures: failures)
        linkSetter = PolicyLinkSetter(
            MemberLookups(
                modelRun: modelRun, mappings: mappings, associations: associations, objects: objects, sources: sources))
        sources.context = sourceContext
        objects.context = destinationContext
        objects.associations = associations
        sources.willChange = { [unowned self] () throws(MigrationError) in
            // The load would read the links from the changed source.
            try linkSetter.useAll()
        }
        // A row that a mapping made, or would have made, of a deleted object may be missing.
        sources.hasDeleted = { [unowned self] in objects.hasDeletions = true }
    }

    /// Releases rows, links and associations. Objects that a policy still holds have no values any more.
    func close() {
        sourceContext.close()
        destinationContext.close()
    }

    /// The origins of objects, for reports of invalid ones.
    var origins: PolicyOrigins {
        PolicyOrigins(
            associations: associations, sourceEntity: { [sources] in try sources.entity(table: $0, key: $1) },
            exists: { [objects] reference in
                guard objects.hasDeletions else { return true }
                let entity = objects.schema.model.entity(at: Int(reference.entity))
                return try objects.exists(objects.place(entity: entity, key: reference.key))
            })
    }

    /// The manager, if its class sees the associations of the default creation method; else nil.
    private(set) var observer: MigrationManager?

    /// Sets the values of `$manager` and `$entityPolicy`.
    func evaluate(with manager: MigrationManager, _ policies: Policies) {
        if manager.observedCalls.contains(.associations) { observer = manager }
        let values = DynamicValues(runtime: self, manager: manager, policies: policies)
        dynamicValues = values
        linkSetter.dynamicValues = values
    }

    // MARK: - Creation

    /// Returns the program of a mapping; it is compiled once.
    func program(of mapping: PlannedMapping) throws(MigrationError) -> CreationProgram {
        if let known = programs[ObjectIdentifier(mapping)] { return known }
        guard let entity = mapping.source, let table = mapping.sourceTable else {
            throw MigrationError(
                "mapping.noSource", .configuration, "The entity mapping has no source entity", context: mapping.context)
        }
        var slots = SourceColumns(allColumnsOf: entity, schema: modelRun.inputs.layout.schema)
        let attributes = try AttributeProgram(
            mapping: mapping, slots: &slots, indexed: modelRun.inputs.indexedColumns(of: mapping),
            external: modelRun.external, tally: modelRun.tally)
        let program = CreationProgram(
            mapping: mapping, attributes: attributes, slots: slots,
            rows: try SourceRowReader(run: modelRun.run, slots: slots, table: table))
        // Objects come mapping by mapping: a few programs are enough even with hundreds of mappings into a wide table.
        if programSlots > PolicyRuntime.mostProgramSlots { (programs, programSlots) = ([:], 0) }
        programs[ObjectIdentifier(mapping)] = program
        programSlots += slots.columns.count
        return program
    }

    /// Begins the call of a policy's creation method for a source object.
    func beginCreating(_ mapping: Int, from key: Int64) {
        creatingFrom = (mapping, key)
        isAssociated = false
        madeBefore = objects.createdCount(ofMapping: mapping)
    }

    /// Ends the call, and counts its source object.
    func endCreating(in line: inout MigrationCounts.Mapping) {
        guard let (mapping, _) = creatingFrom else { return }
        creatingFrom = nil
        if isAssociated {
            line.migrated += 1
        } else if objects.createdCount(ofMapping: mapping) > madeBefore {
            line.unassociated += 1
        } else {
            line.droppedByPolicy += 1
        }
    }

    /// Returns a mapping as its policy's `begin` may have changed it.
    func current(_ mapping: PlannedMapping) throws(MigrationError) -> PlannedMapping {
        try edits.current(mapping.mapping, mapping)
    }

    /// Everything needed to make objects of one mapping; kept for the next object, which mostly belongs to the same
    /// mapping.
    private final class Creation {
        let mapping: EntityMapping
        /// The version of all property mappings' expressions.
        let version: Int
        let planned: PlannedMapping
        let program: CreationProgram
        let entity: EntityDescription
        let table: Int
        let associations: MappingAssociations
        /// The entity's index in references to the mapping's objects.
        let entityIndex: UInt32
        let hasDynamicAttributes: Bool

        init(
            mapping: EntityMapping, version: Int, planned: PlannedMapping, program: CreationProgram,
            entity: EntityDescription, table: Int, associations: MappingAssociations
        ) {
            self.mapping = mapping
            self.version = version
            self.planned = planned
            self.program = program
            self.entity = entity
            self.table = table
            self.associations = associations
            entityIndex = UInt32(entity.index)
            hasDynamicAttributes = !planned.dynamicAttributes.isEmpty
        }
    }
    @exclusivity(unchecked) private var lastCreation: Creation?

    /// Returns everything needed now to make objects of a mapping; nil if it makes none.
    private func creation(of mapping: EntityMapping) throws(MigrationError) -> Creation? {
        let version = PropertyMapping.changes
        if let lastCreation, lastCreation.mapping === mapping, lastCreation.version == version { return lastCreation }
        let planned = try edits.current(mapping, try planned(mapping))
        guard let entity = planned.destination else { return nil }
        let made = Creation(
            mapping: mapping, version: version, planned: planned, program: try program(of: planned), entity: entity,
            table: modelRun.inputs.destinationSchema.tableIndex(of: entity), associations: associations[planned.index])
        lastCreation = made
        return made
    }

    /// Lets the default creation method use prepared rows. Nil: it computes its own.
    func prepare(_ rows: PreparedRows?, of mapping: PlannedMapping) {
        prepared = rows
        guard let rows else {
            associations[mapping.index].putTaken = nil
            return
        }
        let table = rows.rows
        associations[mapping.index].putTaken = { () throws(MigrationError) in try table.putTaken() }
    }

    /// Performs the default creation method: makes one object, computes its attributes and associates it.
    func createDefault(for source: ManagedObject, in mapping: EntityMapping) throws {
        // Only for the mapping's own source object: a pair of another one is a late pair.
        if sources.changes == nil, let prepared, let creatingFrom, creatingFrom.key == source.key,
            source.context === sourceContext,
            try prepared.take(source, for: mapping)
        {
            isAssociated = true
            return
        }
        guard let creation = try creation(of: mapping) else { return }
        guard source.context === sourceContext else {
            throw ObjectFailure.foreign(source).inside(creation.planned.context)
        }
        let (sourceTable, sourceKey) = (source.place.table, source.place.key)
        let key: Int64
        if scanning === creation.program, isCurrent(sourceKey, sourceTable, creation.program.slots),
            let row = sources.rowInWindow(table: sourceTable, key: sourceKey)
        {
            key = try insert(by: creation, from: sources.window, row: row)
        } else {
            let program = creation.program
            if try program.rows.fetch(sourceKey, into: &program.single) {
                key = try insert(by: creation, from: program.single, row: 0)
            } else if scanning === program, let row = sources.rowInWindow(table: sourceTable, key: sourceKey) {
                // Its own policy deleted it before it called the default.
                key = try insert(by: creation, from: sources.window, row: row)
            } else {
                throw ObjectFailure.gone(source)
            }
        }
        if creation.hasDynamicAttributes {
            let (planned, entity, table) = (creation.planned, creation.entity, creation.table)
            try modelRun.validation.notingAny(ValueSubject(table: table, key: key, entity: entity)) {
                try dynamicValues?.setAttributes(
                    planned.dynamicAttributes, in: planned, source: source,
                    destination: destinationContext.object(at: ObjectPlace(entity: entity, key: key, table: table)))
            }
        }
        if let observer {
            let place = ObjectPlace(entity: creation.entity, key: key, table: creation.table)
            return observer.associate(
                sourceInstance: source, withDestinationInstance: destinationContext.object(at: place), for: mapping)
        }
        try associate(
            sourceTable, sourceKey, ObjectReference(entity: creation.entityIndex, key: key), creation.planned,
            creation.associations)
    }

    /// Tells whether the slots of a row in the window still have the values of the source as policies changed it.
    func isCurrent(_ key: Int64, _ table: Int, _ slots: SourceColumns) -> Bool {
        sources.changes == nil || slots.areOwn && !sources.mayHaveChanged(key, table: table)
    }

    /// Inserts a destination object whose attributes are computed from a source row.
    private func insert(by creation: Creation, from rows: borrowing RowBatch, row: Int) throws(MigrationError) -> Int64
    {
        let attributes = creation.program.attributes
        return try objects.insertBare(creation.entity, table: creation.table) {
            batch, target, key throws(MigrationError) in
            do throws(MigrationError) {
                try attributes.run(rows, row: row, into: &batch, destinationRow: target)
            } catch {
                try modelRun.validation.note(
                    error, ValueSubject(table: creation.table, key: key, entity: creation.entity))
            }
        }
    }

    /// Performs the default method of stage 2: evaluates the relationship mappings for one destination object.
    func relateDefault(_ destination: ManagedObject, in mapping: EntityMapping) throws {
        destinationContext.takeOverSets()
        defer { destinationContext.refreshSets() }
        let planned = try edits.current(mapping, try planned(mapping))
        if let now = relatedNow, now.mapping == planned.index, now.destination === destination {
            return try linkSetter.setAll(
                of: objects.end(destination.place), source: now.source, in: planned, at: now.place)
        }
        found.removeAll(keepingCapacity: true)
        try associations[planned.index].sources(of: reference(destination.place), into: &found)
        // If one destination object has several sources, `$source` is the first.
        guard let source = found.first else { return }
        try linkSetter.setAll(of: objects.end(destination.place), source: source.key, in: planned, at: nil)
    }

    private func planned(_ mapping: EntityMapping) throws(MigrationError) -> PlannedMapping {
        if let last = lastPlanned, last.mapping === mapping { return last }
        // The same mapping may have run in a previous model: the last one is at work now.
        if let same = mappings.last(where: { $0.mapping === mapping }) {
            lastPlanned = same
            return same
        }
        guard let named = mappings.last(where: { $0.name == mapping.name }) else {
            throw MigrationError(
                "manager.unknownMapping", .data, "The mapping model has no entity mapping \(mapping.name ?? "")",
                context: .init(entityMapping: mapping.name))
        }
        return named
    }

    // MARK: - Associations

    /// Ends a call of user code: what it changed through mutable sets is made, and a failure of a call that could not throw is
    /// thrown.
    func endUserCode() throws {
        if destinationContext.memberSets.isInUse { destinationContext.endSets() }
        if sourceContext.memberSets.isInUse { sourceContext.endSets() }
        try failures.rethrow()
    }

    /// Runs a manager's call that cannot throw. A failure ends the run when the policy's method returns.
    func recording<Value>(_ body: (PolicyRuntime) throws -> Value) -> Value? {
        do {
            return try body(self)
        } catch {
            failures.record(error)
            return nil
        }
    }

    func associate(_ source: ManagedObject, _ destination: ManagedObject, _ mapping: EntityMapping) throws {
        guard source.context === sourceContext, destination.context === destinationContext else {
            throw MigrationError(
                "manager.associate", .data, "An association is from a source object to a destination object",
                context: .init(objectID: source.objectID.shortName, entityMapping: mapping.name))
        }
        let planned = try planned(mapping)
        try associate(
            source.place.table, source.place.key, reference(destination.place), planned, associations[planned.index])
    }

    private func associate(
        _ table: Int, _ key: Int64, _ destination: ObjectReference, _ mapping: PlannedMapping,
        _ pairs: MappingAssociations
    ) throws(MigrationError) {
        try linkSetter.useAll()
        try pairs.add(source: ObjectReference(entity: UInt32(table), key: key), destination: destination)
        if let creatingFrom, creatingFrom.mapping == mapping.index, creatingFrom.key == key,
            table == mapping.sourceTable
        {
            isAssociated = true
        } else {
            pairs.hasLatePairs = true
        }
    }

    private func reference(_ id: ObjectPlace) -> ObjectReference {
        ObjectReference(entity: UInt32(id.entity.index), key: id.key)
    }

    func destinationInstances(_ name: String, _ sources: [ManagedObject]?) throws -> [ManagedObject] {
        var instances: [ManagedObject] = []
        guard let sources else {
            try forEachDestination(name) { instances.append(destinationContext.object(at: $0)) }
            return instances
        }
        let table = try table(named: name)
        found.removeAll(keepingCapacity: true)
        for source in sources {
            try table.destinations(ofKey: source.place.key, table: source.place.table, into: &found)
        }
        if sources.count > 1 { PolicyRuntime.dropRepeats(&found) }
        instances.reserveCapacity(found.count)
        for reference in found {
            let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(reference.entity))
            let place = objects.place(entity: entity, key: reference.key)
            if objects.hasDeletions, try !objects.exists(place) { continue }
            instances.append(destinationContext.object(at: place))
        }
        return instances
    }

    /// Shows the places of a mapping's destination objects that exist.
    private func forEachDestination(_ name: String, _ body: (ObjectPlace) throws -> Void) throws {
        try table(named: name).forEachDestination { reference, _ in
            let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(reference.entity))
            let place = objects.place(entity: entity, key: reference.key)
            if objects.hasDeletions, try !objects.exists(place) { return }
            try body(place)
        }
    }

    /// Shows a mapping's destination objects one after the other.
    func forEachDestinationInstance(_ name: String, _ body: (ManagedObject) throws -> Void) throws {
        var held: ManagedObject?
        try forEachDestination(name) { place in
            destinationContext.renew(&held, entity: place.entity, table: place.table, key: place.key)
            if let held { try body(held) }
        }
    }

    func sourceInstances(_ name: String, _ destinations: [ManagedObject]?) throws -> [ManagedObject] {
        let table = try table(named: name)
        found.removeAll(keepingCapacity: true)
        if let destinations {
            for destination in destinations { try table.sources(of: reference(destination.place), into: &found) }
            if destinations.count > 1 { PolicyRuntime.dropRepeats(&found) }
        } else {
            try table.forEachSource { found.append($0) }
            PolicyRuntime.dropRepeats(&found)
        }
        var instances: [ManagedObject] = []
        instances.reserveCapacity(found.count)
        for reference in found {
            if let object = try sources.object(table: Int(reference.entity), key: reference.key) {
                instances.append(object)
            }
        }
        return instances
    }

    private static func dropRepeats(_ references: inout [ObjectReference]) {
        // Most often they ascend, and none comes twice.
        func precedes(_ one: ObjectReference, _ other: ObjectReference) -> Bool {
            (one.entity, one.key) < (other.entity, other.key)
        }
        let isAscending = references.indices.dropFirst().allSatisfy { precedes(references[$0 - 1], references[$0]) }
        guard references.count > 1, !isAscending else { return }
        var seen: Set<ObjectReference> = []
        references.removeAll { !seen.insert($0).inserted }
    }

    private func table(named name: String) throws(MigrationError) -> MappingAssociations {
        guard let known = associations.last(where: { $0.mapping.name == name }) else {
            throw MigrationError(
                "manager.unknownMapping", .data, "There is no entity mapping \(name)",
                remedy: "Name one of: \(mappings.map(\.name).joined(separator: ", "))",
                context: .init(entityMapping: name))
        }
        return known
    }
}
