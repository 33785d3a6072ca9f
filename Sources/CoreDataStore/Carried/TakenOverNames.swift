import Diagnostics
import ManagedModel

extension SourceStore {
    /// Returns a destination's schema with this store's names for the parts that both have. Core Data looks for a table under
    /// the name that it once gave it, and a name in a file is better evidence than a rule over models.
    ///
    /// - Columns that want one name keep their numbers, if no known store shows how these are given.
    /// - A join table between two relationships of one entity keeps the side that names it, because no rule determines the
    ///   side.
    /// - A join table keeps the digits in its columns' names if the rule gives both versions the same name.
    /// - A table of the same entities has an index over Z_ENT if this store's table has one.
    /// - An index with the same name and meaning has the same text.
    /// - A uniqueness constraint in a table's statement stays there.
    ///
    /// Entities and relationships are the same if their renaming identifiers are. Numbers in names are the destination's.
    ///
    /// - Parameters:
    ///   - schema: the destination's schema, by rule alone.
    ///   - layout: the layout of this store.
    /// - Returns: the schema, with a sentence in ``StoreSchema/notes`` for each name that differs from the rule's, for each
    ///   that neither a rule nor a file determines, and for what this store has in a form of its own that is not kept.
    /// - Complexity: O(relationships + objects of the file's schema).
    package func namesTakenOver(
        by schema: StoreSchema, from layout: StoreLayout
    ) throws(MigrationError) -> StoreSchema {
        var names = TakenOverNames(schema: schema, layout: layout)
        names.takeNumbers()
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
        let forms = names.oldForms(ofFramework: metadata.frameworkVersion)
        let texts = try connection.prepare(
            "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'table') AND sql IS NOT NULL")
        while try texts.step() {
            guard let name = texts.text(1), let sql = texts.text(2) else { continue }
            if texts.text(0) == "table" {
                try takeClauses(sql, ofTable: name, into: &names)
            } else {
                names.takeText(sql, ofIndex: name)
                if forms.contains(sql) { names.oldIndexes.append(name) }
            }
        }
        names.noteForms(
            primaryKeys: primaryKeys, framework: metadata.frameworkVersion,
            isCached: try connection.hasTable("Z_MODELCACHE"))
        return names.schema
    }

    /// Adopts the uniqueness constraints in a table's statement, unless the store has an index for them as well.
    private func takeClauses(
        _ sql: String, ofTable table: String, into names: inout TakenOverNames
    ) throws(MigrationError) {
        for (place, clause) in names.clauses(in: sql, ofTable: table) {
            let name = SQLName.literal(names.schema.indexes[place.table][place.index].name)
            guard
                try connection.integer("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = \(name)") == nil
            else { continue }
            names.schema.indexes[place.table][place.index].clause = clause
        }
        names.compare(sql, ofTable: table)
    }
}

/// The names of a destination's schema while a source's are adopted.
struct TakenOverNames {
    var schema: StoreSchema
    let layout: StoreLayout
    var counterparts: ModelCounterparts
    /// The destination's tables by name in upper case, and the source's by name.
    let tables: [String: Int]
    let oldTables: [String: Int]
    /// The tables that the source has with the same columns in another order.
    var unlikeTables: [String] = []
    /// The indexes that the source has in the form of a framework before 800.
    var oldIndexes: [String] = []

    init(schema: StoreSchema, layout: StoreLayout) {
        self.schema = schema
        self.layout = layout
        counterparts = ModelCounterparts(of: schema, in: layout)
        tables = Dictionary(
            schema.tables.enumerated().map { ($1.name.uppercased(), $0) }, uniquingKeysWith: { first, _ in first })
        oldTables = Dictionary(
            layout.tables.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    var source: StoreSchema { layout.schema }

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
}
