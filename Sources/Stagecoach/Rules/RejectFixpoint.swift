import CoreDataStore
import Diagnostics
import ManagedModel

/// Finds the objects that the next load leaves out, starting from those that broke rules in the last one: a fixpoint.
///
/// (a) Objects that break a rule of their row or of their relationships' counts are rejected already. (b) An object that
/// needs a rejected one is rejected as well, round after round, each over all objects at once, until nothing changes. (c) If
/// the next load can bring no others of these, among the survivors with equal values of a uniqueness constraint the one with
/// the lowest key stays, constraint after constraint in the model's order. (d) is (b) again. A rejected object is never taken
/// back.
///
/// Without ``mayMoveLinks`` one load knows all rounds. With it a round needs a load without the objects of the rounds before,
/// because links that those had now lead to others: one round is computed for each load. In that round an object that may get
/// another in place of the rejected one (``LinkPlanner/isContested(_:)``) is a suspect, and the load decides on it.
///
/// Works on the private store that the load filled, including the indexes of its relationships: a round joins the keys
/// that the previous round added, in ascending order, with the columns that refer to them. Memory: two page caches; sorts
/// go to the work directory. Complexity: O(links of rejected objects) probes in all.
struct RejectFixpoint {
    let run: MigrationRun
    let mappings: [PlannedMapping]
    let ledger: RejectLedger
    /// The lowest key of the run's own rows by table. Rows with lower keys existed before, and stay.
    let firstKeys: [Int64]

    private var schema: StoreSchema { run.inputs.destinationSchema }

    private var planner: LinkPlanner {
        LinkPlanner(mappings: mappings, source: run.inputs.layout.schema, destination: schema)
    }

    /// True if an object may become invalid because links move to others when objects are left out.
    private var mayMoveLinks: Bool {
        let planner = planner
        return planner.declaredRelationships().contains {
            ($0.isToMany ? !CountBounds($0).isEmpty : !$0.isOptional) && planner.isContested($0)
        }
    }

    /// The result of a computation after a load.
    struct Outcome {
        /// The last round whose objects the next load leaves out.
        let base: Int
        /// True if there are suspects, on which the next load decides.
        let hasSuspects: Bool
        /// True if the next load may find more objects to reject.
        let mayGrow: Bool
    }

    /// The statements for one relationship that objects need.
    private struct Step {
        /// The table of the objects that the relationship refers to.
        let target: Int
        /// Rejects or suspects objects because members were rejected in the previous round.
        let lose: Statement
        /// Rejects the suspects that got no other member; nil if `lose` rejects.
        let confirm: Statement?
    }

    /// Adds the objects that become invalid through the rejects in the ledger.
    ///
    /// - Parameter store: path of the filled store, closed.
    /// - Throws: `store.full`, `store.io` (74).
    func run(onStoreAt store: String) throws -> Outcome {
        try ledger.attach(store, cacheBytes: run.inputs.budget.destinationCache / 2)
        let mayMoveLinks = mayMoveLinks
        var base = ledger.base + 1
        // The statements end with this scope: a database that one reads cannot be detached.
        do {
            let steps = try steps()
            for confirm in steps.compactMap(\.confirm) where ledger.base >= 0 {
                confirm.bind(Int64(base))
                _ = try ledger.reject(by: confirm)
            }
            let mayRepeat = ledger.hasDuplicates
            base = try spread(from: base, by: steps, once: mayMoveLinks)
            if mayRepeat, try !ledger.hasSuspects(), !ledger.hasAdded || !mayMoveLinks {
                ledger.hasDuplicates = false
                if try rejectDuplicates(in: base + 1) > 0 {
                    base = try spread(from: base + 1, by: steps, once: mayMoveLinks)
                }
            }
        }
        try ledger.detach()
        return Outcome(base: base, hasSuspects: try ledger.hasSuspects(), mayGrow: mayMoveLinks)
    }

    /// Runs the rounds of (b), starting with the objects of a given round.
    ///
    /// - Parameter once: true to find the objects of the next round only.
    /// - Returns: the last round all of whose objects are known.
    private func spread(from first: Int, by steps: [Step], once: Bool) throws -> Int {
        let changed = try ledger.connection.prepare("SELECT DISTINCT t FROM rejected WHERE round = ?")
        var round = first
        while true {
            try run.services.checkCancelled()
            changed.bind(Int64(round))
            var tables: Set<Int> = []
            while try changed.step() { tables.insert(Int(changed.integer(0))) }
            changed.reset()
            var added = 0
            for step in steps where tables.contains(step.target) {
                step.lose.bind(Int64(round), Int64(round + 1))
                if step.confirm == nil { added += try ledger.reject(by: step.lose) } else { try step.lose.run() }
            }
            guard added > 0, !once else { return round }
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

    /// Returns the step for objects whose required to-one refers to an object rejected in the previous round.
    private func requiredStep(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) throws(MigrationError) -> Step? {
        guard case .toOne(let table, let column, _, _) = schema.storage(of: relationship) else { return nil }
        let target = schema.tableIndex(of: relationship.destination)
        let isContested = planner.isContested(relationship)
        // The plus keeps SQLite from using the index on Z_ENT, which would read all of its objects each time.
        let lose = try ledger.connection.prepare(
            """
            INSERT OR IGNORE INTO \(isContested ? "suspect" : "rejected")
            SELECT \(table), o.Z_PK, \(entity.index), ?2, \(SQLName.literal(relationship.name)),
                '\(ValidationRule.reference.rawValue)',
                (SELECT name FROM entity WHERE n = f.entity) || '/p' || f.k
            FROM rejected AS f INDEXED BY rejected_by_round
            CROSS JOIN store.\(name(table)) AS o ON o.\(name(table, column)) = f.k
            WHERE f.round = ?1 AND f.t = \(target) AND +o.Z_ENT = \(schema.number(of: entity))
                AND +o.Z_PK >= \(firstKeys[table])
            """)
        guard isContested else { return Step(target: target, lose: lose, confirm: nil) }
        let confirm = try ledger.connection.prepare(
            """
            INSERT OR IGNORE INTO rejected SELECT s.t, s.k, s.entity, ?1, s.property, s.rule, s.value
            FROM suspect AS s CROSS JOIN store.\(name(table)) AS o ON o.Z_PK = s.k
            WHERE \(isSuspect(relationship, of: entity)) AND o.\(name(table, column)) IS NULL ORDER BY s.round DESC
            """)
        return Step(target: target, lose: lose, confirm: confirm)
    }

    private func isSuspect(_ relationship: RelationshipDescription, of entity: EntityDescription) -> String {
        "s.t = \(schema.tableIndex(of: entity)) AND s.entity = \(entity.index) AND s.property = "
            + SQLName.literal(relationship.name)
    }

    /// Returns the step for objects whose to-many lost members in the previous round and may have too few now.
    private func countStep(
        _ relationship: RelationshipDescription, of entity: EntityDescription
    ) throws(MigrationError) -> Step? {
        let bounds = CountBounds(relationship)
        guard bounds.least > 0 || bounds.leastWhenAny > 1, let members = MemberTable(relationship, in: schema) else {
            return nil
        }
        let (links, owner, member) = (members.links, members.owner, members.member ?? "Z_PK")
        let (owners, target) = (schema.tableIndex(of: entity), schema.tableIndex(of: relationship.destination))
        let reason = """
            \(SQLName.literal(relationship.name)), CASE n WHEN 0 THEN '\(ValidationRule.reference.rawValue)'
                ELSE '\(ValidationRule.minimumCount.rawValue)' END,
            CASE n WHEN 0 THEN NULL ELSE CAST(n AS TEXT) END
            """
        let tooFew = "(n = 0 AND \(bounds.least) > 0) OR (n > 0 AND n < \(bounds.leastWhenAny))"
        let losers = """
            (SELECT DISTINCT m.\(owner) AS k FROM rejected AS f INDEXED BY rejected_by_round
                CROSS JOIN store.\(links) AS m ON m.\(member) = f.k
                WHERE f.round = ?1 AND f.t = \(target)) AS a
            CROSS JOIN store.\(name(owners)) AS o ON o.Z_PK = a.k
            WHERE +o.Z_ENT = \(schema.number(of: entity)) AND +o.Z_PK >= \(firstKeys[owners])
            """
        /// - Parameter condition: admits a link `s` of the owner `o`.
        func count(where condition: String) -> String {
            """
            (SELECT count(*) FROM (
                SELECT 1 FROM store.\(links) AS s WHERE s.\(owner) = o.Z_PK AND \(condition)
                LIMIT \(max(bounds.least, bounds.leastWhenAny))))
            """
        }
        guard planner.isContested(relationship) else {
            let isRejected = "x.t = \(target) AND x.k = s.\(member) AND x.round <= ?1"
            let stays = "NOT EXISTS (SELECT 1 FROM rejected AS x WHERE \(isRejected))"
            let lose = try ledger.connection.prepare(
                """
                INSERT OR IGNORE INTO rejected SELECT \(owners), k, \(entity.index), ?2, \(reason)
                FROM (SELECT o.Z_PK AS k, \(count(where: stays)) AS n FROM \(losers)) WHERE \(tooFew)
                """)
            return Step(target: target, lose: lose, confirm: nil)
        }
        let lose = try ledger.connection.prepare(
            """
            INSERT OR IGNORE INTO suspect SELECT \(owners), o.Z_PK, \(entity.index), ?2, \(SQLName.literal(relationship.name)),
                '\(ValidationRule.reference.rawValue)', NULL FROM \(losers)
            """)
        let confirm = try ledger.connection.prepare(
            """
            INSERT OR IGNORE INTO rejected SELECT \(owners), k, \(entity.index), ?1, \(reason)
            FROM (SELECT o.Z_PK AS k, \(count(where: "1")) AS n
                FROM (SELECT DISTINCT s.k AS k FROM suspect AS s WHERE \(isSuspect(relationship, of: entity))) AS a
                CROSS JOIN store.\(name(owners)) AS o ON o.Z_PK = a.k)
            WHERE \(tooFew)
            """)
        return Step(target: target, lose: lose, confirm: confirm)
    }

    // MARK: - Uniqueness

    /// Rejects all survivors with equal values of a uniqueness constraint, except the one with the lowest key.
    private func rejectDuplicates(in round: Int) throws(MigrationError) -> Int {
        var added = 0
        for constraint in UniquenessConstraint.all(of: schema) {
            let table = constraint.table
            let statement = try ledger.connection.prepare(
                """
                INSERT OR IGNORE INTO rejected
                SELECT \(table), o.Z_PK, (SELECT n FROM entity WHERE number = o.Z_ENT), ?1,
                    \(SQLName.literal(constraint.attributes.joined(separator: ", "))), '\(ValidationRule.unique.rawValue)',
                    \(constraint.shownValue(of: "o"))
                FROM (
                    \(constraint.ranked)
                    AND NOT EXISTS (SELECT 1 FROM rejected AS x WHERE x.t = \(table) AND x.k = u.Z_PK)) AS d
                CROSS JOIN store.\(constraint.tableName) AS o ON o.Z_PK = d.k
                WHERE d.n > 1 AND d.k >= \(firstKeys[table])
                """)
            statement.bind(Int64(round))
            added += try ledger.reject(by: statement)
        }
        return added
    }

    /// Counts all objects with equal values of a uniqueness constraint, except the one with the lowest key, even if
    /// they are invalid otherwise.
    func countDuplicates(inStoreAt store: String, into tally: ViolationTally) throws {
        guard ledger.hasDuplicates else { return }
        try ledger.attach(store, cacheBytes: run.inputs.budget.destinationCache / 2)
        for constraint in UniquenessConstraint.all(of: schema) {
            let select = try ledger.connection.prepare(
                """
                SELECT o.Z_PK, (SELECT n FROM entity WHERE number = o.Z_ENT), \(constraint.shownValue(of: "o"))
                FROM (\(constraint.ranked)) AS d
                CROSS JOIN store.\(constraint.tableName) AS o ON o.Z_PK = d.k
                WHERE d.n > 1 AND d.k >= \(firstKeys[constraint.table])
                """)
            while try select.step() {
                try run.services.checkCancelled()
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
}

/// A uniqueness constraint with the columns of its index.
struct UniquenessConstraint {
    let table: Int
    let tableName: String
    /// The index of the entity that declares it.
    let entity: Int
    let attributes: [String]
    /// The column names, quoted.
    let columns: [String]

    /// Returns all constraints of a schema, by entity, then in the order of declaration.
    static func all(of schema: StoreSchema) -> [UniquenessConstraint] {
        let found = schema.tables.enumerated().flatMap { index, table in
            schema.uniqueTerms(ofTable: index).map { unique in
                UniquenessConstraint(
                    table: index, tableName: SQLName.quoted(table.name), entity: unique.entity,
                    attributes: unique.attributes,
                    columns: unique.columns.map { SQLName.quoted(table.columns[$0].name) })
            }
        }
        func declared(_ constraint: UniquenessConstraint) -> Int {
            let constraints = schema.model.entity(at: constraint.entity).definition.uniquenessConstraints
            return constraints.firstIndex(of: constraint.attributes) ?? constraints.count
        }
        return found.sorted { ($0.entity, declared($0)) < ($1.entity, declared($1)) }
    }

    /// SQL for the keys of rows without a NULL in the constraint, each with its rank by key among rows of equal values.
    var ranked: String {
        "SELECT u.Z_PK AS k, row_number() OVER (PARTITION BY \(columns.map { "u." + $0 }.joined(separator: ", ")) "
            + "ORDER BY u.Z_PK) AS n FROM store.\(tableName) AS u WHERE "
            + columns.map { "u.\($0) IS NOT NULL" }.joined(separator: " AND ")
    }

    /// Returns SQL for the values, with long ones cut.
    func shownValue(of alias: String) -> String {
        columns.map { column in
            let value = "\(alias).\(column)"
            return "CASE typeof(\(value)) WHEN 'text' THEN substr(\(value), 1, 60) "
                + "WHEN 'blob' THEN lower(hex(substr(\(value), 1, 16))) ELSE CAST(\(value) AS TEXT) END"
        }.joined(separator: " || ', ' || ")
    }
}
