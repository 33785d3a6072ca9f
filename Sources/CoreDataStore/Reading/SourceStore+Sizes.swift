import Diagnostics

extension SourceStore {
    /// Returns the average size in bytes of the columns of an entity table, sampled from its first and last rows, for
    /// estimates.
    ///
    /// A text counts a byte for each character. A value that is too large to read ends the sample.
    ///
    /// - Parameter rows: the number of first rows and of last rows to sample.
    /// - Returns: the sizes by column index of the schema; all 0 if the table is empty.
    /// - Complexity: O(rows), independent of the table's size; memory of one row without its blobs.
    package func averageBytes(table: Int, rows: Int, in layout: StoreLayout) throws(MigrationError) -> [Double] {
        let source = layout.tables[table]
        var averages = [Double](repeating: 0, count: source.columns.count)
        // A result of SQLite has at most 2,000 columns.
        for first in stride(from: 0, to: source.columns.count, by: 500) {
            let part = first..<min(first + 500, source.columns.count)
            let lengths = part.map { index in
                let column = source.columns[index].quoted
                return "CASE typeof(\(column)) WHEN 'null' THEN 0 WHEN 'integer' THEN 4 WHEN 'real' THEN 8 "
                    + "ELSE length(\(column)) END"
            }
            let query = "SELECT \(lengths.joined(separator: ", ")) FROM \(source.name.quoted) ORDER BY \"Z_PK\""
            var seen = 0
            for sql in [query + " LIMIT \(rows)", query + " DESC LIMIT \(rows)"] {
                let statement = try self.query(sql)
                do throws(MigrationError) {
                    while try statement.step() {
                        seen += 1
                        for index in part {
                            averages[index] += Double(statement.integer(Int32(index - first)))
                        }
                    }
                } catch {
                    statement.reset()
                    break
                }
            }
            for index in part where seen > 0 { averages[index] /= Double(seen) }
        }
        return averages
    }
}
