import Diagnostics
import ManagedModel
import SpillStorage

/// The pairs that a lookup's argument gives for the objects of a mapping with `mergeBy`: the maker of a group owns the members of
/// all its source objects.
///
/// A to-one relationship gets the member of the maker; with `fill` that of the first source object that has one. The members of an
/// ordered argument come in order of the maker, then of the others by ascending key.
///
/// Memory: the run's share for a sort, where the pairs have to be sorted.
struct MergedPairs {
    let pairs: SourcePairs
    let shared: SharedObjects
    /// True if a to-one reference that the maker lacks is that of another source object.
    let fills: Bool

    private static let width = 6

    /// Shows all pairs, with the maker in place of the owner. Owners that the mapping does not migrate are included.
    ///
    /// - Parameters:
    ///   - own: the keys of the makers.
    ///   - relationship: the relationship that the pairs fill.
    func forEach(
        _ mapping: PlannedMapping, _ own: KeyIndex, _ argument: SourceArgument,
        filling relationship: RelationshipDescription, _ body: SourcePairs.Body
    ) throws {
        if relationship.isToMany {
            if relationship.isOrdered {
                return try forEachOrdered(try sorted(mapping, own, argument), body)
            }
            return try forEachOfAll(mapping, own, argument) { owner, member, order in
                try body(try shared.maker(of: owner) ?? owner, member, order)
            }
        }
        if fills, case .toOne = argument {
            var last: Int64?
            return try forEachSorted(try sorted(mapping, own, argument)) { maker, member, order in
                if maker == last { return }
                last = maker
                try body(maker, member, order)
            }
        }
        try pairs.forEach(mapping, own, argument) { owner, member, order in
            if try shared.maker(of: owner) == nil { try body(owner, member, order) }
        }
    }

    /// Shows the pairs of all source objects.
    private func forEachOfAll(
        _ mapping: PlannedMapping, _ own: KeyIndex, _ argument: SourceArgument, _ body: SourcePairs.Body
    ) throws {
        try pairs.forEach(mapping, own, argument, body)
        // The argument is the source object itself, and the keys are those of makers.
        guard case .object = argument else { return }
        let others = shared.walk()
        while let other = try others.next() { try body(other.key, other.key, .none) }
    }

    /// Shows sorted pairs. The members of a maker that others share its object with are ranked by their places; those of other
    /// makers keep their places.
    private func forEachOrdered(_ sorted: SortedRecords, _ body: SourcePairs.Body) throws {
        var last: (maker: Int64, isShared: Bool)?
        var rank: Int64 = 0
        try forEachSorted(sorted) { maker, member, order in
            if last?.maker != maker {
                last = (maker, try !shared.others(of: maker).isEmpty)
                rank = 0
            }
            try body(maker, member, last?.isShared == true && order != .none ? .rank(rank) : order)
            rank += 1
        }
    }

    /// Returns the pairs as records: maker, whether the owner is another source object and which, place, member.
    private func sorted(
        _ mapping: PlannedMapping, _ own: KeyIndex, _ argument: SourceArgument
    ) throws -> SortedRecords {
        let sorter = pairs.run.services.sorter(width: Self.width)
        try forEachOfAll(mapping, own, argument) { owner, member, order in
            let maker = try shared.maker(of: owner)
            try sorter.append(
                SortKey.encode(maker ?? owner), maker == nil ? 0 : 1, SortKey.encode(owner),
                order.rank(orKey: member),
                order.words.kind, SortKey.encode(member))
        }
        return try sorter.finish()
    }

    private func forEachSorted(_ sorted: SortedRecords, _ body: SourcePairs.Body) throws {
        try withRecords(Self.width) { record, _ in
            while try sorted.next(into: record) {
                try body(
                    SortKey.decode(record[0]), SortKey.decode(record[5]),
                    MemberOrder(kind: record[4], value: record[3]))
            }
        }
    }
}
