/// How a mapping model's work is cut into passes. No cut changes a row or a key of the destination.
enum PassCut {
    /// One pass for each group of tables that belong together.
    case planned
    /// So many passes of about the same number of source rows; tables are cut by key range where they are fewer.
    case count(Int)
    /// Names of entity mappings, pass by pass; those that are not named come in a pass of their own at the end.
    case named([[String]])
    /// As a saved plan has it.
    case given(MigrationPlan.Model)
}

extension MigrationOptions {
    /// The cut of one of the mapping models.
    ///
    /// - Parameter turn: position of the mapping model.
    func cut(turn: Int) -> PassCut {
        if let plan, plan.models.indices.contains(turn) { return .given(plan.models[turn]) }
        if !passNames.isEmpty { return .named(passNames) }
        return passes.map(PassCut.count) ?? .planned
    }
}
