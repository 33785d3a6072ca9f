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
    let connection: Connection
    private let insertion: Statement

    /// - Parameter folder: an existing folder, removed after the verification.
    init(in folder: String, cacheBytes: Int) throws(MigrationError) {
        let vfs = WorkVFS(temporaryDirectory: folder)
        connection = try Connection(path: folder + "/links", vfs: vfs.name, keeping: vfs)
        try connection.execute(
            """
            PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA temp_store=FILE;
            PRAGMA cache_size=-\(max(256, cacheBytes >> 10)); BEGIN;
            CREATE TABLE claim (mapping INT, source INT, second INT, candidate INT, position INT, member INT, near INT, far INT,
                PRIMARY KEY (mapping, source, second)) WITHOUT ROWID;
            CREATE TABLE owner (key INTEGER PRIMARY KEY, previous INT, copies INT);
            CREATE TABLE place (side INT, owner INT, member INT, place INT, source INT, PRIMARY KEY (side, owner, member))
                WITHOUT ROWID;
            CREATE TABLE merged (maker INT, other INT, owner INT, place INT, member INT);
            CREATE TABLE last_place (side INT, owner INT, place INT, PRIMARY KEY (side, owner)) WITHOUT ROWID;
            CREATE TABLE relative (side INT, owner INT, member INT, expected INT, found INT)
            """)
        insertion = try connection.prepare("INSERT INTO relative VALUES (?1, ?2, ?3, ?4, ?5)")
    }

    /// Empties the tables for another pair.
    ///
    /// - Parameter isUnique: true if a key has at most one link.
    func begin(isUnique: Bool) throws(MigrationError) {
        try connection.execute(
            """
            DELETE FROM claim; DELETE FROM owner; DELETE FROM place; DELETE FROM last_place;
            DELETE FROM relative; DROP TABLE IF EXISTS link;
            CREATE TABLE link (key INT, value INT, model INT, rank INT, source INT, position INT, member INT, near INT, far INT,
                PRIMARY KEY (\(isUnique ? "key" : "key, value"))) WITHOUT ROWID
            """)
    }

    /// Returns the links of a query: key, value, near and far place.
    func links(_ sql: String) throws(MigrationError) -> ExpectedLinks.Stream {
        let statement = try connection.prepare(sql)
        return { try statement.nextLink() }
    }

    // MARK: - The order of members

    // The ordering keys themselves may differ: rejected members had keys too, so keys that a run gave in order have gaps, and
    // no record tells where. The members of an owner must be in the expected order, and have no key if none is expected.

    /// Notes a member's ordering keys on one side of the pair.
    func note(side: Int64, owner: Int64, member: Int64, expected: Int64?, found: Int64?) throws(MigrationError) {
        try insertion.run(side, owner, member, expected, found)
    }

    /// Calls a closure with the members out of order, and descriptions of their places: those that have a key where none is
    /// expected or none where one is, and those that do not follow the member before. Complexity: a sort of the members.
    func forEachMisplaced(
        side: Int64, _ body: (_ owner: Int64, _ member: Int64, _ expected: String, _ found: String?) throws -> Void
    ) throws {
        let misplaced = try connection.prepare(
            """
            SELECT owner, member, expected, found FROM (
                SELECT *, lag(expected) OVER places AS before, lag(found) OVER places AS place FROM relative
                WHERE side = \(side) WINDOW places AS (PARTITION BY owner ORDER BY expected, found, member))
            WHERE (expected IS NULL) <> (found IS NULL)
                OR expected IS NOT NULL AND (place > found OR place = found AND before <> expected)
            ORDER BY owner, expected, found, member
            """)
        while try misplaced.step() {
            let expected = misplaced.optionalInteger(2).map { "in the order of \($0)" } ?? "no place"
            try body(
                misplaced.integer(0), misplaced.integer(1), expected, misplaced.optionalInteger(3).map(String.init))
        }
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
