import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// The rows and links of the save on the policy path: the runs of each table's rows are merged by key, and links come from the
/// link stores or, if no policy has seen them, from the keys.
final class PolicyLoad: ModelStage, LoadSource {
    let stage: StageInputs
    private let runtime: PolicyRuntime
    /// The patches of the current table.
    private var patches: [any RowPatches] = []

    private var schema: StoreSchema { modelRun.inputs.destinationSchema }

    private var deferred: DeferredLinks { runtime.linkSetter.deferred }

    init(stage: StageInputs, runtime: PolicyRuntime) {
        self.stage = stage
        self.runtime = runtime
    }

    /// Loads all tables.
    ///
    /// - Returns: Z_MAX by destination table.
    func run(into destination: DestinationStore) throws -> [Int64] {
        let resumed = resumed
        if resumed == nil { try checkpoints?.beginLoad() }
        if let rejected = modelRun.validation.rejected {
            modelRun.missing.fates?.rejected = rejected
            if let plan = deferred.plan { rejected.hide(in: plan.keys.byMapping.values) }
            try runtime.linkSetter.repeatLinks(without: rejected)
        }
        // A complete store already has these changes.
        if let touched = modelRun.touched, !(resumed?.isComplete ?? false) {
            try ExistingRowChanges(
                modelRun: modelRun, destination: destination, links: runtime.objects.links, touched: touched
            ).write()
            try checkTouched(touched, in: destination)
        }
        try deferred.beginLoad(isResumed: resumed != nil)
        modelRun.run.declared = deferred.pairs
        return try LoadRun(
            stage: stage, units: stage.work.closingUnits, countsBeforeLoad: false, destination: destination
        ).run(self)
    }

    // MARK: - Rows

    func begin(_ step: PlannedStep, isClosed: (Int) -> Bool) throws {
        modelRun.services.begin(.load, step.mappings.map { mappings[$0].name })
        patches = try deferred.patches(of: step.table, isClosed: isClosed)
        guard !isClosed(step.table) else { return }
        // Each run is read one block at a time, and so are its patches.
        try runtime.objects.rows[step.table].joinRuns(most: max(4, modelRun.inputs.budget.spill / (256 << 10)))
        patches += try columnPatches(step.table)
    }

    func expectedRows(of table: PlannedTable) -> Int {
        // Kept keys do not advance `nextKey`, so there may be rows even if no key was given.
        Int(
            clamping: max(
                1, runtime.objects.rows[table.table].nextKey - 1 - modelRun.keysBefore.highestKeys[table.table]))
    }

    func load(_ step: PlannedStep, into writer: any TableWriter) throws -> Int64 {
        let table = step.table
        let finish = RowFinish(
            modelRun: modelRun, table: table, patches: patches, rules: try rowRules(table), writer: writer)
        var highest: Int64 = 0
        try forEachBatch(of: runtime.objects.rows[table]) { out in
            guard !out.isEmpty else { return }
            try modelRun.services.checkCancelled()
            highest = max(highest, out.key(out.count - 1))
            try modelRun.validation.rejected?.filter(&out, table: table)
            let count = out.count
            try finish.write(&out)
            modelRun.services.progress.advance(rows: count)
        }
        return highest
    }

    func end(_ table: PlannedTable, loaded: Int64) -> Int64 {
        patches = []
        // The key of a deleted object is not given again.
        let given = runtime.objects.rows[table.table].nextKey - 1
        return table.keys == .kept ? max(loaded, given) : given
    }

    /// Shows a table's rows in ascending order of their keys, batch by batch.
    private func forEachBatch(of rows: DestinationRows, _ write: (inout RowBatch) throws -> Void) throws {
        // If objects may be rejected, there may be a second load.
        let isLast = modelRun.validation.ledger == nil
        if try rows.forEachBatch(isLast: isLast, write) { return }
        var out = modelRun.inputs.destinationBatch(slots: rows.columns)
        var last = Int64.min
        // Several runs are read ahead of the rows that are written, so rows that a state still needs would be given back.
        let givesBack = isLast && !isResumable
        try rows.forEachRow(of: try rows.runs, isLast: givesBack) { row in
            if out.isFull { try write(&out) }
            assert(row.key > last, "rows come in order, each once")
            last = row.key
            row.copy(to: &out)
        }
        try write(&out)
    }

    /// Checks the rules of the existing rows that the mapping model changed.
    private func checkTouched(_ touched: TouchedRows, in destination: DestinationStore) throws {
        for table in schema.tables.indices {
            let rows = ExistingRows(destination, table: table)
            var batch = RowBatch(slots: schema.tables[table].columns.count, rowCapacity: 1, byteTarget: 4096)
            var rules: [Int64: RowRules] = [:]
            for index in schema.tables[table].entities {
                let entity = schema.model.entity(at: index)
                rules[Int64(schema.number(of: entity))] = try RowRules(
                    entity: entity, schema: schema, mapping: nil, copied: [:], typed: [], excuses: false)
            }
            var errors = BrokenRuleErrors()
            try touched.forEachKey(table: table) { key in
                batch.removeAll()
                guard try rows.fetch(key, into: &batch),
                    let rules = rules[batch[0, EntityTable.entityColumn].integerValue]
                else { return }
                try rules.check(batch, row: 0) { broken, _ in
                    try errors.keep { try modelRun.validation.noteOfAny(broken) }
                }
            }
            try errors.end()
        }
    }

    private func rowRules(_ table: Int) throws(MigrationError) -> [Int64: RowRules] {
        var rules: [Int64: RowRules] = [:]
        for index in schema.tables[table].entities {
            let entity = schema.model.entity(at: index)
            let making = mappings.filter { $0.destination == entity && $0.source != nil && !$0.belongsToPreviousModel }
            let only = making.count == 1 ? making.first : nil
            var copied: [Int: AttributeDescription] = [:]
            if let only, !only.hasPolicy { copied = try runtime.creation.program(of: only).attributes.copiedAttributes }
            rules[Int64(schema.number(of: entity))] = try RowRules(
                entity: entity, schema: schema, mapping: only, copied: copied, excuses: stage.excuses)
        }
        return rules
    }

    // MARK: - Links

    func load(join: Int, into writer: any TableWriter, prepare: @escaping (Int) throws -> Void) throws -> Int {
        if let plan = deferred.plan, linkStore(ofJoin: join)?.store.isDeferred ?? false {
            return try JoinLinks(
                stage: stage, mappings: plan.mappings, keys: plan.keys, joinTable: join, prepare: prepare
            ).load(into: writer)
        }
        return try JoinLinks(
            stage: stage, mappings: mappings, keys: PlanKeys(byMapping: [:], byTable: [:]), joinTable: join,
            prepare: prepare
        ).load(try joinRecords(join), into: writer)
    }

    /// Returns the patches of a table's foreign keys whose links are in the link stores.
    private func columnPatches(_ table: Int) throws -> [any RowPatches] {
        var patches: [ColumnPatches] = []
        for entity in schema.tables[table].entities.map(schema.model.entity(at:)) {
            for relationship in entity.relationships where relationship.entity == entity {
                guard case .toOne(_, let column, let entityColumn, let orderColumn) = schema.storage(of: relationship),
                    let (store, side) = runtime.objects.links.store(of: relationship), !store.isDeferred
                else { continue }
                let isOrdered = orderColumn != nil && store.isOrdered(side.other)
                patches.append(
                    try ColumnPatches(
                        column: column, entityColumn: entityColumn, orderColumn: isOrdered ? orderColumn : nil,
                        .links(try store.live(side: side))))
            }
        }
        for relationship in hiddenRelationships(into: table) {
            guard case .toManyHidden(_, let column, let orderColumn) = schema.storage(of: relationship),
                let (store, side) = runtime.objects.links.store(of: relationship), !store.isDeferred
            else { continue }
            patches.append(
                try ColumnPatches(
                    column: column, entityColumn: nil, orderColumn: orderColumn,
                    .links(try store.live(side: side.other))))
        }
        return patches
    }

    private func hiddenRelationships(into table: Int) -> [RelationshipDescription] {
        schema.model.entities.flatMap { entity in
            entity.relationships.filter { relationship in
                guard relationship.entity == entity,
                    case .toManyHidden(let target, _, _) = schema.storage(of: relationship)
                else { return false }
                return target == table
            }
        }
    }

    /// Returns the link store of a join table, and the side of its first column.
    private func linkStore(ofJoin join: Int) -> (store: LinkStore, side: LinkStore.Side)? {
        let side = schema.joinTables[join].sides[0].relationship
        return schema.model.entity(at: side.entity).relationship(named: side.name).flatMap {
            runtime.objects.links.store(of: $0)
        }
    }

    /// Returns the records of ``JoinLinkSort``, from the link store.
    private func joinRecords(_ join: Int) throws -> SortedRecords {
        let sorter = modelRun.services.sorter(width: JoinLinkSort.width)
        if let (store, ownSide) = linkStore(ofJoin: join) {
            let links = try store.live(side: ownSide)
            while let view = try links.next() {
                // Links between existing rows are changed in place.
                if let existing = store.existing, existing.isExisting(view.object.key, side: ownSide),
                    existing.isExisting(view.partner.key, side: ownSide.other)
                {
                    continue
                }
                try sorter.append(
                    SortKey.encode(view.object.key), SortKey.encode(view.partner.key),
                    view.orderOfObject.words.kind, view.orderOfObject.words.value, view.orderOfPartner.words.kind,
                    view.orderOfPartner.words.value)
            }
        }
        return try sorter.finish()
    }
}
