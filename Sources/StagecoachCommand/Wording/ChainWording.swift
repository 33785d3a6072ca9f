import Stagecoach

/// The words for a way over several versions.
enum ChainWording {
    /// Returns the steps and how they run, for a plan.
    static func way(_ chain: ChainPlan) -> [String] {
        var rows: [[String]] = []
        for (number, run) in chain.runs.enumerated() {
            for (index, step) in run.steps.enumerated() {
                let isFirst = index == 0
                let how =
                    run.steps.count > 1
                    ? (isFirst ? "fused" : "fused with the step before") : "a migration of its own"
                rows.append([
                    "\(rows.count + 1)", Versions.text(step.source, step.destination), step.mapping,
                    "migration \(number + 1)", how,
                ])
            }
        }
        var lines = [
            "",
            "  The way, \(rows.count) steps in \(chain.runs.count == 1 ? "one migration" : "\(chain.runs.count) migrations through private stores")",
        ]
        lines += TextTable(rows: rows, alignments: [.right]).lines(indent: 4)
        for run in chain.runs {
            guard let obstacle = run.obstacle, let last = run.steps.last else { continue }
            lines.append("    not fused after \(last.destination ?? "an unnamed version"): \(obstacle)")
        }
        return lines
    }

    /// Returns lines on the migrations after the first, based on the expected output of those before.
    static func later(_ chain: ChainPlan) -> [String] {
        var lines: [String] = []
        for (index, run) in chain.runs.enumerated().dropFirst() {
            let versions = Versions.text(run.steps.first?.source, run.steps.last?.destination)
            lines += [
                "",
                "Migration \(index + 1) of \(chain.runs.count), \(versions), of what the one before is expected to make",
            ]
            lines += PlanWording.work(run.plan)
        }
        return lines
    }

    /// Returns the work of each migration, for a summary; empty for a single step.
    static func done(_ steps: [ChainStepReport]) -> [String] {
        let rows = steps.map { step in
            [
                Versions.text(step),
                Set(step.mappings).count == 1 ? step.mappings[0] : step.mappings.joined(separator: "; "),
                Figures.count(SummaryWording.total(step.report.counts), "object"),
                Figures.duration(step.report.seconds),
            ]
        }
        return TextTable(rows: rows, alignments: [.left, .left, .right, .right]).lines(indent: 2)
    }
}
