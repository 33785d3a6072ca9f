import CoreDataStore
import Diagnostics
import ManagedModel
import Rows
import SpillStorage

/// Stage 2 of the relationship mappings on the policy path.
///
/// Mappings without a policy come first, all of them; their links follow the rules for inverse pairs. The relationships that a
/// policy's default method sets count as policy code and are applied on top.
final class PolicyLinkSetter {
    /// The number of members that a lookup holds in memory where no batch size is given. More are sorted on disk.
    private static let heldMembers = 16_384

    private let modelRun: ModelRun
    private let mappings: [PlannedMapping]
    private let associations: [MappingAssociations]
    private unowned let objects: DestinationObjects
    private unowned let sources: SourceObjects
    /// True if an object may have links from a mapping that did not make it.
    private var isShared = false
    private var members: [LinkMember] = []
    private var stepsByMapping: [ObjectIdentifier: (mapping: PlannedMapping, steps: [SetStep])] = [:]
    /// The steps of the mapping that was requested last.
    private var lastSteps: (mapping: PlannedMapping, steps: [SetStep])?
    /// The evaluator of expressions over objects; set once, immediately after the runtime is made.
    var dynamicValues: DynamicValues?
    /// The source data read in parallel with the objects that a policy relates; see ``begin(_:)``.
    private var stream: (mapping: Int, reads: SourceStream)?

    init(
        modelRun: ModelRun, mappings: [PlannedMapping], associations: [MappingAssociations],
        objects: DestinationObjects, sources: SourceObjects
    ) {
        self.modelRun = modelRun
        self.mappings = mappings
        self.associations = associations
        self.objects = objects
        self.sources = sources
    }

    /// Makes the links of all mappings without a policy, and gives the members of ordered relationships their places.
    func relateAll() throws {
        isShared = associations.contains { $0.keys != nil && $0.hasPairs }
        for mapping in mappings where mapping.isDeclarative {
            try modelRun.services.checkCancelled()
            let own = associations[mapping.index]
            if let keys = own.keys { try relateAll(mapping, keys: keys) }
            let cursor = try own.pairs.destinationsInOrderOfFirstAssociation()
            while let pair = try cursor.next() {
                let entity = modelRun.inputs.destinationSchema.model.entity(at: Int(pair.destination.entity))
                let end = LinkEnd(
                    key: pair.destination.key, entity: UInt32(modelRun.inputs.destinationSchema.number(of: entity)))
                try relate(end, source: pair.firstSource.key, in: mapping)
            }
        }
        let placement = LinkPlacement(run: modelRun.run)
        for store in objects.links.all { try placement.place(store) }
    }

    /// Evaluates the relationship mappings of one destination object of a mapping without a policy.
    ///
    /// - Parameters:
    ///   - owner: the destination object.
    ///   - source: the key of the source object that `$source` stands for.
    private func relate(_ owner: LinkEnd, source: Int64, in mapping: PlannedMapping) throws {
        for planned in mapping.relationships {
            switch planned.value {
            case nil: break
            case .some(.none): try clear(owner, planned.relationship)
            case .dynamic(let expression): try link(owner, expression, planned, source: source, in: mapping)
            case .lookup(let argument, let candidates):
                try forEachMember(
                    Lookup(
                        argument, candidates, planned.relationship, makers(candidates, for: planned.relationship)),
                    for: owner, of: source, in: mapping
                ) { member, order, candidate in
                    try link(owner, member, planned.relationship, order: order, memberMapping: candidate)
                }
            }
        }
    }

    /// Performs the default policy method: sets the relationships that have an expression, in the order of the mapping's
    /// relationship mappings, as policy code would.
    ///
    /// - Parameters:
    ///   - owner: the destination object.
    ///   - source: the key of the source object that `$source` stands for.
    func setAll(of owner: LinkEnd, source: Int64, in mapping: PlannedMapping) throws {
        for step in steps(of: mapping) {
            if step.dynamic == nil, step.store.isPlain, objects.links.isReplayed {
                try setPlain(of: owner, source: source, step, in: mapping)
                continue
            }
            members.removeAll(keepingCapacity: true)
            var many: ManyMembers?
            if let dynamic = step.dynamic {
                members = try dynamicMembers(
                    of: owner, dynamic.expression, dynamic.planned, source: source, in: mapping)
            } else if let lookup = step.lookup {
                let canSpill = objects.links.isReplayed && step.store.canStreamPartners
                try forEachMember(lookup, for: owner, of: source, in: mapping) { member, order, _ in
                    if let many { return try many.append(LinkMember(end: member, order: order)) }
                    members.append(LinkMember(end: member, order: order))
                    if canSpill, members.count == modelRun.inputs.options.batchSize ?? Self.heldMembers {
                        many = try ManyMembers(members, modelRun.services)
                        members.removeAll()
                    }
                }
                if let many {
                    try objects.links.set(owner, step.store, step.side, to: many)
                    continue
                }
                if lookup.isToMany { arrange() }
            }
            try objects.links.set(owner, step.store, step.side, to: members)
        }
    }

    /// Starts the scans of the source data that ``setAll(of:source:in:)`` will need for a mapping, in the order of its source
    /// objects.
    func begin(_ mapping: PlannedMapping) throws(MigrationError) {
        guard let table = mapping.sourceTable, let entity = mapping.source else { return }
        let lookups = steps(of: mapping).compactMap(\.lookup)
        var columns: [SelectedColumn] = []
        for lookup in lookups {
            lookup.column = nil
            guard let last = lookup.path.last else { continue }
            let steps = Array(lookup.path.dropLast())
            let column: SelectedColumn
            if case .toMany = lookup.argument {
                column = .relatedKey(path: lookup.path)
            } else {
                column = steps.isEmpty ? .own(last.column) : .related(path: steps, column: last.column)
            }
            lookup.column = columns.firstIndex(of: column) ?? columns.count
            if lookup.column == columns.count { columns.append(column) }
        }
        let reads = try SourceStream(run: modelRun.run, table: table, entity: entity, columns: columns)
        for lookup in lookups {
            lookup.members = nil
            guard case .toMany(let steps, let relationship, _) = lookup.argument, steps.isEmpty else { continue }
            lookup.members = try reads.open(relationship)
        }
        stream = (mapping.index, reads)
    }

    /// Ends the scans that ``begin(_:)`` started.
    func end() { stream = nil }

    /// Sets a relationship of a plain store member by member. Memory: O(1), however many members there are.
    private func setPlain(of owner: LinkEnd, source: Int64, _ step: SetStep, in mapping: PlannedMapping) throws {
        let (store, side) = (step.store, step.side)
        // An object that can have only one partner loses the previous one with the next link. Only nil needs a reset.
        let isExclusive = store.isExclusive(side)
        if !isExclusive { try store.reset(owner, side: side) }
        var isLinked = false
        if let lookup = step.lookup {
            try forEachMember(lookup, for: owner, of: source, in: mapping) { member, _, _ in
                isLinked = true
                try store.add(owner, member, side: side)
            }
        }
        if isExclusive, !isLinked { try store.reset(owner, side: side) }
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
                lookup: Lookup(
                    argument, candidates, planned.relationship, makers(candidates, for: planned.relationship)))
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
        let lookup: Lookup?
        let dynamic: (expression: ValueExpression, planned: PlannedRelationship)?

        init(
            store: LinkStore, side: LinkStore.Side, lookup: Lookup?,
            dynamic: (expression: ValueExpression, planned: PlannedRelationship)? = nil
        ) {
            self.store = store
            self.side = side
            self.lookup = lookup
            self.dynamic = dynamic
        }
    }

    /// The mappings that may have made the objects that lookups find. Lookups of many mappings share one instance: with
    /// hundreds of mappings into one root, each would otherwise hold hundreds of entries.
    private final class Makers {
        /// The Z_ENT of each entity whose objects fit the relationship, by entity index; nil for all other entities.
        let numbers: [UInt32?]
        let all: [Maker]
        /// The maker if there is only one, which is the common case. Iterating over ``all`` would retain and release each.
        let only: Maker?

        init(numbers: [UInt32?], all: [Maker]) {
            self.numbers = numbers
            self.all = all
            only = all.count == 1 ? all[0] : nil
        }
    }

    private struct MakersKey: Hashable {
        let destination: Int
        let candidates: [Int]
    }
    private var sharedMakers: [MakersKey: Makers] = [:]
    private var countedRelationships: [PropertyReference: CountedRelationship] = [:]

    private func makers(_ candidates: [Int], for relationship: RelationshipDescription) -> Makers {
        let key = MakersKey(destination: relationship.destination.index, candidates: candidates)
        if let known = sharedMakers[key] { return known }
        let schema = modelRun.inputs.destinationSchema
        let numbers = relationship.entity.managedObjectModel.entities.map { entity in
            entity.isKindOf(entity: relationship.destination) ? UInt32(schema.number(of: entity)) : nil
        }
        let all = candidates.map { index in
            Maker(index, associations[index], associations[index].mapping.destination.flatMap { numbers[$0.index] })
        }
        let made = Makers(numbers: numbers, all: all)
        if sharedMakers.count > 1024 { sharedMakers = [:] }
        sharedMakers[key] = made
        return made
    }

    /// A mapping that may have made the objects that a lookup finds.
    private final class Maker {
        let index: Int
        let associations: MappingAssociations
        /// The Z_ENT of the objects that the mapping makes itself; nil if they do not fit the relationship.
        let number: UInt32?

        init(_ index: Int, _ associations: MappingAssociations, _ number: UInt32?) {
            self.index = index
            self.associations = associations
            self.number = number
        }
    }

    /// A lookup, with the facts that are needed for every object.
    private final class Lookup {
        let argument: SourceArgument
        /// The path of to-one steps to the argument's object, or to the owner of its to-many relationship.
        let path: [ToOneStep]
        let candidates: [Int]
        let relationship: RelationshipDescription
        var isToMany: Bool { relationship.isToMany }
        let makers: Makers
        /// The index of the path's column in the mapping's ``SourceStream``.
        var column: Int?
        /// The number of the argument's members in the ``SourceStream``.
        var members: Int?

        init(
            _ argument: SourceArgument, _ candidates: [Int], _ relationship: RelationshipDescription, _ makers: Makers
        ) {
            self.argument = argument
            self.candidates = candidates
            self.relationship = relationship
            self.makers = makers
            switch argument {
            case .object: path = []
            case .toOne(let steps, let column, let target, _):
                path = steps + [ToOneStep(column: column, destinationTable: target)]
            case .toMany(let steps, _, _): path = steps
            case .members: path = []
            }
        }
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

    /// Shows the destination objects that a lookup finds for one source object; for a to-one relationship only the first.
    ///
    /// - Parameters:
    ///   - owner: the destination object whose relationship is evaluated.
    ///   - body: receives the found object, its place and the index of the mapping that made it.
    private func forEachMember(
        _ lookup: Lookup, for owner: LinkEnd, of source: Int64, in mapping: PlannedMapping,
        _ body: (LinkEnd, MemberOrder, Int) throws -> Void
    ) throws {
        var first: (rank: Int, member: LinkEnd, order: MemberOrder)?
        var others = FurtherKeys()
        let table = lookup.argument.table
        try forEachArgument(lookup, of: source, in: mapping) { key, order in
            var isFound = false
            func find(_ maker: Maker, rank: Int) throws {
                try forEachCandidate(of: key, table: table, maker, lookup) { member in
                    if objects.hasDeletions, try !objects.exists(member) { return }
                    isFound = true
                    if lookup.isToMany {
                        try body(member, order, maker.index)
                    } else if let known = first {
                        guard others.insert(member.key, beside: known.member.key) else { return }
                        countFurther(1, of: lookup.relationship)
                        if rank < known.rank { first = (rank, member, order) }
                    } else {
                        first = (rank, member, order)
                    }
                }
            }
            if let only = lookup.makers.only {
                try find(only, rank: 0)
            } else {
                for (rank, maker) in lookup.makers.all.enumerated() { try find(maker, rank: rank) }
            }
            if !isFound { try countMissing(lookup.argument, key, lookup.relationship, of: owner.key) }
        }
        if let first { try body(first.member, first.order, lookup.candidates[first.rank]) }
    }

    /// Evaluates the relationship mappings of all rows that a mapping without a policy made.
    ///
    /// Works relationship by relationship, each in one scan. It works object by object only if both sides of a one-to-one pair
    /// are in the mapping, because the order of those links is the order of the objects.
    private func relateAll(_ mapping: PlannedMapping, keys: DestinationKeys) throws {
        guard let entity = mapping.destination else { return }
        let number = UInt32(modelRun.inputs.destinationSchema.number(of: entity))
        if hasInnerPair(mapping, entity) {
            try forEachOwner(mapping, keys) { source, key in
                try relate(LinkEnd(key: key, entity: number), source: source, in: mapping)
            }
            return
        }
        for planned in mapping.relationships {
            switch planned.value {
            case nil: break
            case .some(.none):
                try keys.forEachPair { _, key in try clear(LinkEnd(key: key, entity: number), planned.relationship) }
            case .dynamic(let expression):
                try forEachOwner(mapping, keys) { source, key in
                    try link(
                        LinkEnd(key: key, entity: number), expression, planned, source: source, in: mapping)
                }
            case .lookup(let argument, let candidates):
                try relateAll(mapping, keys, number, planned.relationship, argument, candidates)
            }
        }
    }

    private func relateAll(
        _ mapping: PlannedMapping, _ keys: DestinationKeys, _ number: UInt32, _ relationship: RelationshipDescription,
        _ argument: SourceArgument, _ candidates: [Int]
    ) throws {
        // A to-one takes the first object that is found. If policies merged several sources into one object, the links of a
        // to-many must come in the order of their owners, because the last owner wins. Words: owner, candidate's rank, place,
        // sequence, member, its Z_ENT and candidate, the two words of its place.
        let lookup = Lookup(argument, candidates, relationship, makers(candidates, for: relationship))
        let isSorted = !relationship.isToMany || candidates.contains { associations[$0].hasPairs }
        let sorter = isSorted ? modelRun.services.sorter(width: 8) : nil
        var sequence: UInt64 = 0
        try SourcePairs(run: modelRun.run).forEach(mapping, keys.index, argument) { source, key, order in
            guard let owner = try keys.destinationKey(of: source) else { return }
            var isFound = false
            for (rank, maker) in lookup.makers.all.enumerated() {
                let candidate = maker.index
                try forEachCandidate(of: key, table: argument.table, maker, lookup) { member in
                    if objects.hasDeletions, try !objects.exists(member) { return }
                    isFound = true
                    guard let sorter else {
                        return try link(
                            LinkEnd(key: owner, entity: number), member, relationship, order: order,
                            memberMapping: candidate)
                    }
                    sequence += 1
                    try sorter.append(
                        SortKey.encode(owner), relationship.isToMany ? 0 : UInt64(rank), order.rank(orKey: key),
                        sequence, SortKey.encode(member.key), UInt64(member.entity) << 32 | UInt64(candidate),
                        order.words.kind, order.words.value)
                }
            }
            if !isFound { try countMissing(argument, key, relationship, of: owner) }
        }
        if let sorter {
            countFurther(try link(try sorter.finish(), number, relationship), of: relationship)
        }
    }

    /// Counts objects that were found for a to-one relationship in addition to the one it got.
    private func countFurther(_ count: Int, of relationship: RelationshipDescription) {
        guard count > 0 else { return }
        var counts = ReferenceCounts()
        counts.add(further: count, of: counted(relationship))
        modelRun.tally.add(counts)
    }

    private func counted(_ relationship: RelationshipDescription) -> CountedRelationship {
        if let known = countedRelationships[relationship.reference] { return known }
        let made = CountedRelationship(relationship, among: mappings)
        countedRelationships[relationship.reference] = made
        return made
    }

    /// Links each owner to the objects found for it, owner by owner; in a to-one relationship to the first object.
    ///
    /// - Returns: the number of further objects found for a to-one relationship.
    private func link(_ sorted: SortedRecords, _ number: UInt32, _ relationship: RelationshipDescription) throws -> Int
    {
        var surplus = 0
        try withRecords(8) { record, _ in
            var previous: (owner: UInt64, member: UInt64)?
            var others = FurtherKeys()
            while try sorted.next(into: record) {
                if !relationship.isToMany, let previous, previous.owner == record[0] {
                    let (first, member) = (SortKey.decode(previous.member), SortKey.decode(record[4]))
                    if others.insert(member, beside: first) { surplus += 1 }
                    continue
                }
                previous = (record[0], record[4])
                others.removeAll()
                let owner = LinkEnd(key: SortKey.decode(record[0]), entity: number)
                let member = LinkEnd(
                    key: SortKey.decode(record[4]), entity: UInt32(truncatingIfNeeded: record[5] >> 32))
                let order = MemberOrder(kind: record[6], value: record[7])
                if relationship.isOrdered, try hasPlace(member, in: owner, relationship) { continue }
                try link(
                    owner, member, relationship, order: relationship.isToMany ? order : .none,
                    memberMapping: Int(UInt32(truncatingIfNeeded: record[5])))
            }
        }
        return surplus
    }

    /// Tells whether the owner already has a link with a place to the member. An object that is found twice keeps its first
    /// place.
    private func hasPlace(
        _ member: LinkEnd, in owner: LinkEnd, _ relationship: RelationshipDescription
    ) throws(MigrationError) -> Bool {
        guard let (store, side) = objects.links.store(of: relationship) else { return false }
        return try store.partners(of: member.key, side: side.other).contains {
            $0.partner.key == owner.key && !$0.orderOfObject.isNone
        }
    }

    // MARK: - Expressions over objects

    /// Shows the source and destination keys of a mapping's own rows, ascending by source key. If the mapping has expressions
    /// over objects, its source rows are read in batches at the same time.
    private func forEachOwner(
        _ mapping: PlannedMapping, _ keys: DestinationKeys, _ body: (Int64, Int64) throws -> Void
    ) throws {
        guard mapping.needsObjects, let dynamicValues else { return try keys.forEachPair(body) }
        try dynamicValues.forEachSource(of: mapping) { source in
            guard let key = try keys.destinationKey(of: source) else { return }
            try body(source, key)
        }
    }

    /// Returns the objects that an expression gives for one destination object; for a to-one relationship only the first.
    private func dynamicMembers(
        of owner: LinkEnd, _ expression: ValueExpression, _ planned: PlannedRelationship, source: Int64,
        in mapping: PlannedMapping
    ) throws -> [LinkMember] {
        guard let dynamicValues, let table = mapping.sourceTable, let destination = objects.object(of: owner) else {
            return []
        }
        let found = try dynamicValues.members(
            of: expression, planned, in: mapping, source: try sources.object(table: table, key: source),
            destination: destination)
        guard !planned.relationship.isToMany, found.count > 1 else { return found }
        countFurther(found.count - 1, of: planned.relationship)
        return [found[0]]
    }

    /// Links an owner to the objects that an expression gives, by the rules for mappings without a policy.
    private func link(
        _ owner: LinkEnd, _ expression: ValueExpression, _ planned: PlannedRelationship, source: Int64,
        in mapping: PlannedMapping
    ) throws {
        let found = try dynamicMembers(of: owner, expression, planned, source: source, in: mapping)
        if found.isEmpty { return try clear(owner, planned.relationship) }
        for (rank, member) in found.enumerated() {
            try link(
                owner, member.end, planned.relationship,
                order: planned.relationship.isOrdered ? .rank(Int64(rank)) : .none,
                memberMapping: try maker(of: member.end) ?? -1)
        }
    }

    /// Returns the index of the mapping without a policy that made an object. Returns nil if a policy made it.
    private func maker(of end: LinkEnd) throws(MigrationError) -> Int? {
        for table in associations {
            guard table.isCreated, let keys = table.keys, let entity = table.mapping.destination,
                modelRun.inputs.destinationSchema.number(of: entity) == Int(end.entity),
                try keys.sourceKey(of: end.key) != nil
            else { continue }
            return table.mapping.index
        }
        return nil
    }

    private func hasInnerPair(_ mapping: PlannedMapping, _ entity: EntityDescription) -> Bool {
        mapping.relationships.contains { planned in
            guard !planned.relationship.isToMany, planned.findsMembers,
                let inverse = LinkPlanner.mutualInverse(of: planned.relationship), !inverse.isToMany,
                inverse != planned.relationship
            else { return false }
            return mapping.relationship(named: inverse.name)?.relationship == inverse
        }
    }

    /// Shows the destination objects that a candidate mapping made of a source object, if they fit the relationship.
    private func forEachCandidate(
        of key: Int64, table: Int, _ maker: Maker, _ lookup: Lookup, _ body: (LinkEnd) throws -> Void
    ) throws {
        let candidate = maker.associations
        if let number = maker.number, let made = try candidate.ownDestination(ofKey: key, table: table) {
            try body(LinkEnd(key: made, entity: number))
        }
        guard candidate.hasPairs else { return }
        try candidate.forEachPair(ofKey: key, table: table) { reference in
            guard let number = lookup.makers.numbers[Int(reference.entity)] else { return }
            try body(LinkEnd(key: reference.key, entity: number))
        }
    }

    /// Shows the source objects of a lookup's argument: the key, and the place in an ordered relationship.
    private func forEachArgument(
        _ lookup: Lookup, of source: Int64, in mapping: PlannedMapping,
        _ body: (Int64, MemberOrder) throws -> Void
    ) throws {
        if case .members(let argument) = lookup.argument {
            return try forEachMember(argument, of: source, in: mapping, body)
        }
        guard let end = try end(of: lookup, from: source, in: mapping) else { return }
        guard case .toMany(let steps, let relationship, _) = lookup.argument else { return try body(end, .none) }
        var rank: Int64 = 0
        func show(_ key: Int64, _ order: Int64?) throws {
            let place: MemberOrder
            if !relationship.isOrdered {
                place = .none
            } else if steps.isEmpty {
                place = order.map(MemberOrder.key) ?? .null
            } else {
                place = .rank(rank)
            }
            rank += 1
            try body(key, place)
        }
        if let members = lookup.members, let stream, stream.mapping == mapping.index {
            if try stream.reads.forEachMember(members, of: end, show) { return }
        }
        try sources.forEachMember(of: end, relationship) { key, order, _ in try show(key, order) }
    }

    /// Returns the source object at the end of a lookup's path: the argument itself, or the owner of its to-many relationship.
    private func end(
        of lookup: Lookup, from source: Int64, in mapping: PlannedMapping
    ) throws(MigrationError) -> Int64? {
        guard !lookup.path.isEmpty else { return source }
        if let column = lookup.column, let stream, stream.mapping == mapping.index,
            case .key(let end) = try stream.reads.reference(column, of: source)
        {
            return end
        }
        guard let table = mapping.sourceTable, let end = try follow(lookup.path, from: (table, source)) else {
            return nil
        }
        // A reference to a missing row is nil, even if other rows refer to the same missing row.
        if case .toMany = lookup.argument, try modelRun.sourceKeys?.byTable[end.table]?.contains(end.key) == false {
            return nil
        }
        return end.key
    }

    /// Shows the members of a longer argument for one source object.
    private func forEachMember(
        _ argument: MemberArgument, of source: Int64, in mapping: PlannedMapping,
        _ body: (Int64, MemberOrder) throws -> Void
    ) throws {
        guard let table = mapping.sourceTable else { return }
        var seen: Set<Int64> = []
        var found: [Int64] = []
        try forEachMember(of: (table, source), argument.path.prefix + argument.path.steps, &seen) { found.append($0) }
        // The members of an unordered argument are sorted by key.
        if argument.ordered == nil { found.sort() }
        for (rank, key) in found.enumerated() where try admits(key, argument, source: (table, source)) {
            try body(key, argument.ordered == nil ? .none : .rank(Int64(rank)))
        }
    }

    /// Tells whether an argument's condition holds for a member of one source object.
    private func admits(
        _ key: Int64, _ argument: MemberArgument, source: (table: Int, key: Int64)
    ) throws -> Bool {
        guard let condition = argument.fold.condition else { return true }
        return try SourcePredicate(node: condition).evaluate(
            with: nil,
            variables: [
                argument.fold.variable: try sources.object(table: argument.table, key: key),
                "source": try sources.object(table: source.table, key: source.key),
            ])
    }

    /// Shows the objects at the end of a path of relationships, without duplicates.
    private func forEachMember(
        of start: (table: Int, key: Int64), _ path: [RelationshipDescription], _ seen: inout Set<Int64>,
        _ body: (Int64) throws -> Void
    ) throws {
        guard let relationship = path.first else {
            if seen.insert(start.key).inserted { try body(start.key) }
            return
        }
        let schema = modelRun.inputs.layout.schema
        let table = schema.tableIndex(of: relationship.destination)
        let rest = Array(path.dropFirst())
        if case .toOne(_, let column, _, _) = schema.storage(of: relationship) {
            let step = ToOneStep(column: column, destinationTable: table)
            guard let end = try follow([step], from: start), try sources.place(table: table, key: end.key) != nil
            else { return }
            return try forEachMember(of: end, rest, &seen, body)
        }
        var members: [Int64] = []
        try sources.forEachMember(of: start.key, relationship) { key, _, entity in
            if entity != nil { members.append(key) }
        }
        for member in members { try forEachMember(of: (table, member), rest, &seen, body) }
    }

    /// Returns the row at the end of to-one steps. Returns nil if a step is nil.
    private func follow(
        _ steps: [ToOneStep], from start: (table: Int, key: Int64)
    ) throws(MigrationError) -> (table: Int, key: Int64)? {
        var current = start
        for step in steps {
            let cell = try sources.read(table: current.table, key: current.key) { batch, row throws(MigrationError) in
                batch[row, step.column]
            }
            guard let cell, cell.kind == .integer else { return nil }
            current = (step.destinationTable, cell.integerValue)
        }
        return current
    }

    /// Tells whether a lookup's argument reads links from a join table.
    private func isJoined(_ argument: SourceArgument) -> Bool {
        guard case .toMany(_, let relationship, _) = argument,
            case .join = modelRun.inputs.layout.schema.storage(of: relationship)
        else { return false }
        return true
    }

    /// Counts a reference that found no object, or notes it if it may still be set later.
    private func countMissing(
        _ argument: SourceArgument, _ key: Int64, _ relationship: RelationshipDescription, of owner: Int64
    ) throws(MigrationError) {
        let table = argument.table
        guard try modelRun.sourceKeys?.byTable[table]?.contains(key) ?? true else {
            return count(.dangling, relationship, owner)
        }
        // The member itself holds the link, so the link vanishes with the member. No reference of the owner became nil.
        guard !relationship.isToMany || isJoined(argument) else { return }
        guard let unmigrated = modelRun.missing.unmigrated else {
            guard let fates = modelRun.missing.fates else { return }
            return count(try fates.fate(of: key, table: table, for: relationship), relationship, owner)
        }
        try unmigrated.note(
            unmigrated.number(of: relationship, sourceTable: table), owner: owner, source: key)
    }

    private func count(_ fate: ReferenceFate, _ relationship: RelationshipDescription, _ owner: Int64) {
        var counts = ReferenceCounts()
        counts.add(counted(relationship), fate, owner: owner)
        modelRun.tally.add(counts)
    }

    /// Applies a constant nil: clears the relationship of an object.
    private func clear(_ owner: LinkEnd, _ relationship: RelationshipDescription) throws(MigrationError) {
        guard let (store, side) = objects.links.store(of: relationship), !relationship.isToMany,
            LinkPlanner.mutualInverse(of: relationship)?.isToMany ?? true
        else { return }
        if store.isPlain { return try store.reset(owner, side: side) }
        for view in try store.partners(of: owner.key, side: side) { try store.remove(owner, view.partner, side: side) }
    }

    /// Makes one link by the rules for its inverse pair.
    private func link(
        _ owner: LinkEnd, _ member: LinkEnd, _ relationship: RelationshipDescription, order: MemberOrder,
        memberMapping: Int
    ) throws {
        guard let (store, side) = objects.links.store(of: relationship) else { return }
        if objects.hasDeletions {
            guard try objects.exists(owner) else { return }
        }
        let inverse = store.isReflexive ? store.first : store.relationship(of: side.other)
        let isOneToManySide = relationship.isToMany && inverse.map { !$0.isToMany } ?? false
        if isOneToManySide, let inverse, decides(memberMapping, inverse) {
            // The mapping of the to-one side decides. This side gives only the place.
            if !order.isNone {
                try store.givenOrders.append(
                    SortKey.encode(owner.key), SortKey.encode(member.key), order.words.kind, order.words.value, 0)
            }
            return
        }
        if store.isPlain { return try store.add(owner, member, side: side) }
        // An object whose mapping sets a to-one relationship has no link of it yet, unless objects are shared.
        if !relationship.isToMany, isShared || !(inverse?.isToMany ?? true) {
            for view in try store.partners(of: owner.key, side: side) where view.partner.key != member.key {
                try store.remove(owner, view.partner, side: side)
            }
        }
        try objects.links.unlinkExclusive(store, member, from: side.other, but: owner)
        try store.add(owner, member, side: side, orderOfPartner: order)
    }

    /// Tells whether the mapping that made a member sets the member's owner itself.
    private func decides(_ mapping: Int, _ toOne: RelationshipDescription) -> Bool {
        guard mappings.indices.contains(mapping), mappings[mapping].isDeclarative,
            let planned = mappings[mapping].relationship(named: toOne.name),
            planned.relationship == toOne
        else { return false }
        return planned.value != nil
    }
}
