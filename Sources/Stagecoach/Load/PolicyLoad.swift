import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// The save on the policy path: the runs of each table's rows are merged by key, links are merged in, rules are checked, and
/// each row is written once.
struct PolicyLoad {
    let modelRun: ModelRun
    let checkpoints: CheckpointScheduler?
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let runtime: PolicyRuntime
    let excuses: Bool
    /// The links that were left to the load; nil if all are in the link stores.
    let relating: RelatingByKeys?

    private var schema: StoreSchema { modelRun.inputs.destinationSchema }

    /// Loads all tables, pass by pass.
    ///
    /// - Returns: Z_MAX by destination table.
    func run(into destination: DestinationStore) throws -> [Int64] {
        let resumed = checkpoints?.resumed
        if resumed == nil { try checkpoints?.beginLoad() }
        if let rejected = modelRun.validation.rejected {
            modelRun.missing.fates?.rejected = rejected
            if let relating { rejected.hide(in: relating.keys.byMapping.values) }
            try runtime.relating.makeLinksAgain(without: rejected)
        }
        // A complete store already has these changes.
        if let touched = modelRun.touched, !(resumed?.isComplete ?? false) {
            try ExistingRowChanges(
                modelRun: modelRun, destination: destination, links: runtime.objects.links, touched: touched
            ).write()
            try checkTouched(touched, in: destination)
        }
        let links = try relating.map { try KeyedLinks(modelRun: modelRun, relating: $0, checkpoints: checkpoints) }
        var walk = UnitWalk(
            work.closingUnits, passes: work.passes.count, modelRun: modelRun, checkpoints: checkpoints,
            countsBeforeLoad: false)
        for unit in walk.units {
            let isDue = try walk.enterUnit()
            switch unit.content {
            case .step(let step):
                guard isDue else {
                    let done = walk.done
                    _ = try links?.patches(of: step.table, isLoaded: { isLoaded($0, before: done) })
                    continue
                }
                let names = work.tables[step.table].mappings.map { mappings[$0].name }
                modelRun.services.begin(.load, names)
                try load(work.tables[step.table], links, into: destination, &walk)
                modelRun.services.begin(.indexes, names)
                try modelRun.validation.createIndexes(of: step.table, in: destination)
                try walk.finishUnit()
            case .join(let join): if isDue { try load(join: join, links, into: destination, &walk) }
            }
        }
        walk.finish()
        return walk.highest
    }

    /// Tells whether a table's unit comes before the given unit.
    private func isLoaded(_ table: Int, before done: Int) -> Bool {
        work.closingUnits.firstIndex { $0.table == table }.map { $0 < done } ?? true
    }

    private func load(
        join: Int, _ links: KeyedLinks?, into destination: DestinationStore, _ walk: inout UnitWalk
    ) throws {
        try JoinTableLoad(modelRun: modelRun, destination: destination, joinTable: join).run(&walk) {
            writer, position, prepare in
            if let links, linkStore(ofJoin: join)?.store.isDeferred ?? false {
                return try links.joinLinks(join, from: position, prepare: prepare).load(into: writer)
            }
            return try JoinLinks(
                modelRun: modelRun, checkpoints: checkpoints, mappings: mappings,
                keys: PlanKeys(byMapping: [:], byTable: [:]), joinTable: join, prepare: prepare, start: position
            ).load(try joinRecords(join), into: writer)
        }
    }

    // MARK: - Rows

    private func load(
        _ table: PlannedTable, _ links: KeyedLinks?, into destination: DestinationStore, _ walk: inout UnitWalk
    ) throws {
        let rows = runtime.objects.rows[table.table]
        let start = walk.position
        // Kept keys do not advance `nextKey`, so there may be rows even if no key was given.
        let made = max(1, rows.nextKey - 1 - modelRun.keysBefore.highestKeys[table.table])
        if start == nil {
            try modelRun.validation.prepare(table.table, expecting: Int(clamping: made), in: destination)
        }
        // Each run is read one block at a time, and so are its patches.
        try rows.joinRuns(most: max(4, modelRun.inputs.budget.spill / (256 << 10)))
        let done = walk.done
        let patches =
            try
            (links?.patches(
                of: table.table, isLoaded: { $0 != table.table && isLoaded($0, before: done) },
                written: start?.after) ?? []) + columnPatches(table.table)
        let rules = try rowRules(table)
        walk.restoreState()
        if walk.beginsAfterKill { try destination.checkEmpty(schema.tables[table.table].name) }
        let writer = try destination.tableWriter(table.table, resumingFrom: walk.fill)
        try walk.recordBeginning()
        var highest = start?.highest ?? 0
        if let references = start?.references { modelRun.tally.add(references) }
        func write(_ out: inout RowBatch) throws {
            guard !out.isEmpty else { return }
            try modelRun.services.checkCancelled()
            let last = out.key(out.count - 1)
            highest = max(highest, last)
            try modelRun.validation.rejected?.filter(&out, table: table.table)
            for patch in patches { try patch.apply(to: &out) }
            try modelRun.validation.check(out, rules, modelRun.tally)
            try modelRun.finalizeExternalValues(&out, table: table.table)
            try writer.append(out)
            modelRun.tally.rowsWritten[table.table] += out.count
            modelRun.services.progress.advance(rows: out.count)
            out.removeAll()
            try checkpoints?.tick(writer) {
                LoadPosition(after: last, references: ColumnPatches.counts(of: patches), highest: highest)
            }
        }
        if start?.isDone != true { try forEachBatch(of: rows, after: start?.after, write) }
        walk.recordEnd(of: .init(isDone: true, highest: highest))
        try writer.finish()
        // The key of a deleted object is not given again.
        let given = rows.nextKey - 1
        walk.highest[table.table] = table.keys == .kept ? max(highest, given) : given
    }

    /// Shows a table's rows in ascending order of their keys, batch by batch. Starts after the last row that a killed run
    /// wrote.
    private func forEachBatch(
        of rows: DestinationRows, after written: Int64?, _ write: (inout RowBatch) throws -> Void
    ) throws {
        guard written != .max else { return }
        let first = written.map { $0 + 1 } ?? .min
        // If objects may be rejected, there may be a second load.
        let isLast = modelRun.validation.ledger == nil
        if try rows.forEachBatch(from: first, isLast: isLast, write) { return }
        var out = modelRun.inputs.destinationBatch(slots: rows.columns)
        var last = Int64.min
        // Several runs are read ahead of the rows that are written, so rows that a state still needs would be given back.
        let givesBack = isLast && checkpoints?.isResumable != true
        try rows.forEachRow(of: try rows.runs, from: first, isLast: givesBack) { row in
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
            try touched.forEachKey(table: table) { key in
                batch.removeAll()
                guard try rows.fetch(key, into: &batch),
                    let rules = rules[batch[0, EntityTable.entityColumn].integerValue]
                else { return }
                try rules.check(batch, row: 0) { broken, _ in try modelRun.validation.noteOfAny(broken) }
            }
        }
    }

    private func rowRules(_ table: PlannedTable) throws(MigrationError) -> [Int64: RowRules] {
        var rules: [Int64: RowRules] = [:]
        for index in schema.tables[table.table].entities {
            let entity = schema.model.entity(at: index)
            let making = mappings.filter { $0.destination == entity && $0.source != nil && !$0.belongsToPreviousModel }
            let only = making.count == 1 ? making.first : nil
            var copied: [Int: AttributeDescription] = [:]
            if let only, !only.hasPolicy { copied = try runtime.program(of: only).attributes.copiedAttributes }
            rules[Int64(schema.number(of: entity))] = try RowRules(
                entity: entity, schema: schema, mapping: only, copied: copied, excuses: excuses)
        }
        return rules
    }

    // MARK: - Links

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

    /// Returns the records of ``JoinLinks``, from the link store.
    private func joinRecords(_ join: Int) throws -> SortedRecords {
        let sorter = modelRun.services.sorter(width: JoinLinks.width)
        if let (store, ownSide) = linkStore(ofJoin: join) {
            let links = try store.live(side: ownSide)
            while let view = try links.next() {
                // Links between existing rows are changed in place.
                if let earlier = store.earlier, earlier.isExisting(view.object.key, side: ownSide),
                    earlier.isExisting(view.partner.key, side: ownSide.other)
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
