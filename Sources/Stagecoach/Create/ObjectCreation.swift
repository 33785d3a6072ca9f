import Diagnostics
import ManagedModel
import Mapping

/// Stage 1 of an entity mapping with a policy: calls it for one source object after the other, and counts.
final class ObjectCreation {
    let mapping: PlannedMapping
    let runtime: StagedRuntime
    let source: EntityDescription
    let program: StagedRuntime.CreationProgram
    private let policy: EntityMigrationPolicy
    private let manager: MigrationManager
    private let filter: SourceFilter?
    private let variables: [String: Any?]
    private let failure: (any Error, ManagedObject) -> any Error
    /// The mapping's counts.
    @exclusivity(unchecked) var line: MigrationCounts.Mapping
    /// What the default method takes rows from; nil where it makes its own.
    @exclusivity(unchecked) private var prepared: PreparedRows?
    /// The source object at work.
    @exclusivity(unchecked) private var held: ManagedObject?

    /// - Parameter failure: the error that ends the run, for one of the policy's creation method and its source object.
    init(
        mapping: PlannedMapping, source: EntityDescription, policy: EntityMigrationPolicy, manager: MigrationManager,
        runtime: StagedRuntime, program: StagedRuntime.CreationProgram, filter: SourceFilter?,
        variables: [String: Any?], failure: @escaping (any Error, ManagedObject) -> any Error
    ) {
        self.mapping = mapping
        self.source = source
        self.policy = policy
        self.manager = manager
        self.runtime = runtime
        self.program = program
        self.filter = filter
        self.variables = variables
        self.failure = failure
        line = runtime.session.counts.mappings[mapping.index]
    }

    /// That of the mapping's own objects; 0 where it makes none.
    var destinationTable: Int { mapping.destinationTable ?? 0 }

    /// Whether another thread may make objects of the next rows meanwhile.
    var mayWorkAhead: Bool {
        policy.execution == .concurrent && filter?.needsObjects != true && mapping.dynamicAttributes.isEmpty
            && mapping.destination != nil && !program.attributes.handlesFiles
    }

    /// Whether the filter lets a row of the batch at hand pass that needs no object for that.
    func passes(_ row: Int) throws -> Bool {
        try filter?.passes(runtime.sources.window, row, object: { nil }, variables: variables) ?? true
    }

    /// Lets rows be prepared for the default method, where it can be known what it will make.
    func beginPreparing() {
        guard filter == nil, mapping.dynamicAttributes.isEmpty, !program.attributes.handlesFiles,
            let entity = mapping.destination, !entity.isAbstract, let sourceTable = mapping.sourceTable
        else { return }
        let rows = PreparedRows(
            mapping: mapping, entity: entity, sourceTable: sourceTable, program: program.attributes, runtime: runtime)
        prepared = rows
        runtime.prepare(rows, of: mapping)
    }

    /// The batch at hand is done.
    func finishBatch() throws(MigrationError) { try prepared?.finishBatch() }

    /// No row is prepared any more; those that were taken and not put down are lost.
    func endPreparing() {
        guard let prepared else { return }
        prepared.rows.dropTaken()
        runtime.prepare(nil, of: mapping)
        self.prepared = nil
    }

    /// Creates the objects of neighbouring rows of the batch at hand, which are done one after the other from the first on.
    func create(rows: Range<Int>, table: Int) throws {
        // Named once for all rows: each mention of a class's variable counts references.
        let (sources, context, entity) = (runtime.sources, runtime.sourceContext, source)
        for row in rows {
            if let prepared, row >= prepared.end { try prepared.prepare(from: row) }
            context.renew(&held, entity: entity, table: table, key: sources.window.key(row))
            try create(row)
        }
    }

    /// Creates the objects of a source object.
    ///
    /// - Parameter row: where it is in the batch at hand; nil where it is not.
    func create(_ entity: EntityDescription, _ table: Int, _ key: Int64, _ row: Int?) throws {
        runtime.sourceContext.renew(&held, entity: entity, table: table, key: key)
        try create(row)
    }

    /// Creates the objects of the source object at hand.
    private func create(_ row: Int?) throws {
        guard let object = held else { return }
        if let filter, let row,
            try !filter.passes(runtime.sources.window, row, object: { object }, variables: variables)
        {
            line.filtered += 1
            return
        }
        let runtime = runtime
        try runtime.failures.rethrow()
        runtime.beginCreating(mapping.index, from: object.key)
        try call(object) { try runtime.failures.rethrow() }
        line.count(runtime.endCreating())
    }

    /// Calls the policy for a source object.
    ///
    /// - Parameter rethrow: throws what calls recorded that cannot throw.
    func call(_ object: ManagedObject, rethrow: () throws -> Void) throws {
        do {
            try policy.createDestinationInstances(forSource: object, in: mapping.mapping, manager: manager)
            try rethrow()
        } catch {
            throw failure(error, object)
        }
        if let error = runtime.session.cancellation.error { throw error }
    }
}
