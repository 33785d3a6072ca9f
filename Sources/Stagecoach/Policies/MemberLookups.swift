import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// Finds the destination objects that relationship mappings name: those that lookups find, and those that expressions over
/// objects give.
final class MemberLookups {
    let modelRun: ModelRun
    let mappings: [PlannedMapping]
    let associations: [MappingAssociations]
    unowned let objects: DestinationObjects
    private unowned let sources: SourceObjects
    /// The evaluator of expressions over objects; set once, immediately after the runtime is made.
    var dynamicValues: DynamicValues?
    /// The source data read in parallel with the objects that are related; see ``begin(_:_:)``.
    private var stream: (mapping: Int, reads: SourceStream)?
    private var sharedMakers: [MakersKey: LinkLookup.Makers] = [:]
    private var countedRelationships: [PropertyReference: CountedRelationship] = [:]

    private struct MakersKey: Hashable {
        let destination: Int
        let candidates: [Int]
    }

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

    /// Returns a lookup with all that it needs for each object.
    func lookup(
        _ argument: SourceArgument, _ candidates: [Int], for planned: PlannedRelationship
    ) -> LinkLookup {
        LinkLookup(argument, candidates, planned, makers(candidates, for: planned.relationship))
    }

    private func makers(_ candidates: [Int], for relationship: RelationshipDescription) -> LinkLookup.Makers {
        let key = MakersKey(destination: relationship.destination.index, candidates: candidates)
        if let known = sharedMakers[key] { return known }
        let schema = modelRun.inputs.destinationSchema
        let numbers = relationship.entity.managedObjectModel.entities.map { entity in
            entity.isKindOf(entity: relationship.destination) ? UInt32(schema.number(of: entity)) : nil
        }
        let all = candidates.map { index in
            LinkLookup.Maker(
                index, associations[index], associations[index].mapping.destination.flatMap { numbers[$0.index] })
        }
        let made = LinkLookup.Makers(numbers: numbers, all: all)
        if sharedMakers.count > 1024 { sharedMakers = [:] }
        sharedMakers[key] = made
        return made
    }

    /// Starts the scans of the source data that a mapping's lookups will need, in the order of its source objects.
    func begin(_ mapping: PlannedMapping, _ lookups: [LinkLookup]) throws(MigrationError) {
        guard let table = mapping.sourceTable, let entity = mapping.source else { return }
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

    /// Ends the scans that ``begin(_:_:)`` started.
    func end() { stream = nil }

    /// Shows the destination objects that a lookup finds for one source object; for a to-one relationship only the first.
    ///
    /// - Parameters:
    ///   - owner: the destination object whose relationship is evaluated.
    ///   - counts: true to count references that find no object, and further objects.
    ///   - body: receives the found object, its place and the index of the mapping that made it.
    func forEachMember(
        _ lookup: LinkLookup, for owner: LinkEnd, of source: Int64, in mapping: PlannedMapping, counts: Bool = true,
        _ body: (LinkEnd, MemberOrder, Int) throws -> Void
    ) throws {
        var first: (rank: Int, member: LinkEnd, order: MemberOrder)?
        var others = FurtherKeys()
        let table = lookup.argument.table
        try forEachArgument(lookup, of: source, in: mapping) { key, order in
            var isFound = false
            func find(_ maker: LinkLookup.Maker, rank: Int) throws {
                try forEachCandidate(of: key, table: table, maker, lookup) { member in
                    if objects.hasDeletions, try !objects.exists(member) { return }
                    isFound = true
                    if lookup.isToMany {
                        try body(member, order, maker.index)
                    } else if let known = first {
                        guard others.insert(member.key, beside: known.member.key) else { return }
                        if counts { countFurther(1, of: lookup.relationship) }
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
            if !isFound, counts { try countMissing(lookup.argument, key, lookup.relationship, of: owner.key) }
        }
        if let first { try body(first.member, first.order, lookup.candidates[first.rank]) }
    }

    /// Shows the destination objects that a candidate mapping made of a source object, if they fit the relationship.
    private func forEachCandidate(
        of key: Int64, table: Int, _ maker: LinkLookup.Maker, _ lookup: LinkLookup, _ body: (LinkEnd) throws -> Void
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

    /// Returns the objects that an expression gives for one destination object; for a to-one relationship only the first.
    func dynamicMembers(
        of owner: LinkEnd, _ expression: ValueExpression, _ planned: PlannedRelationship, source: Int64,
        in mapping: PlannedMapping, counts: Bool = true
    ) throws -> [LinkMember] {
        guard let dynamicValues, let table = mapping.sourceTable, let destination = objects.object(of: owner) else {
            return []
        }
        let found = try dynamicValues.members(
            of: expression, planned, in: mapping, source: try sources.object(table: table, key: source),
            destination: destination)
        guard !planned.relationship.isToMany, found.count > 1 else { return found }
        if counts { countFurther(found.count - 1, of: planned.relationship) }
        return [found[0]]
    }

    /// Shows the source objects of a lookup's argument: the key, and the place in an ordered relationship, or in the order that
    /// an attribute gives.
    ///
    /// Memory: with an attribute, 24 bytes for each of the objects.
    private func forEachArgument(
        _ lookup: LinkLookup, of source: Int64, in mapping: PlannedMapping,
        _ body: (Int64, MemberOrder) throws -> Void
    ) throws {
        guard let sort = lookup.sort else { return try forEachGiven(lookup, of: source, in: mapping, body) }
        var found: [(value: MemberSort.Words, key: Int64)] = []
        try forEachGiven(lookup, of: source, in: mapping) { key, _ in found.append((try words(of: key, sort), key)) }
        found.sort { ($0.value.kind, $0.value.value, $0.key) < ($1.value.kind, $1.value.value, $1.key) }
        for (rank, item) in found.enumerated() { try body(item.key, .rank(Int64(rank))) }
    }

    /// Returns the value by which a member is ordered.
    private func words(of key: Int64, _ sort: MemberSort) throws(MigrationError) -> MemberSort.Words {
        switch sort.slots.columns[sort.slot] {
        case .own(let column): return try words(table: sort.table, key: key, column, sort)
        case .related(let path, let column):
            guard let end = try follow(path, from: (sort.table, key)) else { return MemberSort.null }
            return try words(table: end.table, key: end.key, column, sort)
        default: return MemberSort.null
        }
    }

    private func words(
        table: Int, key: Int64, _ column: Int, _ sort: MemberSort
    ) throws(MigrationError) -> MemberSort.Words {
        try sources.read(table: table, key: key) { batch, row in sort.words(batch[row, column]) } ?? MemberSort.null
    }

    /// Shows the source objects of a lookup's argument: the key, and the place in an ordered relationship.
    private func forEachGiven(
        _ lookup: LinkLookup, of source: Int64, in mapping: PlannedMapping,
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
        of lookup: LinkLookup, from source: Int64, in mapping: PlannedMapping
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

    /// Counts objects that were found for a to-one relationship in addition to the one it got.
    private func countFurther(_ count: Int, of relationship: RelationshipDescription) {
        guard count > 0, modelRun.validation.rejected == nil else { return }
        var counts = ReferenceCounts()
        counts.add(further: count, of: counted(relationship))
        modelRun.tally.add(counts)
    }

    /// Counts a reference that found no object, or notes it if it may still be set later.
    private func countMissing(
        _ argument: SourceArgument, _ key: Int64, _ relationship: RelationshipDescription, of owner: Int64
    ) throws(MigrationError) {
        let table = argument.table
        guard modelRun.validation.rejected == nil else {
            // All others were counted the first time.
            guard !relationship.isToMany || isJoined(argument), let fates = modelRun.missing.fates,
                try fates.isRejected(key, table: table, for: relationship)
            else { return }
            return count(.rejected, relationship, owner)
        }
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

    private func counted(_ relationship: RelationshipDescription) -> CountedRelationship {
        if let known = countedRelationships[relationship.reference] { return known }
        let made = CountedRelationship(relationship, among: mappings)
        countedRelationships[relationship.reference] = made
        return made
    }

    /// Counts a reference of which an object came to nothing.
    private func count(_ fate: ReferenceFate, _ relationship: RelationshipDescription, _ owner: Int64) {
        var counts = ReferenceCounts()
        counts.add(counted(relationship), fate, owner: owner)
        modelRun.tally.add(counts)
    }
}
