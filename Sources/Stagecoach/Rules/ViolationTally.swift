/// The counts of all broken rules by entity, property and rule, with the objects that were found first.
///
/// Memory: a line for each broken rule, for any number of objects.
final class ViolationTally {
    /// The number of sample objects in each line.
    static let samples = 5

    struct Line: Hashable {
        let entity: String
        let property: String
        let rule: ValidationRule
        let isWarning: Bool
    }

    /// The number of times a rule is broken, and the first objects that break it.
    struct Found {
        var count = 0
        /// The first objects, in the order in which they were found.
        var first: [BrokenRule] = []
    }

    private(set) var lines: [Line: Found] = [:]

    func count(_ broken: BrokenRule, isWarning: Bool) {
        let line = Line(entity: broken.entityName, property: broken.property, rule: broken.rule, isWarning: isWarning)
        lines[line, default: Found()].count += 1
        if lines[line]?.first.count ?? 0 < ViolationTally.samples { lines[line]?.first.append(broken) }
    }
}
