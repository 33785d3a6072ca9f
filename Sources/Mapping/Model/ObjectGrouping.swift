import Diagnostics
import ManagedModel

/// The rule by which source objects of an entity mapping share a destination object: one is made for each distinct combination
/// of some values, from the first source object that has it. The others are associated with it.
package struct ObjectGrouping: Equatable, Sendable {
    /// The expressions over `$source` that give the values, at least one, each with its place in the file.
    package var expressions: [GroupingExpression]
    /// The differences of texts that do not count: case, diacritics, both or none.
    package var comparison: ComparisonOptions = []
    /// True if an object is made for those whose values are all nil. Otherwise they make none.
    package var nilIsAValue = false

    package init(expressions: [GroupingExpression]) { self.expressions = expressions }
}

/// An expression of an ``ObjectGrouping``.
package struct GroupingExpression: Equatable, Sendable {
    package let expression: ValueExpression
    /// The place in the mapping model's file; nil if there is none.
    package let place: TextPosition?

    package init(_ expression: ValueExpression, at place: TextPosition? = nil) {
        self.expression = expression
        self.place = place
    }

    /// Grouping expressions are equal if they are the same text.
    package static func == (left: Self, right: Self) -> Bool { left.expression == right.expression }
}

extension ComparisonOptions {
    /// The letters after which texts are compared in JSON, as in `[cd]`; nil if all differences count.
    var jsonName: String? {
        let letters =
            (contains(.caseInsensitive) ? "c" : "") + (contains(.diacriticInsensitive) ? "d" : "")
        return letters.isEmpty ? nil : letters
    }

    /// Makes the options of such letters; nil for others.
    init?(jsonName: String) {
        switch jsonName {
        case "c": self = .caseInsensitive
        case "d": self = .diacriticInsensitive
        case "cd", "dc": self = [.caseInsensitive, .diacriticInsensitive]
        default: return nil
        }
    }
}

extension EntityMapping {
    /// Returns the place of a grouping expression in its file.
    ///
    /// - Parameter number: its number among the grouping's expressions.
    package func groupingContext(_ number: Int, _ path: String?) -> MigrationError.Context {
        context(grouping?.expressions[number].place, path, entity: sourceEntityName)
    }

    /// The reason why the mapping's objects cannot be grouped; nil if they can.
    var groupingProblem: (message: String, remedy: String)? {
        if hasPolicy {
            return (
                "\"distinctBy\" decides which objects are made, and so does the migration policy",
                "Leave one of the two out"
            )
        }
        if usedSourceExpression != nil, sourceFetch == .other {
            return (
                "\"distinctBy\" goes through the objects of the source entity, and a source expression gives others",
                "Select them by a \"sourceFilter\""
            )
        }
        if sourceEntityName == nil || destinationEntityName == nil {
            return ("\"distinctBy\" needs a source and a destination entity", "Name both")
        }
        return nil
    }
}
