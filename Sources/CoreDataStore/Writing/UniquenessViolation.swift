import Diagnostics
import ManagedModel

/// The rows that share the values of a uniqueness constraint, looked up after its index could not be built.
struct UniquenessViolation {
    let table: String
    let columns: [String]
    let entity: String
    let attributes: [String]

    /// Makes the violation of an index; nil if it is not the index of a uniqueness constraint.
    init?(_ index: StoreIndex, _ table: EntityTable, _ model: ManagedObjectModel) {
        guard case .unique(let entity, let attributes) = index.purpose else { return nil }
        self.table = SQLName.quoted(table.name)
        columns = index.terms.map { SQLName.quoted(table.columns[$0.column].name) }
        self.entity = model.entity(at: entity).definition.name
        self.attributes = attributes
    }

    /// - Parameter columns: the columns of a uniqueness constraint in a file, by name. The result is nil if one holds no
    ///   property of the model.
    init?(columns: [String], _ table: EntityTable, _ model: ManagedObjectModel) {
        var references: [PropertyReference] = []
        for name in columns {
            let column = table.columns.first { $0.name.uppercased() == name.uppercased() }
            switch column?.role {
            case .attribute(let reference), .toOne(let reference): references.append(reference)
            default: return nil
            }
        }
        guard let deepest = references.map(\.entity).max() else { return nil }
        self.table = SQLName.quoted(table.name)
        self.columns = columns.map(SQLName.quoted)
        entity = model.entity(at: deepest).definition.name
        attributes = references.map(\.name)
    }

    /// Returns the error with the conflict of the lowest key: its values and up to three of its keys.
    ///
    /// A row with a NULL in the constraint never conflicts, in SQLite as in Core Data.
    ///
    /// - Complexity: O(n log n) in the table's rows, spilled to temporary files. It runs only after a failure.
    func error(_ connection: Connection, cause: MigrationError) throws(MigrationError) -> MigrationError {
        let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        let group = try connection.prepare(
            "SELECT min(Z_PK), count(*) FROM \(table) WHERE \(present) GROUP BY \(columns.joined(separator: ", ")) "
                + "HAVING count(*) > 1 ORDER BY 1 LIMIT 1")
        guard try group.step() else { return cause }
        let (first, count) = (group.integer(0), group.integer(1))
        group.reset()
        let values = try values(connection, key: first)
        let keys = try keys(connection, like: first)
        let named = keys.map { "\(entity)/p\($0)" }.joined(separator: ", ")
        return error(
            "\(count.grouped) objects have the same \(shown(values)), which must be unique: "
                + named + (count > keys.count ? " and more" : ""), connection, key: keys.dropFirst().first ?? first)
    }

    func shown(_ values: [String]) -> String {
        zip(attributes, values).map { "\($0) = \($1)" }.joined(separator: ", ")
    }

    func error(
        _ message: String, _ connection: Connection, key: Int64, cause: MigrationError? = nil
    ) -> MigrationError {
        MigrationError(
            "validation.uniqueness", .data, message,
            remedy: "Change the mapping or the source's values, or let the command reject such objects",
            context: .init(
                path: connection.path, entity: entity, objectID: "\(entity)/p\(key)",
                property: attributes.joined(separator: ", ")),
            cause: cause)
    }

    /// Returns the row's values as SQL literals, with long ones cut.
    func values(_ connection: Connection, key: Int64) throws(MigrationError) -> [String] {
        let parts = columns.map {
            "CASE typeof(\($0)) WHEN 'text' THEN quote(substr(\($0), 1, 60)) "
                + "WHEN 'blob' THEN quote(substr(\($0), 1, 32)) ELSE quote(\($0)) END"
        }
        let select = try connection.prepare("SELECT \(parts.joined(separator: ", ")) FROM \(table) WHERE Z_PK = ?")
        select.bind(key, at: 1)
        guard try select.step() else { return [] }
        return columns.indices.map { select.text(Int32($0)) ?? "NULL" }
    }

    private func keys(_ connection: Connection, like key: Int64) throws(MigrationError) -> [Int64] {
        let same = columns.map { "\($0) = (SELECT \($0) FROM \(table) WHERE Z_PK = ?1)" }.joined(separator: " AND ")
        let select = try connection.prepare("SELECT Z_PK FROM \(table) WHERE \(same) ORDER BY Z_PK LIMIT 3")
        select.bind(key, at: 1)
        var keys: [Int64] = []
        while try select.step() { keys.append(select.integer(0)) }
        return keys
    }
}
