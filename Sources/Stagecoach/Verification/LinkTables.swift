import CSQLite
import CoreDataStore
import Diagnostics

/// A link of a pair: of an object, the key, to another one.
struct ExpectedLink {
    /// The key of the object whose row or column holds the link; of a many-to-many pair, that of the near object.
    let key: Int64
    let value: Int64
    /// The place among the members of the near relationship, and among those of the far one.
    let nearOrder: Int64?
    let farOrder: Int64?
}

/// The private database in which the links of one pair at a time are worked out.
///
/// Memory: its page cache, and the same again for a sort. It has its file and its temporary files in the work directory.
final class LinkTables {
    private let vfs: WorkVFS
    let connection: Connection

    /// - Parameter folder: an existing folder, removed after the verification.
    init(in folder: String, cacheBytes: Int) throws(MigrationError) {
        vfs = WorkVFS(temporaryDirectory: folder)
        connection = try Connection(
            path: folder + "/links", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
            vfs: vfs.name, keeping: vfs)
        try connection.execute(
            """
            PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=FILE;
            PRAGMA cache_size=-\(max(256, cacheBytes >> 10)); BEGIN;
            CREATE TABLE claim (mapping INT, source INT, second INT, candidate INT, position INT, member INT, near INT, far INT,
                PRIMARY KEY (mapping, source, second)) WITHOUT ROWID;
            CREATE TABLE owner (key INTEGER PRIMARY KEY, earlier INT, copies INT);
            CREATE TABLE place (side INT, owner INT, member INT, place INT);
            CREATE INDEX place_member ON place (side, owner, member);
            CREATE TABLE relative (side INT, owner INT, member INT, expected INT, found INT)
            """)
    }

    /// Empties the tables for another pair.
    ///
    /// - Parameter isUnique: true if a key has at most one link.
    func begin(isUnique: Bool) throws(MigrationError) {
        try connection.execute(
            """
            DELETE FROM claim; DELETE FROM owner; DELETE FROM place; DELETE FROM relative; DROP TABLE IF EXISTS link;
            CREATE TABLE link (key INT, value INT, turn INT, rank INT, source INT, position INT, member INT, near INT, far INT,
                PRIMARY KEY (\(isUnique ? "key" : "key, value"))) WITHOUT ROWID
            """)
    }

    /// Returns the links of a query: key, value, near and far place.
    func links(_ sql: String) throws(MigrationError) -> ExpectedLinks.Stream {
        let statement = try connection.prepare(sql)
        return { try statement.nextLink() }
    }
}

extension Statement {
    /// Returns the link in the next row, with key, value, near and far place as its columns; nil at the end.
    func nextLink() throws(MigrationError) -> ExpectedLink? {
        guard try step() else { return nil }
        return ExpectedLink(
            key: integer(0), value: integer(1), nearOrder: optionalInteger(2), farOrder: optionalInteger(3))
    }

    /// Runs the statement to its end with some values.
    func run(_ values: Int64?...) throws(MigrationError) {
        for (place, value) in values.enumerated() {
            if let value { bind(value, at: Int32(place + 1)) } else { bindNull(at: Int32(place + 1)) }
        }
        try run()
    }
}

/// Compares the order of members if the ordering keys themselves may differ. Rejected members had keys too, so keys
/// that a run gave in order have gaps, and no record tells where.
///
/// The members of an owner must be in the expected order, and must have no key if none is expected.
struct RelativeOrder {
    /// A member of an owner, with its expected and found ordering keys.
    struct Member {
        let owner: Int64
        let member: Int64
        let expected: Int64?
        let found: Int64?
    }

    private let tables: LinkTables
    private let side: Int
    private let insert: Statement

    /// Creates an empty comparison.
    init(_ tables: LinkTables, side: Int) throws(MigrationError) {
        (self.tables, self.side) = (tables, side)
        insert = try tables.connection.prepare("INSERT INTO relative VALUES (\(side), ?1, ?2, ?3, ?4)")
    }

    /// Notes a member's ordering keys.
    func note(owner: Int64, member: Int64, expected: Int64?, found: Int64?) throws(MigrationError) {
        try insert.run(owner, member, expected, found)
    }

    /// Calls a closure with the members out of order: those that have a key where none is expected or none where one is, and
    /// those that do not follow the member before. Complexity: a sort of the members.
    func end(_ body: (Member) throws -> Void) throws {
        let misplaced = try tables.connection.prepare(
            """
            SELECT owner, member, expected, found FROM (
                SELECT *, lag(expected) OVER places AS before, lag(found) OVER places AS place FROM relative
                WHERE side = \(side) WINDOW places AS (PARTITION BY owner ORDER BY expected, found, member))
            WHERE (expected IS NULL) <> (found IS NULL)
                OR expected IS NOT NULL AND (place > found OR place = found AND before <> expected)
            ORDER BY owner, expected, found, member
            """)
        while try misplaced.step() {
            try body(
                Member(
                    owner: misplaced.integer(0), member: misplaced.integer(1), expected: misplaced.optionalInteger(2),
                    found: misplaced.optionalInteger(3)))
        }
    }
}
