import CoreDataStore
import Diagnostics
import ManagedModel
import SpillStorage

/// The account of the source's links: each is in the destination, or counted with the cause why it is not.
///
/// It is taken when all rows are written, from the source's links, the associations and the links of the destination. So it holds
/// for every path, and knows nothing of how links are found. A set of links is passed over where nothing can be missing but
/// references that the lookups count themselves (``PlainLinks``).
///
/// Take a source link from a to b. The associations say which objects x became of a, and which objects y of b. Each pair (x, y)
/// that a lookup relates is a *claim*. The claims are sorted and merged with the destination's links, so each claim is found there
/// or not. The link is made if one of its claims is found.
///
/// Memory: a sort for each relationship that carries the set, another for the links, and a batch.
final class LinkAccount {
    private let run: MigrationRun
    private let archive: AssociationArchive
    private let destination: DestinationStore
    private let census: SourceCensus
    private let ends: LinkEndFates
    private var found: [ObjectReference] = []
    /// The forms of the set at work, and the places of their links.
    private var forms: [Form] = []
    private var places: [HeldColumn] = []
    /// The claims of the last link, and buffers for the keys of its ends.
    private var claims: [Claim] = []
    private var near: [Int64] = []
    private var far: [Int64] = []

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
    }

    /// A pair of destination objects that a lookup relates for a link of the source.
    private struct Claim: Equatable {
        /// The place in ``places`` where the link would be.
        let place: Int
        /// The key of the row that holds the link, or of side 0 of a join table; and the other key.
        let holder: Int64
        let other: Int64
    }

    /// The way a reading's links are stored.
    private struct Form {
        let reading: LinkReadings.Reading
        /// The place in ``places``.
        let place: Int
        let isHeldByOwner: Bool
    }

    /// The place where the destination stores the links of a relationship.
    private enum HeldColumn: Hashable {
        case column(table: Int, Int)
        case join(Int)
    }

    // MARK: - All sets

    /// Returns the links that were not made, by relationship and cause. Links that nothing reads are none of these.
    ///
    /// - Complexity: O(n log n) in the links of the sets that are not plain.
    func linksNotMade() throws -> [LinksNotMade] {
        var lines: [LinksNotMade] = []
        for set in SourceLinkSet.all(in: sourceSchema) {
            let readings = LinkReadings(set, among: mappings)
            guard let naming = readings.naming else { continue }
            lines += try isPlain(readings, naming) ? counted(readings, naming) : compared(readings, naming)
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
        var total = 0
        begin(readings)
        run.services.concurrentSorts = max(RunServices.leastSorts, places.count + 1)
        defer { run.services.concurrentSorts = RunServices.leastSorts }
        let sorters = places.map { _ in run.services.sorter(width: 5) }
        var causes = CauseCounts(readings, naming: naming)
        try SourceLinks(run: run, set: readings.set).forEachLink { owner, member in
            total += 1
            try collectClaims(readings, owner, member)
            if claims.isEmpty {
                if let cause = try ends.cause(readings, owner, member) {
                    try causes.add(cause) { () throws(MigrationError) in
                        try ends.isMissing(owner, table: readings.set.links.owners)
                            ? sample(readings, owner, member, ofOwner: false) : sample(readings, owner, member)
                    }
                }
                return
            }
            for claim in claims {
                try sorters[claim.place].append(
                    SortKey.encode(claim.holder), SortKey.encode(claim.other), SortKey.encode(owner),
                    SortKey.encode(member), UInt64(claims.count))
            }
        }
        let unmade = run.services.sorter(width: 3)
        for (column, sorter) in zip(places, sorters) {
            try forEachUnmade(try sorter.finish(), column) { record in
                try unmade.append(record[2], record[3], record[4])
            }
        }
        try forEachLost(try unmade.finish()) { owner, member in
            try collectClaims(readings, owner, member)
            let cause = try causeOfUnmade(readings)
            try causes.add(cause) { () throws(MigrationError) in
                try sample(readings, owner, member)
            }
        }
        return causes.lines(ofLinks: total)
    }

    private func begin(_ readings: LinkReadings) {
        (forms, places) = ([], [])
        for reading in readings.readings {
            let held: HeldColumn
            var isHeldByOwner = true
            switch schema.storage(of: reading.planned.relationship) {
            case .none: continue
            case .toOne(let table, let column, _, _): held = .column(table: table, column)
            case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
                (held, isHeldByOwner) = (.column(table: table, column), false)
            case .join(let table, let side): (held, isHeldByOwner) = (.join(table), side == 0)
            }
            let place = places.firstIndex(of: held) ?? places.count
            if place == places.count { places.append(held) }
            forms.append(Form(reading: reading, place: place, isHeldByOwner: isHeldByOwner))
        }
    }

    /// Collects the claims of a link: the pairs of objects of its ends that a lookup relates.
    private func collectClaims(_ readings: LinkReadings, _ owner: Int64, _ member: Int64) throws(MigrationError) {
        claims.removeAll(keepingCapacity: true)
        let tables = readings.set.links
        for form in forms {
            let (reading, relationship) = (form.reading, form.reading.planned.relationship)
            let (own, other) = reading.isForward ? (owner, member) : (member, owner)
            let (ownTable, otherTable) =
                reading.isForward ? (tables.owners, tables.members) : (tables.members, tables.owners)
            near.removeAll(keepingCapacity: true)
            try collectObjects(of: own, ownTable, by: reading.mapping.index, fitting: relationship.entity, into: &near)
            guard !near.isEmpty else { continue }
            far.removeAll(keepingCapacity: true)
            for candidate in reading.candidates {
                try collectObjects(of: other, otherTable, by: candidate, fitting: relationship.destination, into: &far)
            }
            for one in near {
                for object in far {
                    let claim = Claim(
                        place: form.place, holder: form.isHeldByOwner ? one : object,
                        other: form.isHeldByOwner ? object : one)
                    if !claims.contains(claim) { claims.append(claim) }
                }
            }
        }
    }

    private func collectObjects(
        of key: Int64, _ table: Int, by mapping: Int, fitting entity: EntityDescription, into keys: inout [Int64]
    ) throws(MigrationError) {
        found.removeAll(keepingCapacity: true)
        try archive.tables[mapping].destinations(ofKey: key, table: table, into: &found)
        for object in found where schema.model.entity(at: Int(object.entity)).isKindOf(entity: entity) {
            keys.append(object.key)
        }
    }

    /// Shows the claims that the destination does not have.
    private func forEachUnmade(
        _ sorted: SortedRecords, _ column: HeldColumn, _ body: (UnsafePointer<UInt64>) throws -> Void
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
    private func sql(_ column: HeldColumn) -> String {
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

    /// Returns the cause for a link whose claims, in ``claims``, are all missing in the destination.
    private func causeOfUnmade(_ readings: LinkReadings) throws(MigrationError) -> LinksNotMade.Cause {
        if archive.hasDeletions, let gone = try causeOfGoneEnds() { return gone }
        if readings.hasUserCode { return .policy }
        let hasCode = mappings.contains { $0.mayBeAssociatedByHand || $0.hasDynamicRelationships }
        return hasCode && !readings.losesLinks ? .policy : .taken
    }

    /// Returns the cause if each claim has an end that was made and is gone again; nil if a claim has both its ends.
    private func causeOfGoneEnds() throws(MigrationError) -> LinksNotMade.Cause? {
        var cause: LinksNotMade.Cause?
        for claim in claims {
            guard let form = forms.first(where: { $0.place == claim.place }) else { continue }
            let relationship = form.reading.planned.relationship
            let (owner, member) = form.isHeldByOwner ? (claim.holder, claim.other) : (claim.other, claim.holder)
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
            near.removeAll(keepingCapacity: true)
            for mapping in mappings where mapping.destination != nil {
                try collectObjects(of: key, table, by: mapping.index, fitting: entity, into: &near)
                if let made = near.first { return "\(entity.definition.name)/p\(made)" }
            }
        }
        let relationship = readings.set.relationship
        let entity = namesOwner ? relationship.entity : relationship.destination
        return "\(entity.definition.name)/p\(key)"
    }
}
