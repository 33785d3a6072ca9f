import Stagecoach

/// The encodable plan, with facts that only the command knows. Its JSON may be run as a plan.
struct PlanOutline: Encodable {
    let plan: MigrationPlan
    let source: String
    let destination: String
    let names: MigrationNames
    /// The way over several versions; nil for a single step.
    var chain: ChainPlan?
    var notes: [String] = []

    func encode(to encoder: any Encoder) throws {
        try plan.encode(to: encoder)
        try names.encode(to: encoder)
        try ["source": source, "destination": destination].encode(to: encoder)
        if let chain { try ["chain": chain].encode(to: encoder) }
        if !notes.isEmpty { try ["notes": notes].encode(to: encoder) }
    }
}
