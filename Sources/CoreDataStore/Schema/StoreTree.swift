/// An R-tree over attributes of an entity: a fetch index whose elements are of that type.
///
/// In the form that Photos has of framework 1030 (`Z_RT_GenericAsset_boundedByRect`): a virtual table, and three triggers that
/// keep it. The triggers fire for every row of the table, so every row has its place in the tree.
package struct StoreTree: Sendable, Equatable {
    /// The fetch index and the names it has in a file.
    package let index: LeftOutIndex
    /// The entity table, as an index into the schema's.
    package let table: Int
    /// Its columns, as indices, in the order of the index's elements.
    package let columns: [Int]

    /// Most coordinates of an R-tree of SQLite's.
    static let mostCoordinates = 5

    /// The statement that makes the virtual table, and those that make its triggers.
    package func statements(on table: EntityTable) -> [String] {
        let tree = SQLName.quoted(index.treeName)
        let subject = SQLName.quoted(table.name)
        let names = columns.map { table.columns[$0].name }
        let bounds = names.flatMap { ["\($0)_MIN", "\($0)_MAX"] }.map(SQLName.quoted)
        let list = (["Z_PK"] + bounds).joined(separator: ", ")
        let values = names.enumerated().map { position, name in
            let value = "NEW." + SQLName.quoted(name)
            return position == 0 ? "\(value) ,\(value)" : "\(value), \(value)"
        }
        let row = "(\(list)) VALUES (NEW.Z_PK, \(values.joined(separator: ", "))) ;"
        func trigger(_ event: String, _ body: String) -> String {
            "CREATE TRIGGER \(SQLName.quoted("\(index.treeName)_\(event)")) AFTER \(event) ON \(subject) "
                + "FOR EACH ROW BEGIN \(body) END"
        }
        return [
            "CREATE VIRTUAL TABLE \(tree) USING RTREE (Z_PK INTEGER PRIMARY KEY, "
                + bounds.map { "\($0) FLOAT" }.joined(separator: ", ") + ")",
            trigger("INSERT", "INSERT OR REPLACE INTO \(tree) \(row)"),
            trigger("UPDATE", "DELETE FROM \(tree) WHERE Z_PK = NEW.Z_PK ; INSERT INTO \(tree) \(row)"),
            trigger("DELETE", "DELETE FROM \(tree) WHERE Z_PK = OLD.Z_PK ;"),
        ]
    }

    /// The statement that gives the tree what its triggers would have given it.
    func fill(on table: EntityTable) -> String {
        let values = columns.map { SQLName.quoted(table.columns[$0].name) }.flatMap { [$0, $0] }
        return "INSERT OR REPLACE INTO \(SQLName.quoted(index.treeName)) "
            + "SELECT Z_PK, \(values.joined(separator: ", ")) FROM \(SQLName.quoted(table.name))"
    }
}
