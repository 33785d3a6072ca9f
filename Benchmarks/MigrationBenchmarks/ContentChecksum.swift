import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel

/// A checksum of a store's contents that depends neither on the order of its rows nor on their keys.
///
/// It has counts and sums of every attribute's column. For each relationship it has the sum, over its pairs, of the product of
/// one number from each side's attributes. Every pair of a one-to-one must also exist as seen from the other side.
/// All of it is plain SQL that knows nothing of how the store was written.
struct ContentChecksum: Equatable {
    /// One line a table or relationship.
    let lines: [String]

    /// - Throws: `store.…` where the file cannot be read or lacks a table or column of the schema.
    /// - Complexity: O(rows log rows): joins look members up by key.
    init(path: String, schema: StoreSchema) throws(MigrationError) {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        var lines: [String] = []
        func add(_ name: String, _ query: String) throws(MigrationError) {
            let statement = try connection.prepare(query)
            guard try statement.step() else { return }
            let values = (0..<sqlite3_column_count(statement.handle)).map { statement.text($0) ?? "-" }
            lines.append(([name] + values).joined(separator: " "))
        }
        for table in schema.tables {
            let sums = table.columns.compactMap { column -> String? in
                guard case .attribute = column.role else { return nil }
                return "count(\(column.name)), sum(\(Self.number(column, "t.")))"
            }
            try add(
                table.name, (["SELECT count(*), sum(Z_ENT)"] + sums).joined(separator: ", ") + " FROM \(table.name) t")
        }
        for relationship in schema.model.entities.flatMap({ Self.ownRelationships($0) }) {
            let owner = schema.tables[schema.tableIndex(of: relationship.entity)]
            let member = schema.tables[schema.tableIndex(of: relationship.destination)]
            let name = "\(relationship.entity.definition.name).\(relationship.name)"
            let product = "count(*), sum((\(Self.row(owner, "o."))) % 1009 * ((\(Self.row(member, "m."))) % 1013))"
            switch schema.storage(of: relationship) {
            case .toOne(_, let column, _, _):
                var joined = "m.Z_PK = o.\(owner.columns[column].name)"
                if let inverse = relationship.inverseRelationship, !inverse.isToMany,
                    case .toOne(_, let back, _, _) = schema.storage(of: inverse)
                {
                    joined += " AND o.Z_PK = m.\(member.columns[back].name)"
                }
                try add(name, "SELECT \(product) FROM \(owner.name) o JOIN \(member.name) m ON \(joined)")
            case .join(let index, let side) where side == 0:
                let join = schema.joinTables[index]
                try add(
                    name,
                    "SELECT \(product) FROM \(join.name) l JOIN \(owner.name) o ON o.Z_PK = l.\(join.sides[0].column) "
                        + "JOIN \(member.name) m ON m.Z_PK = l.\(join.sides[1].column)")
            default: continue
            }
        }
        try add("indexes", "SELECT count(*) FROM sqlite_master WHERE type = 'index'")
        try connection.close()
        self.lines = lines
    }

    private static func ownRelationships(_ entity: EntityDescription) -> [RelationshipDescription] {
        entity.definition.relationships.compactMap { entity.relationship(named: $0.name) }
    }

    /// An integer of a cell, small enough to be summed up over a thousand million rows.
    private static func number(_ column: StoreColumn, _ table: String) -> String {
        let name = table + column.name
        return switch column.type {
        case "VARCHAR": "length(\(name)) * 131 + unicode(\(name)) * 7 + unicode(substr(\(name), -1))"
        case "BLOB": "length(\(name))"
        case "INTEGER": "\(name) % 1000003"
        default: "CAST(round(\(name) * 4096) AS INTEGER) % 1000003"
        }
    }

    /// An integer of a row's attributes.
    private static func row(_ table: EntityTable, _ alias: String) -> String {
        let numbers = table.columns.compactMap { column -> String? in
            guard case .attribute = column.role else { return nil }
            return "coalesce(\(number(column, alias)), 17)"
        }
        return numbers.isEmpty ? "1" : numbers.joined(separator: " + ")
    }
}
