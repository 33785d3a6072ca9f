import ManagedModel

/// Columns that want one name and whose numbers rest on no known store: one of two entities has an attribute of the name and
/// the other a relationship, both have relationships, or one entity has two names that differ in case alone.
///
/// The rule numbers them by entity, then attributes before relationships. A store that numbers them otherwise shows it by the
/// types of its columns, and its numbers are taken over.
extension EntityTable {
    /// Returns the sentence on a group of such columns.
    func unprovenNote(_ group: [Int]) -> String {
        "The columns \(group.map { columns[$0].name }.joined(separator: ", ")) of \(name) are numbered by a rule without "
            + "evidence: Core Data may number them otherwise"
    }

    /// Tells whether the types of a group's columns tell them apart.
    func areToldApart(_ group: [Int]) -> Bool { Set(group.map { columns[$0].type }).count == group.count }

    /// Returns the names that a file gives to a group of columns, if its types contradict the rule's names; else nil. Columns of
    /// one type keep the order of the rule.
    fileprivate func names(of group: [Int], in file: FileTable) -> [String]? {
        let names = group.map { columns[$0].name }
        let types = names.map { file.types[$0.uppercased()] ?? "" }
        guard types != group.map({ columns[$0].type }), types.sorted() == group.map({ columns[$0].type }).sorted()
        else {
            return nil
        }
        var free: [String: [String]] = [:]
        for (name, type) in zip(names, types).reversed() { free[type, default: []].append(name) }
        return group.map { free[columns[$0].type]?.popLast() ?? columns[$0].name }
    }
}

extension StoreSchema {
    /// Returns the names of columns that a file numbers otherwise than this schema does, by the types that it declares.
    ///
    /// - Complexity: O(tables of the file) if the schema has such columns, else O(tables).
    func columnNames(in files: [FileTable]) -> [PropertyReference: String] {
        var found: [PropertyReference: String] = [:]
        for table in tables where !table.unprovenNumbers.isEmpty {
            guard let file = files.first(where: { $0.name.uppercased() == table.name.uppercased() }) else { continue }
            for group in table.unprovenNumbers {
                for (column, name) in zip(group, table.names(of: group, in: file) ?? []) {
                    if let reference = table.columns[column].role.reference { found[reference] = name }
                }
            }
        }
        return found
    }
}

extension TakenOverNames {
    /// Lays the schema out anew with the numbers that the source gives to columns of the same properties, and leaves out the
    /// notes on numbers that the types of the source's columns prove.
    mutating func takeNumbers() {
        var given: [PropertyReference: String] = [:]
        var notes: [String] = []
        var proven: Set<String> = []
        for table in schema.tables {
            for group in table.unprovenNumbers {
                guard let before = counterparts(of: group, in: table) else { continue }
                let names = before.compactMap { source.columnNames[$0] }
                let byRule = group.map { table.columns[$0].name }
                if names.sorted() == byRule.sorted() {
                    for (column, name) in zip(group, names) {
                        if let reference = table.columns[column].role.reference { given[reference] = name }
                    }
                    notes.append(
                        "The columns \(names.joined(separator: ", ")) of \(table.name) are numbered as in the source; a rule "
                            + "would say \(byRule.joined(separator: ", "))")
                } else if names.isEmpty, table.areToldApart(group) {
                    proven.insert(table.unprovenNote(group))
                }
            }
        }
        if !given.isEmpty {
            schema = StoreSchema(model: schema.model, columnNames: given)
            counterparts = ModelCounterparts(of: schema, in: layout)
        }
        schema.notes.removeAll(where: proven.contains)
        schema.notes += notes
    }

    /// Returns the source's properties of a group of columns, if they are all that want one name there too.
    private func counterparts(of group: [Int], in table: EntityTable) -> [PropertyReference]? {
        let before = group.compactMap { counterparts.property(table.columns[$0].role) }
        guard before.count == group.count, let first = before.first else { return nil }
        let old = source.tables[source.tableByEntity[first.entity]]
        let isGroup = old.unprovenNumbers.contains { members in
            Set(members.compactMap { old.columns[$0].role.reference }) == Set(before)
        }
        return isGroup ? before : nil
    }
}
