import Diagnostics
import SpillStorage

/// The members that a lookup finds for one owner, sorted out of core because there are too many to hold in memory.
///
/// The result equals that of a list in memory. Each member occurs once, at the place of its first find. The order is that of
/// their copied places or that in which they were found; if the argument has no order, it is that of their keys.
final class ManyMembers {
    /// The words of a record: member, the number of its finding, its Z_ENT, the two words of its place.
    private let byKey: RecordSorter
    /// The five words of a record: the number at which the member was found first, its key, its Z_ENT, the kind of its previous
    /// place plus 1 (0 if it was no member before), and the value of that place.
    private lazy var byFinding = makeSorter()
    private let makeSorter: () -> RecordSorter
    private var count: UInt64 = 0
    /// True if members are ordered as they were found, because the argument's places are ranks.
    let isByFinding: Bool

    /// - Parameter first: the members found so far; their places tell how all members are ordered.
    init(_ first: [LinkMember], _ services: RunServices) throws(MigrationError) {
        makeSorter = { services.sorter(width: 5) }
        byKey = makeSorter()
        if case .rank? = first.first?.order { isByFinding = true } else { isByFinding = false }
        for member in first { try append(member) }
    }

    /// Appends the next member that was found.
    func append(_ member: LinkMember) throws(MigrationError) {
        // A rank only tells how the members are ordered. It is not a member's final place.
        let order = isByFinding ? MemberOrder.none.words : member.order.words
        count += 1
        try byKey.append(SortKey.encode(member.end.key), count, UInt64(member.end.entity), order.kind, order.value)
    }

    /// Returns the members by key, without duplicates, each with the number of its first finding.
    func finish() throws(MigrationError) -> ByKey { ByKey(try byKey.finish()) }

    /// Appends a member for ``finishByFinding()``.
    ///
    /// - Parameter before: the member's previous place, if it is a member already.
    func append(_ member: LinkMember, found sequence: UInt64, before: MemberOrder?) throws(MigrationError) {
        let words = before?.words
        try byFinding.append(
            sequence, SortKey.encode(member.end.key), UInt64(member.end.entity), words.map { $0.kind + 1 } ?? 0,
            words?.value ?? 0)
    }

    /// Returns the members in the order of finding, with their previous places.
    func finishByFinding() throws(MigrationError) -> ByFinding { ByFinding(try byFinding.finish()) }

    /// Members by key, each once.
    final class ByKey {
        private let records: SortedRecords
        private let record = UnsafeMutablePointer<UInt64>.allocate(capacity: 5)
        private var last: UInt64?

        init(_ records: SortedRecords) { self.records = records }

        deinit { record.deallocate() }

        func next() throws(MigrationError) -> (member: LinkMember, sequence: UInt64)? {
            while try records.next(into: record) {
                if record[0] == last { continue }
                last = record[0]
                let end = LinkEnd(key: SortKey.decode(record[0]), entity: UInt32(truncatingIfNeeded: record[2]))
                return (LinkMember(end: end, order: MemberOrder(kind: record[3], value: record[4])), record[1])
            }
            return nil
        }
    }

    /// Members in the order of finding.
    final class ByFinding {
        private let records: SortedRecords
        private let record = UnsafeMutablePointer<UInt64>.allocate(capacity: 5)

        init(_ records: SortedRecords) { self.records = records }

        deinit { record.deallocate() }

        func next() throws(MigrationError) -> (member: LinkMember, before: MemberOrder?)? {
            guard try records.next(into: record) else { return nil }
            let end = LinkEnd(key: SortKey.decode(record[1]), entity: UInt32(truncatingIfNeeded: record[2]))
            let before = record[3] == 0 ? nil : MemberOrder(kind: record[3] - 1, value: record[4])
            return (LinkMember(end: end), before)
        }
    }
}
