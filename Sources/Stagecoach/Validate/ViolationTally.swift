import ManagedModel

/// All broken rules, counted by entity, property and rule, with the objects that were found first.
///
/// Memory: a line for each rule that is broken, whatever the number of objects.
final class ViolationTally {
    /// Objects shown of each line.
    static let samples = 5

    struct Line: Hashable {
        let entity: String
        let property: String
        let rule: ValidationRule
        let isWarning: Bool
    }

    /// How often a rule is broken, and by which objects first.
    struct Found {
        var count = 0
        /// Objects in the order in which they were found.
        var first: [BrokenRule] = []
    }

    private(set) var lines: [Line: Found] = [:]

    func count(_ broken: BrokenRule, isWarning: Bool) {
        let line = Line(
            entity: broken.entityName, property: broken.property, rule: broken.rule, isWarning: isWarning)
        lines[line, default: Found()].count += 1
        if lines[line]?.first.count ?? 0 < ViolationTally.samples { lines[line]?.first.append(broken) }
    }
}
