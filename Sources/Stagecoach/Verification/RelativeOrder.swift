import Diagnostics

/// Compares the order of members if the ordering keys themselves may differ. Rejected members had keys too, so keys
/// that a run gave in order have gaps, and no record tells where.
///
/// The members of an owner must be in the expected order, and must have no key if none is expected. Memory: that of the
/// ledger, which holds the members until the comparison.
struct RelativeOrder {
    private let ledger: VerificationLedger
    private let table: String

    /// A member in another place than expected.
    struct Misplaced {
        let owner: Int64
        let member: Int64
        let expected: Int64?
        let found: Int64?
    }

    /// Creates an empty comparison.
    ///
    /// - Parameter table: a name that no other table of the ledger has.
    init(_ ledger: VerificationLedger, table: String) throws(MigrationError) {
        (self.ledger, self.table) = (ledger, table)
        try ledger.execute("CREATE TABLE \(table)(owner INTEGER, member INTEGER, expected INTEGER, found INTEGER)")
    }

    /// Notes a member's ordering keys.
    func note(owner: Int64, member: Int64, expected: Int64?, found: Int64?) throws(MigrationError) {
        try ledger.run("INSERT INTO \(table) VALUES(?1,?2,?3,?4)", owner, member, expected, found)
    }

    /// Calls a closure with the members out of order, and removes all members.
    ///
    /// - Complexity: a sort of the members.
    func end(_ body: (Misplaced) throws -> Void) throws {
        let rows = try ledger.connection.prepare(
            "SELECT owner, member, expected, found FROM \(table) ORDER BY owner, expected, found")
        var last: Misplaced?
        while try rows.step() {
            func optional(_ column: Int32) -> Int64? { rows.isNull(column) ? nil : rows.integer(column) }
            let next = Misplaced(
                owner: rows.integer(0), member: rows.integer(1), expected: optional(2), found: optional(3))
            if !follows(next, last) { try body(next) }
            last = next
        }
        rows.reset()
        ledger.releaseStatements()
        try ledger.execute("DROP TABLE \(table)")
    }

    private func follows(_ next: Misplaced, _ last: Misplaced?) -> Bool {
        guard let expected = next.expected, let found = next.found else {
            return next.expected == nil && next.found == nil
        }
        guard let last, last.owner == next.owner, let before = last.expected, let place = last.found else {
            return true
        }
        return before == expected ? place <= found : place < found
    }
}
