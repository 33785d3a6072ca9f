import Diagnostics

/// Compares the order of members if the ordering keys themselves may differ. Rejected members had keys too, so keys
/// that a run gave in order have gaps, and no record tells where.
///
/// The members of an owner must be in the expected order, and must have no key if none is expected. Memory: that of a sort.
struct RelativeOrder {
    /// A member of an owner, with its expected and found ordering keys.
    struct Member: SortableRecord {
        @Sorted var owner: Int64
        @SortedOptional var expected: Int64?
        @SortedOptional var found: Int64?
        @Sorted var member: Int64
    }

    private let members: RecordSort<Member>

    /// Creates an empty comparison.
    init(_ storage: VerificationStorage) { members = storage.sort(Member.self) }

    /// Notes a member's ordering keys.
    func note(owner: Int64, member: Int64, expected: Int64?, found: Int64?) throws(MigrationError) {
        try members.append(Member(owner: owner, expected: expected, found: found, member: member))
    }

    /// Calls a closure with the members out of order.
    ///
    /// - Complexity: a sort of the members.
    func end(_ body: (Member) throws -> Void) throws {
        let sorted = try members.finish()
        var last: Member?
        while let next = try sorted.next() {
            if !follows(next, last) { try body(next) }
            last = next
        }
    }

    private func follows(_ next: Member, _ last: Member?) -> Bool {
        guard let expected = next.expected, let found = next.found else {
            return next.expected == nil && next.found == nil
        }
        guard let last, last.owner == next.owner, let before = last.expected, let place = last.found else {
            return true
        }
        return before == expected ? place <= found : place < found
    }
}
