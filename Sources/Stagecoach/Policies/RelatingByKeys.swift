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
    /// The mappings of the model, those with a policy marked as related by keys.
    let mappings: [PlannedMapping]
    let keys: PlanKeys
    let links: LinkPlan

    /// - Parameters:
    ///   - policies: the policies of the run, whose stage 1 is over.
    ///   - keys: the keys of mappings without a policy, and of all source tables.
    /// - Returns: nil if the difference could be observed, or if too many scans would be needed.
    init?(
        modelRun: ModelRun, mappings: [PlannedMapping], runtime: PolicyRuntime, policies: Policies,
        keys: PlanKeys
    ) throws(MigrationError) {
        guard !modelRun.keysBefore.hasRows.contains(true), !runtime.objects.hasDeletions,
            runtime.objects.links.isUntouched,
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
        let mappings = mappings.map { $0.hasPolicy ? $0.relatedByKeys : $0 }
        let planner = LinkPlanner(
            mappings: mappings, source: modelRun.inputs.layout.schema, destination: modelRun.inputs.destinationSchema)
        guard OrderIndependence(mappings: mappings, planner: planner).isInvisible else { return nil }
        self.mappings = mappings
        self.keys = PlanKeys(byMapping: byMapping, byTable: keys.byTable)
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
