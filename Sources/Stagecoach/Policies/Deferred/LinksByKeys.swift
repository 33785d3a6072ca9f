import CoreDataStore
import Diagnostics
import ManagedModel

/// The plan by which a load finds deferred links: table by table, with the keys that stage 1 associated.
struct LinksByKeys {
    /// The mappings of the model, those with a policy marked as related by keys.
    let mappings: [PlannedMapping]
    let keys: PlanKeys
    let links: LinkPlan

    /// - Parameters:
    ///   - keys: the keys of mappings without a policy, and of all source tables.
    ///   - numbers: the numbers of the stores whose links are found by keys.
    /// - Returns: nil if a source object became several objects, or none of its own, or if too many scans would be needed.
    init?(
        of numbers: Set<Int>, in stores: LinkStores, modelRun: ModelRun, mappings: [PlannedMapping],
        associations: [MappingAssociations], keys: PlanKeys
    ) throws(MigrationError) {
        var byMapping = keys.byMapping
        for mapping in mappings {
            let pairs = associations[mapping.index]
            guard mapping.hasPolicy else {
                // A policy's associations with this mapping come in addition to the mapping's own objects.
                guard !pairs.hasPairs else { return nil }
                continue
            }
            guard mapping.sourceExpression == nil, mapping.forEach == nil, !pairs.hasLatePairs else { return nil }
            guard pairs.hasPairs else { continue }
            guard let table = mapping.sourceTable, let entity = mapping.destination,
                let ranked = try pairs.pairs.rankedSources(entity: table, destinationEntity: entity.index)
            else { return nil }
            let made = DestinationKeys(mapping: mapping, mode: .sequential, index: ranked.sources)
            made.base = ranked.first - 1
            byMapping[mapping.index] = made
        }
        self.mappings = mappings.map(\.relatedByKeys)
        self.keys = PlanKeys(byMapping: byMapping, byTable: keys.byTable)
        var planner = LinkPlanner(
            mappings: self.mappings, source: modelRun.inputs.layout.schema,
            destination: modelRun.inputs.destinationSchema)
        planner.plans = { relationship in
            stores.store(of: relationship).map { numbers.contains($0.store.number) } ?? false
        }
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
        return scans.values.allSatisfy { $0 <= LinksByKeys.mostScans }
    }
}
