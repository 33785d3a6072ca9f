import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// Stage 2 on the policy path.
///
/// Mappings without a policy come first, all of them (``DeclaredLinkMaker``). The relationships that a policy's default method
/// sets count as policy code and are applied on top, in the order of the calls.
///
/// The links of some stores are left to the load (``DeferredLinks``), as long as user code does not use them and each policy
/// calls the default method for each of its objects. Otherwise they are made before the first use, as if they had never been
/// deferred: object by object, up to the object whose policy is called now.
final class PolicyLinkSetter {
    /// The number of members that a lookup holds in memory where no batch size is given. More are sorted on disk.
    private static let heldMembers = 16_384

    private let lookups: MemberLookups
    private let declared: DeclaredLinkMaker
    let deferred: DeferredLinks
    private var members: [LinkMember] = []
    private var stepsByMapping: [ObjectIdentifier: (mapping: PlannedMapping, steps: [SetStep])] = [:]
    /// The steps of the mapping that was requested last.
    private var lastSteps: (mapping: PlannedMapping, steps: [SetStep])?
    /// The mapping whose policy relates objects now, and the number of its objects that the default method was called for. All
    /// mappings before it are related.
    private var position: (mapping: Int, count: Int) = (0, 0)

    /// The evaluator of expressions over objects; set once, immediately after the runtime is made.
    var dynamicValues: DynamicValues? {
        get { lookups.dynamicValues }
        set { lookups.dynamicValues = newValue }
    }

    private var modelRun: ModelRun { lookups.modelRun }
    private var mappings: [PlannedMapping] { lookups.mappings }
    private var associations: [MappingAssociations] { lookups.associations }
    private var objects: DestinationObjects { lookups.objects }

    init(_ lookups: MemberLookups) {
        self.lookups = lookups
        declared = DeclaredLinkMaker(lookups)
        deferred = DeferredLinks(
            modelRun: lookups.modelRun, mappings: lookups.mappings, associations: lookups.associations,
            objects: lookups.objects)
        lookups.objects.links.makeDeferred = { [unowned self] store throws(MigrationError) in try use(store) }
    }

    /// Begins stage 2: lays the links that mapping models declare, as far as they are not deferred and no policy has set links
    /// of the pair. Those are set when the stage reaches each mapping.
    ///
    /// - Parameter keys: the keys by which the load can find links; nil if it must find none.
    func beginLinks(keys: PlanKeys?) throws {
        if let keys { try deferred.begin(keys: keys) }
        objects.links.beginStage2()
        try layDeclaredLinks()
    }

    private func layDeclaredLinks() throws {
        position = (0, 0)
        for store in objects.links.all where !store.isDeferred && !store.isSetEarly {
            try declared.layLinks(of: store)
        }
    }

    /// Sets all links again as if rejected objects had never been made. No user code runs: what it did is done again.
    func repeatLinks(without rejected: RejectedKeys) throws {
        objects.leaveOut(rejected)
        for table in associations { if let keys = table.keys { rejected.hide(in: CollectionOfOne(keys)) } }
        let stores = objects.links.all
        guard !stores.allSatisfy(\.isDeferred) else { return }
        let schema = objects.schema
        func entity(_ number: UInt32) -> EntityDescription? {
            schema.entityByNumber[Int(number)].map { schema.model.entity(at: $0) }
        }
        try objects.links.removeAll(entity: entity)
        deferred.deferAgain()
        try layDeclaredLinks()
        try objects.links.makeChanges(entity: entity, where: exists, other: repeatCall)
        finish()
    }

    private func exists(_ end: LinkEnd) throws(MigrationError) -> Bool {
        guard objects.hasDeletions else { return true }
        return try objects.exists(end)
    }

    /// Does again what a default method or the making of deferred links did.
    private func repeatCall(_ call: LinkChange) throws {
        if call.kind == .makeDeferred {
            position = (call.mapping, call.related)
            return try use(objects.links.all[call.store])
        }
        let mapping = mappings[call.mapping]
        if call.kind == .relateAll { return try relateAll(of: mapping, in: objects.links.all[call.store]) }
        if position.mapping != mapping.index { try begin(mapping, after: 0) }
        for step in steps(of: mapping) where !step.store.isDeferred {
            try set(step, of: call.owner, source: call.source, in: mapping)
        }
    }

    // MARK: - Deferred links

    /// Makes the links of a store, if they are deferred.
    func use(_ store: LinkStore) throws(MigrationError) {
        guard store.isDeferred else { return }
        store.isDeferred = false
        try objects.links.note(.makeDeferred(store, mapping: position.mapping, related: position.count))
        do { try catchUp(store) } catch let error as MigrationError { throw error } catch {
            throw MigrationError("policy.failed", .data, "The links cannot be made", cause: error)
        }
    }

    /// Makes all deferred links, because what follows changes what lookups find.
    func useAll() throws(MigrationError) {
        guard deferred.mayExist else { return }
        deferred.end()
        for store in objects.links.all { try use(store) }
    }

    /// Makes the links of a store up to the current object.
    private func catchUp(_ store: LinkStore) throws {
        try declared.layLinks(of: store)
        for mapping in mappings where mapping.hasPolicy && mapping.index <= position.mapping {
            let steps = steps(of: mapping).filter { $0.store === store }
            let most = mapping.index == position.mapping ? position.count : .max
            guard !steps.isEmpty, most > 0 else { continue }
            try begin(mapping, steps)
            let cursor = try associations[mapping.index].pairs.destinationsInOrderOfFirstAssociation()
            var count = 0
            while count < most, let pair = try cursor.next() {
                count += 1
                let entity = objects.schema.model.entity(at: Int(pair.destination.entity))
                let end = LinkEnd(key: pair.destination.key, entity: UInt32(objects.schema.number(of: entity)))
                guard try exists(end) else { continue }
                for step in steps { try set(step, of: end, source: pair.source.key, in: mapping) }
            }
        }
        guard mappings.indices.contains(position.mapping) else { return lookups.end() }
        try begin(mappings[position.mapping], after: position.count)
    }

    /// Tells whether relating a mapping's objects only leaves their links to the load.
    func isDeferred(_ mapping: PlannedMapping) -> Bool { steps(of: mapping).allSatisfy(\.store.isDeferred) }

    /// Ends the call of a mapping's policy for an object. If it did not call the default method, or with an edited mapping, the
    /// links of the objects before it are made.
    func endObject(at place: Int, of mapping: PlannedMapping) throws(MigrationError) {
        guard position.count <= place else { return }
        for step in steps(of: mapping) { try use(step.store) }
    }

    // MARK: - Mappings without a policy

    /// Does what the default method would do for the objects of a mapping without a policy, in the pairs whose links policies
    /// have set: there the order of the calls tells. The links of all other pairs are as ``beginLinks(keys:)`` laid them.
    func relateAll(of mapping: PlannedMapping) throws {
        guard mapping.hasDeclaredLinks else { return }
        for store in objects.links.all where store.isSetByPolicy && !store.isDeferred {
            let steps = steps(of: mapping).filter { $0.store === store }
            guard !steps.isEmpty else { continue }
            guard steps.allSatisfy({ $0.dynamic == nil }) else {
                // Expressions over objects cannot be evaluated again, so each change is noted.
                try relateAll(of: mapping, steps)
                continue
            }
            try objects.links.relateAll(of: mapping.index, in: store) { try relateAll(of: mapping, steps) }
        }
    }

    private func relateAll(of mapping: PlannedMapping, in store: LinkStore) throws {
        try relateAll(of: mapping, steps(of: mapping).filter { $0.store === store })
    }

    private func relateAll(of mapping: PlannedMapping, _ steps: [SetStep]) throws {
        guard let first = steps.first else { return }
        position = (mapping.index, .max)
        try begin(mapping, steps)
        defer { end() }
        try first.store.compact()
        // Where the links were declared before, their references were counted then.
        let counts = first.store.isSetEarly
        let schema = objects.schema
        try associations[mapping.index].forEachDestination { object, source in
            try modelRun.services.checkCancelled()
            let entity = schema.model.entity(at: Int(object.entity))
            let owner = LinkEnd(key: object.key, entity: UInt32(schema.number(of: entity)))
            guard try exists(owner) else { return }
            for step in steps { try set(step, of: owner, source: source, in: mapping, counts: counts) }
        }
    }

    // MARK: - The default method

    /// Begins to relate the objects of a mapping: scans of the source data start, in the order of its source objects.
    ///
    /// - Parameter count: the number of its objects that are related already.
    func begin(_ mapping: PlannedMapping, after count: Int) throws(MigrationError) {
        position = (mapping.index, count)
        try begin(mapping, steps(of: mapping).filter { !$0.store.isDeferred })
    }

    private func begin(_ mapping: PlannedMapping, _ steps: [SetStep]) throws(MigrationError) {
        try lookups.begin(mapping, steps.compactMap(\.lookup))
    }

    /// Ends the scans of the source data.
    func end() { lookups.end() }

    /// Notes that all mappings are related.
    func finish() {
        position = (mappings.count, 0)
        end()
    }

    /// Performs the default policy method for the current object: sets the relationships that have an expression, in the order of
    /// the mapping's relationship mappings, as policy code would. Deferred links are left out.
    ///
    /// - Parameters:
    ///   - owner: the destination object.
    ///   - source: the key of the source object that `$source` stands for.
    ///   - place: the number of the mapping's objects before this one; nil if it is not their turn.
    func setAll(of owner: LinkEnd, source: Int64, in mapping: PlannedMapping, at place: Int?) throws {
        let steps = steps(of: mapping)
        if let place, mapping === mappings[position.mapping] {
            position.count = place + 1
        } else {
            for step in steps { try use(step.store) }
        }
        guard steps.contains(where: { !$0.store.isDeferred }) else { return }
        func setSteps() throws {
            for step in steps where !step.store.isDeferred { try set(step, of: owner, source: source, in: mapping) }
        }
        // Expressions that user code has changed since, or that only objects answer, cannot be evaluated again.
        guard mappings[mapping.index] === mapping, !mapping.hasDynamicRelationships else { return try setSteps() }
        try objects.links.relate(owner, from: source, in: mapping.index, setSteps)
    }

    /// - Parameter counts: true to count references that find no object, and further objects.
    private func set(
        _ step: SetStep, of owner: LinkEnd, source: Int64, in mapping: PlannedMapping, counts: Bool = true
    ) throws {
        if step.dynamic == nil, step.store.isPlain, objects.links.isFree {
            return try setPlain(of: owner, source: source, step, in: mapping, counts: counts)
        }
        members.removeAll(keepingCapacity: true)
        var many: ManyMembers?
        if let dynamic = step.dynamic {
            members = try lookups.dynamicMembers(
                of: owner, dynamic.expression, dynamic.planned, source: source, in: mapping, counts: counts)
        } else if let lookup = step.lookup {
            let canSpill = objects.links.isFree && step.store.canStreamPartners
            try lookups.forEachMember(lookup, for: owner, of: source, in: mapping, counts: counts) {
                member, order, _ in
                if let many { return try many.append(LinkMember(end: member, order: order)) }
                members.append(LinkMember(end: member, order: order))
                if canSpill, members.count == modelRun.inputs.options.batchSize ?? Self.heldMembers {
                    many = try ManyMembers(members, modelRun.services)
                    members.removeAll()
                }
            }
            if let many { return try objects.links.set(owner, step.store, step.side, to: many) }
            if lookup.isToMany { arrange() }
        }
        try objects.links.set(owner, step.store, step.side, to: members)
    }

    /// Sets a relationship of a plain store member by member. Memory: O(1), however many members there are.
    private func setPlain(
        of owner: LinkEnd, source: Int64, _ step: SetStep, in mapping: PlannedMapping, counts: Bool
    ) throws {
        let (store, side) = (step.store, step.side)
        // An object that can have only one partner loses the previous one with the next link. Only nil needs a reset.
        let isExclusive = store.isExclusive(side)
        if !isExclusive { try store.reset(owner, side: side) }
        var isLinked = false
        if let lookup = step.lookup {
            try lookups.forEachMember(lookup, for: owner, of: source, in: mapping, counts: counts) { member, _, _ in
                isLinked = true
                try store.add(owner, member, side: side)
            }
        }
        if isExclusive, !isLinked { try store.reset(owner, side: side) }
    }

    /// Sorts ``members`` by copied key, by rank or by their own key, and removes duplicates.
    private func arrange() {
        guard members.count > 1 else {
            if let only = members.first, case .rank = only.order { members[0].order = .none }
            return
        }
        var seen: Set<Int64> = []
        members.removeAll { !seen.insert($0.end.key).inserted }
        switch members[0].order {
        case .none: members.sort { $0.end.key < $1.end.key }
        // An ordered argument: the members were found in its order.
        case .rank: for index in members.indices { members[index].order = .none }
        case .key, .null: break
        }
    }

    /// Returns the relationships that the default policy method of a mapping sets, in order.
    private func steps(of mapping: PlannedMapping) -> [SetStep] {
        if let lastSteps, lastSteps.mapping === mapping { return lastSteps.steps }
        if let known = stepsByMapping[ObjectIdentifier(mapping)] {
            lastSteps = known
            return known.steps
        }
        let steps = mapping.relationshipsInMappingOrder.compactMap { planned -> SetStep? in
            guard let value = planned.value, let (store, side) = objects.links.store(of: planned.relationship) else {
                return nil
            }
            if case .dynamic(let expression) = value {
                return SetStep(store: store, side: side, lookup: nil, dynamic: (expression, planned))
            }
            guard case .lookup(let argument, let candidates) = value else {
                return SetStep(store: store, side: side, lookup: nil)
            }
            return SetStep(
                store: store, side: side,
                lookup: lookups.lookup(argument, candidates, for: planned))
        }
        // Policies that change expressions for each object leave a new mapping each time, so the cache is bounded.
        if stepsByMapping.count > mappings.count + 64 { stepsByMapping = [:] }
        stepsByMapping[ObjectIdentifier(mapping)] = (mapping, steps)
        lastSteps = (mapping, steps)
        return steps
    }

    /// One relationship that the default policy method sets.
    private final class SetStep {
        let store: LinkStore
        let side: LinkStore.Side
        /// The lookup; nil for a constant nil and for an expression over objects.
        let lookup: LinkLookup?
        let dynamic: (expression: ValueExpression, planned: PlannedRelationship)?

        init(
            store: LinkStore, side: LinkStore.Side, lookup: LinkLookup?,
            dynamic: (expression: ValueExpression, planned: PlannedRelationship)? = nil
        ) {
            self.store = store
            self.side = side
            self.lookup = lookup
            self.dynamic = dynamic
        }
    }
}
