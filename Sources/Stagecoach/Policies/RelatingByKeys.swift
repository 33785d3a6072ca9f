import CoreDataStore
import Diagnostics
import SpillStorage

/// Stages 2 and 3 of a run whose policies only take part in creation. The work of the default methods is done table by table
/// with the keys that stage 1 associated, not object by object.
///
/// The difference must not be observable: no policy has a method of stages 2 and 3, none set a relationship or deleted an
/// object, each source object became one object, in order, and the links do not depend on the order of calls
/// (``OrderIndependence``). If very many mappings keep their keys in one table, relating object by object takes less memory and
/// is used instead.
struct RelatingByKeys {
    let keys: PlanKeys
    let links: LinkPlan

    /// - Parameters:
    ///   - policies: the policies of the run, whose stage 1 is over.
    ///   - keys: the keys of mappings without a policy, and of all source tables.
    /// - Returns: nil if the difference could be observed, or if too many scans would be needed.
    init?(
        session: MigrationSession, mappings: [PlannedMapping], runtime: PolicyRuntime, policies: Policies,
        keys: PlanKeys
    ) throws(MigrationError) {
        var isCertain = false
        for mapping in mappings { mapping.isRelatedByKeys = false }
        defer { if !isCertain { for mapping in mappings { mapping.isRelatedByKeys = false } } }
        guard !session.hasRows.contains(true), !runtime.objects.hasDeletions, runtime.objects.links.isUntouched,
            mappings.allSatisfy({ !$0.belongsToPreviousModel && !$0.hasDynamicRelationships })
        else { return nil }
        var byMapping = keys.byMapping
        for mapping in mappings {
            let pairs = runtime.associations[mapping.index]
            guard let policy = policies[mapping] else {
                // A policy's associations with this mapping come in addition to the mapping's own objects.
                guard !pairs.hasPairs else { return nil }
                continue
            }
            guard OverriddenMethods(of: policy).isEmpty, mapping.sourceExpression == nil,
                try runtime.current(mapping) === mapping, !pairs.hasLatePairs
            else { return nil }
            guard pairs.hasPairs else { continue }
            guard let table = mapping.sourceTable, let entity = mapping.destination,
                let ranked = try pairs.pairs.rankedSources(entity: table, destinationEntity: entity.index)
            else { return nil }
            let made = DestinationKeys(mapping: mapping, mode: .sequential, index: ranked.sources)
            made.base = ranked.first - 1
            byMapping[mapping.index] = made
        }
        for mapping in mappings where mapping.hasPolicy { mapping.isRelatedByKeys = true }
        let planner = LinkPlanner(
            mappings: mappings, source: session.layout.schema, destination: session.destinationSchema)
        guard OrderIndependence(mappings: mappings, planner: planner).isInvisible else { return nil }
        self.keys = PlanKeys(byMapping: byMapping, byTable: keys.byTable)
        links = planner.plan()
        guard isNarrow(mappings) else { return nil }
        isCertain = true
    }

    /// The maximum number of parallel scans per table. The rows of mappings with kept keys are interleaved, so each mapping
    /// that looks up references scans the source in parallel with the others.
    private static let mostScans = 8

    private func isNarrow(_ mappings: [PlannedMapping]) -> Bool {
        var scans: [Int: Int] = [:]
        for mapping in mappings where links.direct[mapping.index] != nil {
            guard let table = mapping.destinationTable, keys.byMapping[mapping.index]?.mode == .kept else { continue }
            scans[table, default: 0] += 1
        }
        return scans.values.allSatisfy { $0 <= RelatingByKeys.mostScans }
    }
}

/// The links of a ``RelatingByKeys``, resolved for the rows of one load.
final class KeyedLinks {
    private let session: MigrationSession
    private let mappings: [PlannedMapping]
    private let relating: RelatingByKeys
    private var tasks: [LinkPlan.ColumnTask]
    private var pending: [Int: [ColumnPatches]] = [:]

    /// - Complexity: one scan for each relationship whose references are only counted.
    init(session: MigrationSession, mappings: [PlannedMapping], relating: RelatingByKeys) throws {
        self.session = session
        self.mappings = mappings
        self.relating = relating
        tasks = relating.links.columns
        // No user code runs later, so references that find nothing now stay nil.
        if session.checkpoints?.resumed == nil { session.beginReferences(mayBeSet: false) }
        session.concurrentSorts = 6 + tasks.count
        let stream = LinkStream(session: session, keys: relating.keys)
        for (mapping, planned) in relating.links.counted {
            try stream.forEach(mapping, planned, countsMissing: true) { _ in }
        }
    }

    /// Returns the patches that set the foreign keys of a table's rows. Must be called once per table.
    ///
    /// - Parameters:
    ///   - isLoaded: tells whether a table's rows have been written; tasks for such tables only are skipped.
    ///   - written: the highest key of the rows that were written; nil if none were.
    func patches(
        of table: Int, isLoaded: (Int) -> Bool = { _ in false }, written: Int64? = nil
    ) throws -> [any RowPatches] {
        let schema = session.destinationSchema
        // A one-to-one pair is resolved with the first of its tables. The patches of the other table wait on disk.
        let due = tasks.filter { $0.tables(in: schema).contains(table) }
        tasks.removeAll { $0.tables(in: schema).contains(table) }
        for task in due where !task.tables(in: schema).allSatisfy(isLoaded) {
            let resolution = DeclaredLinkSort(session: session, mappings: mappings, keys: relating.keys)
            for (target, patches) in try resolution.resolve(task) { pending[target, default: []].append(patches) }
        }
        var patches: [any RowPatches] = pending.removeValue(forKey: table) ?? []
        guard !isLoaded(table) else { return [] }
        let own = mappings.filter { $0.destinationTable == table && relating.links.direct[$0.index] != nil }
        for mapping in own {
            guard let keys = relating.keys.byMapping[mapping.index], keys.index.count > 0,
                let entity = mapping.source
            else { continue }
            patches.append(
                ReferencePatches(
                    session: session, mapping: mapping, of: entity, direct: relating.links.direct[mapping.index] ?? [],
                    own: keys, keys: relating.keys, sharing: keys.mode == .kept ? own.count : 1, written: written))
        }
        return patches
    }

    /// Returns the rows of a join table.
    ///
    /// - Parameters:
    ///   - part: the position of a killed run in the join table; nil if it had not begun.
    ///   - prepare: called with the number of records, just before the first is written.
    func joinLinks(
        _ join: Int, from part: JournalRecord.LoadPosition?, prepare: @escaping (Int) throws -> Void
    ) -> JoinLinks {
        JoinLinks(
            session: session, mappings: mappings, keys: relating.keys, joinTable: join, prepare: prepare, part: part)
    }
}
