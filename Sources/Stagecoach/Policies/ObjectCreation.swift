import Diagnostics
import ManagedModel
import Rows

/// Stage 1 of an entity mapping with a policy: calls the policy for each source object, and counts the results.
final class ObjectCreation {
    let mapping: PlannedMapping
    let runtime: PolicyRuntime
    let source: EntityDescription
    let program: CreationProgram
    private let policy: EntityMigrationPolicy
    private let manager: MigrationManager
    private let filter: SourceFilter?
    /// The columns of the current batch, with those of the filter.
    private let slots: SourceColumns
    private let variables: [String: Any?]
    private let failure: (any Error, ManagedObject) -> any Error
    /// The mapping's counts.
    @exclusivity(unchecked) var line: MigrationCounts.Mapping
    /// The source of rows for the default method; nil if it makes its own.
    @exclusivity(unchecked) private var prepared: PreparedRows?
    /// The reader of rows that policies changed since the batch was read, and the row read last; made when first needed.
    private var changedRows: (reader: SourceRowReader, row: ChangedRow)?
    /// The current source object.
    @exclusivity(unchecked) private var held: ManagedObject?

    /// - Parameter failure: makes the error that ends the run from an error of the policy's creation method and its source
    ///   object.
    init(
        mapping: PlannedMapping, source: EntityDescription, policy: EntityMigrationPolicy, manager: MigrationManager,
        runtime: PolicyRuntime, program: CreationProgram, filter: SourceFilter?,
        slots: SourceColumns, variables: [String: Any?], failure: @escaping (any Error, ManagedObject) -> any Error
    ) {
        self.mapping = mapping
        self.source = source
        self.policy = policy
        self.manager = manager
        self.runtime = runtime
        self.program = program
        self.filter = filter
        self.slots = slots
        self.variables = variables
        self.failure = failure
        line = runtime.modelRun.tally.counts.mappings[mapping.index]
    }

    /// Starts to prepare rows for the default method, if its results can be predicted.
    func beginPreparing() {
        guard filter == nil, runtime.creation.observer == nil, mapping.forEach == nil,
            mapping.dynamicAttributes.isEmpty,
            !program.attributes.handlesFiles, !program.attributes.mayCut,
            let entity = mapping.destination, !entity.isAbstract, let sourceTable = mapping.sourceTable
        else { return }
        let rows = PreparedRows(
            mapping: mapping, entity: entity, sourceTable: sourceTable, program: program.attributes,
            objects: runtime.objects, sources: runtime.sources, associations: runtime.associations[mapping.index])
        prepared = rows
        runtime.creation.prepare(rows, of: mapping)
    }

    /// Ends the current batch.
    func finishBatch() throws(MigrationError) { try prepared?.finishBatch() }

    /// Stops preparing rows. Rows that were taken but not stored are lost.
    func endPreparing() {
        guard let prepared else { return }
        prepared.rows.dropTaken()
        runtime.creation.prepare(nil, of: mapping)
        self.prepared = nil
    }

    /// Creates the objects of neighbouring rows of the current batch, one after the other.
    func create(rows: Range<Int>, table: Int) throws {
        // Hoisted out of the loop: each read of a class's variable would retain and release.
        let (sources, context, entity) = (runtime.sources, runtime.sourceContext, source)
        for row in rows {
            if let prepared, row >= prepared.end { try prepared.prepare(from: row) }
            let key = sources.window.key(row)
            guard runtime.creation.isCurrent(key, table, slots) else {
                try createChanged(entity, table, key)
                continue
            }
            context.renew(&held, entity: entity, table: table, key: key)
            try create(row)
        }
    }

    /// Creates the objects of a source object.
    ///
    /// - Parameter row: the object's row in the current batch; nil if it is not there.
    func create(_ entity: EntityDescription, _ table: Int, _ key: Int64, _ row: Int?) throws {
        guard runtime.creation.isCurrent(key, table, slots) else { return try createChanged(entity, table, key) }
        runtime.sourceContext.renew(&held, entity: entity, table: table, key: key)
        runtime.userCode.enter(entity)
        try create(row)
    }

    /// Creates the objects of the current source object.
    private func create(_ row: Int?) throws {
        guard let object = held else { return }
        if let filter, let row,
            try !filter.passes(runtime.sources.window, row, object: { object }, variables: variables)
        {
            line.filtered += 1
            return
        }
        try call(object)
    }

    /// Creates the objects of a source object that may have been changed or deleted since its batch was read.
    private func createChanged(_ entity: EntityDescription, _ table: Int, _ key: Int64) throws {
        runtime.sourceContext.renew(&held, entity: entity, table: table, key: key)
        guard let object = held else { return }
        guard try runtime.sources.exists(object.place) else {
            line.droppedByPolicy += 1
            return
        }
        if let filter, table == mapping.sourceTable {
            if changedRows == nil {
                let reader = try SourceRowReader(run: runtime.modelRun.run, slots: slots, table: table)
                changedRows = (reader, ChangedRow(slots: slots.columns.count))
            }
            guard let (reader, row) = changedRows, try reader.fetch(key, into: &row.batch) else { return }
            guard try filter.passes(row.batch, 0, object: { object }, variables: variables) else {
                line.filtered += 1
                return
            }
        }
        runtime.userCode.enter(entity)
        try call(object)
    }

    /// Calls the policy for a source object.
    private func call(_ object: ManagedObject) throws {
        let runtime = runtime
        try runtime.failures.rethrow()
        runtime.creation.begin(mapping.index, from: object.key)
        UserCodeNotes.enter(key: object.key)
        do {
            try policy.createDestinationInstances(forSource: object, in: mapping.mapping, manager: manager)
            try runtime.endUserCode()
        } catch {
            throw failure(error, object)
        }
        if let error = runtime.modelRun.services.cancellation.error { throw error }
        runtime.creation.end(in: &line)
    }
}

/// A batch for one source row that a policy changed after its batch was read. It is a class because batches cannot be copied.
private final class ChangedRow {
    var batch: RowBatch

    init(slots: Int) { batch = RowBatch(slots: slots, rowCapacity: 1, byteTarget: 4096) }
}
