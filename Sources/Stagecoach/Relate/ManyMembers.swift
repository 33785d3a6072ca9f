import Diagnostics
import SpillStorage

/// The members that a lookup finds for one owner, where they are too many to be held
/// (``MigrationOptions/heldMembers``): sorted out of core.
///
/// They become what a list in memory would: each once, where it was found first; ordered by their own key where the
/// argument has no order, by their copied places, or as they were found.
final class ManyMembers {
    /// Words: member, when it was found, its Z_ENT, the words of its place.
    private let byKey: RecordSorter
    /// Words: when it was found, member, its Z_ENT, the kind of its place before (0: it was no member; 1 more than the
    /// kind), that place's value.
    private lazy var byFinding = makeSorter()
    private let makeSorter: () -> RecordSorter
    private var count: UInt64 = 0
    /// Whether positions go by finding: the places of the argument are ranks.
    let isByFinding: Bool

    /// - Parameter first: those found so far; their places say how all are ordered.
    init(_ first: [LinkMember], session: MigrationSession) throws(MigrationError) {
        makeSorter = { session.sorter(width: 5) }
        byKey = makeSorter()
        if case .rank? = first.first?.order { isByFinding = true } else { isByFinding = false }
        for member in first { try append(member) }
    }

    /// Takes the next one found.
    func append(_ member: LinkMember) throws(MigrationError) {
        // A rank says how all are ordered, not where a member is to stand.
        let order = isByFinding ? MemberOrder.none.words : member.order.words
        count += 1
        try byKey.append(SortKey.encode(member.end.key), count, UInt64(member.end.entity), order.kind, order.value)
    }

    /// The members by key, each once, with the number of its first finding.
    func finish() throws(MigrationError) -> ByKey { ByKey(try byKey.finish()) }

    /// Takes a member for ``finishByFinding()``.
    ///
    /// - Parameter before: its place where it is a member already.
    func append(_ member: LinkMember, found sequence: UInt64, before: MemberOrder?) throws(MigrationError) {
        let words = before?.words
        try byFinding.append(
            sequence, SortKey.encode(member.end.key), UInt64(member.end.entity), words.map { $0.kind + 1 } ?? 0,
            words?.value ?? 0)
    }

    /// The members in the order of finding, with their places before.
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
