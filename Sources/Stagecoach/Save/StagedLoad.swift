import Diagnostics
import ManagedModel
import PersistentStore
import Rows
import SpillStorage

/// The save of the staged path: every table's runs of rows merged by key, links merged in, rules checked, written once.
struct StagedLoad {
    let session: MigrationSession
    let mappings: [PlannedMapping]
    let work: PlannedWork
    let runtime: StagedRuntime
    let excuses: Bool
    /// Where stages 2 and 3 run no user code; nil: the links are in the link stores.
    let relating: RelatingByKeys?

    private var schema: StoreSchema { session.destinationSchema }

    /// Loads all tables, pass by pass.
    ///
    /// - Returns: Z_MAX by destination table.
    func run(into destination: DestinationStore) throws -> [Int64] {
        if let touched = session.touched {
            try EarlierRowChanges(
                session: session, destination: destination, links: runtime.objects.links, touched: touched
            ).write()
            try checkTouched(touched, in: destination)
        }
        let links = try relating.map { try KeyedLinks(session: session, mappings: mappings, relating: $0) }
        var highest = [Int64](repeating: 0, count: schema.tables.count)
        for (number, pass) in work.passes.enumerated() {
            session.progress.enter(pass: number + 1, of: work.passes.count)
            // The rows of an open table stay where they are spilled: it is loaded when it closes.
            for step in pass.steps where step.isLast {
                let names = work.tables[step.table].mappings.map { mappings[$0].name }
                session.begin(.load, names)
                highest[step.table] = try load(work.tables[step.table], links, into: destination)
                session.begin(.indexes, names)
                try session.createIndexes(of: step.table, in: destination)
            }
            for join in pass.joinTables { try load(join: join, links, into: destination) }
        }
        return highest
    }

    private func load(join: Int, _ links: KeyedLinks?, into destination: DestinationStore) throws {
        session.begin(.load, [schema.joinTables[join].name])
        let writer = try destination.joinWriter(join)
        if let links {
            session.linksWritten[join] += try links.joinLinks(join, in: destination).load(into: writer)
        } else {
            session.linksWritten[join] += try JoinLinks(
                session: session, mappings: mappings, keys: SourceKeys(byMapping: [:], byTable: [:]), joinTable: join,
                prepare: { try destination.prepareRows(joinTable: join, expecting: $0) }
            ).load(try joinRecords(join), into: writer)
        }
        try writer.finish()
        session.begin(.indexes, [schema.joinTables[join].name])
        try destination.createIndexes(joinTable: join)
    }

    // MARK: - Rows

    private func load(
        _ table: PlannedTable, _ links: KeyedLinks?, into destination: DestinationStore
    ) throws -> Int64 {
        let rows = runtime.objects.rows[table.table]
        // Keys that were kept are not counted: there may be rows although no key was given.
        let made = max(1, rows.nextKey - 1 - session.highestKeys[table.table])
        try session.prepare(table.table, expecting: Int(clamping: made), in: destination)
        // A block of each run is read at a time, and one of its patches.
        try rows.joinRuns(most: max(4, session.budget.spill / (256 << 10)))
        let writer = try destination.tableWriter(table.table)
        let patches = try links?.patches(of: table.table) ?? columnPatches(table.table)
        let rules = try rowRules(table)
        var highest: Int64 = 0
        func write(_ out: inout RowBatch) throws {
            guard !out.isEmpty else { return }
            try session.checkCancelled()
            highest = max(highest, out.key(out.count - 1))
            for patch in patches { try patch.apply(to: &out) }
            try session.validation.rejected?.filter(&out, table: table.table)
            try session.check(out, rules)
            try session.settleExternalValues(&out, table: table.table)
            try writer.append(out)
            session.rowsWritten[table.table] += out.count
            session.progress.advance(rows: out.count)
            out.removeAll()
        }
        // Where objects are to be rejected there may be a second load.
        let isLast = session.validation.ledger == nil
        if try !rows.forEachBatch(isLast: isLast, write) {
            var out = session.destinationBatch(slots: rows.columns)
            var last = Int64.min
            try rows.forEachRow(of: rows.runs, isLast: isLast) { row in
                if out.isFull { try write(&out) }
                assert(row.key > last, "rows come in order, each once")
                last = row.key
                row.copy(to: &out)
            }
            try write(&out)
        }
        try writer.finish()
        // The number of a deleted object is not given again.
        let given = rows.nextKey - 1
        guard table.keys == .kept else { return given }
        return max(highest, given)
    }

    /// Checks the rules of rows that were there before and that the mapping model changed.
    private func checkTouched(_ touched: TouchedRows, in destination: DestinationStore) throws {
        for table in schema.tables.indices {
            let rows = StoredRows(destination, table: table)
            var batch = RowBatch(slots: schema.tables[table].columns.count, rowCapacity: 1, byteTarget: 4096)
            var rules: [Int64: RowRules] = [:]
            for index in schema.tables[table].entities {
                let entity = schema.model.entity(at: index)
                rules[Int64(schema.number(of: entity))] = try RowRules(
                    entity: entity, schema: schema, mapping: nil, copied: [:], excuses: false)
            }
            try touched.forEachKey(table: table) { key in
                batch.removeAll()
                guard try rows.fetch(key, into: &batch),
                    let rules = rules[batch[0, EntityTable.entityColumn].integerValue]
                else { return }
                try rules.check(batch, row: 0) { broken, _ in try session.note(broken) }
            }
        }
    }

    private func rowRules(_ table: PlannedTable) throws(MigrationError) -> [Int64: RowRules] {
        var rules: [Int64: RowRules] = [:]
        for index in schema.tables[table.table].entities {
            let entity = schema.model.entity(at: index)
            let making = mappings.filter { $0.destination == entity && $0.source != nil && !$0.isEarlier }
            let only = making.count == 1 ? making.first : nil
            var copied: [Int: AttributeDescription] = [:]
            if let only, !only.hasPolicy { copied = try runtime.program(of: only).attributes.copiedAttributes }
            rules[Int64(schema.number(of: entity))] = try RowRules(
                entity: entity, schema: schema, mapping: only, copied: copied, excuses: excuses)
        }
        return rules
    }

    // MARK: - Links

    /// The foreign keys of a table, from the link stores.
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

    /// Records of ``JoinLinks``, from the link store.
    private func joinRecords(_ join: Int) throws -> SortedRecords {
        let sorter = session.sorter(width: JoinLinks.width)
        let side = schema.joinTables[join].sides[0].relationship
        if let relationship = schema.model.entity(at: side.entity).relationship(named: side.name),
            let (store, ownSide) = runtime.objects.links.store(of: relationship)
        {
            let links = try store.live(side: ownSide)
            while let view = try links.next() {
                // Links between rows that were there before are changed where they stand.
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
