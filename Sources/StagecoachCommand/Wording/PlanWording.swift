import Stagecoach

/// The words for a plan.
enum PlanWording {
    /// Returns the plan for people: the path of each entity mapping, then one block a pass.
    static func text(_ outline: PlanOutline) -> String {
        let plan = outline.plan
        var lines = ["\(outline.source) → \(outline.destination)"]
        let disk = (Figures.size(plan.disk.destination), Figures.size(plan.disk.work))
        let facts = [
            ["memory", "within \(Figures.size(plan.memory.limit))"],
            ["disk", "about \(disk.0) for the destination, \(disk.1) for work files"],
        ]
        lines += (outline.names.facts + facts).lines()
        lines += outline.notes.titled("  Notes", indent: 4)
        lines += (plan.repairs ?? []).map(\.sentence).titled("  Missing in the store", indent: 4)
        lines += (plan.layout ?? []).titled("  Layout", indent: 4)
        if let chain = outline.chain {
            lines += ChainWording.way(chain)
            if chain.runs.count > 1 { lines += ["", "Migration 1 of \(chain.runs.count)"] }
        }
        lines += work(plan)
        if let chain = outline.chain { lines += ChainWording.later(chain) }
        return lines.printableText
    }

    /// Returns the losses, and the part of each mapping model.
    static func work(_ plan: MigrationPlan) -> [String] {
        var lines = LossWording.section(plan.passesNoFilter, indent: 2)
        lines += LossWording.section(plan.leftBehind, indent: 2)
        lines += LinkLosses.notes(plan.linksNotMade, plan.ordersNotKept, beside: nil)
            .titled("  Links and orders that the destination has no room for", indent: 4)
        lines += (plan.valuesCut ?? []).map(\.sentence).titled("  Numbers that conversions cut", indent: 4)
        for (number, model) in plan.models.enumerated() {
            if plan.models.count > 1 { lines += ["", "Mapping model \(number + 1) of \(plan.models.count)"] }
            lines += text(model)
        }
        return lines
    }

    private static func text(_ model: MigrationPlan.Model) -> [String] {
        var lines: [String] = []
        if model.isStaged {
            lines.append("  Policy path, because")
            lines += model.reasons.map { "    \($0)" }
        } else {
            lines.append("  Row path: no user code runs")
        }
        if let resume = model.resume { lines.append("  \(resume)") }
        lines += model.entityMappings.compactMap { mapping in mapping.obstacle.map { "    \(mapping.name): \($0)" } }
        lines += (model.unmapped ?? []).map(\.sentence).titled("  Left unmapped", indent: 4)
        lines += (model.unevaluated ?? []).titled("  Not evaluated", indent: 4)
        lines += ["", "  Entity mappings"]
        lines += model.entityMappings.map { mapping in
            [
                mapping.name, mapping.sourceEntity ?? "–", "→ \(mapping.destinationEntity ?? "–")",
                Figures.count(mapping.sourceRows, "row") + (mapping.isFiltered ? " at most" : ""),
                "\(mapping.path == .none ? "nothing" : mapping.path.rawValue): \(mapping.reason)",
            ]
        }.lines(indent: 4, right: [3])
        lines += model.relationships.filter { $0.resolution != .untouched }.map { line in
            [line.fullName, "\(line.isToMany ? "⇉" : "→") \(line.destinationEntity)", words(for: line)]
        }.lines(indent: 4).titled("  Relationships")
        let tables = model.tablesByRoot
        for (index, pass) in model.passes.enumerated() {
            lines += [
                "",
                "  Pass \(index + 1) of \(model.passes.count), about \(Figures.size(pass.destinationBytes)) of the destination, "
                    + "\(Figures.size(pass.workBytes)) of work files, \(Figures.size(pass.memoryBytes)) of memory at the most",
            ]
            lines += pass.steps.filter { !$0.entityMappings.isEmpty }.map { step in
                let keys = [tables[step.rootEntity]?.keys.rawValue, tables[step.rootEntity]?.reason]
                let range = range(step) { Figures.count(Int($0)) }
                let words = [step.entityMappings.joined(separator: ", "), range, step.closes ? nil : "stays open"]
                return [
                    step.rootEntity, Figures.count(step.sourceRows, "row"),
                    "keys " + keys.compactMap(\.self).joined(separator: ": "),
                    words.compactMap(\.self).joined(separator: ", "),
                ]
            }.lines(indent: 4, right: [1])
            let empty = pass.steps.filter(\.entityMappings.isEmpty).map(\.rootEntity)
            if !empty.isEmpty { lines.append("    without source rows: \(empty.joined(separator: ", "))") }
            if !pass.joinTables.isEmpty { lines.append("    join tables: \(pass.joinTables.joined(separator: ", "))") }
            if !pass.resolves.isEmpty {
                lines.append("    resolved over whole tables: \(pass.resolves.joined(separator: ", "))")
            }
        }
        return lines
    }

    /// Returns the words for the way in which a relationship's links are made.
    static func words(for line: MigrationPlan.Relationship) -> String {
        let pass = line.pass.map { ", pass \($0)" } ?? ""
        let late = line.isDeferred ? ", deferred to the last pass that knows both sides" : ""
        switch line.resolution {
        case .untouched: return "untouched"
        case .row: return "looked up row by row" + pass
        case .table: return "resolved over the whole table" + pass + late
        case .join: return "sorted into \(line.carrier ?? "the join table")" + pass + late
        case .inverse: return "completed by \(line.carrier ?? "its inverse")"
        case .logged: return "logged by the stages, merged at the load" + pass
        }
    }

    /// Returns the keys of a step's source rows: `Z_PK above 1 up to 9`; nil for all.
    static func range(_ step: MigrationPlan.Step, _ text: (Int64) -> String = { "\($0)" }) -> String? {
        let ends = [step.afterKey.map { "above " + text($0) }, step.throughKey.map { "up to " + text($0) }]
        let words = ends.compactMap(\.self)
        return words.isEmpty ? nil : "Z_PK " + words.joined(separator: " ")
    }
}

extension MigrationPlan.Model {
    /// The tables by their root entities.
    var tablesByRoot: [String: MigrationPlan.Table] {
        Dictionary(tables.map { ($0.rootEntity, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension MigrationPlan.Relationship {
    /// `Entity.name`.
    var fullName: String { "\(entity).\(name)" }
}
