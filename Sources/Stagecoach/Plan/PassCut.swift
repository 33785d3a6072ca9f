/// The way a mapping model's work is cut into passes. No cut changes a row or a key of the destination.
enum PassCut {
    /// One pass for each group of tables that belong together.
    case planned
    /// The given number of passes, with about the same number of source rows each. If there are fewer tables, they are
    /// cut by key range.
    case count(Int)
    /// Names of entity mappings, pass by pass. Mappings that are not named come in a last pass of their own.
    case named([[String]])
    /// The passes of a saved plan.
    case given(MigrationPlan.Model)
}

extension MigrationOptions {
    /// Returns the cut of one of the mapping models.
    ///
    /// - Parameter turn: the number of the mapping model.
    func cut(turn: Int) -> PassCut {
        if let plan, plan.models.indices.contains(turn) { return .given(plan.models[turn]) }
        if !passNames.isEmpty { return .named(passNames) }
        return passes.map(PassCut.count) ?? .planned
    }
}
