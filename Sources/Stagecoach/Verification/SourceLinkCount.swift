import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// Counts the links of the source, and holds each against the destination: it is there, or an end has no object that the lookup
/// finds, or the object has room for one link and another one asks for it. Any other link is lost. That is a difference, if none
/// was found where the links of the destination were compared.
///
/// Pairs of relationships that ``LinkScreen`` found equal are passed over: there every link that a lookup reads was compared, and
/// none can give way. The others are counted in a private database.
///
/// Memory: that of ``SourceLinkTables``.
struct SourceLinkCount {
    private let context: VerificationContext
    private let tables: SourceLinkTables
    /// The pairs at work, by their index.
    private var pairs: [Int: LinkPair] = [:]
    /// The pairs of which differences are known.
    private let differing: Set<Int>

    private var plan: VerificationPlan { context.plan }

    /// - Parameter pairs: the pairs of the destination's relationships whose links were worked out link by link, and whether a
    ///   link differs.
    init(_ context: VerificationContext, pairs: [(pair: LinkPair, differs: Bool)]) throws(MigrationError) {
        self.context = context
        differing = Set(pairs.filter(\.differs).map(\.pair.index))
        tables = try SourceLinkTables(context.storage.linkTables())
        for (pair, _) in pairs where isSimple(pair) { self.pairs[pair.index] = pair }
    }

    /// One side of a pair, set by the objects of an entity mapping from a relationship of the source.
    private struct Reading {
        let pair: LinkPair
        /// True for the near relationship.
        let isNear: Bool
        let owners: ExpectedKeys
        /// True if an owner has the links of those that were merged into it.
        let merges: Bool
        let candidates: [(mapping: VerifiedMapping, keys: ExpectedKeys)]
        /// The mappings whose objects decide by themselves about the link, because they set its to-one side.
        let deciding: Set<Int>
        /// The relationship that is read; nil if the lookup's argument is the source object itself.
        let relationship: RelationshipDescription?
        /// True if an owner has room for one member.
        let isToOne: Bool
    }

    /// Tells whether all links of a pair come from lookups of one relationship of the source, or of the source object.
    private func isSimple(_ pair: LinkPair) -> Bool {
        (0..<plan.modelCount).allSatisfy { model in
            [pair.near, pair.far].compactMap(\.self).allSatisfy { end in
                plan.expressions(of: end, model: model).allSatisfy {
                    plan.step(of: end, $0.expression, $0.mapping) != nil
                }
            }
        }
    }

    /// Counts the links. Returns a line for each set of links of the source that the pairs read.
    ///
    /// - Complexity: O(n log n) in the links.
    func run() throws -> [VerificationReport.SourceLinks] {
        let readings = pairs.values.sorted { $0.index < $1.index }.flatMap(readings)
        var lines: [(line: VerificationReport.SourceLinks, set: SourceLinkSet, isKnownToDiffer: Bool)] = []
        for set in SourceLinkSet.all(in: plan.source.schema) {
            let names = [set.relationship] + set.opposite
            let own = readings.filter { $0.relationship.map(names.contains) ?? false }
            guard !own.isEmpty else { continue }
            let number = Int64(lines.count)
            try claim(set, number, own)
            lines.append(
                (
                    VerificationReport.SourceLinks(relationship: set.relationship.label), set,
                    own.contains { differing.contains($0.pair.index) }
                ))
        }
        for reading in readings where reading.relationship == nil { try askBetweenOwn(reading) }
        for pair in pairs.values.sorted(by: { $0.index < $1.index }) { try readDestination(pair) }
        try tables.finish()
        for (number, entry) in lines.enumerated() {
            lines[number].line = try count(
                entry.line, Int64(number), entry.set, isKnownToDiffer: entry.isKnownToDiffer)
        }
        return lines.map(\.line)
    }

    private func readings(of pair: LinkPair) -> [Reading] {
        (0..<plan.modelCount).flatMap { model in
            let deciding =
                pair.kind == .oneToMany ? plan.expressions(of: pair.near, model: model).map(\.mapping.index) : []
            return [(pair.near, true), (pair.far, false)].flatMap { end, isNear -> [Reading] in
                guard let end, isNear || !pair.isReflexive else { return [] }
                return plan.expressions(of: end, model: model).compactMap { mapping, _, expression in
                    guard let step = plan.step(of: end, expression, mapping),
                        let owners = context.storage.keys[mapping.index]
                    else { return nil }
                    return Reading(
                        pair: pair, isNear: isNear, owners: owners, merges: mapping.merges,
                        candidates: step.candidates.compactMap { candidate in
                            context.storage.keys[candidate.index].map { (candidate, $0) }
                        }, deciding: isNear ? [] : Set(deciding), relationship: step.relationship,
                        isToOne: !end.isToMany)
                }
            }
        }
    }

    /// Notes the links of a set, and the links of the destination that lookups ask for because of them.
    private func claim(_ set: SourceLinkSet, _ number: Int64, _ readings: [Reading]) throws {
        let opposite = set.opposite.first
        // Each of the two columns of a one-to-one pair may have links that the other lacks. A lookup reads one of them.
        let isInTwoColumns = opposite.map { !$0.isToMany && !set.relationship.isToMany } ?? false
        func note(_ owner: Int64, _ member: Int64, in column: RelationshipDescription) throws {
            try tables.noteSourceLink(set: number, owner: owner, member: member)
            for reading in readings where !isInTwoColumns || reading.relationship == column {
                let isForward = reading.relationship == set.relationship
                try ask(reading, number, owner, member, isForward: isForward)
                // The row of a many-to-many that is its own inverse stands for both directions.
                if opposite == set.relationship, !isInTwoColumns {
                    try ask(reading, number, owner, member, isForward: !isForward)
                }
            }
        }
        try context.forEachSourceLink(of: set.relationship) { owner, member, _ in
            try note(owner, member, in: set.relationship)
        }
        guard isInTwoColumns, let opposite, opposite != set.relationship else { return }
        try context.forEachSourceLink(of: opposite) { member, owner, _ in try note(owner, member, in: opposite) }
    }

    private func ask(
        _ reading: Reading, _ set: Int64, _ owner: Int64, _ member: Int64, isForward: Bool
    ) throws(MigrationError) {
        let (own, other) = isForward ? (owner, member) : (member, owner)
        let made = try reading.owners.destination(of: own)
        let taken = try made == nil && reading.merges ? reading.owners.found(of: own) : nil
        guard let one = made ?? taken else { return }
        for candidate in reading.candidates {
            guard let object = try candidate.keys.found(of: other) else { continue }
            let (near, far) = reading.isNear ? (one, object) : (object, one)
            // The reference of a merged object yields to that of the kept one, even if that is nil.
            let yields = reading.deciding.contains(candidate.mapping.index) || made == nil && reading.isToOne
            try tables.noteAsked(
                set: set, owner: owner, member: member, pair: Int64(reading.pair.index), near: near, far: far,
                yields: yields)
        }
    }

    /// Notes the links between objects of one source object. None stands for a link of the source, but they take room.
    private func askBetweenOwn(_ reading: Reading) throws {
        let owners = reading.owners.pairs()
        while let source = try owners.next()?.source {
            let others = try reading.merges && !reading.isToOne ? reading.owners.others(of: source) : []
            for own in [source] + others { try ask(reading, Self.noSet, own, own, isForward: true) }
        }
    }

    /// The number of no set of links.
    private static let noSet: Int64 = -1

    /// Notes the links of a pair that are in the destination.
    private func readDestination(_ pair: LinkPair) throws {
        let layout = plan.destination
        let index = Int64(pair.index)
        switch layout.schema.storage(of: pair.near) {
        case .toOne(let table, let column, _, _), .toManyHidden(let table, let column, _):
            let rows = try context.rows(of: context.destination, layout, table: table, columns: [column])
            while try rows.advance() {
                guard let value = rows.integer(0) else { continue }
                let (near, far) = pair.kind == .hidden ? (value, rows.key) : (rows.key, value)
                try tables.noteFound(pair: index, near: near, far: far)
            }
        case .join:
            let links = try LinkVerification.found(pair, context.destination, layout)
            while let link = try links() {
                try tables.noteFound(pair: index, near: link.key, far: link.value)
                if pair.isReflexive { try tables.noteFound(pair: index, near: link.value, far: link.key) }
            }
        case .toManyByInverse, .none: return
        }
    }

    /// Completes a line, and adds a difference for each link that is lost.
    private func count(
        _ line: VerificationReport.SourceLinks, _ number: Int64, _ set: SourceLinkSet, isKnownToDiffer: Bool
    ) throws -> VerificationReport.SourceLinks {
        var line = line
        line.links = try tables.sourceLinks(set: number)
        line.withoutObject = try line.links - tables.askedLinks(set: number)
        try tables.forEachMissing(
            set: number,
            nearIsOne: pairs.values.filter { [.plainToOne, .oneToMany, .oneToOne].contains($0.kind) }.map(\.index),
            farIsOne: pairs.values.filter { [.hidden, .oneToOne].contains($0.kind) }.map(\.index)
        ) { owner, member, givesWay in
            let (entity, other) = (set.relationship.entity, set.relationship.destination)
            let name = "\(entity.definition.name)/p\(owner)"
            if givesWay {
                line.givingWay += 1
                if line.objects.count < LinksNotMade.mostObjects, !line.objects.contains(name) {
                    line.objects.append(name)
                }
            } else {
                line.lost += 1
                guard !isKnownToDiffer else { return }
                context.findings.add(
                    .relationship, entity.definition.name, nil, property: set.relationship.name,
                    expected: "the source's link to \(other.definition.name)/p\(member)", found: "no such link",
                    sourceID: name)
            }
        }
        line.made = line.links - line.withoutObject - line.givingWay - line.lost
        if line.givingWay > 0 {
            context.findings.note(
                "\(line.relationship): \(line.givingWay) of \(line.links.counted("link")) of the source "
                    + "\(line.givingWay == 1 ? "gives" : "give") way to another, because an object has room for one "
                    + "(\(line.objects.joined(separator: ", "))\(line.givingWay > line.objects.count ? ", …" : ""))")
        }
        return line
    }
}
