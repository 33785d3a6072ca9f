import CoreDataStore
import Diagnostics
import ManagedModel

/// Checks the properties that a destination must have whatever the source holds: pages, schema, metadata, references,
/// uniqueness, keys, files of external values.
///
/// Whoever reads the rows in order notes where nothing can be wrong; SQLite says what is wrong elsewhere.
final class StructureVerification {
    let context: VerificationContext
    let model: ManagedObjectModel
    /// True once SQLite has checked the file.
    private var isChecked = false

    init(context: VerificationContext, model: ManagedObjectModel) {
        self.context = context
        self.model = model
    }

    private var schema: StoreSchema { context.plan.destination.schema }
    private var layout: StoreLayout { context.plan.destination }
    private var findings: VerificationFindings { context.findings }

    // MARK: - File

    /// Checks all pages, indexes and constraints, before the rows are read.
    func compareFile() throws {
        guard try !context.file.isSound() else { return }
        // SQLite reads as much of a damaged file as it can, and says what it cannot read.
        context.destination.readsPages = false
        try checkFile()
    }

    /// Checks that the indexes are those of the rows that have been read.
    func compareIndexes() throws {
        if !isChecked, !context.file.isComplete { try checkFile() }
    }

    /// Runs SQLite's own check.
    private func checkFile() throws {
        isChecked = true
        let check = try context.destination.query("PRAGMA integrity_check(100)")
        while try check.step() {
            guard let line = check.text(0), line != "ok" else { continue }
            findings.add(.integrity, property: "PRAGMA integrity_check", expected: "ok", found: line)
        }
    }

    /// Compares tables, indexes, triggers, metadata and model cache with those that the model predicts.
    func compareSchema() throws {
        let witness =
            context.isAppended
            ? nil
            : try StoreFidelity.Witness(
                for: StoreSchema(model: model), source: context.source, layout: context.plan.source)
        for note in witness?.notes ?? [] { findings.note(note) }
        let fidelity = try StoreFidelity(of: context.destination, model: model, witness: witness, countsRows: false)
        for difference in fidelity.differences {
            let kind: VerificationReport.Kind =
                switch difference.subject {
                case .table, .index, .trigger, .file: .schema
                case .metadata: .metadata
                case .modelCache: .modelCache
                case .primaryKey: difference.name.hasPrefix("Z_MAX") ? .maximumKey : .schema
                case .rows: .metadata
                }
            // An existing store may have been laid out by an older framework.
            if context.isAppended, kind == .schema || kind == .metadata {
                findings.note(
                    "\(difference.name): \(difference.found ?? "nothing"), a fresh store has \(difference.expected ?? "nothing")"
                )
                continue
            }
            // Older frameworks cached no model, and an append adds none.
            if context.isAppended, kind == .modelCache, difference.found == nil {
                findings.note("The store has no cached model, as it had none before the append")
                continue
            }
            // An object of the source is missing if the rows of the copy break it, or if the way through other versions lost
            // it.
            if kind == .schema, difference.found == nil, let sql = witness?.statements[difference.name],
                context.takesSteps || sql.uppercased().hasPrefix("CREATE UNIQUE")
            {
                findings.note("The source's \(difference.subject.rawValue) \(difference.name) is not there")
                continue
            }
            // A hash that cannot be computed is never invented.
            if kind == .metadata, difference.expected == "32 bytes", difference.found == nil {
                findings.note("\(difference.name) is not there: it cannot be computed")
                continue
            }
            findings.add(
                kind, property: "\(difference.subject.rawValue) \(difference.name)", expected: difference.expected,
                found: difference.found)
        }
    }

    /// Compares the UUID and the application's own metadata with the source's.
    func compareMetadata() throws {
        guard !context.isAppended else { return }
        let (old, new) = (context.source.metadata, context.destination.metadata)
        if !context.options.newUUID, old.uuid != new.uuid {
            findings.add(.metadata, property: "Z_UUID", expected: old.uuid, found: new.uuid)
        }
        let before = Dictionary(old.applicationValues.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        let after = Dictionary(new.applicationValues.map { ($0.key, $0.value) }, uniquingKeysWith: { $1 })
        for key in Set(before.keys).union(after.keys).sorted() where before[key] != after[key] {
            findings.add(
                .metadata, property: key, expected: before[key].map { String("\($0)".prefix(80)) },
                found: after[key].map { String("\($0)".prefix(80)) })
        }
        if let content = try context.destination.cachedModelContent() {
            do throws(MigrationError) {
                let cached = try ManagedObjectModel(try ModelCache.decode(content))
                for line in ModelDifference.describe(storeModel: cached, model: model) {
                    findings.add(
                        .modelCache, property: "Z_MODELCACHE", expected: "the destination's model", found: line)
                }
            } catch {
                guard error.category == .data else { throw error }
            }
        }
    }

    // MARK: - References

    private func numbers(below entity: EntityDescription) -> String {
        entity.withDescendants.filter { !$0.isAbstract }.map { String(layout.fileNumber(ofEntity: $0.index)) }
            .joined(separator: ", ")
    }

    /// Returns a condition for the rows that were added by the run.
    private func isOwn(_ table: Int, _ key: String) -> String {
        guard context.isAppended else { return "1" }
        return context.plan.obstacles[table] == nil ? "\(key) > \(context.plan.base[table])" : "0"
    }

    /// Checks references that were not found to be as expected, in rows and to objects that are exactly those expected.
    func compareReferences() throws {
        for entity in model.entities {
            for relationship in entity.relationships where relationship.entity == entity {
                try context.checkCancelled()
                guard !isKnown(relationship) else { continue }
                switch schema.storage(of: relationship) {
                case .toOne(let table, let column, let entityColumn, _):
                    try compareColumn(table, column, entityColumn, relationship, relationship.destination)
                    try compareInverse(relationship, table, column)
                case .toManyHidden(let table, let column, _):
                    try compareColumn(table, column, nil, relationship, relationship.entity, isAny: true)
                case .join(let table, let side):
                    let (near, far) = (layout.joinTables[table].sides[side], layout.joinTables[table].sides[1 - side])
                    try compareEnds(
                        "\(SQLName.quoted(layout.joinTables[table].name)) AS r NOT INDEXED",
                        key: "r.\(SQLName.quoted(near.column))",
                        number: "\(layout.fileNumber(ofEntity: relationship.entity.index))",
                        table: schema.tableIndex(of: relationship.entity), reference: "r.\(SQLName.quoted(far.column))",
                        relationship, relationship.destination)
                case .toManyByInverse, .none: break
                }
            }
        }
        try compareEntities()
    }

    private func isKnown(_ relationship: RelationshipDescription) -> Bool {
        guard let pair = context.plan.linkPairs.first(where: { $0.near == relationship || $0.far == relationship })
        else {
            return false
        }
        return context.equalPairs.contains(pair.index)
            && [relationship.entity, relationship.destination].allSatisfy {
                context.exactTables.contains(schema.tableIndex(of: $0))
            }
    }

    /// Checks that a column leads to objects of the right entities.
    ///
    /// - Parameter target: the entity of the objects.
    private func compareColumn(
        _ table: Int, _ column: Int, _ entityColumn: Int?, _ relationship: RelationshipDescription,
        _ target: EntityDescription, isAny: Bool = false
    ) throws {
        let rows = layout.tables[table]
        let reference = "r.\(SQLName.quoted(rows.columns[column]))"
        try compareEnds(
            "\(SQLName.quoted(rows.name)) AS r NOT INDEXED", key: "r.Z_PK", number: "r.Z_ENT", table: table,
            reference: reference, entity: entityColumn.map { "r.\(SQLName.quoted(rows.columns[$0]))" }, relationship,
            target, isAny: isAny, condition: "\(reference) IS NOT NULL")
    }

    /// Adds a difference for each row that leads to no object, or to one of a wrong entity.
    ///
    /// - Parameters:
    ///   - rows: the rows `r`; `key` and `number` are key and Z_ENT of the object that they belong to.
    ///   - table: the table of these objects.
    ///   - reference: the key of the other object; `entity` is its Z_ENT, if the row has it.
    ///   - isAny: true if any object of the other table will do.
    private func compareEnds(
        _ rows: String, key: String, number: String, table: Int, reference: String, entity: String? = nil,
        _ relationship: RelationshipDescription, _ target: EntityDescription, isAny: Bool = false,
        condition: String = "1"
    ) throws {
        let index = schema.tableIndex(of: target)
        let isSingle = isAny || schema.tables[index].entities.count == 1
        let kinds = isSingle ? "1" : "o.Z_ENT IN (\(numbers(below: target)))"
        let matches = isSingle ? "1" : entity.map { "o.Z_ENT IS \($0)" } ?? "1"
        let sql = """
            SELECT \(key), \(number), \(reference), o.Z_ENT, \(entity ?? "NULL") FROM \(rows)
            LEFT JOIN \(SQLName.quoted(layout.tables[index].name)) AS o ON o.Z_PK = \(reference)
            WHERE \(condition) AND \(isOwn(table, key)) AND (o.Z_PK IS NULL OR NOT (\(kinds)) OR NOT (\(matches)))
            """
        let name = target.definition.name
        try forEach(sql, ofTable: table) { statement, place in
            let key = statement.text(2) ?? "0"
            let found: String
            if statement.isNull(3) {
                found = "\(name)/p\(key), which does not exist"
            } else if statement.isNull(4) {
                found = "key \(key) of an object with Z_ENT \(statement.integer(3))"
            } else {
                found = "key \(key) with Z_ENT \(statement.integer(4)), the object has \(statement.integer(3))"
            }
            findings.add(
                .dangling, place.entity, place.id, property: relationship.name, expected: "an object of \(name)",
                found: found)
        }
    }

    /// Checks that both sides of a one-to-one refer to each other.
    private func compareInverse(_ relationship: RelationshipDescription, _ table: Int, _ column: Int) throws {
        guard let inverse = relationship.inverseRelationship, !inverse.isTransient, !inverse.isToMany,
            inverse.inverseRelationship == relationship, context.plan.keepsColumns(relationship) == false,
            case .toOne(let other, let back, _, _) = schema.storage(of: inverse)
        else { return }
        let (rows, target) = (layout.tables[table], layout.tables[other])
        let own = SQLName.quoted(rows.columns[column])
        let sql = """
            SELECT r.Z_PK, r.Z_ENT, r.\(own), o.\(SQLName.quoted(target.columns[back])) FROM \(SQLName.quoted(rows.name)) AS r NOT INDEXED
            JOIN \(SQLName.quoted(target.name)) AS o ON o.Z_PK = r.\(own)
            WHERE o.\(SQLName.quoted(target.columns[back])) IS NOT r.Z_PK AND \(isOwn(table, "r.Z_PK"))
            """
        try forEach(sql, ofTable: table) { statement, place in
            let name = relationship.destination.definition.name
            findings.add(
                .relationship, place.entity, place.id, property: relationship.name,
                expected: "\(inverse.name) of \(name)/p\(statement.integer(2)) is \(place.id)",
                found: statement.optionalInteger(3).map { "\(place.entity)/p\($0)" })
        }
    }

    /// Shows the rows of a query with the objects that they belong to: their keys and Z_ENT are the first columns.
    private func forEach(
        _ sql: String, ofTable table: Int, _ body: (Statement, (entity: String, id: String)) throws -> Void
    ) throws {
        let rows = try context.destination.query(sql)
        while try rows.step() {
            try body(rows, context.plan.objectID(table: table, number: rows.optionalInteger(1), key: rows.integer(0)))
        }
    }

    /// Finds rows whose Z_ENT belongs to no concrete entity of their table.
    private func compareEntities() throws {
        for (index, table) in schema.tables.enumerated() where !context.exactTables.contains(index) {
            let root = model.entity(at: table.root)
            let known = numbers(below: root)
            let statement = try context.destination.query(
                "SELECT Z_PK, Z_ENT FROM \(SQLName.quoted(layout.tables[index].name)) NOT INDEXED "
                    + "WHERE (Z_ENT IS NULL OR Z_ENT NOT IN (\(known.isEmpty ? "-1" : known)) OR Z_PK < 1) AND \(isOwn(index, "Z_PK"))"
            )
            while try statement.step() {
                let name = root.definition.name
                findings.add(
                    .entity, name, "\(name)/p\(statement.integer(0))", property: "Z_ENT",
                    expected: statement.integer(0) < 1 ? "a key of 1 or more" : "one of \(known)",
                    found: statement.text(1))
            }
        }
    }

    // MARK: - Uniqueness

    func compareUniqueness() throws {
        for index in schema.tables.indices {
            let table = layout.tables[index]
            for unique in schema.uniqueTerms(ofTable: index) {
                try context.checkCancelled()
                let names = unique.columns.map { table.columns[$0] }
                if unique.condition == nil, context.file.isUnique(table.name, names) { continue }
                let columns = names.map(SQLName.quoted)
                let present = columns.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
                let condition = unique.condition.map { " AND (\($0))" } ?? ""
                let list = columns.joined(separator: ", ")
                let statement = try context.destination.query(
                    """
                    SELECT min(Z_PK), max(Z_PK), count(*), \(list) FROM \(SQLName.quoted(table.name)) NOT INDEXED
                    WHERE \(present)\(condition) GROUP BY \(list) HAVING count(*) > 1
                    """)
                while try statement.step() {
                    let name = model.entity(at: unique.entity).definition.name
                    let values = columns.indices.map { VerifiedCell(statement, Int32($0 + 3)).shown ?? "" }
                    findings.add(
                        .unique, name, "\(name)/p\(statement.integer(1))",
                        property: unique.attributes.joined(separator: ", "), expected: "one object",
                        found:
                            "\(statement.integer(2)) objects with \(values.joined(separator: ", ")), the first is \(name)/p\(statement.integer(0))"
                    )
                }
            }
        }
    }

    // MARK: - Keys

    /// Compares the highest key (Z_MAX) of every root entity.
    func compareKeys(isRecomputed: Bool) throws {
        for (index, table) in schema.tables.enumerated() {
            let name = model.entity(at: table.root).definition.name
            let number = layout.fileNumber(ofEntity: table.root)
            let found = context.destination.primaryKeys.first { $0.number == number }?.maximum
            let greatest = try context.destination.greatestKey(table: index, in: layout) ?? 0
            let isKnown = isRecomputed && context.plan.obstacles[index] == nil && !context.isAppended
            if let expected = context.rerun?.maximumKey(number)
                ?? (isKnown && !context.hasPolicies && !context.mayReject ? context.plan.highest[index] : nil)
            {
                guard found != expected else { continue }
                findings.add(
                    .maximumKey, name, property: "Z_MAX", expected: String(expected), found: found.map(String.init))
            } else if found ?? 0 < greatest {
                findings.add(
                    .maximumKey, name, property: "Z_MAX", expected: "\(greatest) or more", found: found.map(String.init)
                )
            }
        }
    }

    // MARK: - Derived attributes and files

    /// Compares derived attributes that follow from the destination's rows.
    func compareDerived() throws {
        try context.destination.addTextFunctions()
        let queries = schema.derivedDifferences(context.plan.derived, numbers: layout.fileNumber(ofEntity:))
        let known = Set(queries.map(\.attribute))
        for entity in model.entities {
            for attribute in entity.attributes where attribute.declaringEntityIndex == entity.index {
                guard let text = attribute.definition.derivationExpression, schema.column(of: attribute) != nil,
                    !known.contains(attribute.reference)
                else { continue }
                findings.skip("\(entity.definition.name).\(attribute.name)", "it is derived: \(text)")
            }
        }
        for (reference, sql) in queries {
            let index = schema.tableByEntity[reference.entity]
            try forEach("\(sql) AND \(isOwn(index, "t.Z_PK"))", ofTable: index) { statement, place in
                findings.add(
                    .value, place.entity, place.id, property: reference.name, expected: statement.text(3),
                    found: statement.text(2))
            }
        }
    }

    /// Checks the files that rows refer to, in tables whose values are not computed again.
    func compareExternal() throws {
        for (index, columns) in schema.externalColumns.enumerated() where !columns.isEmpty {
            guard context.plan.obstacles[index] != nil || context.plan.modelCount == 0 else { continue }
            let table = layout.tables[index]
            for column in columns {
                let name = SQLName.quoted(table.columns[column.column])
                let sql =
                    "SELECT Z_PK, Z_ENT, \(name) FROM \(SQLName.quoted(table.name)) NOT INDEXED "
                    + "WHERE substr(\(name), 1, 1) = x'02' AND \(isOwn(index, "Z_PK"))"
                try forEach(sql, ofTable: index) { statement, place in
                    guard let problem = try context.external.problem(VerifiedCell(statement, 2)) else { return }
                    findings.add(
                        .external, place.entity, place.id, property: column.attribute, expected: "a file",
                        found: problem)
                }
            }
        }
    }
}
