import CoreDataStore
import Diagnostics

/// The tables in which the links of the source and of the destination are counted (``SourceLinkCount``).
///
/// Memory: that of ``LinkTables``, whose database has them.
final class SourceLinkTables {
    private let connection: Connection
    private let sourceLink: Statement
    private let asked: Statement
    private let found: Statement

    /// Makes the tables.
    ///
    /// - Parameter tables: the private database. It has no pair at work any more.
    init(_ tables: LinkTables) throws(MigrationError) {
        connection = tables.connection
        try connection.execute(
            """
            DROP TABLE IF EXISTS link;
            CREATE TABLE source_link (number INT, owner INT, member INT, PRIMARY KEY (number, owner, member)) WITHOUT ROWID;
            CREATE TABLE asked (number INT, owner INT, member INT, pair INT, near INT, far INT, yields INT,
                PRIMARY KEY (number, owner, member, pair, near, far)) WITHOUT ROWID;
            CREATE TABLE found (pair INT, near INT, far INT, PRIMARY KEY (pair, near, far)) WITHOUT ROWID
            """)
        sourceLink = try connection.prepare("INSERT OR IGNORE INTO source_link VALUES (?1, ?2, ?3)")
        asked = try connection.prepare("INSERT OR IGNORE INTO asked VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
        found = try connection.prepare("INSERT OR IGNORE INTO found VALUES (?1, ?2, ?3)")
    }

    /// Prepares the tables for ``forEachMissing(set:nearIsOne:farIsOne:_:)``, once all links are noted.
    func finish() throws(MigrationError) {
        try connection.execute(
            "CREATE INDEX asked_near ON asked (pair, near, far); CREATE INDEX asked_far ON asked (pair, far, near)")
    }

    /// Notes a link of the source.
    ///
    /// - Parameter set: the number of the set of links.
    func noteSourceLink(set: Int64, owner: Int64, member: Int64) throws(MigrationError) {
        try sourceLink.run(set, owner, member)
    }

    /// Notes a link of the destination that a lookup asks for because of a link of the source.
    ///
    /// - Parameter yields: true if the object at the other end decides about the link by itself.
    func noteAsked(
        set: Int64, owner: Int64, member: Int64, pair: Int64, near: Int64, far: Int64, yields: Bool
    ) throws(MigrationError) {
        try asked.run(set, owner, member, pair, near, far, yields ? 1 : 0)
    }

    /// Notes a link of the destination.
    func noteFound(pair: Int64, near: Int64, far: Int64) throws(MigrationError) {
        try found.run(pair, near, far)
    }

    /// Returns the number of a set's links.
    func sourceLinks(set: Int64) throws(MigrationError) -> Int {
        try number("SELECT count(*) FROM source_link WHERE number = ?1", set)
    }

    /// Returns the number of a set's links for which a lookup asks for a link of the destination.
    func askedLinks(set: Int64) throws(MigrationError) -> Int {
        try number("SELECT count(*) FROM (SELECT DISTINCT owner, member FROM asked WHERE number = ?1)", set)
    }

    /// Calls a closure with the links of a set that were asked for and are not in the destination, and with true for those that
    /// give way: an end has room for one link, and another link asks for that room, or has it. Whether that one is right is
    /// compared elsewhere.
    ///
    /// - Parameters:
    ///   - nearIsOne: the pairs in which a near object has room for one link.
    ///   - farIsOne: the pairs in which a far object has.
    func forEachMissing(
        set: Int64, nearIsOne: [Int], farIsOne: [Int], _ body: (Int64, Int64, Bool) throws -> Void
    ) throws {
        func list(_ pairs: [Int]) -> String { pairs.sorted().map(String.init).joined(separator: ", ") }
        let missing = try connection.prepare(
            """
            SELECT owner, member, max(yields
                OR pair IN (\(list(nearIsOne))) AND (EXISTS
                    (SELECT 1 FROM asked AS o WHERE o.pair = a.pair AND o.near = a.near AND o.far <> a.far)
                    OR EXISTS (SELECT 1 FROM found AS f WHERE f.pair = a.pair AND f.near = a.near AND f.far <> a.far))
                OR pair IN (\(list(farIsOne))) AND EXISTS
                    (SELECT 1 FROM asked AS o WHERE o.pair = a.pair AND o.far = a.far AND o.near <> a.near))
            FROM asked AS a WHERE number = ?1 GROUP BY owner, member
            HAVING max(EXISTS (SELECT 1 FROM found AS f WHERE f.pair = a.pair AND f.near = a.near AND f.far = a.far)) = 0
            """)
        missing.bind(set, at: 1)
        while try missing.step() { try body(missing.integer(0), missing.integer(1), missing.integer(2) == 1) }
    }

    private func number(_ sql: String, _ set: Int64) throws(MigrationError) -> Int {
        let statement = try connection.prepare(sql)
        statement.bind(set, at: 1)
        guard try statement.step() else { return 0 }
        return Int(statement.integer(0))
    }
}
