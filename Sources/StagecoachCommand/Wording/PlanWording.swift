/// The words for a plan.
enum PlanWording {
    /// The plan for people: one block a pass.
    static func text(_ plan: PlanOutline) -> String {
        var lines = ["\(plan.source) → \(plan.destination)"]
        lines += TextTable(
            rows: [
                ["model", Versions.text(plan.sourceVersion, plan.destinationVersion)],
                ["mapping", plan.mapping ?? "inferred"],
                [
                    "path",
                    plan.isStaged
                        ? "stages with barriers over all entity mappings: user code may run"
                        : "rows, the three stages fused: no user code runs",
                ],
            ], alignments: [.left, .left]
        ).lines(indent: 2)
        for (index, pass) in plan.passes.enumerated() {
            lines += ["", "Pass \(index + 1) of \(plan.passes.count)"]
            let rows = pass.tables.map { table -> [String] in
                let keys = table.reason.map { "\(table.keys): \($0)" } ?? table.keys
                let mappings = table.entityMappings.isEmpty ? "no source" : table.entityMappings.joined(separator: ", ")
                return [table.rootEntity, Figures.count(table.sourceRows, "row"), "keys \(keys)", mappings]
            }
            lines += TextTable(rows: rows, alignments: [.left, .right, .left, .left]).lines(indent: 2)
            if !pass.joinTables.isEmpty { lines.append("  join tables \(pass.joinTables.joined(separator: ", "))") }
        }
        return lines.map(\.printable).joined(separator: "\n") + "\n"
    }
}

/// The words for the two model versions.
enum Versions {
    static func text(_ source: String?, _ destination: String?) -> String {
        "\(source ?? "unnamed version") → \(destination ?? "unnamed version")"
    }
}
