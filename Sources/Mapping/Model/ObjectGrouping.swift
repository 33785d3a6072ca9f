import Diagnostics
import ManagedModel

/// The rule by which source objects of an entity mapping share a destination object: one is made for each distinct combination
/// of some values. The source objects that share it are a group.
///
/// With `distinctBy` the first source object of a group makes its object, and the others are only associated with it. With
/// `mergeBy` a chosen one makes it, and takes over the links of the others.
package struct ObjectGrouping: Equatable, Sendable {
    /// The expressions over `$source` that give the values, at least one, each with its place in the file.
    package var expressions: [GroupingExpression]
    /// The differences of texts that do not count: case, diacritics, both or none.
    package var comparison: ComparisonOptions = []
    /// True if nil is a value like others. Otherwise source objects whose values are all nil make no object with `distinctBy`;
    /// with `mergeBy` those with a nil among their values are not merged, as in a uniqueness constraint.
    package var nilIsAValue = false
    /// The rule of a merge; nil for `distinctBy`.
    package var merge: MergeRule?

    package init(expressions: [GroupingExpression]) { self.expressions = expressions }

    /// The values as text: key paths from `$source` by themselves, other expressions as they are.
    package var valuesText: String {
        expressions.map { item in
            guard case .keyPath(.variable("source"), let path) = item.expression.node else {
                return item.expression.format
            }
            return path.joined(separator: ".")
        }.joined(separator: ", ")
    }

    /// The key in a mapping file.
    package var keyName: String { merge == nil ? "distinctBy" : "mergeBy" }
}

/// The choice of the source object that makes the object of a group, and the part of the others in it.
package struct MergeRule: Equatable, Sendable {
    /// The source object that is kept. Of several that are alike it is the first.
    package enum Keep: Equatable, Sendable {
        case first
        case last
        /// The source object with the greatest value, nil being less than all.
        case greatest(GroupingExpression)
        /// The source object with the least value, nil being greater than all.
        case least(GroupingExpression)

        /// The expression whose values are compared; nil if the order of the source objects decides.
        package var expression: GroupingExpression? {
            switch self {
            case .first, .last: nil
            case .greatest(let expression), .least(let expression): expression
            }
        }
    }

    package var keep = Keep.first
    /// True if a key path from `$source` that is nil for the kept source object is read from the first of the others that has a
    /// value.
    package var fills = false

    package init() {}
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

extension MergeRule.Keep {
    /// The text in a mapping file.
    var jsonText: String {
        switch self {
        case .first: "first"
        case .last: "last"
        case .greatest(let item): "greatest \(item.expression.format)"
        case .least(let item): "least \(item.expression.format)"
        }
    }
}

extension EntityMapping {
    /// Returns the place of one of the expressions of a grouping in its file.
    package func groupingContext(_ item: GroupingExpression, _ path: String?) -> MigrationError.Context {
        context(item.place, path, entity: sourceEntityName)
    }

    /// Returns the reason why the mapping's objects cannot be grouped; nil if they can.
    ///
    /// - Parameter key: the grouping's key in a mapping file.
    func groupingProblem(_ key: String) -> (message: String, remedy: String)? {
        if hasPolicy {
            return (
                "\"\(key)\" decides which objects are made, and so does the migration policy",
                "Leave one of the two out"
            )
        }
        if usedSourceExpression != nil, sourceFetch == .other {
            return (
                "\"\(key)\" goes through the objects of the source entity, and a source expression gives others",
                "Select them by a \"sourceFilter\""
            )
        }
        if sourceEntityName == nil || destinationEntityName == nil {
            return ("\"\(key)\" needs a source and a destination entity", "Name both")
        }
        return nil
    }
}
