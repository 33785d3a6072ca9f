import DatabasePages
import Diagnostics

/// The numbers of values that are not NULL, by column and entity. Numbers of zero are not held.
package struct ValueCounts: Sendable {
    fileprivate var counts: [Int: [Int: Int]] = [:]
    /// The number of rows whose Z_ENT is not that of the table's only entity; 0 if it is not compared.
    package fileprivate(set) var otherNumbers = 0

    /// The number of values in a column of the rows of an entity, without subentities; both by index.
    package subscript(column: Int, entity: Int) -> Int { counts[column]?[entity] ?? 0 }
}

extension SourceStore {
    /// Lets readers count the values that are not NULL while they read a table's rows for other purposes.
    ///
    /// - Parameters:
    ///   - columns: column indices by table index. A repeated call with the same columns and tables has no effect.
    ///   - tables: tables of one entity, whose rows with another Z_ENT are counted.
    package func countValues(in columns: [Int: Set<Int>], comparing tables: Set<Int> = []) {
        guard countedColumns != columns || comparedTables != tables else { return }
        countedColumns = columns
        comparedTables = tables
        tallies = [:]
    }

    /// The numbers that the tallies have counted so far, by table; see ``ValueTally/counted``.
    package var countedValues: [Int: [Int]] { tallies.compactMapValues(\.counted) }

    /// Sets the numbers with which tallies begin: those that a killed run had counted in the same columns.
    ///
    /// - Parameter counted: the ``countedValues`` of that run.
    package func resumeCounting(from counted: [Int: [Int]]) { countedBefore = counted }

    /// Returns the tally of a table whose rows are read from pages; nil if nothing is counted there or SQLite must count.
    func tally(ofTable index: Int, _ table: SourcePages.Table, _ layout: StoreLayout) -> ValueTally? {
        if let known = tallies[index] { return known }
        let columns = countedColumns[index] ?? []
        guard !columns.isEmpty || comparedTables.contains(index) else { return nil }
        let source = layout.tables[index]
        var fields: Set<Int> = []
        for column in columns {
            // A record without the field may mean a value other than NULL.
            guard let found = table.columns[source.columns[column].lowercased()], found.isNullWhereAbsent else {
                return nil
            }
            fields.insert(found.field)
        }
        let numbers = layout.schema.tables[index].entities.map { Int64(layout.fileNumber(ofEntity: $0)) }
        let entityField = table.columns[source.columns[EntityTable.entityColumn].lowercased()]?.field
        let isCompared = comparedTables.contains(index)
        guard entityField != nil || numbers.count == 1 && !isCompared else { return nil }
        let common = isCompared ? entityField.flatMap { field in numbers.first.map { (field, $0) } } : nil
        let tally = ValueTally(
            fields: Array(fields), entityField: numbers.count > 1 ? entityField : nil, entities: numbers,
            common: common)
        if let counted = countedBefore[index] { tally.resume(from: counted) }
        tallies[index] = tally
        return tally
    }

    /// Returns the counts of a table's counted columns: those made by readers so far, plus those of the remaining rows, which
    /// it scans.
    ///
    /// - Parameter checkCancelled: called every 100,000 rows.
    /// - Throws: `store.damaged`, `store.io`; the errors of the check.
    /// - Complexity: O(pages of the table that no reader has passed).
    package func valueCounts(
        table index: Int, in layout: StoreLayout, checkCancelled: () throws -> Void = {}
    ) throws -> ValueCounts {
        let columns = countedColumns[index] ?? []
        guard !columns.isEmpty || comparedTables.contains(index) else { return ValueCounts() }
        let name = layout.tables[index].name
        if readsPages,
            case .table(let table) = try blamingData({ () throws(MigrationError) in
                try pageTable(name, in: try openPages())
            }), let file = pages?.file, let tally = tally(ofTable: index, table, layout)
        {
            var request = ScanRequest(large: .init(limit: .max) { _, _, _ in preconditionFailure("no value is read") })
            request.tally = tally
            request.after = tally.reached == .min ? nil : tally.reached
            let scan = TableScan(file: file, root: table.root, request: request)
            while try blamingData({ () throws(MigrationError) in try scan.countRest(upTo: 100_000) }) {
                try checkCancelled()
            }
            if !tally.hasFailed { return counts(tally, columns, index, table, layout) }
        }
        return try queriedCounts(columns, index, layout)
    }

    private func counts(
        _ tally: ValueTally, _ columns: Set<Int>, _ index: Int, _ table: SourcePages.Table, _ layout: StoreLayout
    ) -> ValueCounts {
        var result = ValueCounts()
        result.otherNumbers = tally.others
        for column in columns {
            guard let field = table.columns[layout.tables[index].columns[column].lowercased()]?.field else { continue }
            for entity in layout.schema.tables[index].entities {
                let number = Int64(layout.fileNumber(ofEntity: entity))
                let count = tally.count(field: field, entity: number)
                if count > 0 { result.counts[column, default: [:]][entity] = count }
            }
        }
        return result
    }

    /// The greatest number of columns that a statement counts; SQLite's limit of result columns is 2,000.
    private static let mostTerms = 500

    private func queriedCounts(
        _ columns: Set<Int>, _ index: Int, _ layout: StoreLayout
    ) throws(MigrationError) -> ValueCounts {
        let source = layout.tables[index]
        let entities = layout.schema.tables[index].entities
        // Real rows of a single entity may have a wrong number.
        let entity = entities.count == 1 ? nil : source.columns[EntityTable.entityColumn].quoted
        let sorted = columns.sorted()
        var result = ValueCounts()
        if comparedTables.contains(index) {
            let number = layout.fileNumber(ofEntity: entities[0])
            let column = source.columns[EntityTable.entityColumn].quoted
            let count = try integer(
                "SELECT count(*) FROM \(source.name.quoted) WHERE \(column) IS NOT \(number)")
            result.otherNumbers = Int(clamping: count ?? 0)
        }
        for start in stride(from: 0, to: sorted.count, by: Self.mostTerms) {
            let part = sorted[start..<min(sorted.count, start + Self.mostTerms)]
            let terms = part.map { "count(\(source.columns[$0].quoted))" }.joined(separator: ", ")
            let statement = try query(
                "SELECT \(entity ?? "0"), \(terms) FROM \(source.name.quoted)"
                    + (entity.map { " GROUP BY \($0)" } ?? ""))
            while try statement.step() {
                let number = Int(truncatingIfNeeded: statement.integer(0))
                let found = entity == nil ? entities[0] : layout.entity(inTable: index, forFileNumber: number)
                guard let found else { continue }
                for (place, column) in part.enumerated() {
                    let count = Int(clamping: statement.integer(Int32(place + 1)))
                    if count > 0 { result.counts[column, default: [:]][found] = count }
                }
            }
        }
        return result
    }
}
