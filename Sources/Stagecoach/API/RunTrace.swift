import Synchronization

/// A span of a run in which one stage works on one subject.
package struct StageSpan: Sendable, Equatable {
    /// The phase's name: `keys`, `load`, …
    package var stage: String
    /// The entity mappings at work, separated by commas, or the name of a join table; empty if the stage works on all.
    package var subject: String
    /// The pass, counted from 1; 0 before the first.
    package var pass: Int
    /// The migration within a chain of versions, counted from 1.
    package var step: Int
    /// Seconds since the trace began.
    package var begin: Double
    package var end: Double
}

/// The trace of a run for a report: the plans, and the times at which each stage worked.
///
/// Memory: a plan for each migration of a chain, and at most ``RunTrace/limit`` spans; others are merged into one.
package final class RunTrace: Sendable {
    /// The largest number of spans that are kept apart.
    package static let limit = 1000

    private struct State {
        var plans: [MigrationPlan] = []
        var spans: [StageSpan] = []
    }

    private let start = ContinuousClock.now
    private let state = Mutex(State())

    package init() {}

    /// Seconds since the trace began.
    package var elapsed: Double { start.duration(to: .now) / .seconds(1) }

    /// The plans that were run, in order.
    package var plans: [MigrationPlan] { state.withLock { $0.plans } }

    /// The spans so far. The last one ends now, unless the run is done.
    package var spans: [StageSpan] {
        let now = elapsed
        return state.withLock { state in
            var spans = state.spans
            if let last = spans.indices.last { spans[last].end = max(spans[last].begin, now) }
            return spans.filter { $0.stage != ProgressCounter.Phase.done.label }
        }
    }

    /// Records the plan of a migration.
    func note(_ plan: MigrationPlan) { state.withLock { $0.plans.append(plan) } }

    /// Begins a stage and ends the one before it.
    func begin(_ phase: ProgressCounter.Phase, _ subject: String, pass: Int, step: Int) {
        let now = elapsed
        state.withLock { state in
            if let last = state.spans.indices.last {
                state.spans[last].end = now
                let before = state.spans[last]
                if before.stage == phase.label, before.subject == subject, before.step == step {
                    state.spans[last].pass = max(before.pass, pass)
                    return
                }
            }
            guard state.spans.count < Self.limit || phase == .done else {
                state.spans[state.spans.count - 1].subject = "all that came after"
                return
            }
            state.spans.append(
                StageSpan(stage: phase.label, subject: subject, pass: pass, step: step, begin: now, end: now))
        }
    }
}
