import CoreDataStore
import Diagnostics
import ManagedModel

/// Decides the keys and cuts the work of one mapping model into passes.
struct Planner {
    /// All mappings, each at its index; those of previous mapping models first.
    let mappings: [PlannedMapping]
    let source: StoreLayout
    let destination: StoreSchema
    let keys: KeyChoice
    let cut: PassCut
    /// The number of source rows by table and entity index.
    let rowCounts: [[Int: Int]]
    /// True for each destination table that has rows of an appended store or of a previous mapping model; empty: none.
    var hasRows: [Bool] = []
    /// The index of the first mapping to plan; those before it belong to previous mapping models.
    var firstOwn = 0
    /// True if the rows of previous mapping models are known only now, during the run. A saved plan gives way to them.
    var isDuringRun = false

    /// Returns the work: tables, keys, passes.
    ///
    /// - Throws: `plan.keysCannotBeKept`, `plan.abstractDestination`, `plan.steps` for a saved plan that cannot be run.
    func work() throws(MigrationError) -> PlannedWork {
        let tables = try tables()
        let groups = TableGraph(mappings: Array(mappings.dropFirst(firstOwn)), destination: destination).components()
        let cutter = PassCutter(planner: self, tables: tables, groups: groups)
        return PlannedWork(tables: tables, passes: try cutter.passes(), groups: groups)
    }

    /// Returns the tables in the destination's order.
    func tables() throws(MigrationError) -> [PlannedTable] {
        try refuseAbstractDestinations()
        try refuseFilledObjects()
        var planned: [PlannedTable] = []
        for table in destination.tables.indices {
            let filling = mappings.filter {
                $0.index >= firstOwn && $0.destinationTable == table && $0.source != nil
            }.map(\.index)
            let asked = choice(table: table)
            let (mode, reason) = keyMode(table: table, filling: filling, asked: asked)
            if asked == .kept, mode == .sequential, !filling.isEmpty, keys == .kept || !isDuringRun {
                throw MigrationError(
                    "plan.keysCannotBeKept", .configuration, "Keys cannot be kept: \(reason ?? "")",
                    remedy: keys == .kept
                        ? "Leave --keys at auto, or split the mapping model" : "Make a new plan, or change it there",
                    context: .init(entity: rootName(of: table)))
            }
            planned.append(PlannedTable(table: table, mappings: filling, keys: mode, reason: reason))
        }
        return planned
    }

    /// Returns the name of a table's root entity.
    func rootName(of table: Int) -> String {
        destination.model.entity(at: destination.tables[table].root).definition.name
    }

    /// Returns the choice of keys for a table, made by the options or by a saved plan.
    private func choice(table: Int) -> KeyChoice {
        guard keys == .auto, case .given(let plan) = cut,
            let saved = plan.tables.first(where: { $0.rootEntity == rootName(of: table) })
        else { return keys }
        return saved.keys == .kept ? .kept : .sequential
    }

    /// Refuses `fill` for mappings whose expressions only objects can evaluate: it works on the values of rows.
    private func refuseFilledObjects() throws(MigrationError) {
        for mapping in mappings.dropFirst(firstOwn) where mapping.fillsNil && mapping.needsObjects {
            let name =
                mapping.dynamicAttributes.first?.attribute.name
                ?? mapping.relationships.first { if case .dynamic? = $0.value { true } else { false } }?.name
            throw MigrationError(
                "plan.fill", .configuration,
                "\"fill\" cannot be combined with \(name ?? "an expression"), which only objects can evaluate",
                remedy:
                    "Leave \"fill\" out, or give \(name ?? "it") an expression of key paths and functions of values",
                context: mapping.context)
        }
    }

    private func refuseAbstractDestinations() throws(MigrationError) {
        for mapping in mappings.dropFirst(firstOwn) {
            guard let entity = mapping.destination, entity.isAbstract, !mapping.hasPolicy, let from = mapping.source,
                let table = mapping.sourceTable, let rows = rowCounts[table][from.index], rows > 0
            else { continue }
            throw MigrationError(
                "plan.abstractDestination", .configuration,
                "The destination entity is abstract, and \(rows.counted("source object")) of \(from.definition.name) would become \(rows == 1 ? "one" : "objects") of it",
                remedy: "Map the source entity to a concrete destination entity", context: mapping.context)
        }
    }

    private func keyMode(table: Int, filling: [Int], asked: KeyChoice) -> (KeyMode, String?) {
        let (mode, reason) = possibleKeyMode(table: table, filling: filling)
        guard asked == .sequential else { return (mode, reason) }
        return (.sequential, keys == .sequential ? "asked for by --keys" : reason ?? "asked for by the plan")
    }

    private func possibleKeyMode(table: Int, filling: [Int]) -> (KeyMode, String?) {
        if hasRows.indices.contains(table), hasRows[table] {
            let isFilledBefore = mappings.prefix(firstOwn).contains { $0.destinationTable == table && $0.source != nil }
            return (
                .sequential,
                isFilledBefore
                    ? "the table is not empty by then: a previous mapping model fills it"
                    : "the destination table has rows already"
            )
        }
        let all = mappings.filter { $0.index >= firstOwn && $0.destinationTable == table }
        if let policy = all.first(where: \.hasPolicy) { return (.sequential, reasonForNewKeys(policy)) }
        if let sharing = all.first(where: { $0.grouping != nil && !$0.merges }) {
            return (.sequential, "source objects of entity mapping \(sharing.name) share an object")
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

    /// Returns the reason why the objects of a mapping on the policy path get new keys.
    private func reasonForNewKeys(_ mapping: PlannedMapping) -> String {
        if mapping.mapping.hasPolicy { return "entity mapping \(mapping.name) has a policy" }
        if mapping.forEach != nil { return "entity mapping \(mapping.name) makes an object for each member" }
        return mapping.sourceExpression == nil
            ? "the manager's class sees the associations of entity mapping \(mapping.name)"
            : "a source expression gives the objects of entity mapping \(mapping.name)"
    }

    /// Returns the number of source rows that a mapping reads, before its filter.
    func rows(ofMapping index: Int) -> Int {
        guard let entity = mappings[index].source, let from = mappings[index].sourceTable else { return 0 }
        return rowCounts[from][entity.index] ?? 0
    }
}
