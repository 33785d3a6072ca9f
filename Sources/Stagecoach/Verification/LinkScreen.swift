import CoreDataStore
import ManagedModel
import Mapping
import Rows
import SpillStorage

/// Finds the pairs of relationships whose links are as expected, without a sort: the values of to-one columns follow from the
/// source's rows while these are compared; the links of join tables are compared by their number and a sum of hashes.
///
/// It takes pairs of one mapping model, without an order, whose mappings look up the objects of one relationship or the source
/// object itself. It never says what differs: all other pairs are worked out link by link (``ExpectedLinks``).
///
/// It is worth its lines. `verify` of a store of 100 MB took 1.7 to 2.3 s of CPU with it and 24 to 27 s without it, where the
/// migration took 0.4 to 0.8 s and `INSERT … SELECT` in SQLite 1.5 to 2.0 s (five runs each, on a busy machine).
///
/// Memory: a batch of links.
final class LinkScreen {
    /// The state of a pair.
    final class Tally {
        /// False if a link differs, or if links cannot be compared in this way.
        @exclusivity(unchecked) var isEqual = true
        @exclusivity(unchecked) var links = 0
        /// The sum over the columns' rows, with and without a link.
        @exclusivity(unchecked) var checksum = VerificationChecksum()
        /// The links of each side that says what they are; of the near object and the far one, or of a join table's columns.
        @exclusivity(unchecked) var sides: [VerificationChecksum?] = [nil, nil]
    }

    /// A to-one column in the rows of an entity mapping's objects.
    struct Column {
        fileprivate let tally: Tally
        fileprivate let column: Int
        fileprivate let entityColumn: Int?
        /// The source's column that names the member; nil if the source object is looked up itself.
        fileprivate let sourceColumn: Int?
        fileprivate let candidates: [(keys: ExpectedKeys, number: Int64)]
        /// The side of a one-to-one pair; nil for others, and for objects that do not have the relationship.
        fileprivate let side: Int?
        fileprivate let isHolder: Bool

        /// Compares the links of some rows.
        func compare(_ matches: [RowMatch], _ rows: SequentialRows, _ old: SequentialRows) throws {
            guard tally.isEqual else { return }
            var (links, sum) = (0, UInt64(0))
            for match in matches {
                let member = sourceColumn == nil ? match.source : sourceColumn.flatMap { old.integer(match.old, $0) }
                let (wanted, number) = try member.flatMap(object) ?? (nil, nil)
                let cell = rows.batch[match.row, column]
                guard let wanted else {
                    guard cell.kind == .null else {
                        tally.isEqual = false
                        return
                    }
                    if isHolder { sum &+= VerificationChecksum.mix(LinkVerification.hash(nil, nil) ^ match.place) }
                    continue
                }
                guard cell.kind == .integer, cell.integerValue == wanted,
                    entityColumn.map({ rows.integer(match.row, $0) == number }) ?? true
                else {
                    tally.isEqual = false
                    return
                }
                links += 1
                sum &+= VerificationChecksum.mix(LinkVerification.hash(wanted, nil) ^ match.place)
                if let side {
                    let key = rows.batch.key(match.row)
                    tally.sides[side]?.add(link: side == 0 ? (key, wanted) : (wanted, key))
                }
            }
            tally.links += links
            tally.checksum.add(sum)
        }

        /// Returns the key and the Z_ENT of the object that a member of the source becomes.
        private func object(of member: Int64) throws -> (Int64?, Int64?)? {
            for candidate in candidates {
                if let key = try candidate.keys.found(of: member) { return (key, candidate.number) }
            }
            return nil
        }
    }

    /// The links that one relationship of an entity mapping takes from a join table of the source.
    private struct JoinClaim {
        let tally: Tally
        let table: Int
        let ownerSide: Int
        let owners: ExpectedKeys
        /// True if an owner has the members of those that were merged into it.
        let merges: Bool
        let members: [ExpectedKeys]
        /// The side of the pair whose relationship it is.
        let side: Int
        /// The column of its owners in the destination's join table.
        let column: Int
        /// True if several links of the source may become one.
        var mayRepeat: Bool { merges || members.contains { $0.shared != nil } }
    }

    /// The verification that owns the screen.
    private unowned let context: VerificationContext
    private var tallies: [Tally?] = []
    private var joins: [JoinClaim] = []
    /// The columns of each entity mapping's objects, by the mapping's index.
    private(set) var columns: [[Column]]

    private var plan: VerificationPlan { context.plan }

    init(_ context: VerificationContext) {
        self.context = context
        columns = context.plan.mappings.map { _ in [] }
        guard context.plan.modelCount == 1 else { return }
        for pair in plan.linkPairs { tallies.append(add(pair)) }
    }

    /// Returns the state of a pair; nil if it must be worked out link by link.
    private func add(_ pair: LinkPair) -> Tally? {
        guard pair.obstacle == nil, plan.obstacle(of: pair) == nil, !pair.near.isOrdered, pair.far?.isOrdered != true
        else { return nil }
        let tally = Tally()
        switch pair.kind {
        case .hidden: return nil
        case .manyToMany:
            for (side, end) in [pair.near, pair.isReflexive ? nil : pair.far].enumerated() {
                if let end, !addJoin(end, side, tally) { return nil }
            }
        case .plainToOne, .oneToMany, .oneToOne:
            guard addColumn(pair.near, 0, pair, tally) else { return nil }
            if pair.kind == .oneToOne, let far = pair.far, !addColumn(far, 1, pair, tally) { return nil }
        }
        return tally
    }

    private func addColumn(
        _ relationship: RelationshipDescription, _ side: Int, _ pair: LinkPair, _ tally: Tally
    ) -> Bool {
        guard
            case .toOne(let table, let column, let entityColumn, _) = plan.destination.schema.storage(of: relationship)
        else { return false }
        for mapping in plan.mappings where mapping.isDeclarative && plan.destinationTable(mapping) == table {
            let isHolder = mapping.destination?.isKindOf(entity: relationship.entity) ?? false
            var step: VerificationPlan.Step?
            if isHolder, let property = mapping.mapping.relationshipMapping(named: relationship.name),
                let expression = property.valueExpression
            {
                step = plan.step(of: relationship, expression, mapping)
                guard step != nil else { return false }
            } else if isHolder, pair.kind == .oneToMany {
                // The other side decides.
                return false
            }
            var sourceColumn: Int?
            if let old = step?.relationship {
                guard case .toOne(plan.sourceTable(mapping), let found, _, _) = plan.source.schema.storage(of: old)
                else {
                    return false
                }
                // A reference that the object lacks may be that of another one.
                guard !mapping.fills else { return false }
                sourceColumn = found
            }
            let candidates = (step?.candidates ?? []).compactMap { candidate in
                context.storage.keys[candidate.index].map {
                    ($0, Int64(plan.destination.fileNumber(ofEntity: candidate.destination?.index ?? 0)))
                }
            }
            columns[mapping.index].append(
                Column(
                    tally: tally, column: column, entityColumn: entityColumn, sourceColumn: sourceColumn,
                    candidates: candidates, side: isHolder && pair.kind == .oneToOne ? side : nil, isHolder: isHolder))
        }
        if pair.kind == .oneToOne { tally.sides[side] = VerificationChecksum() }
        return true
    }

    private func addJoin(_ relationship: RelationshipDescription, _ side: Int, _ tally: Tally) -> Bool {
        guard case .join(_, let column) = plan.destination.schema.storage(of: relationship) else { return false }
        for (mapping, _, expression) in plan.expressions(of: relationship, model: 0) {
            guard let step = plan.step(of: relationship, expression, mapping), let old = step.relationship,
                case .join(let table, let ownerSide) = plan.source.schema.storage(of: old),
                let owners = context.storage.keys[mapping.index]
            else { return false }
            tally.sides[side] = VerificationChecksum()
            joins.append(
                JoinClaim(
                    tally: tally, table: table, ownerSide: ownerSide, owners: owners, merges: mapping.merges,
                    members: step.candidates.compactMap { context.storage.keys[$0.index] }, side: side, column: column))
        }
        return true
    }

    /// Reads the source's join tables, each of them once.
    func readJoins() throws {
        for table in Set(joins.map(\.table)).sorted() {
            let claims = joins.filter { $0.table == table }
            do {
                try read(claims, try context.source.links(joinTable: table, in: plan.source, orderedBySide: 0))
            } catch let error as MigrationError where error.category == .data {
                for claim in claims { claim.tally.isEqual = false }
            }
        }
    }

    private func read(_ claims: [JoinClaim], _ links: any RowReader) throws {
        var batch = RowBatch(slots: 4, rowCapacity: 1024, byteTarget: 4096)
        let sorters = claims.map { claim in
            claim.mayRepeat ? context.storage.sorter(width: 2, concurrent: claims.count, duplicates: .dropped) : nil
        }
        while try links.next(into: &batch) {
            try context.noteRead(batch.count)
            for (claim, sorter) in zip(claims, sorters) {
                var sum = claim.tally.sides[claim.side] ?? VerificationChecksum()
                for row in 0..<batch.count {
                    let source = batch[row, claim.ownerSide].integerValue
                    let found = try claim.merges ? claim.owners.found(of: source) : claim.owners.destination(of: source)
                    guard let owner = found else { continue }
                    for keys in claim.members {
                        guard let member = try keys.found(of: batch[row, 1 - claim.ownerSide].integerValue) else {
                            continue
                        }
                        let link = claim.column == 0 ? (owner, member) : (member, owner)
                        guard let sorter else {
                            sum.add(link: link)
                            continue
                        }
                        try sorter.append(SortKey.encode(link.0), SortKey.encode(link.1))
                    }
                }
                claim.tally.sides[claim.side] = sum
            }
        }
        for case (let claim, let sorter?) in zip(claims, sorters) {
            var sum = claim.tally.sides[claim.side] ?? VerificationChecksum()
            let sorted = try sorter.finish()
            try withRecords(2) { record, _ in
                while try sorted.next(into: record) {
                    sum.add(link: (SortKey.decode(record[0]), SortKey.decode(record[1])))
                }
            }
            claim.tally.sides[claim.side] = sum
        }
    }

    /// Returns the line of a pair whose links are known to be as expected; nil for another one.
    func line(of pair: LinkPair) -> VerificationReport.Relationship? {
        // Without an object that is taken for rejected, others are expected.
        guard plan.modelCount == 1, let tally = tallies[pair.index], tally.isEqual,
            context.findings.report.compared.takenForRejected == 0
        else { return nil }
        var (links, checksum) = (tally.links, tally.checksum.text)
        switch pair.kind {
        case .oneToOne: guard tally.sides[0] == tally.sides[1] else { return nil }
        case .manyToMany:
            guard case .join(let table, _) = plan.destination.schema.storage(of: pair.near),
                let found = context.file.links[table], tally.sides.allSatisfy({ $0 == nil || $0 == found }),
                tally.sides.contains(found)
            else { return nil }
            links = found.count
            checksum = found.text
        case .plainToOne, .oneToMany, .hidden: break
        }
        return pair.line(links: links, checksum: checksum)
    }
}
