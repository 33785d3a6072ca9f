import CSQLite
import CoreDataStore

extension Connection {
    /// Returns the first column of a query's rows as text; `nil` for NULL.
    package func firstColumn(_ sql: String) throws -> [String] {
        let rows = try prepare(sql)
        var texts: [String] = []
        while try rows.step() { texts.append(rows.text(0) ?? "nil") }
        return texts
    }
}

/// Asks a store's file in SQL.
package enum StoreQuery {
    /// Returns the first column of a query's rows as text; `nil` for NULL.
    package static func texts(_ sql: String, in path: String) throws -> [String] {
        try Connection(path: path, flags: SQLITE_OPEN_READONLY).firstColumn(sql)
    }

    /// Returns the integer of a query's first row; nil for NULL and for no row.
    package static func integer(_ sql: String, in path: String) throws -> Int64? {
        try Connection(path: path, flags: SQLITE_OPEN_READONLY).integer(sql)
    }
}
