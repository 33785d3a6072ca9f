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

    /// Creates the cut of one of the mapping models that the options ask for.
    ///
    /// - Parameter model: the number of the mapping model.
    init(_ options: MigrationOptions, model number: Int) {
        if let plan = options.plan, plan.models.indices.contains(number) {
            self = .given(plan.models[number])
        } else if !options.passNames.isEmpty {
            self = .named(options.passNames)
        } else {
            self = options.passes.map(PassCut.count) ?? .planned
        }
    }
}
