import Diagnostics
import ManagedModel
import Mapping
import PersistentStore

/// How the rows of a destination table get their keys.
public enum KeyMode: String, Sendable, Codable {
    /// A row keeps the Z_PK of its source row.
    case kept
    /// Rows are numbered at creation, in order.
    case sequential
}

/// What the user asks for with `--keys`.
public enum KeyChoice: String, Sendable, CaseIterable {
    /// Kept where possible.
    case auto
    /// Kept everywhere, or refused.
    case kept
    /// Numbered everywhere.
    case sequential
}

/// The passes of a migration, in order, and what each does: a value that can be printed.
public struct MigrationPlan: Sendable {
    /// One root entity's table and the entity mappings that fill it.
    public struct Table: Sendable {
        /// The destination's root entity.
        public let rootEntity: String
        /// Names of the entity mappings into the root, in mapping order.
        public let entityMappings: [String]
        public let keys: KeyMode
        /// Why the keys are not kept; nil where they are.
        public let reason: String?
        /// Source rows that the mappings read.
        public let sourceRows: Int
    }

    /// One part of the mapping model on its way through the three stages.
    public struct Pass: Sendable {
        public let tables: [Table]
        /// Join tables loaded at the pass's end, when both sides are closed.
        public let joinTables: [String]
    }

    public let passes: [Pass]
    /// Whether the stages are barriers over all entity mappings, because user code may run.
    public let isStaged: Bool
}

/// One destination table's part of the plan.
struct PlannedTable {
    /// Table index in the destination schema.
    let table: Int
    /// The mappings that fill it, by index, in mapping order; add and remove mappings are not among them.
    let mappings: [Int]
    let keys: KeyMode
    let reason: String?
    /// Pass that loads it.
    var pass: Int
}

/// Decides keys and cuts the work into passes.
struct Planner {
    let mappings: [PlannedMapping]
    let source: StoreLayout
    let destination: StoreSchema
    let keys: KeyChoice
    /// Passes wanted; nil lets the planner decide.
    let passes: Int?
    /// Source rows by table and entity index.
    let rowCounts: [[Int: Int]]
    /// Whether a destination table has rows already, of an appended store or of an earlier mapping model; empty: none.
    var hasRows: [Bool] = []
    /// Index of the first mapping to plan; those before it belong to earlier mapping models.
    var firstOwn = 0

    /// The tables in pass order.
    ///
    /// The unit of planning is the destination root table. Without a wish there is one pass a table; a cut into N
    /// passes groups neighbouring tables so that each pass has about the same number of source rows. More passes than
    /// tables are not made: a cut never changes the result, so an empty pass would only be noise.
    ///
    /// - Throws: `plan.keysCannotBeKept`, `plan.abstractDestination`.
    func tables() throws(MigrationError) -> [PlannedTable] {
        try refuseAbstractDestinations()
        var planned: [PlannedTable] = []
        for table in destination.tables.indices {
            let filling = mappings.filter {
                $0.index >= firstOwn && $0.destinationTable == table && $0.source != nil
            }.map(\.index)
            let (mode, reason) = keyMode(table: table, filling: filling)
            if keys == .kept, mode == .sequential, !filling.isEmpty {
                throw MigrationError(
                    "plan.keysCannotBeKept", .configuration, "Keys cannot be kept: \(reason ?? "")",
                    remedy: "Leave --keys at auto, or split the mapping model",
                    context: .init(entity: destination.model.entity(at: destination.tables[table].root).definition.name)
                )
            }
            planned.append(PlannedTable(table: table, mappings: filling, keys: mode, reason: reason, pass: 0))
        }
        cut(&planned)
        return planned
    }

    private func refuseAbstractDestinations() throws(MigrationError) {
        for mapping in mappings.dropFirst(firstOwn) {
            guard let entity = mapping.destination, entity.isAbstract, !mapping.hasPolicy, let from = mapping.source,
                let table = mapping.sourceTable, let rows = rowCounts[table][from.index], rows > 0
            else { continue }
            throw MigrationError(
                "plan.abstractDestination", .configuration,
                "The destination entity is abstract, and \(rows) source objects of \(from.definition.name) would become objects of it",
                remedy: "Map the source entity to a concrete destination entity", context: mapping.context)
        }
    }

    private func keyMode(table: Int, filling: [Int]) -> (KeyMode, String?) {
        if keys == .sequential { return (.sequential, "asked for by --keys") }
        if hasRows.indices.contains(table), hasRows[table] {
            return (.sequential, "the destination table has rows already")
        }
        let all = mappings.filter { $0.index >= firstOwn && $0.destinationTable == table }
        if let policy = all.first(where: \.hasPolicy) {
            return (.sequential, "entity mapping \(policy.name) has a policy")
        }
        var sourceTable: Int?
        var entities: Set<Int> = []
        for index in filling {
            guard let from = mappings[index].source, let fromTable = mappings[index].sourceTable else { continue }
            if let sourceTable, sourceTable != fromTable {
                return (.sequential, "entity mappings read from several source tables")
            }
            sourceTable = fromTable
            if !entities.insert(from.index).inserted {
                return (.sequential, "source entity \(from.definition.name) is mapped twice into this table")
            }
        }
        return (.kept, nil)
    }

    private func cut(_ tables: inout [PlannedTable]) {
        guard let wanted = passes, wanted < tables.count else {
            for index in tables.indices { tables[index].pass = index }
            return
        }
        let rows = tables.map { max(1, sourceRows(of: $0)) }
        let total = rows.reduce(0, +)
        var pass = 0
        var before = 0
        for index in tables.indices {
            // A new pass begins where the rows so far have filled the passes before it, or where every table left
            // must have a pass of its own.
            let due = before * wanted >= total * (pass + 1)
            let needed = tables.count - index <= wanted - pass - 1
            if index > 0, pass < wanted - 1, due || needed { pass += 1 }
            tables[index].pass = pass
            before += rows[index]
        }
    }

    func sourceRows(of table: PlannedTable) -> Int {
        table.mappings.reduce(0) { sum, index in
            guard let entity = mappings[index].source, let from = mappings[index].sourceTable else { return sum }
            return sum + (rowCounts[from][entity.index] ?? 0)
        }
    }

    /// The plan as a value.
    func plan(_ tables: [PlannedTable], isStaged: Bool) -> MigrationPlan {
        let last = (tables.map(\.pass).max() ?? 0)
        let passOfTable = Dictionary(uniqueKeysWithValues: tables.map { ($0.table, $0.pass) })
        let passes = (0...last).map { pass in
            MigrationPlan.Pass(
                tables: tables.filter { $0.pass == pass }.map { table in
                    MigrationPlan.Table(
                        rootEntity: destination.model.entity(at: destination.tables[table.table].root).definition.name,
                        entityMappings: table.mappings.map { mappings[$0].name }, keys: table.keys,
                        reason: table.reason,
                        sourceRows: sourceRows(of: table))
                },
                joinTables: destination.joinTables.filter { joinPass($0, passOfTable) == pass }.map(\.name))
        }
        return MigrationPlan(passes: passes, isStaged: isStaged)
    }

    /// The pass in which both sides of a join table are closed.
    private func joinPass(_ join: JoinTable, _ passOfTable: [Int: Int]) -> Int {
        join.sides.map { passOfTable[destination.tableByEntity[$0.relationship.entity]] ?? 0 }.max() ?? 0
    }
}
