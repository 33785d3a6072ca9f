import Diagnostics
import ManagedModel
import PersistentStore
import SpillStorage

/// Which objects are left out, from those that break rules of their own: a fixpoint over keys.
///
/// (a) What breaks a rule of its row or of its relationships' counts is rejected already. (b) References to rejects are
/// removed: an object whose required relationship or least count they break is rejected as well, round after round,
/// each over all objects at once, until nothing changes. (c) Among the survivors the lowest key of equal values of a
/// uniqueness constraint stays, constraint after constraint in the model's order. (d) is (b) again. A rejected object
/// is never taken back.
///
/// Works on the private store that the optimistic load filled, its relationships' indexes included: a round joins the
/// keys that the round before added, in ascending order, with the columns that refer to them. Memory: two page caches;
/// sorts go to the work directory. Complexity: O(links of rejected objects) probes in all.
struct RejectFixpoint {
    let session: MigrationSession
    let ledger: RejectLedger
    /// The lowest key of the run's own rows by table; earlier ones stood in the destination and stay.
    let firstKeys: [Int64]

    private var schema: StoreSchema { session.destinationSchema }

    /// Statements that reject objects for what happened to a table's objects in the round before.
    private struct Step {
        /// Table of the objects that a relationship refers to.
        let target: Int
        let statement: Statement
    }

    /// Adds to the ledger what the rejects in it make invalid.
    ///
    /// - Parameter store: path of the filled store, closed.
    /// - Returns: rounds in which objects were rejected for others' sake.
    /// - Throws: `store.full`, `store.io` (74).
    func run(onStoreAt store: String) throws -> Int {
        try ledger.attach(store, cacheBytes: session.budget.destinationCache / 2)
        var round = 0
        do {
            let steps = try steps()
            try spread(from: &round, by: steps)
            let before = round
            if ledger.hasDuplicates, try rejectDuplicates(in: round + 1) > 0 {
                round = before + 1
                try spread(from: &round, by: steps)
            }
        }
        try ledger.detach()
        return round
    }

    /// Rounds of (b), from the objects of a round on.
    private func spread(from round: inout Int, by steps: [Step]) throws {
        let changed = try ledger.connection.prepare("SELECT DISTINCT t FROM rejected WHERE round = ?")
        while true {
            try session.checkCancelled()
            changed.bind(Int64(round), at: 1)
            var tables: Set<Int> = []
            while try changed.step() { tables.insert(Int(changed.integer(0))) }
            changed.reset()
            var added = 0
            for step in steps where tables.contains(step.target) {
                step.statement.bind(Int64(round), at: 1)
                step.statement.bind(Int64(round + 1), at: 2)
                added += try ledger.reject(by: step.statement)
            }
            guard added > 0 else { return }
            round += 1
        }
    }

    // MARK: - References

    private func steps() throws(MigrationError) -> [Step] {
        var toOne: [Step] = []
        var toMany: [Step] = []
        for entity in schema.model.entities where !entity.isAbstract {
            for relationship in entity.relationships where !relationship.isTransient {
                if relationship.isToMany {
                    if let step = try countStep(relationship, of: entity) { toMany.append(step) }
                } else if !relationship.isOptional, let step = try requiredStep(relationship, of: entity) {
                    toOne.append(step)
                }
            }
        }
        return toOne + toMany
    }

    /// Rejects objects whose required to-one refers to an object that the round before rejected.
    private func requiredStep(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) throws(MigrationError) -> Step? {
        guard case .toOne(let table, let column, _, _) = schema.storage(of: relationship) else { return nil }
        let target = schema.tableIndex(of: relationship.destination)
        // A plus keeps SQLite from the index on Z_ENT: it would read all objects of the entity for each rejected one.
        let statement = try ledger.connection.prepare(
            """
            INSERT OR IGNORE INTO rejected
            SELECT \(table), o.Z_PK, \(entity.index), ?2, \(literal(relationship.name)),
                '\(ValidationRule.reference.rawValue)',
                (SELECT name FROM entity WHERE n = f.entity) || '/p' || f.k
            FROM rejected AS f INDEXED BY rejected_by_round
            CROSS JOIN store.\(name(table)) AS o ON o.\(name(table, column)) = f.k
            WHERE f.round = ?1 AND f.t = \(target) AND +o.Z_ENT = \(schema.number(of: entity))
                AND +o.Z_PK >= \(firstKeys[table])
            """)
        return Step(target: target, statement: statement)
    }

    /// Rejects objects whose to-many lost members in the round before and has too few now.
    private func countStep(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) throws(MigrationError) -> Step? {
        let bounds = CountBounds(relationship)
        guard bounds.least > 0 || bounds.leastWhenAny > 1 else { return nil }
        let owners = schema.tableIndex(of: entity)
        let target: Int
        /// Tables of links, their owner's column, their member's column.
        let (links, owner, member): (String, String, String)
        switch schema.storage(of: relationship) {
        case .toManyByInverse(let table, let column, _, _), .toManyHidden(let table, let column, _):
            target = table
            (links, owner, member) = (name(table), name(table, column), "Z_PK")
        case .join(let table, let side):
            target = schema.tableIndex(of: relationship.destination)
            let join = schema.joinTables[table]
            links = SQLName.quoted(join.name)
            owner = SQLName.quoted(join.sides[side].column)
            member = SQLName.quoted(join.sides[1 - side].column)
        case .toOne, .none: return nil
        }
        let enough = max(bounds.least, bounds.leastWhenAny)
        let statement = try ledger.connection.prepare(
            """
            INSERT OR IGNORE INTO rejected
            SELECT \(owners), k, \(entity.index), ?2, \(literal(relationship.name)),
                CASE n WHEN 0 THEN '\(ValidationRule.reference.rawValue)'
                    ELSE '\(ValidationRule.minimumCount.rawValue)' END,
                CASE n WHEN 0 THEN NULL ELSE CAST(n AS TEXT) END
            FROM (
                SELECT o.Z_PK AS k, (
                    SELECT count(*) FROM (
                        SELECT 1 FROM store.\(links) AS s WHERE s.\(owner) = o.Z_PK AND NOT EXISTS (
                            SELECT 1 FROM rejected AS x
                            WHERE x.t = \(target) AND x.k = s.\(member) AND x.round <= ?1)
                        LIMIT \(enough))) AS n
                FROM (
                    SELECT DISTINCT m.\(owner) AS k
                    FROM rejected AS f INDEXED BY rejected_by_round
                    CROSS JOIN store.\(links) AS m ON m.\(member) = f.k
                    WHERE f.round = ?1 AND f.t = \(target)) AS a
                CROSS JOIN store.\(name(owners)) AS o ON o.Z_PK = a.k
                WHERE +o.Z_ENT = \(schema.number(of: entity)) AND +o.Z_PK >= \(firstKeys[owners]))
            WHERE (n = 0 AND \(bounds.least) > 0) OR (n > 0 AND n < \(bounds.leastWhenAny))
            """)
        return Step(target: target, statement: statement)
    }

    // MARK: - Uniqueness

    /// Rejects all but the lowest key among survivors with equal values of a uniqueness constraint.
    private func rejectDuplicates(in round: Int) throws(MigrationError) -> Int {
        var added = 0
        for constraint in UniquenessConstraint.all(of: schema) {
            let table = constraint.table
            let statement = try ledger.connection.prepare(
                """
                INSERT OR IGNORE INTO rejected
                SELECT \(table), o.Z_PK, (SELECT n FROM entity WHERE number = o.Z_ENT), ?1,
                    \(literal(constraint.attributes.joined(separator: ", "))), '\(ValidationRule.unique.rawValue)',
                    \(constraint.shownValue(of: "o"))
                FROM (
                    \(constraint.ranked)
                    AND NOT EXISTS (SELECT 1 FROM rejected AS x WHERE x.t = \(table) AND x.k = u.Z_PK)) AS d
                CROSS JOIN store.\(constraint.tableName) AS o ON o.Z_PK = d.k
                WHERE d.n > 1 AND d.k >= \(firstKeys[table])
                """)
            statement.bind(Int64(round), at: 1)
            added += try ledger.reject(by: statement)
        }
        return added
    }

    /// Counts all but the lowest key of equal values, whatever else is wrong with the objects.
    func countDuplicates(inStoreAt store: String, into tally: ViolationTally) throws {
        guard ledger.hasDuplicates else { return }
        try ledger.attach(store, cacheBytes: session.budget.destinationCache / 2)
        for constraint in UniquenessConstraint.all(of: schema) {
            let select = try ledger.connection.prepare(
                """
                SELECT o.Z_PK, (SELECT n FROM entity WHERE number = o.Z_ENT), \(constraint.shownValue(of: "o"))
                FROM (\(constraint.ranked)) AS d
                CROSS JOIN store.\(constraint.tableName) AS o ON o.Z_PK = d.k
                WHERE d.n > 1 AND d.k >= \(firstKeys[constraint.table])
                """)
            while try select.step() {
                try session.checkCancelled()
                let entity = schema.model.entity(at: Int(select.integer(1)))
                tally.count(
                    BrokenRule(
                        table: constraint.table, key: select.integer(0), entity: entity.index,
                        entityName: entity.definition.name,
                        property: constraint.attributes.joined(separator: ", "), rule: .unique, value: select.text(2),
                        bound: nil, isRelationship: false),
                    isWarning: false)
            }
        }
        try ledger.detach()
    }

    // MARK: - SQL

    private func name(_ table: Int) -> String { SQLName.quoted(schema.tables[table].name) }
    private func name(_ table: Int, _ column: Int) -> String {
        SQLName.quoted(schema.tables[table].columns[column].name)
    }
    private func literal(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }
}

/// A uniqueness constraint as its index has it.
struct UniquenessConstraint {
    let table: Int
    let tableName: String
    /// Index of the entity that declares it.
    let entity: Int
    let attributes: [String]
    /// Quoted.
    let columns: [String]

    /// All constraints of a schema: by entity, then as declared.
    static func all(of schema: StoreSchema) -> [UniquenessConstraint] {
        var found: [UniquenessConstraint] = []
        for (table, indexes) in schema.indexes.enumerated() {
            for index in indexes {
                guard case .unique(let entity, let attributes) = index.purpose else { continue }
                found.append(
                    UniquenessConstraint(
                        table: table, tableName: SQLName.quoted(schema.tables[table].name), entity: entity,
                        attributes: attributes,
                        columns: index.terms.map { SQLName.quoted(schema.tables[table].columns[$0.column].name) }))
            }
        }
        func declared(_ constraint: UniquenessConstraint) -> Int {
            let constraints = schema.model.entity(at: constraint.entity).definition.uniquenessConstraints
            return constraints.firstIndex(of: constraint.attributes) ?? constraints.count
        }
        return found.sorted { ($0.entity, declared($0)) < ($1.entity, declared($1)) }
    }

    /// SQL for the keys of rows that have all values, each with its place among those with the same values.
    var ranked: String {
        "SELECT u.Z_PK AS k, row_number() OVER (PARTITION BY \(columns.map { "u." + $0 }.joined(separator: ", ")) "
            + "ORDER BY u.Z_PK) AS n FROM store.\(tableName) AS u WHERE "
            + columns.map { "u.\($0) IS NOT NULL" }.joined(separator: " AND ")
    }

    /// SQL for the values, long ones cut.
    func shownValue(of alias: String) -> String {
        columns.map { column in
            let value = "\(alias).\(column)"
            return "CASE typeof(\(value)) WHEN 'text' THEN substr(\(value), 1, 60) "
                + "WHEN 'blob' THEN lower(hex(substr(\(value), 1, 16))) ELSE CAST(\(value) AS TEXT) END"
        }.joined(separator: " || ', ' || ")
    }
}
