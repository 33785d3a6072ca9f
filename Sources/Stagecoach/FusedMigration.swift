import Diagnostics
import PersistentStore
import SpillStorage

/// The row path: no user code runs, so nobody can observe that the three stages are fused.
///
/// Keys of all mappings are determined first, for the whole plan. Then pass by pass: links that need a whole table are
/// resolved, every table's rows are read, mapped, related, validated and written once, in ascending key order, and its
/// indexes are built. A join table is loaded when both its sides are closed.
struct FusedMigration {
    let session: MigrationSession
    let mappings: [PlannedMapping]
    let tables: [PlannedTable]
    let excuses: Bool

    /// Z_MAX by destination table, and the mappings' association tables, for later mapping models.
    typealias Outcome = (highest: [Int64], associations: [MappingAssociations])

    /// Loads all tables.
    func run(into destination: DestinationStore) throws -> Outcome {
        session.progress.begin(.keys)
        let scan = try KeyScan(session: session, mappings: mappings, tables: tables).run()
        let keys = SourceKeys(byMapping: scan.byMapping, byTable: scan.byTable)
        session.sourceKeys = keys
        session.validation.origins = .keys(keys, mappings: mappings)
        try AccountForSources.count(keys, mappings: mappings, in: session)
        let links = LinkPlanner(
            mappings: mappings, source: session.layout.schema, destination: session.destinationSchema
        ).plan()
        // A pair's resolution has up to six sorts at hand; what it gives waits for its table's load.
        session.concurrentSorts = 6 + links.columns.count
        let stream = LinkStream(session: session, keys: keys)
        for (mapping, planned) in links.counted { try stream.forEach(mapping, planned, countsMissing: true) { _ in } }
        let passes = (tables.map(\.pass).max() ?? 0) + 1
        var highest = [Int64](repeating: 0, count: session.destinationSchema.tables.count)
        var pending: [Int: [ColumnPatches]] = [:]
        var tasks = links.columns
        var loaded: Set<Int> = []
        var joined: Set<Int> = []
        for pass in 0..<passes {
            session.progress.enter(pass: pass + 1, of: passes)
            for table in tables where table.pass == pass {
                session.progress.begin(.relate)
                // A one-to-one pair is resolved with the first of its tables; the other's patches wait on disk.
                let due = tasks.filter { touches($0, table: table.table) }
                tasks.removeAll { touches($0, table: table.table) }
                for task in due {
                    let resolution = LinkResolution(session: session, mappings: mappings, keys: keys)
                    for (target, patches) in try resolution.resolve(task) {
                        pending[target, default: []].append(patches)
                    }
                }
                session.progress.begin(.load)
                try session.prepare(table.table, expecting: expectedRows(table, keys), in: destination)
                let writer = try destination.tableWriter(table.table)
                let load = TableLoad(
                    session: session, mappings: mappings, table: table, keys: keys, links: links,
                    patches: pending.removeValue(forKey: table.table) ?? [], excuses: excuses)
                let top = try load.run(writer: writer)
                try writer.finish()
                highest[table.table] = maximumKey(of: table, loaded: top)
                loaded.insert(table.table)
                session.progress.begin(.indexes)
                try session.createIndexes(of: table.table, in: destination)
            }
            for join in session.destinationSchema.joinTables.indices where !joined.contains(join) {
                let sides = session.destinationSchema.joinTables[join].sides
                guard
                    sides.allSatisfy({
                        loaded.contains(session.destinationSchema.tableByEntity[$0.relationship.entity])
                    })
                else { continue }
                joined.insert(join)
                session.progress.begin(.load)
                let writer = try destination.joinWriter(join)
                session.linksWritten[join] += try JoinLinks(
                    session: session, mappings: mappings, keys: keys, joinTable: join,
                    prepare: { try destination.prepareRows(joinTable: join, expecting: $0) }
                )
                .load(into: writer)
                try writer.finish()
                session.progress.begin(.indexes)
                try destination.createIndexes(joinTable: join)
            }
        }
        // The pairs are the keys themselves: no log of pairs is ever filled.
        let logs = RecordMemory(bytes: 0)
        let associations = mappings.filter { !$0.isEarlier }.map { mapping in
            let table = MappingAssociations(
                mapping: mapping, keys: keys.byMapping[mapping.index], directory: session.associations.directory,
                memory: 0, logs: logs)
            table.isCreated = true
            return table
        }
        return (highest, associations)
    }

    /// Rows that a table will get.
    private func expectedRows(_ table: PlannedTable, _ keys: SourceKeys) -> Int {
        table.mappings.reduce(0) { $0 + (keys.byMapping[$1]?.index.count ?? 0) }
    }

    /// Whether a task sets columns of a table.
    private func touches(_ task: LinkPlan.ColumnTask, table: Int) -> Bool {
        let schema = session.destinationSchema
        func sets(_ storage: RelationshipStorage) -> Bool {
            switch storage {
            case .toOne(let target, _, _, _), .toManyHidden(let target, _, _): target == table
            default: false
            }
        }
        switch task {
        case .oneToMany(let relationship, _, _), .hidden(let relationship):
            return sets(schema.storage(of: relationship))
        case .oneToOne(let first, let second):
            return sets(schema.storage(of: first)) || sets(schema.storage(of: second))
        }
    }

    /// Z_MAX: kept keys never fall below the source's, so that a deleted object's key is not given again.
    private func maximumKey(of table: PlannedTable, loaded: Int64) -> Int64 {
        let before = max(loaded, session.highestKeys[table.table])
        guard table.keys == .kept, let first = table.mappings.first, let source = mappings[first].sourceTable else {
            return before
        }
        return max(before, session.layout.tables[source].maximumKey)
    }
}
