import Diagnostics
import ManagedModel

extension SourceStore {
    /// Returns a destination's schema with this store's names for the parts that both have. Core Data looks for a table under
    /// the name that it once gave it, and a name in a file is better evidence than a rule over models.
    ///
    /// - A join table between two relationships of one entity keeps the side that names it, because no rule determines the
    ///   side.
    /// - A join table keeps the digits in its columns' names if the rule gives both versions the same name.
    /// - A table of the same entities has an index over Z_ENT if this store's table has one.
    /// - An index with the same meaning has the same text.
    ///
    /// Entities and relationships are the same if their renaming identifiers are. Numbers in names are the destination's.
    ///
    /// - Parameters:
    ///   - schema: the destination's schema, by rule alone.
    ///   - layout: the layout of this store.
    /// - Returns: the schema, with a sentence in ``StoreSchema/notes`` for each name that differs from the rule's, and for each
    ///   that neither a rule nor a file determines.
    /// - Complexity: O(relationships), a lookup in the file's schema for each table with subentities.
    package func namesTakenOver(
        by schema: StoreSchema, from layout: StoreLayout
    ) throws(MigrationError) -> StoreSchema {
        var names = TakenOverNames(schema: schema, layout: layout)
        names.takeJoinTables()
        names.noteTables()
        // A table that the file lacks is no evidence.
        let missing = Set(layout.damages.filter { $0.part == .table }.map(\.table))
        for (table, root) in names.tablesOfSameEntities where !missing.contains(layout.tables[root].name) {
            let index = "\(layout.tables[root].name)_Z_ENT_INDEX"
            let found = try connection.integer(
                "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = \(SQLName.literal(index))")
            if found == nil { names.leaveOutEntityIndex(of: table) }
        }
        let texts = try connection.prepare(
            "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        while try texts.step() {
            guard let name = texts.text(0), let sql = texts.text(1) else { continue }
            names.takeText(sql, ofIndex: name)
        }
        return names.schema
    }
}

/// The names of a destination's schema while a source's are adopted.
private struct TakenOverNames {
    private(set) var schema: StoreSchema
    let layout: StoreLayout
    private let counterparts: ModelCounterparts

    init(schema: StoreSchema, layout: StoreLayout) {
        self.schema = schema
        self.layout = layout
        counterparts = ModelCounterparts(of: schema, in: layout)
    }

    private var source: StoreSchema { layout.schema }

    // MARK: - Join tables

    mutating func takeJoinTables() {
        var taken = Set(schema.tables.map { $0.name.uppercased() } + schema.joinTables.map { $0.name.uppercased() })
        for index in schema.joinTables.indices {
            let join = schema.joinTables[index]
            guard let found = standing(join) else {
                if join.isOnOneEntity, join.alternativeName != nil {
                    schema.notes.append(
                        "The join table \(join.name) is named by a rule without evidence: Core Data may look for "
                            + "\(join.alternativeName ?? "")")
                }
                continue
            }
            taken.remove(join.name.uppercased())
            guard taken.insert(found.name.uppercased()).inserted else {
                taken.insert(join.name.uppercased())
                continue
            }
            if found.name != join.name {
                schema.notes.append(
                    "The join table \(found.name) is named as in the source; a rule would say \(join.name)")
            }
            if found.sides[0].relationship != join.sides[0].relationship { swapOwners(ofJoinTable: index) }
            schema.joinTables[index] = found
            schema.sourceNames.insert(found.name)
        }
    }

    /// Returns the table with the source's name for the same pair; nil if the source has none or its name is unclear.
    private func standing(_ join: JoinTable) -> JoinTable? {
        guard let near = counterparts.relationship(join.sides[0].relationship),
            let far = counterparts.relationship(join.sides[1].relationship),
            near.inverseRelationship == far, near != far, case .join(let table, let owner) = source.storage(of: near)
        else { return nil }
        let file = layout.joinTables[table]
        // Between two entities the rule is certain, but gives another name if an entity was renamed.
        let isSwapped: Bool
        if !join.isOnOneEntity || isNamed(file, by: near) {
            isSwapped = false
        } else if isNamed(file, by: far) {
            isSwapped = true
        } else {
            return nil
        }
        // In the order of the destination's sides: the file's columns, and those that the rule gives the source.
        let columns = [file.sides[owner].column, file.sides[1 - owner].column]
        let byRule = [source.joinTables[table].sides[owner].column, source.joinTables[table].sides[1 - owner].column]
        let members = [far.name, near.name]
        var sides = zip(join.sides, join.sides.reversed()).enumerated().map { position, pair in
            let (side, other) = pair
            let number = schema.entityNumbers[side.relationship.entity]
            var named = side
            // Digits depend on the other tables that took the name first. If these changed, the file's digits mean nothing.
            let own = digits(of: side.column, after: other.relationship.name)
            let isSame = digits(of: byRule[position], after: members[position]) == own
            named.column =
                "Z_\(number)" + other.relationship.name.uppercased()
                + (isSame ? digits(of: columns[position], after: members[position]) : own)
            named.orderColumn = side.orderColumn.map { _ in "Z_FOK_" + named.column.dropFirst(2) }
            return named
        }
        guard sides[0].column.uppercased() != sides[1].column.uppercased() else { return nil }
        if isSwapped { sides.reverse() }
        var found = join
        found.sides = sides
        if isSwapped {
            found.name =
                "Z_\(schema.entityNumbers[sides[0].relationship.entity])" + sides[0].relationship.name.uppercased()
            found.alternativeName = join.name
        }
        return found
    }

    /// Tells whether the file's table has the name that a relationship gives it.
    private func isNamed(_ file: SourceJoinTable, by relationship: RelationshipDescription) -> Bool {
        file.name.uppercased()
            == "Z_\(layout.fileNumber(ofEntity: relationship.entity.index))" + relationship.name.uppercased()
    }

    /// Returns the digits that make a column's name unique, after the relationship's name.
    private func digits(of column: String, after name: String) -> String {
        let upper = column.uppercased()
        guard let range = upper.range(of: name.uppercased(), options: .backwards) else { return "" }
        let rest = upper[range.upperBound...]
        return rest.utf8.allSatisfy { (0x30...0x39).contains($0) } ? String(rest) : ""
    }

    private mutating func swapOwners(ofJoinTable index: Int) {
        for (reference, storage) in schema.relationshipStorage {
            guard case .join(index, let side) = storage else { continue }
            schema.relationshipStorage[reference] = .join(table: index, ownerSide: 1 - side)
        }
    }

    /// Notes the entity tables that have the same name in the source.
    mutating func noteTables() {
        for table in schema.tables {
            guard let root = counterparts.entity(schema.model.entity(at: table.root)),
                layout.tables[source.tableIndex(of: root)].name == table.name
            else { continue }
            schema.sourceNames.insert(table.name)
        }
    }

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

    // MARK: - Texts

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
}
