import CoreDataStore
import ManagedModel
import Mapping

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

    /// Calls a closure with the owner, the member and the value that orders it, for each link of a source's relationship. The value
    /// is an integer that ascends with the attribute.
    ///
    /// - Throws: ``VerificationObstacle`` for a key path that has no columns.
    func forEachSourceLink(
        of old: RelationshipDescription, orderedBy sorting: MemberSorting, _ body: (Int64, Int64, Int64?) throws -> Void
    ) throws {
        let found = plan.source
        let owner: String
        var tables: String
        let members = SQLName.quoted(found.tables[found.schema.tableIndex(of: old.destination)].name)
        switch found.schema.storage(of: old) {
        case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
            owner = "m." + SQLName.quoted(found.tables[table].columns[column])
            tables = "\(members) AS m"
        case .join(let table, let ownerSide):
            let place = found.joinTables[table]
            owner = "j." + SQLName.quoted(place.sides[ownerSide].column)
            let member = "j." + SQLName.quoted(place.sides[1 - ownerSide].column)
            tables = "\(SQLName.quoted(place.name)) AS j JOIN \(members) AS m ON m.\"Z_PK\" = \(member)"
        case .toOne, .none: return
        }
        var (entity, row, value, isWhole) = (old.destination, "m", "", false)
        let path = entity.joiningElements(in: sorting.components)
        for (number, name) in path.enumerated() {
            let table = found.tables[found.schema.tableIndex(of: entity)]
            if let attribute = entity.attribute(named: name), let column = found.schema.column(of: attribute) {
                value = "\(row).\(SQLName.quoted(table.columns[column]))"
                isWhole = [.integer16, .integer32, .integer64, .boolean].contains(attribute.attributeType)
            } else if let step = entity.relationship(named: name),
                case .toOne(_, let column, _, _) = found.schema.storage(of: step)
            {
                let next = SQLName.quoted(found.tables[found.schema.tableIndex(of: step.destination)].name)
                tables +=
                    " LEFT JOIN \(next) AS t\(number) ON t\(number).\"Z_PK\" = \(row).\(SQLName.quoted(table.columns[column]))"
                (entity, row) = (step.destination, "t\(number)")
            }
        }
        guard !value.isEmpty else { throw VerificationObstacle("\(sorting.keyPath) has no column") }
        let rows = try source.query("SELECT \(owner), m.\"Z_PK\", \(value) FROM \(tables) WHERE \(owner) IS NOT NULL")
        while try rows.step() {
            let order = rows.isNull(2) ? nil : isWhole ? rows.integer(2) : rows.double(2).ascending
            try body(rows.integer(0), rows.integer(1), order)
        }
    }
}

extension Double {
    /// An integer that ascends with the number.
    fileprivate var ascending: Int64 {
        let bits = Int64(bitPattern: (self == 0 ? 0 : self).bitPattern)
        return bits < 0 ? bits ^ .max : bits
    }
}
