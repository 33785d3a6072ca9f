import Diagnostics

/// Compares the order of members where the ordering keys themselves may differ: rejected members had keys too, which nothing
/// tells, so the keys that a run gave in order leave gaps for them.
///
/// The members of an owner have to stand in the expected order, and to have no key where none is expected. Memory: that of the
/// ledger, where the places wait.
struct RelativeOrder {
    private let ledger: VerificationLedger
    private let table: String

    /// A member that stands in another place than expected.
    struct Misplaced {
        let owner: Int64
        let member: Int64
        let expected: Int64?
        let found: Int64?
    }

    /// - Parameter table: a name that no other of the ledger's tables has.
    init(_ ledger: VerificationLedger, table: String) throws(MigrationError) {
        (self.ledger, self.table) = (ledger, table)
        try ledger.execute("CREATE TABLE \(table)(owner INTEGER, member INTEGER, expected INTEGER, found INTEGER)")
    }

    /// Notes a member's ordering keys.
    func note(owner: Int64, member: Int64, expected: Int64?, found: Int64?) throws(MigrationError) {
        try ledger.run("INSERT INTO \(table) VALUES(?1,?2,?3,?4)", owner, member, expected, found)
    }

    /// Shows the members out of order, and forgets all.
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
