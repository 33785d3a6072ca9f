import CoreDataStore
import Diagnostics
import ManagedModel

/// The links that stage 2 leaves to the load, which finds them by keys, table by table, instead of object by object.
///
/// The difference must not be observable. Each source object became one object, in order (``LinksByKeys``); no policy has set or
/// read the links, and each called the default method for all its objects, or would have (``PolicyLinkSetter``); and the links
/// do not depend on the order of calls (``OrderIndependence``).
///
/// The links of each store are in one of three states:
///
///               stage 2 begins                 first use by user code
///      made  ---------------------> deferred ------------------------> made
///                                       |
///                                       | the load begins
///                                       v
///                                    by keys
///
/// - *made*: the store has its links.
/// - *deferred* (``LinkStore/isDeferred``): the store is empty, and nobody has read or changed it. User code reaches links through
///   ``LinkStores/use(_:)``, which makes them first.
/// - *by keys*: no user code runs any more. The store stays empty, and ``plan`` says where its links are.
///
/// Three things change a state: ``begin(keys:)``, ``PolicyLinkSetter/use(_:)``, and ``planLoad(keys:)``. If objects are rejected
/// all links are made again: the stores that were deferred when stage 2 began are so again (``deferAgain()``), until the use that
/// made them is repeated.
final class DeferredLinks {
    private let modelRun: ModelRun
    private let mappings: [PlannedMapping]
    private let associations: [MappingAssociations]
    private unowned let objects: DestinationObjects
    /// The numbers of the stores that were deferred when stage 2 began.
    private var atBeginning: Set<Int> = []
    /// False if no store is deferred. May be true if none is.
    private(set) var mayExist = false
    /// The way in which the load finds what is deferred; nil before the load, and if nothing is.
    private(set) var plan: LinksByKeys?
    /// The tasks of the plan whose tables the load has not reached.
    private var pending = PendingLinks([])

    /// The numbers of deferred stores, which a killed run's state keeps.
    struct Saved: Codable {
        /// The stores that are deferred at the moment of the state.
        var now: Set<Int>
        /// The stores that were deferred when stage 2 began.
        var atBeginning: Set<Int>
    }

    private var stores: LinkStores { objects.links }
    private var deferred: Set<Int> { Set(stores.all.lazy.filter(\.isDeferred).map(\.number)) }

    init(
        modelRun: ModelRun, mappings: [PlannedMapping], associations: [MappingAssociations], objects: DestinationObjects
    ) {
        self.modelRun = modelRun
        self.mappings = mappings
        self.associations = associations
        self.objects = objects
    }

    /// True if no links are left to the load.
    var isEmpty: Bool { !stores.all.contains(where: \.isDeferred) }

    // MARK: - Stage 2

    /// Leaves the links of all stores to the load that may be. Called when stage 1 is over, before stage 2.
    ///
    /// If very many mappings keep their keys in one table, relating object by object takes less memory, and nothing is deferred.
    ///
    /// - Parameter keys: the keys of mappings without a policy, and of all source tables.
    func begin(keys: PlanKeys) throws(MigrationError) {
        guard !modelRun.keysBefore.hasRows.contains(true), !objects.hasDeletions,
            mappings.allSatisfy({ !$0.belongsToPreviousModel && !$0.hasDynamicRelationships })
        else { return }
        let related = mappings.map(\.relatedByKeys)
        let order = OrderIndependence(
            mappings: related,
            planner: LinkPlanner(
                mappings: related, source: modelRun.inputs.layout.schema,
                destination: modelRun.inputs.destinationSchema))
        let independent = Set(
            stores.all.lazy.filter { $0.sequence == 0 && order.isIndependent($0) }.map(\.number))
        guard !independent.isEmpty, try makePlan(of: independent, keys) != nil else { return }
        atBeginning = independent
        deferAgain()
    }

    /// Leaves the same links to the load as when stage 2 began. The stores are empty.
    func deferAgain() { deferLinks(of: atBeginning) }

    private func deferLinks(of numbers: Set<Int>) {
        mayExist = !numbers.isEmpty
        for store in stores.all { store.isDeferred = numbers.contains(store.number) }
    }

    /// Notes that all links are about to be made.
    func end() { mayExist = false }

    private func makePlan(of numbers: Set<Int>, _ keys: PlanKeys) throws(MigrationError) -> LinksByKeys? {
        try LinksByKeys(
            of: numbers, in: stores, modelRun: modelRun, mappings: mappings, associations: associations, keys: keys)
    }

    // MARK: - A killed run

    var saved: Saved { Saved(now: deferred, atBeginning: atBeginning) }

    /// Restores what a killed run had deferred. The stores' own state is restored.
    func restore(_ saved: Saved) {
        atBeginning = saved.atBeginning
        deferLinks(of: saved.now)
    }

    // MARK: - The load

    /// Plans how the load finds the links that are deferred still. No user code runs from here on.
    func planLoad(keys: PlanKeys) throws(MigrationError) {
        let deferred = deferred
        guard !deferred.isEmpty else { return }
        plan = try makePlan(of: deferred, keys)
        guard plan != nil else {
            throw MigrationError("links.plan", .internal, "Links were left to the load that it cannot find by keys")
        }
    }

    /// Begins a load.
    ///
    /// - Parameter isResumed: true if the load goes on where a killed run was.
    /// - Complexity: one scan for each relationship whose references are only counted.
    func beginLoad(isResumed: Bool) throws {
        guard let plan else { return }
        pending = PendingLinks(plan.links.columns)
        let isWhole = stores.all.allSatisfy(\.isDeferred)
        // No user code runs later, so references that find nothing now stay nil. Those of links in the stores are noted.
        if !isResumed, isWhole { modelRun.beginReferences(mayBeSet: false) }
        modelRun.services.concurrentSorts = max(
            6 + plan.links.columns.count, isWhole ? 0 : modelRun.services.concurrentSorts)
        let stream = modelRun.links(by: plan.keys)
        for (mapping, planned) in plan.links.counted {
            try stream.forEach(mapping, planned, countsMissing: true) { _ in }
        }
    }

    /// Returns the patches that set the foreign keys of a table's rows. Must be called once per table and load.
    ///
    /// - Parameter isClosed: tells whether all rows of a table were written. Links of such tables alone are left out.
    func patches(of table: Int, isClosed: (Int) -> Bool) throws -> [any RowPatches] {
        guard let plan else { return [] }
        let resolution = DeclaredLinkSort(stream: modelRun.links(by: plan.keys), mappings: plan.mappings)
        var patches: [any RowPatches] = try pending.patches(of: table, by: resolution, isClosed: isClosed)
        guard !isClosed(table) else { return [] }
        let own = plan.mappings.filter { $0.destinationTable == table && plan.links.direct[$0.index] != nil }
        for mapping in own {
            guard let keys = plan.keys.byMapping[mapping.index], keys.index.count > 0, let entity = mapping.source
            else { continue }
            patches.append(
                ReferencePatches(
                    run: modelRun.run, mapping: mapping, of: entity, direct: plan.links.direct[mapping.index] ?? [],
                    own: keys, keys: plan.keys, missing: modelRun.missing,
                    sharing: keys.mode == .kept ? own.count : 1))
        }
        return patches
    }

    /// The relationships of the deferred stores, for the account of links: all their links are declared.
    var pairs: DeclaredPairs {
        guard let plan else { return DeclaredPairs(mappings: [], pairs: []) }
        let pairs = stores.all.reduce(into: Set<PropertyReference>()) { pairs, store in
            guard store.isDeferred else { return }
            pairs.insert(store.first.reference)
            if let second = store.second { pairs.insert(second.reference) }
        }
        return DeclaredPairs(mappings: plan.mappings, pairs: pairs)
    }
}
