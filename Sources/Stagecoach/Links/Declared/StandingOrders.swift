import CoreDataStore
import Diagnostics

/// The greatest ordering keys among the members that rows of the destination had before the run.
///
/// Memory: a statement for each ordered relationship.
final class StandingOrders {
    private let destination: DestinationStore
    private let keysBefore: KeysBefore
    private var statements: [String: Statement] = [:]

    init(_ destination: DestinationStore, _ keysBefore: KeysBefore) {
        self.destination = destination
        self.keysBefore = keysBefore
    }

    /// Returns the greatest ordering key of the members whose rows hold an owner's key; nil if there is none.
    func highest(of owner: Int64, _ storage: RelationshipStorage) throws(MigrationError) -> Int64? {
        let (table, column, order): (Int, Int, Int)
        switch storage {
        case .toOne(let held, let key, _, let place?), .toManyHidden(let held, let key, let place?):
            (table, column, order) = (held, key, place)
        default: return nil
        }
        guard keysBefore.hasRows[table] else { return nil }
        let described = destination.schema.tables[table]
        return try highest(
            of: owner, in: described.name, described.columns[column].name, described.columns[order].name,
            where: " AND Z_PK <= \(keysBefore.highestKeys[table])")
    }

    /// Returns the greatest ordering key of the members that a join table relates to an object of a side; nil if there is none.
    func highest(of owner: Int64, side: Int, joinTable: Int) throws(MigrationError) -> Int64? {
        let join = destination.schema.joinTables[joinTable]
        guard let order = join.sides[1 - side].orderColumn else { return nil }
        return try highest(of: owner, in: join.name, join.sides[side].column, order)
    }

    private func highest(
        of owner: Int64, in table: String, _ column: String, _ order: String, where condition: String = ""
    ) throws(MigrationError) -> Int64? {
        let sql =
            "SELECT max(\(SQLName.quoted(order))) FROM \(SQLName.quoted(table)) "
            + "WHERE \(SQLName.quoted(column)) = ?1\(condition)"
        let statement: Statement
        if let known = statements[sql] {
            statement = known
        } else {
            statement = try destination.connection.prepare(sql)
            statements[sql] = statement
        }
        defer { statement.reset() }
        statement.bind(owner, at: 1)
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return statement.integer(0)
    }
}
