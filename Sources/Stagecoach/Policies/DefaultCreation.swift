import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// The default creation method: makes an object of a mapping's destination entity for a source object, computes its attributes and
/// associates it.
///
/// Mutable state: the programs of the mappings at work, made when first needed; the window's program and the prepared rows, which
/// stage 1 sets for a mapping and takes back at its end; the number of objects made before the call of a policy, from
/// ``begin(_:from:)`` to ``end(in:)``. For use by one thread.
final class DefaultCreation {
    let modelRun: ModelRun
    private let edits: MappingEdits
    let associations: PolicyAssociations
    let sources: SourceObjects
    let objects: DestinationObjects
    unowned let sourceContext: ManagedObjectContext
    private unowned let destinationContext: ManagedObjectContext
    /// The manager, if its class sees the associations of the default creation method; else nil. Set once.
    var observer: MigrationManager?
    /// Evaluates the expressions that only objects can evaluate. Set once; nil until then.
    var dynamicValues: DynamicValues?
    private var programs: [ObjectIdentifier: CreationProgram] = [:]
    /// The number of slots in all programs kept. One slot takes about 100 bytes.
    private var programSlots = 0
    private static let mostProgramSlots = 16 << 10
    /// The program whose slots the window of source rows has.
    @exclusivity(unchecked) var scanning: CreationProgram?
    /// Rows prepared for the default creation method, used when their turn comes.
    @exclusivity(unchecked) private var prepared: PreparedRows?
    /// The number of objects that the mapping at work had made before the call.
    @exclusivity(unchecked) private var madeBefore = 0
    /// The member of a collection whose object is being made, with its place; nil outside of a mapping with `forEach`.
    @exclusivity(unchecked) var memberAtWork: (value: Any?, index: Int)?
    @exclusivity(unchecked) private var lastCreation: Creation?

    init(
        modelRun: ModelRun, edits: MappingEdits, associations: PolicyAssociations, sources: SourceObjects,
        objects: DestinationObjects, sourceContext: ManagedObjectContext, destinationContext: ManagedObjectContext
    ) {
        self.modelRun = modelRun
        self.edits = edits
        self.associations = associations
        self.sources = sources
        self.objects = objects
        self.sourceContext = sourceContext
        self.destinationContext = destinationContext
    }

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
        if programSlots > Self.mostProgramSlots { (programs, programSlots) = ([:], 0) }
        programs[ObjectIdentifier(mapping)] = program
        programSlots += slots.columns.count
        return program
    }

    /// Begins the call of a policy's creation method for a source object.
    func begin(_ mapping: Int, from key: Int64) {
        associations.begin(mapping, from: key)
        madeBefore = objects.createdCount(ofMapping: mapping)
    }

    /// Ends the call, and counts its source object.
    func end(in line: inout MigrationCounts.Mapping) {
        guard let (mapping, isAssociated) = associations.end() else { return }
        if isAssociated {
            line.migrated += 1
        } else if objects.createdCount(ofMapping: mapping) > madeBefore {
            line.unassociated += 1
        } else if edits.mappings[mapping].forEach != nil {
            line.filtered += 1
        } else {
            line.droppedByPolicy += 1
        }
    }

    /// Everything needed to make objects of one mapping; kept for the next object, which mostly belongs to the same
    /// mapping.
    final class Creation {
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

    /// Returns everything needed now to make objects of a mapping; nil if it makes none.
    func creation(of mapping: EntityMapping) throws(MigrationError) -> Creation? {
        let version = PropertyMapping.changes
        if let lastCreation, lastCreation.mapping === mapping, lastCreation.version == version { return lastCreation }
        let planned = try edits.current(mapping)
        guard let entity = planned.destination else { return nil }
        let made = Creation(
            mapping: mapping, version: version, planned: planned, program: try program(of: planned), entity: entity,
            table: modelRun.inputs.destinationSchema.tableIndex(of: entity),
            associations: associations.tables[planned.index])
        lastCreation = made
        return made
    }

    /// Lets the default creation method use prepared rows. Nil: it computes its own.
    func prepare(_ rows: PreparedRows?, of mapping: PlannedMapping) {
        prepared = rows
        guard let rows else {
            associations.tables[mapping.index].putTaken = nil
            return
        }
        let table = rows.rows
        associations.tables[mapping.index].putTaken = { () throws(MigrationError) in try table.putTaken() }
    }

    /// Performs the default creation method: makes one object, computes its attributes and associates it.
    func createDefault(for source: ManagedObject, in mapping: EntityMapping) throws {
        // Only for the mapping's own source object: a pair of another one is a late pair.
        if sources.changes == nil, let prepared, associations.keyAtWork == source.key, source.context === sourceContext,
            try prepared.take(source, for: mapping)
        {
            associations.noteAssociated()
            return
        }
        guard let creation = try creation(of: mapping) else { return }
        guard source.context === sourceContext else {
            throw ObjectFailure.foreign(source).inside(creation.planned.context)
        }
        try create(by: creation, for: source)
    }

    /// Makes an object of a source object, computes its attributes and associates it.
    @discardableResult
    func create(by creation: Creation, for source: ManagedObject) throws -> ObjectPlace {
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
        let place = ObjectPlace(entity: creation.entity, key: key, table: creation.table)
        if creation.hasDynamicAttributes {
            let planned = creation.planned
            try modelRun.validation.notingAny(ValueSubject(table: place.table, key: key, entity: place.entity)) {
                try dynamicValues?.setAttributes(
                    planned.dynamicAttributes, in: planned, source: source,
                    destination: destinationContext.object(at: place))
            }
        }
        try associate(source, with: place, by: creation)
        return place
    }

    /// Associates a source object with an object of a mapping's entity.
    func associate(_ source: ManagedObject, with place: ObjectPlace, by creation: Creation) throws {
        if let observer {
            return observer.associate(
                sourceInstance: source, withDestinationInstance: destinationContext.object(at: place),
                for: creation.mapping)
        }
        try associations.add(
            source.place.table, source.place.key, ObjectReference(entity: creation.entityIndex, key: place.key),
            creation.planned, creation.associations)
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
}

/// A mapping's attribute program and the source slots it reads. All own columns of the table come first.
final class CreationProgram {
    /// The mapping, kept alive so that no other one gets its identity.
    private let mapping: PlannedMapping
    let attributes: AttributeProgram
    let slots: SourceColumns
    /// Reads a source row by its key, if it is not in the current batch.
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
