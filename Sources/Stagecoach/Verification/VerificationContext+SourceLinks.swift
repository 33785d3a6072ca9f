import CoreDataStore
import ManagedModel

extension VerificationContext {
    /// Calls a closure with the owner, the member and the ordering key of each link of a source's relationship. The ordering key
    /// is nil if the relationship has no order.
    func forEachSourceLink(
        of old: RelationshipDescription, _ body: (Int64, Int64, Int64?) throws -> Void
    ) throws {
        let found = plan.source
        switch found.schema.storage(of: old) {
        case .toOne(let table, let column, _, _):
            let rows = try rows(of: source, found, table: table, columns: [column])
            while try rows.advance() {
                if let member = rows.integer(0) { try body(rows.key, member, nil) }
            }
        case .toManyByInverse(let table, let column, _, let order), .toManyHidden(let table, let column, let order):
            let order = old.isOrdered ? order : nil
            let rows = try rows(of: source, found, table: table, columns: [column] + (order.map { [$0] } ?? []))
            while try rows.advance() {
                if let owner = rows.integer(0) { try body(owner, rows.key, order == nil ? nil : rows.integer(1)) }
            }
        case .join(let table, let ownerSide):
            let place = found.joinTables[table]
            let (owner, member) = (place.sides[ownerSide], place.sides[1 - ownerSide])
            let key = old.isOrdered ? member.orderColumn.map(SQLName.quoted) ?? "NULL" : "NULL"
            let rows = try source.query(
                "SELECT \(SQLName.quoted(owner.column)), \(SQLName.quoted(member.column)), \(key) FROM \(SQLName.quoted(place.name))"
            )
            while try rows.step() {
                guard let owner = rows.optionalInteger(0), let member = rows.optionalInteger(1) else { continue }
                try body(owner, member, rows.optionalInteger(2))
            }
        case .none: return
        }
    }
}
