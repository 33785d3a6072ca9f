import CoreDataStore

extension StoreSchema {
    /// The CREATE INDEX statements of an entity table. A constraint in the table's statement has none.
    package func indexStatements(forTable table: Int) -> [String] {
        indexes[table].filter { $0.clause == nil }.map { $0.statement(on: tables[table]) }
    }

    /// The statements of all R-trees, each a virtual table and its triggers.
    package func treeStatements() -> [String] { trees.flatMap { $0.statements(on: tables[$0.table]) } }
}
