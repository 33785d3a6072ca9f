import Diagnostics
import Stagecoach

/// The words for a way over several versions.
enum ChainWording {
    /// Returns the steps and how they run, for a plan.
    static func way(_ chain: ChainPlan) -> [String] {
        var rows: [[String]] = []
        for (number, run) in chain.runs.enumerated() {
            for (index, step) in run.steps.enumerated() {
                let fused = index == 0 ? "fused" : "fused with the step before"
                rows.append([
                    "\(rows.count + 1)", Versions.text(step.source, step.destination), step.mapping,
                    "migration \(number + 1)", run.steps.count > 1 ? fused : "a migration of its own",
                ])
            }
        }
        let migrations =
            chain.runs.count == 1 ? "one migration" : "\(chain.runs.count) migrations through private stores"
        var lines = ["", "  The way, \(rows.count.counted("step")) in \(migrations)"]
        lines += rows.lines(indent: 4, right: [0])
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
            let title = "Migration \(index + 1) of \(chain.runs.count), \(versions)"
            lines += ["", "\(title), of what the one before is expected to make"] + PlanWording.work(run.plan)
        }
        return lines
    }

    /// Returns the work of each migration, for a summary; empty for a single step.
    static func done(_ steps: [ChainStepReport]) -> [String] {
        steps.map { step in
            [
                Versions.text(step),
                Set(step.mappings).count == 1 ? step.mappings[0] : step.mappings.joined(separator: "; "),
                Figures.count(SummaryWording.total(step.report.counts), "object"),
                Figures.duration(step.report.seconds),
            ]
        }.lines(right: [2, 3])
    }
}
