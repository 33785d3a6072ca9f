import CoreDataStore
import Diagnostics
import Mapping
import SpillStorage

extension Migration {
    /// Plans the migration and gives the reasons for the plan. Nothing is written anywhere.
    ///
    /// - Throws: ``MigrationError`` for inputs that ``run()`` would refuse. The destination is looked at only if it is
    ///   a store that is appended to.
    /// - Complexity: O(rows) to count the source's objects.
    public func plan() throws -> MigrationPlan {
        let place = DestinationPath(path: destinationPath)
        let appends = try options.appendsToExisting && place.exists()
        let prepared = try prepare(place, appends: appends, describes: true)
        var plan = prepared.plan
        plan.refusal = foreseenRefusal(prepared)
        plan.leftBehind = try leftBehind(prepared, counting: link?.expected == nil)
        // The source of a later run of a chain does not exist yet.
        guard link?.expected == nil else { return plan }
        plan.passesNoFilter = try passesNoFilter(prepared)
        let (links, orders) = (try linkShortages(prepared), try ordersNotKept(prepared))
        plan.linksNotMade = links.isEmpty ? nil : links
        plan.ordersNotKept = orders.isEmpty ? nil : orders
        plan.valuesCut = try valuesCut(prepared)
        return plan
    }

    /// The planned work of one mapping model.
    struct PlannedModel {
        let model: MappingModel
        /// The model's own mappings and those of all previous models, each at its index.
        let mappings: [PlannedMapping]
        /// The number of mappings that belong to previous models.
        let previousCount: Int
        let policies: Policies
        /// True for the policy path, as far as is known before the run.
        let isStaged: Bool
        let work: PlannedWork
        /// True for each destination table that is assumed to have rows before this model runs.
        let hasRows: [Bool]
    }

    /// Everything that is known before anything is written.
    struct Prepared {
        let limit: Int
        let budget: MemoryShares
        let source: SourceStore
        let layout: StoreLayout
        let schema: StoreSchema
        let models: [PlannedModel]
        /// The mappings of all mapping models.
        let mappings: [PlannedMapping]
        let census: SourceCensus
        let left: LeftBehindPlan
        /// Parts of the source's schema that a fresh destination takes over: fetch indexes, and objects beside the model.
        let carriedIndexes: [CarriedIndex]
        let carried: CarriedObjects
        let plan: MigrationPlan
        /// Tables of CloudKit's sync in the source; 0 if it is not mirrored.
        let mirroringTables: Int

        /// Returns the number of rows and links that the run goes over, and the work on them: rows made, rows related by
        /// policies, rows loaded, and links. The scan of keys takes so little time that it does not count.
        func expectedRows() throws(MigrationError) -> (rows: Int, work: Int) {
            var (rows, work) = (0, 0)
            for join in layout.joinTables.indices { rows += try source.estimatedCount(joinTable: join, in: layout) }
            work = rows
            for model in models {
                let loaded = model.work.passes.flatMap(\.steps).reduce(0) { $0 + $1.rows }
                let related = model.mappings.dropFirst(model.previousCount).reduce(0) { sum, mapping in
                    sum + (mapping.hasPolicy ? mapping.source.map(census.count(of:)) ?? 0 : 0)
                }
                rows += loaded
                work += loaded * (model.isStaged ? 2 : 1) + related
            }
            return (rows, work)
        }
    }

    /// Opens the source, resolves the mapping models and plans.
    ///
    /// - Parameters:
    ///   - temporaryDirectory: the folder for SQLite's own sorts of source rows; nil: the folder of the spills. It may
    ///     be created later.
    ///   - interrupted: a run to the same destination that did not end. Its counts of the same source are reused.
    ///   - describes: true if the plan itself is wanted. A run without a given plan needs no digests of its inputs, and
    ///     no sampled sizes for a small store.
    /// - Throws: `plan.outdated`, `plan.edited` (78) if the given plan does not fit; the errors of the inputs, and of a
    ///   destination that cannot be written: ``checkHashes(_:appends:)``.
    func prepare(
        _ place: DestinationPath, appends: Bool, interrupted: InterruptedRun? = nil, temporaryDirectory: String? = nil,
        describes: Bool = false
    ) throws -> Prepared {
        let prepared = try Preparation(
            migration: self, place: place, appends: appends, interrupted: interrupted,
            temporaryDirectory: temporaryDirectory ?? place.spillDirectory(in: options.workDirectory),
            describes: describes || options.plan != nil, byRule: StoreSchema(model: destinationModel)
        ).prepare()
        try checkHashes(prepared, appends: appends)
        return prepared
    }

    /// Returns the planner of one mapping model, once the result of the previous models is known.
    func planner(
        _ number: Int, _ mappings: [PlannedMapping], firstOwn: Int, _ prepared: Prepared, _ schema: StoreSchema,
        _ hasRows: [Bool]
    ) -> Planner {
        Planner(
            mappings: mappings, source: prepared.layout, destination: schema, keys: options.keys,
            cut: PassCut(options, model: number), rowCounts: prepared.census.rows, hasRows: hasRows, firstOwn: firstOwn,
            isDuringRun: true)
    }
}
