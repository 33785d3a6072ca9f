import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The links that are found table by table at the load, with the keys that stage 1 associated, instead of object by object in
/// stage 2.
///
/// The difference must not be observable. Each source object became one object, in order; no policy has set or read the links,
/// and each called the default method for all its objects or would have (``PolicyLinkSetter``); and the links do not depend on
/// the order of calls (``OrderIndependence``). If very many mappings keep their keys in one table, relating object by object
/// takes less memory and is used instead.
struct RelatingByKeys {
    /// The mappings of the model, those with a policy marked as related by keys.
    let mappings: [PlannedMapping]
    let keys: PlanKeys
    let links: LinkPlan
    /// The numbers of the stores that have such links.
    let stores: Set<Int>
    /// True if all links of the model are such.
    let isWhole: Bool

    /// - Parameters:
    ///   - keys: the keys of mappings without a policy, and of all source tables.
    ///   - wanted: the numbers of the stores to take; nil: all whose links may be found by keys. Stage 1 is over then, and
    ///     stage 2 has not begun.
    /// - Returns: nil if there are no such links, or if too many scans would be needed.
    init?(
        modelRun: ModelRun, mappings: [PlannedMapping], runtime: PolicyRuntime, keys: PlanKeys,
        stores wanted: Set<Int>? = nil
    ) throws(MigrationError) {
        if let wanted {
            guard !wanted.isEmpty else { return nil }
        } else {
            guard !modelRun.keysBefore.hasRows.contains(true), !runtime.objects.hasDeletions,
                runtime.sources.changes == nil,
                mappings.allSatisfy({ !$0.belongsToPreviousModel && !$0.hasDynamicRelationships })
            else { return nil }
        }
        var byMapping = keys.byMapping
        for mapping in mappings {
            let pairs = runtime.associations[mapping.index]
            guard mapping.hasPolicy else {
                // A policy's associations with this mapping come in addition to the mapping's own objects.
                guard !pairs.hasPairs else { return nil }
                continue
            }
            guard mapping.sourceExpression == nil, !pairs.hasLatePairs else { return nil }
            if wanted == nil, try runtime.current(mapping) !== mapping { return nil }
            guard pairs.hasPairs else { continue }
            guard let table = mapping.sourceTable, let entity = mapping.destination,
                let ranked = try pairs.pairs.rankedSources(entity: table, destinationEntity: entity.index)
            else { return nil }
            let made = DestinationKeys(mapping: mapping, mode: .sequential, index: ranked.sources)
            made.base = ranked.first - 1
            byMapping[mapping.index] = made
        }
        let mappings = mappings.map { $0.hasPolicy ? $0.relatedByKeys : $0 }
        let all = runtime.objects.links
        var planner = LinkPlanner(
            mappings: mappings, source: modelRun.inputs.layout.schema, destination: modelRun.inputs.destinationSchema)
        let order = OrderIndependence(mappings: mappings, planner: planner)
        let stores = wanted ?? Set(all.all.lazy.filter { $0.sequence == 0 && order.isInvisible($0) }.map(\.number))
        guard !stores.isEmpty else { return nil }
        planner.plans = { all.store(of: $0).map { stores.contains($0.store.number) } ?? false }
        self.mappings = mappings
        self.keys = PlanKeys(byMapping: byMapping, byTable: keys.byTable)
        self.stores = stores
        isWhole = stores.count == all.all.count
        links = planner.plan()
        guard isNarrow else { return nil }
    }

    /// The maximum number of parallel scans per table. The rows of mappings with kept keys are interleaved, so each mapping
    /// that looks up references scans the source in parallel with the others.
    private static let mostScans = 8

    private var isNarrow: Bool {
        var scans: [Int: Int] = [:]
        for mapping in mappings where links.direct[mapping.index] != nil {
            guard let table = mapping.destinationTable, keys.byMapping[mapping.index]?.mode == .kept else { continue }
            scans[table, default: 0] += 1
        }
        return scans.values.allSatisfy { $0 <= RelatingByKeys.mostScans }
    }
}
