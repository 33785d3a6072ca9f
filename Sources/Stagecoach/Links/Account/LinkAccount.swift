import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The account of the source's links: each is in the destination, or counted with the cause why it is not.
///
/// It is taken when all rows are written, from the source's links, the associations and the links of the destination. So it holds
/// for every path, and knows nothing of how links are found. Where nothing can be missing but references that the
/// lookups count themselves (``PlainLinks``), the set is summed (``LinkSums``), and compared only if the sum is wrong.
///
/// The claims of the links (``LinkClaims``) are sorted and merged with the destination's links, so each claim is found there or not.
/// The link is made if one of its claims is found. Where lookups alone fill a relationship that has room for all links, a claim is
/// made without a comparison.
///
/// Memory: a sort for each relationship that carries the set, another for the links, and a batch.
final class LinkAccount {
    private let run: MigrationRun
    private let archive: AssociationArchive
    private let destination: DestinationStore
    private let census: SourceCensus
    private let ends: LinkEndFates
    private let sums: LinkSums
    private var found: [ObjectReference] = []

    private var mappings: [PlannedMapping] { archive.mappings }
    private var schema: StoreSchema { run.inputs.destinationSchema }
    private var sourceSchema: StoreSchema { run.inputs.layout.schema }

    /// - Parameters:
    ///   - archive: the associations of all mapping models.
    ///   - destination: the store with all its rows.
    init(
        run: MigrationRun, archive: AssociationArchive, destination: DestinationStore, census: SourceCensus
    ) {
        self.run = run
        self.archive = archive
        self.destination = destination
        self.census = census
        ends = LinkEndFates(run: run, archive: archive, destination: destination)
        sums = LinkSums(run: run, destination: destination, census: census)
    }

    // MARK: - All sets

    /// Returns the links that were not made, by relationship and cause. Links that nothing reads are none of these.
    ///
    /// - Complexity: O(n log n) in the links of the sets that are not plain, or whose sum is wrong.
    func linksNotMade() throws -> [LinksNotMade] {
        var lines: [LinksNotMade] = []
        for set in SourceLinkSet.all(in: sourceSchema) {
            let readings = LinkReadings(set, among: mappings)
            guard let naming = readings.naming else { continue }
            if isPlain(readings, naming) {
                let missing = counted(readings, naming)
                if try sums.isRight(set, naming, missing: missing.reduce(0) { $0 + $1.links }) {
                    lines += missing
                    continue
                }
            }
            lines += try (isRoomy(readings, naming) ? claimed(readings, naming) : nil) ?? compared(readings, naming)
        }
        return lines.sorted { $0.order < $1.order }
    }

    /// Tells whether the links need no comparison, because lookups have counted all that may be missing.
    private func isPlain(_ readings: LinkReadings, _ naming: RelationshipDescription) -> Bool {
        guard run.declared.contains(naming) else { return false }
        let declared = run.declared.mappings
        return PlainLinks(
            readings: LinkReadings(readings.set, among: declared), mappings: declared, census: census,
            counts: run.tally.counts, schema: schema
        ).arePlain
    }

    /// Tells whether each claim of a set is a link of the destination: lookups alone fill one pair of relationships, which has room
    /// for all links and for nothing else, and no object is gone again.
    private func isRoomy(_ readings: LinkReadings, _ naming: RelationshipDescription) -> Bool {
        guard run.declared.contains(naming), !archive.hasDeletions, archive.rejectingTables.isEmpty,
            !readings.hasUserCode, !mayKeep(readings), !readings.losesLinks, !readings.set.isOneToOne
        else { return false }
        let declared = run.declared.mappings
        let plain = PlainLinks(
            readings: readings, mappings: declared, census: census, counts: run.tally.counts, schema: schema)
        guard !declared.contains(where: \.belongsToPreviousModel), plain.isOnePair(naming) else { return false }
        switch schema.storage(of: naming) {
        case .join: return true
        // The row of a to-one has what its own lookup finds.
        case .toOne: return naming.sharesMembers
        case .none, .toManyByInverse, .toManyHidden: return false
        }
    }

    /// Tells whether objects of a set may be rows that the destination had before and that stay as they are.
    private func mayKeep(_ readings: LinkReadings) -> Bool {
        readings.readings.contains { reading in
            reading.mapping.matching != nil || reading.candidates.contains { mappings[$0].matching != nil }
        }
    }

    /// Returns the links that have no claim; nil if a link has claims of a to-many side only, which its to-one side may overrule.
    private func claimed(_ readings: LinkReadings, _ naming: RelationshipDescription) throws -> [LinksNotMade]? {
        let certain = LinkClaims(readings, archive, in: schema) { naming.isToMany || $0 == naming }
        let others = LinkClaims(readings, archive, in: schema) { !naming.isToMany && $0 != naming }
        var total = 0
        var isCertain = true
        var causes = CauseCounts(readings, naming: naming)
        try SourceLinks(run: run, set: readings.set).forEachLink { owner, member in
            guard isCertain else { return }
            total += 1
            try certain.collect(owner, member)
            guard certain.claims.isEmpty else { return }
            try others.collect(owner, member)
            guard others.claims.isEmpty else {
                isCertain = false
                return
            }
            try countUnclaimed(readings, owner, member, &causes)
        }
        return isCertain ? causes.lines(ofLinks: total) : nil
    }

    /// Counts a link that has no claim, unless nothing reads it.
    private func countUnclaimed(
        _ readings: LinkReadings, _ owner: Int64, _ member: Int64, _ causes: inout CauseCounts
    ) throws(MigrationError) {
        guard let cause = try ends.cause(readings, owner, member) else { return }
        try causes.add(cause) { () throws(MigrationError) in
            try ends.isMissing(owner, table: readings.set.links.owners)
                ? sample(readings, owner, member, ofOwner: false) : sample(readings, owner, member)
        }
    }

    /// Returns the references of plain links that found no object.
    private func counted(_ readings: LinkReadings, _ naming: RelationshipDescription) -> [LinksNotMade] {
        let names = [naming.label] + [LinkPlanner.mutualInverse(of: naming)?.label].compactMap(\.self)
        return (run.tally.counts.nilReferences ?? []).filter { names.contains($0.relationship) }.map { line in
            LinksNotMade(
                relationship: naming.label, source: readings.set.relationship.label, cause: line.cause,
                links: line.count, objects: line.samples)
        }
    }

    /// Compares the links of a set with the destination's, and returns those that are missing.
    private func compared(_ readings: LinkReadings, _ naming: RelationshipDescription) throws -> [LinksNotMade] {
        let claims = LinkClaims(readings, archive, in: schema)
        let places = claims.places
        var total = 0
        run.services.concurrentSorts = max(RunServices.leastSorts, places.count + 1)
        defer { run.services.concurrentSorts = RunServices.leastSorts }
        let sorters = places.map { _ in run.services.sorter(width: 5) }
        var causes = CauseCounts(readings, naming: naming)
        try SourceLinks(run: run, set: readings.set).forEachLink { owner, member in
            total += 1
            try claims.collect(owner, member)
            if claims.claims.isEmpty { return try countUnclaimed(readings, owner, member, &causes) }
            let count = UInt64(claims.claims.count)
            for claim in claims.claims {
                try sorters[claim.place].append(
                    SortKey.encode(claim.holder), SortKey.encode(claim.other), SortKey.encode(owner),
                    SortKey.encode(member), count)
            }
        }
        let unmade = run.services.sorter(width: 3)
        for (column, sorter) in zip(places, sorters) {
            try forEachUnmade(try sorter.finish(), column) { record in
                try unmade.append(record[2], record[3], record[4])
            }
        }
        try forEachLost(try unmade.finish()) { owner, member in
            try claims.collect(owner, member)
            let cause = try causeOfUnmade(readings, claims)
            try causes.add(cause) { () throws(MigrationError) in
                try sample(readings, owner, member)
            }
        }
        return causes.lines(ofLinks: total)
    }

    /// Shows the claims that the destination does not have.
    private func forEachUnmade(
        _ sorted: SortedRecords, _ column: LinkClaims.Place, _ body: (UnsafePointer<UInt64>) throws -> Void
    ) throws {
        let statement = try destination.connection.prepare(sql(column))
        var isAtEnd = try !statement.step()
        try withRecords(5) { record, _ in
            while try sorted.next(into: record) {
                let wanted = (SortKey.decode(record[0]), SortKey.decode(record[1]))
                while !isAtEnd, (statement.integer(0), statement.integer(1)) < wanted {
                    isAtEnd = try !statement.step()
                }
                if isAtEnd || (statement.integer(0), statement.integer(1)) != wanted { try body(record) }
            }
        }
    }

    /// Returns the query for the links of a column or join table, in ascending order of the keys.
    private func sql(_ column: LinkClaims.Place) -> String {
        switch column {
        case .column(let table, let index):
            let held = SQLName.quoted(schema.tables[table].columns[index].name)
            return "SELECT Z_PK, \(held) FROM \(SQLName.quoted(schema.tables[table].name)) WHERE \(held) IS NOT NULL "
                + "ORDER BY Z_PK"
        case .join(let table):
            let sides = schema.joinTables[table].sides.map { SQLName.quoted($0.column) }
            return "SELECT \(sides[0]), \(sides[1]) FROM \(SQLName.quoted(schema.joinTables[table].name)) "
                + "ORDER BY \(sides[0]), \(sides[1])"
        }
    }

    /// Shows the links of which no claim is in the destination. The records are owner, member, and the number of the link's claims.
    private func forEachLost(_ sorted: SortedRecords, _ body: (Int64, Int64) throws -> Void) throws {
        try withRecords(3) { record, last in
            var count: UInt64 = 0
            while try sorted.next(into: record) {
                if count == 0 || record[0] != last[0] || record[1] != last[1] { count = 0 }
                count += 1
                last.update(from: record, count: 3)
                if count == record[2] { try body(SortKey.decode(record[0]), SortKey.decode(record[1])) }
            }
        }
    }

    /// Returns the cause for a link whose claims are all missing in the destination.
    private func causeOfUnmade(
        _ readings: LinkReadings, _ claims: LinkClaims
    ) throws(MigrationError) -> LinksNotMade.Cause {
        if archive.hasDeletions, let gone = try causeOfGoneEnds(claims) { return gone }
        if mayKeep(readings) { return .kept }
        if readings.hasSharedObjects { return .merged }
        if readings.hasUserCode { return .policy }
        let hasCode = mappings.contains { $0.mayBeAssociatedByHand || $0.hasDynamicRelationships }
        return hasCode && !readings.losesLinks ? .policy : .taken
    }

    /// Returns the cause if each claim has an end that was made and is gone again; nil if a claim has both its ends.
    private func causeOfGoneEnds(_ claims: LinkClaims) throws(MigrationError) -> LinksNotMade.Cause? {
        var cause: LinksNotMade.Cause?
        for claim in claims.claims {
            guard let (relationship, owner, member) = claims.ends(of: claim) else { continue }
            let rows = [(relationship.entity, owner), (relationship.destination, member)].map {
                (table: schema.tableIndex(of: $0), key: $1)
            }
            var gone: Int?
            for row in rows where try !ends.hasRow(row.key, table: row.table) { gone = row.table }
            guard let gone else { return nil }
            cause = archive.rejectingTables.contains(gone) ? .rejected : .deleted
        }
        return cause
    }

    // MARK: - Names of objects

    /// Returns the id of the object that lacks a link: that of the destination, or of the source where none was made.
    ///
    /// - Parameter ofOwner: true to name the owner, false to name the member; nil: the one that has the naming relationship.
    private func sample(
        _ readings: LinkReadings, _ owner: Int64, _ member: Int64, ofOwner: Bool? = nil
    ) throws(MigrationError) -> String {
        let namesOwner = ofOwner ?? readings.isNamedByOwners
        let (key, table) =
            namesOwner
            ? (owner, readings.set.links.owners) : (member, readings.set.links.members)
        if let naming = readings.naming {
            let entity = namesOwner == readings.isNamedByOwners ? naming.entity : naming.destination
            for mapping in mappings where mapping.destination != nil {
                found.removeAll(keepingCapacity: true)
                try archive.tables[mapping.index].destinations(ofKey: key, table: table, into: &found)
                let made = found.first { schema.model.entity(at: Int($0.entity)).isKindOf(entity: entity) }
                if let made { return "\(entity.definition.name)/p\(made.key)" }
            }
        }
        let relationship = readings.set.relationship
        let entity = namesOwner ? relationship.entity : relationship.destination
        return "\(entity.definition.name)/p\(key)"
    }
}
