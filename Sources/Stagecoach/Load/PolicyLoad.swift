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
    /// The links if stages 2 and 3 run no user code; nil if the links are in the link stores.
    let relating: RelatingByKeys?

    private var schema: StoreSchema { modelRun.inputs.destinationSchema }

    /// Loads all tables, pass by pass.
    ///
    /// - Returns: Z_MAX by destination table.
    func run(into destination: DestinationStore) throws -> [Int64] {
        let resumed = checkpoints?.resumed
        if resumed == nil { try checkpoints?.beginLoad() }
        // A complete store already has these changes.
        if let touched = modelRun.touched, !(resumed?.isComplete ?? false) {
            try ExistingRowChanges(
                modelRun: modelRun, destination: destination, links: runtime.objects.links, touched: touched
            ).write()
            try checkTouched(touched, in: destination)
        }
        let links = try relating.map { try KeyedLinks(modelRun: modelRun, mappings: mappings, relating: $0, checkpoints: checkpoints) }
        var course = Course(
            highest: [Int64](repeating: 0, count: schema.tables.count), resumed: resumed, checkpoints: checkpoints)
        for (number, pass) in work.passes.enumerated() {
            modelRun.services.progress.enter(pass: number + 1, of: work.passes.count)
            // The rows of an open table stay in their spills. The table is loaded when it closes.
            for step in pass.steps where step.isLast {
                guard try course.enterUnit() else {
                    _ = try links?.patches(of: step.table, isLoaded: { isLoaded($0, before: course.done) })
                    continue
                }
                let names = work.tables[step.table].mappings.map { mappings[$0].name }
                modelRun.services.begin(.load, names)
                try load(work.tables[step.table], links, into: destination, &course)
                modelRun.services.begin(.indexes, names)
                try modelRun.validation.createIndexes(of: step.table, in: destination)
                try checkpoints?.endStep(course.unit, highest: course.highest)
            }
            for join in pass.joinTables where try course.enterUnit() {
                try load(join: join, links, into: destination, &course)
            }
        }
        course.restoreState()
        return course.highest
    }

    /// The progress of the load in units, which are tables and join tables in the order in which they are loaded.
    private struct Course {
        /// Z_MAX by destination table.
        var highest: [Int64]
        /// The state of a killed run from which the load resumes; nil once it has resumed.
        var resumed: JournalRecord.State?
        let checkpoints: CheckpointScheduler?
        /// The number of units that the killed run had loaded.
        let done: Int
        /// The number of the current unit.
        private(set) var unit = -1
        /// True if a killed run is resumed.
        let isResumed: Bool

        init(highest: [Int64], resumed: JournalRecord.State?, checkpoints: CheckpointScheduler?) {
            self.highest = highest
            self.resumed = resumed
            self.checkpoints = checkpoints
            done = resumed?.unit ?? 0
            isResumed = resumed != nil
        }

        /// Moves to the next unit.
        ///
        /// - Returns: true if the unit, or a part of it, is still to be loaded.
        mutating func enterUnit() throws -> Bool {
            unit += 1
            if unit == done, resumed?.position == nil { restoreState() }
            guard unit >= done else { return false }
            try checkpoints?.beginUnit()
            return true
        }

        /// The position of the killed run in the current unit; nil at the unit's beginning.
        var part: LoadPosition? { unit == done ? resumed?.position : nil }

        /// Restores the counts of the killed run.
        mutating func restoreState() {
            guard let state = resumed else { return }
            checkpoints?.restore()
            highest = state.progress.highest
            resumed = nil
        }
    }

    /// Tells whether a table's unit comes before the given unit.
    private func isLoaded(_ table: Int, before done: Int) -> Bool {
        var unit = 0
        for pass in work.passes {
            for step in pass.steps where step.isLast {
                if step.table == table { return unit < done }
                unit += 1
            }
            unit += pass.joinTables.count
        }
        return true
    }

    private func load(
        join: Int, _ links: KeyedLinks?, into destination: DestinationStore, _ course: inout Course
    ) throws {
        modelRun.services.begin(.load, [schema.joinTables[join].name])
        let part = course.part
        if course.isResumed, part == nil { try destination.checkEmpty(schema.joinTables[join].name) }
        let writer = try destination.joinWriter(join, resumingFrom: part == nil ? nil : course.resumed?.fill)
        let count: Int
        if let part, part.isDone {
            course.restoreState()
            try checkpoints?.enter(unit: course.unit, highest: course.highest)
            count = part.links
        } else {
            var entered = course
            let prepare: (Int) throws -> Void = { count in
                if part == nil {
                    try destination.prepareRows(joinTable: join, expecting: count)
                } else {
                    entered.restoreState()
                }
                try checkpoints?.enter(unit: entered.unit, highest: entered.highest)
            }
            if let links {
                count = try links.joinLinks(join, from: part, prepare: prepare).load(into: writer)
            } else {
                count = try JoinLinks(
                    modelRun: modelRun, checkpoints: checkpoints, mappings: mappings, keys: PlanKeys(byMapping: [:], byTable: [:]),
                    joinTable: join, prepare: prepare, part: part
                ).load(try joinRecords(join), into: writer)
            }
            course = entered
        }
        checkpoints?.loaded = .init(isDone: true, links: count)
        try writer.finish()
        modelRun.tally.linksWritten[join] += count
        modelRun.services.begin(.indexes, [schema.joinTables[join].name])
        try destination.createIndexes(joinTable: join)
        try checkpoints?.endStep(course.unit, highest: course.highest)
    }

    // MARK: - Rows

    private func load(
        _ table: PlannedTable, _ links: KeyedLinks?, into destination: DestinationStore, _ course: inout Course
    ) throws {
        let rows = runtime.objects.rows[table.table]
        let part = course.part
        let fill = part == nil ? nil : course.resumed?.fill
        // Kept keys do not advance `nextKey`, so there may be rows even if no key was given.
        let made = max(1, rows.nextKey - 1 - modelRun.keysBefore.highestKeys[table.table])
        if part == nil { try modelRun.validation.prepare(table.table, expecting: Int(clamping: made), in: destination) }
        // Each run is read one block at a time, and so are its patches.
        try rows.joinRuns(most: max(4, modelRun.inputs.budget.spill / (256 << 10)))
        let patches =
            try links?.patches(
                of: table.table, isLoaded: { $0 != table.table && isLoaded($0, before: course.done) },
                written: part?.after) ?? columnPatches(table.table)
        let rules = try rowRules(table)
        course.restoreState()
        if course.isResumed, part == nil { try destination.checkEmpty(schema.tables[table.table].name) }
        let writer = try destination.tableWriter(table.table, resumingFrom: fill)
        try checkpoints?.enter(unit: course.unit, highest: course.highest)
        var highest = part?.highest ?? 0
        if let references = part?.references { modelRun.tally.add(references) }
        func write(_ out: inout RowBatch) throws {
            guard !out.isEmpty else { return }
            try modelRun.services.checkCancelled()
            let last = out.key(out.count - 1)
            highest = max(highest, last)
            for patch in patches { try patch.apply(to: &out) }
            try modelRun.validation.rejected?.filter(&out, table: table.table)
            try modelRun.validation.check(out, rules, modelRun.tally)
            try modelRun.settleExternalValues(&out, table: table.table)
            try writer.append(out)
            modelRun.tally.rowsWritten[table.table] += out.count
            modelRun.services.progress.advance(rows: out.count)
            out.removeAll()
            try checkpoints?.tick(writer) {
                LoadPosition(after: last, references: ColumnPatches.counts(of: patches), highest: highest)
            }
        }
        if part?.isDone != true { try forEachBatch(of: rows, after: part?.after, write) }
        checkpoints?.loaded = .init(isDone: true, highest: highest)
        try writer.finish()
        // The key of a deleted object is not given again.
        let given = rows.nextKey - 1
        course.highest[table.table] = table.keys == .kept ? max(highest, given) : given
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

    /// Returns the patches of a table's foreign keys, from the link stores.
    private func columnPatches(_ table: Int) throws -> [any RowPatches] {
        var patches: [ColumnPatches] = []
        for entity in schema.tables[table].entities.map(schema.model.entity(at:)) {
            for relationship in entity.relationships where relationship.entity == entity {
                guard case .toOne(_, let column, let entityColumn, let orderColumn) = schema.storage(of: relationship),
                    let (store, side) = runtime.objects.links.store(of: relationship)
                else { continue }
                let isOrdered = orderColumn != nil && store.isOrdered(side.other)
                patches.append(
                    try ColumnPatches(
                        column: column, entityColumn: entityColumn, orderColumn: isOrdered ? orderColumn : nil,
                        links: try store.live(side: side)))
            }
        }
        for relationship in hiddenRelationships(into: table) {
            guard case .toManyHidden(_, let column, let orderColumn) = schema.storage(of: relationship),
                let (store, side) = runtime.objects.links.store(of: relationship)
            else { continue }
            patches.append(
                try ColumnPatches(
                    column: column, entityColumn: nil, orderColumn: orderColumn,
                    links: try store.live(side: side.other)))
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

    /// Returns the records of ``JoinLinks``, from the link store.
    private func joinRecords(_ join: Int) throws -> SortedRecords {
        let sorter = modelRun.services.sorter(width: JoinLinks.width)
        let side = schema.joinTables[join].sides[0].relationship
        if let relationship = schema.model.entity(at: side.entity).relationship(named: side.name),
            let (store, ownSide) = runtime.objects.links.store(of: relationship)
        {
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
