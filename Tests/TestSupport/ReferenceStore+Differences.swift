import CoreDataStore

extension ReferenceStore {
    /// Everything in which this store differs from another of the same schema, a line each; empty when equal.
    ///
    /// Compares all rows by key with all columns (Z_ENT, Z_OPT, attributes, references, entity and order columns),
    /// the rows of join tables, and Z_PRIMARYKEY. `self` is what was found, `other` what was expected.
    package func differences(from other: ReferenceStore) -> [String] {
        let names = schema.tables.map(\.name)
        let joinNames = schema.joinTables.map(\.name)
        guard names == other.schema.tables.map(\.name), joinNames == other.schema.joinTables.map(\.name) else {
            return ["tables are \(names + joinNames), expected \((other.schema.tables.map(\.name)))"]
        }
        var lines: [String] = []
        for (index, table) in schema.tables.enumerated() {
            let columns = table.columns.map(\.name)
            guard columns == other.schema.tables[index].columns.map(\.name) else {
                lines.append("\(table.name): columns are \(columns)")
                continue
            }
            for key in Set(tables[index].keys).union(other.tables[index].keys).sorted() {
                switch (tables[index][key], other.tables[index][key]) {
                case (let found?, let expected?):
                    for (position, name) in columns.enumerated()
                    where found.values[position] != expected.values[position] {
                        lines.append(
                            "\(table.name) \(key) \(name): \(found.values[position]), expected \(expected.values[position])"
                        )
                    }
                case (nil, let expected?): lines.append("\(table.name) \(key): missing, expected \(expected.values)")
                case (let found?, nil): lines.append("\(table.name) \(key): not expected, \(found.values)")
                case (nil, nil): break
                }
            }
        }
        for (index, table) in joinNames.enumerated() {
            let pairs = Set(joins[index].keys).union(other.joins[index].keys)
            for pair in pairs.sorted(by: { ($0.first, $0.second) < ($1.first, $1.second) }) {
                let found = joins[index][pair]
                let expected = other.joins[index][pair]
                guard found != expected else { continue }
                lines.append(
                    "\(table) (\(pair.first), \(pair.second)): \(Self.text(found)), expected \(Self.text(expected))")
            }
        }
        for number in Set(primaryKey.keys).union(other.primaryKey.keys).sorted()
        where primaryKey[number] != other.primaryKey[number] {
            let found = primaryKey[number].map { "\($0)" } ?? "missing"
            let expected = other.primaryKey[number].map { "\($0)" } ?? "missing"
            lines.append("Z_PRIMARYKEY \(number): \(found), expected \(expected)")
        }
        return lines
    }

    private static func text(_ orders: ReferenceOrders?) -> String {
        guard let orders else { return "missing" }
        return "orders (\(ReferenceValue(key: orders.first)), \(ReferenceValue(key: orders.second)))"
    }
}
