import Diagnostics

/// Cuts tables into steps and steps into passes.
///
/// The unit is the destination root table. A table is open until its last step. If keys are kept, all its mappings are
/// read side by side, so a cut goes through all of them at one source key. If rows are numbered, mappings come one
/// after the other, so a cut goes between two of them, or through one at a source key. Steps of a table ascend by key
/// from pass to pass.
struct PassCutter {
    let planner: Planner
    let tables: [PlannedTable]
    let groups: [[Int]]

    /// Returns the passes; at least one. Throws `plan.steps` for a saved plan that leaves rows out or has them twice.
    func passes() throws(MigrationError) -> [PlannedPass] {
        var passes: [[PlannedStep]]
        switch planner.cut {
        case .planned: passes = planned()
        case .count(let wanted): passes = counted(wanted)
        case .named(let names): passes = named(names)
        case .given(let plan): passes = try given(plan)
        }
        passes.removeAll { $0.isEmpty }
        if passes.isEmpty { passes = [[]] }
        return finished(passes)
    }

    /// The largest number of passes, whatever is asked for.
    static let most = 4096

    /// Tables that get rows, in the order of the groups.
    private var filled: [PlannedTable] {
        groups.flatMap { $0 }.map { tables[$0] }.filter { !$0.mappings.isEmpty }
    }

    private func whole(_ table: PlannedTable) -> PlannedStep {
        PlannedStep(
            table: table.table, mappings: table.mappings,
            rows: table.mappings.reduce(0) { $0 + planner.rows(ofMapping: $1) })
    }

    private func planned() -> [[PlannedStep]] {
        groups.map { group in group.map { tables[$0] }.filter { !$0.mappings.isEmpty }.map(whole) }
    }

    // MARK: - So many passes

    private func counted(_ wanted: Int) -> [[PlannedStep]] {
        let wanted = min(wanted, PassCutter.most)
        var steps = filled.map(whole)
        // The heaviest step is halved until there are enough. A step with fewer than two keys stays whole.
        var isWhole = Set<Int>()
        while steps.count < wanted {
            let candidates = steps.indices.filter { !isWhole.contains($0) && steps[$0].rows > 1 }
            guard let heaviest = candidates.max(by: { (steps[$0].rows, $1) < (steps[$1].rows, $0) }) else { break }
            guard let (first, second) = halves(of: steps[heaviest]) else {
                isWhole.insert(heaviest)
                continue
            }
            steps.replaceSubrange(heaviest...heaviest, with: [first, second])
            isWhole = Set(isWhole.map { $0 > heaviest ? $0 + 1 : $0 })
        }
        return balanced(steps, into: max(1, min(wanted, steps.count)))
    }

    private func halves(of step: PlannedStep) -> (PlannedStep, PlannedStep)? {
        var first = step
        var second = step
        if tables[step.table].keys == .sequential, step.mappings.count > 1 {
            var before = 0
            var count = 0
            while count < step.mappings.count - 1 {
                let rows = planner.rows(ofMapping: step.mappings[count])
                if count > 0, before * 2 + rows > step.rows { break }
                before += rows
                count += 1
            }
            first.mappings = Array(step.mappings[..<count])
            second.mappings = Array(step.mappings[count...])
            first.rows = before
            second.rows = step.rows - before
            return (first, second)
        }
        guard let mapping = step.mappings.first, let table = planner.mappings[mapping].sourceTable else { return nil }
        let low = step.after ?? 0
        let high = step.through ?? planner.source.tables[table].maximumKey
        guard high > low, high - low >= 2 else { return nil }
        let middle = low + (high - low) / 2
        first.through = middle
        second.after = middle
        first.rows = step.rows / 2
        second.rows = step.rows - first.rows
        return (first, second)
    }

    private func balanced(_ steps: [PlannedStep], into wanted: Int) -> [[PlannedStep]] {
        var passes: [[PlannedStep]] = Array(repeating: [], count: wanted)
        let rows = steps.map { max(1, $0.rows) }
        let total = rows.reduce(0, +)
        var pass = 0
        var before = 0
        for index in steps.indices {
            // A new pass begins if the rows so far have filled the previous ones, or each remaining step needs one.
            let due = before * wanted >= total * (pass + 1)
            let needed = steps.count - index <= wanted - pass - 1
            if index > 0, pass < wanted - 1, due || needed { pass += 1 }
            passes[pass].append(steps[index])
            before += rows[index]
        }
        return passes
    }

    // MARK: - Named passes

    /// Returns the steps of passes given by mapping names. A table whose keys are kept is loaded in the last pass that
    /// names one of its mappings. In a numbered table, a mapping waits for those before it.
    private func named(_ names: [[String]]) -> [[PlannedStep]] {
        var passOfName: [String: Int] = [:]
        for (number, pass) in names.enumerated() { for name in pass { passOfName[name] = number } }
        var passes: [[PlannedStep]] = Array(repeating: [], count: names.count + 1)
        for table in filled {
            func pass(_ index: Int) -> Int { passOfName[planner.mappings[index].name] ?? names.count }
            guard table.keys == .sequential else {
                passes[table.mappings.map(pass).max() ?? names.count].append(whole(table))
                continue
            }
            var step: PlannedStep?
            var number = 0
            for index in table.mappings {
                let next = max(number, pass(index))
                if let done = step, next != number {
                    passes[number].append(done)
                    step = nil
                }
                number = next
                var grown = step ?? PlannedStep(table: table.table, mappings: [], rows: 0)
                grown.mappings.append(index)
                grown.rows += planner.rows(ofMapping: index)
                step = grown
            }
            if let step { passes[number].append(step) }
        }
        return passes
    }

    // MARK: - A saved plan

    private func given(_ plan: MigrationPlan.Model) throws(MigrationError) -> [[PlannedStep]] {
        var passes: [[PlannedStep]] = Array(repeating: [], count: plan.passes.count)
        let tableByRoot = Dictionary(
            tables.map { (planner.rootName(of: $0.table), $0) }, uniquingKeysWith: { first, _ in first })
        let byName = Dictionary(
            planner.mappings.dropFirst(planner.firstOwn).map { ($0.name, $0.index) },
            uniquingKeysWith: { first, _ in first })
        for (number, pass) in plan.passes.enumerated() {
            for step in pass.steps {
                guard let table = tableByRoot[step.rootEntity] else {
                    throw refusal("the destination has no root entity \(step.rootEntity)", step.rootEntity)
                }
                var mappings: [Int] = []
                for name in step.entityMappings {
                    guard let index = byName[name], table.mappings.contains(index) else {
                        throw refusal("entity mapping \(name) does not fill \(step.rootEntity)", step.rootEntity)
                    }
                    mappings.append(index)
                }
                guard !mappings.isEmpty else { continue }
                passes[number].append(
                    PlannedStep(
                        table: table.table, mappings: mappings, after: step.afterKey, through: step.throughKey,
                        rows: step.sourceRows))
            }
        }
        for table in tables where !table.mappings.isEmpty {
            let steps = passes.flatMap { $0 }.filter { $0.table == table.table }
            guard !covers(steps, table) else { continue }
            guard planner.isDuringRun, let last = passes.lastIndex(where: { $0.contains { $0.table == table.table } })
            else {
                throw refusal(
                    "its steps do not read every row of \(planner.rootName(of: table.table)) once, in order",
                    planner.rootName(of: table.table))
            }
            // Rows of a previous mapping model prevent kept keys, so the table is loaded whole in its last pass.
            for number in passes.indices { passes[number].removeAll { $0.table == table.table } }
            passes[last].append(whole(table))
        }
        return passes
    }

    /// Tells whether steps read every row of a table once, in the order of its keys.
    private func covers(_ steps: [PlannedStep], _ table: PlannedTable) -> Bool {
        var open: [(mappings: [Int], from: Int64?)] =
            table.keys == .kept
            ? [(table.mappings, nil)] : table.mappings.map { ([$0], nil) }
        open.reverse()
        for step in steps {
            if table.keys == .sequential, step.mappings.count > 1 {
                guard step.range == .all else { return false }
                for mapping in step.mappings {
                    guard let next = open.popLast(), next.mappings == [mapping], next.from == nil else { return false }
                }
                continue
            }
            guard let next = open.last, next.mappings == step.mappings, next.from == step.after else { return false }
            open.removeLast()
            guard let through = step.through else { continue }
            if let from = step.after, through < from { return false }
            open.append((next.mappings, through))
        }
        return open.isEmpty
    }

    private func refusal(_ why: String, _ entity: String) -> MigrationError {
        MigrationError(
            "plan.steps", .configuration, "The plan cannot be run: \(why)",
            remedy: "Make a new plan, or correct its passes", context: .init(entity: entity))
    }

    // MARK: - What follows from the steps

    /// Marks first and last steps, closes tables without rows in the last pass, and assigns every join table to the
    /// pass in which both its sides are closed.
    private func finished(_ passes: [[PlannedStep]]) -> [PlannedPass] {
        var passes = passes
        assert(
            tables.allSatisfy { table in
                table.mappings.isEmpty || covers(passes.flatMap { $0 }.filter { $0.table == table.table }, table)
            }, "the steps read every row once")
        for table in tables where table.mappings.isEmpty { passes[passes.count - 1].append(whole(table)) }
        var lastPass: [Int: Int] = [:]
        var seen: Set<Int> = []
        for number in passes.indices {
            for position in passes[number].indices {
                let table = passes[number][position].table
                passes[number][position].isFirst = seen.insert(table).inserted
                passes[number][position].isLast = false
                lastPass[table] = number
            }
        }
        for (table, number) in lastPass {
            guard let last = passes[number].lastIndex(where: { $0.table == table }) else { continue }
            passes[number][last].isLast = true
        }
        var joined: [[Int]] = Array(repeating: [], count: passes.count)
        for (index, join) in planner.destination.joinTables.enumerated() {
            let closed = join.sides.map { lastPass[planner.destination.tableByEntity[$0.relationship.entity]] ?? 0 }
            joined[closed.max() ?? 0].append(index)
        }
        return zip(passes, joined).map { PlannedPass(steps: $0, joinTables: $1) }
    }
}
