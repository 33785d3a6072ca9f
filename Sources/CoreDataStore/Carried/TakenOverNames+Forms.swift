import ManagedModel

/// The forms of indexes and constraints that a source has, in place of those that Core Data gives a new store.
extension TakenOverNames {
    /// An index by its table and its place among the table's indexes.
    typealias IndexPlace = (table: Int, index: Int)

    // MARK: - Indexes over Z_ENT

    /// The destination's tables with an index over Z_ENT whose entities are those of one of the source's tables.
    var tablesOfSameEntities: [(table: Int, source: Int)] {
        schema.tables.indices.compactMap { table in
            guard schema.indexes[table].contains(where: { $0.purpose == .entity }) else { return nil }
            let known = schema.tables[table].entities.map { counterparts.entity(schema.model.entity(at: $0)) }
            guard let first = known[0] else { return nil }
            let root = source.tableIndex(of: first)
            guard Set(known.compactMap { $0?.index }) == Set(source.tables[root].entities),
                known.count == source.tables[root].entities.count
            else { return nil }
            return (table, root)
        }
    }

    mutating func leaveOutEntityIndex(of table: Int) {
        schema.indexes[table].removeAll { $0.purpose == .entity }
    }

    // MARK: - Indexes

    /// Takes over the blanks of an index with the same meaning: framework 973 has two of them before WHERE.
    mutating func takeText(_ sql: String, ofIndex name: String) {
        func words(_ text: String) -> [Substring] { text.split(separator: " ") }
        for table in schema.indexes.indices {
            for index in schema.indexes[table].indices where schema.indexes[table][index].name == name {
                let own = schema.indexes[table][index].statement(on: schema.tables[table])
                guard own != sql, !sql.contains("'"), words(own) == words(sql) else { return }
                schema.indexes[table][index].text = sql
            }
        }
    }

    /// Returns the statements that an older framework would make for the fetch indexes; empty for a framework that makes
    /// today's.
    func oldForms(ofFramework version: Int64?) -> Set<String> {
        let form = FrameworkForm(version: version ?? .max, schema: schema)
        guard !form.hasFetchIndexes else { return [] }
        return Set(
            zip(schema.tables, schema.indexes).flatMap { table, indexes in
                indexes.filter { if case .fetch = $0.purpose { true } else { false } }
                    .map { form.statement(of: $0, on: table) }
            })
    }

    // MARK: - Tables

    /// Returns the uniqueness constraints that a table's statement in the source has as clauses.
    func clauses(in sql: String, ofTable name: String) -> [(place: IndexPlace, clause: StoreIndex.Clause)] {
        guard let number = tables[name.uppercased()], schema.indexes[number].contains(where: \.isUnique),
            let old = oldTables[name], let same = counterparts.equalColumns(ofTable: number, old)
        else { return [] }
        let table = schema.tables[number]
        return schema.indexes[number].enumerated().compactMap { place, index in
            let columns = index.terms.filter { $0.column != StoreIndex.Term.key }.map { table.columns[$0.column] }
            guard index.isUnique, columns.allSatisfy({ same.contains($0.name.uppercased()) }) else { return nil }
            if sql.contains(", " + index.constraint(of: table)) { return ((number, place), .table) }
            guard columns.count == 1, let column = columns.first else { return nil }
            let clause = ", \(SQLName.quoted(column.name)) \(column.type) UNIQUE"
            guard sql.contains(clause + ",") || sql.contains(clause + " )") else { return nil }
            return ((number, place), .column)
        }
    }

    /// Remembers a table whose columns are the same and stand in another order in the source.
    mutating func compare(_ sql: String, ofTable name: String) {
        guard let number = tables[name.uppercased()], let old = oldTables[name] else { return }
        let own = schema.statement(ofTable: number, withClauses: true)
        guard own != sql, sql.utf8.count <= ForeignObjects.longest,
            let same = counterparts.equalColumns(ofTable: number, old),
            same.count == schema.tables[number].columns.count + 1,
            same.count == layout.tables[old].columns.count + 1,
            SQLTokens(sql)?.tokens != SQLTokens(own)?.tokens
        else { return }
        unlikeTables.append(schema.tables[number].name)
    }

    // MARK: - What is not taken over

    /// Notes what the source has in a form of its own that the destination does not have.
    ///
    /// - Parameter isCached: false if the source has no table for a cached model. A copy of such a store has one.
    mutating func noteForms(primaryKeys: [PrimaryKeyRow], framework: Int64?, isCached: Bool) {
        if let framework, !oldIndexes.isEmpty {
            schema.notes.append(
                "Indexes have the form and the name that Core Data gives them today, and those of framework \(framework) in the "
                    + "source: " + CarriedObjects.list(oldIndexes.sorted()))
        }
        if !unlikeTables.isEmpty {
            schema.notes.append(
                "Columns stand in the order of a new store, and in another in the source, which was altered in place: "
                    + CarriedObjects.list(unlikeTables.sorted()))
        }
        let names = Dictionary(primaryKeys.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
        let stale = source.model.entities.compactMap { entity -> String? in
            let own = entity.definition.name
            guard let name = names[layout.fileNumber(ofEntity: entity.index)], name != own else { return nil }
            return "\(name) for \(own)"
        }
        if !stale.isEmpty {
            schema.notes.append(
                "The source's Z_PRIMARYKEY has old names of entities, the destination those of its model: "
                    + CarriedObjects.list(stale.sorted()))
        }
        if let framework, !isCached, !FrameworkForm(version: framework, schema: schema).hasJoinIndexes {
            schema.notes.append(
                "The source, of framework \(framework), has no cached model and no indexes of join tables: the destination "
                    + "has them")
        }
    }
}
