import Mapping

extension MappingModel {
    /// Returns the way to have broken rules of the source model taken as warnings, as a sentence without a full stop;
    /// nil if they are taken so already.
    func excuse(_ options: MigrationOptions) -> String? {
        var steps: [String] = []
        if rulesOfTheSource == .error {
            let key = "\"rulesOfTheSource\": \"\(RulesOfTheSource.warn.rawValue)\""
            switch statedRules {
            case let place? where place.line != nil:
                steps.append("write \(key) beside \"formatVersion\" (\(place.path), line \(place.line ?? 0))")
            case let place?:
                steps.append(
                    "convert \(place.path) to JSON (stagecoach convert) and write \(key) beside \"formatVersion\"")
            case nil: steps.append("set the mapping model's rulesOfTheSource to .warn")
            }
        }
        if options.strictValidation { steps.append("leave --strict-validation out") }
        guard !steps.isEmpty else { return nil }
        return
            "The source model had the rule already, and an inferred mapping model excuses it; to have it excused here, "
            + steps.joined(separator: " and ")
    }
}
