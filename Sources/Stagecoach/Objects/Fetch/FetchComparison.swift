import Mapping

/// A comparison of a key path with constants for equality: `path == value`, `path IN values`, `ANY path == value`,
/// `path CONTAINS value`.
struct FetchComparison {
    var modifier: ComparisonModifier
    /// The key path; empty for the object itself.
    var path: [String]
    let constants: [FetchConstant]
    /// True for `!=`.
    let isUnequal: Bool
    /// True for a test of membership in a to-many: ANY, or CONTAINS.
    let isMembership: Bool

    /// True for a comparison with nil.
    var isNull: Bool {
        if constants.count == 1, case .null = constants[0] { return true }
        return false
    }
}

extension FetchComparison {
    /// Recognises such a comparison; nil for any other.
    init?(_ modifier: ComparisonModifier, _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode) {
        guard modifier != .none else { return nil }
        switch sign {
        case .equal, .notEqual:
            let isUnequal = sign == .notEqual
            guard !(isUnequal && modifier == .any) else { return nil }
            for (side, other) in [(left, right), (right, left)] {
                guard let path = FetchKeys.path(side), let constant = FetchConstant(other) else { continue }
                if case .list = constant { return nil }
                self.init(
                    modifier: modifier, path: path, constants: [constant], isUnequal: isUnequal,
                    isMembership: modifier == .any)
                return
            }
            return nil
        case .isIn:
            guard let path = FetchKeys.path(left), case .list(let members)? = FetchConstant(right) else { return nil }
            self.init(
                modifier: modifier, path: path, constants: members, isUnequal: false, isMembership: modifier == .any)
        case .contains:
            guard modifier == .direct, let path = FetchKeys.path(left), !path.isEmpty,
                let constant = FetchConstant(right), case .object = constant
            else { return nil }
            self.init(modifier: modifier, path: path, constants: [constant], isUnequal: false, isMembership: true)
        default: return nil
        }
    }
}

/// The key paths of predicates.
enum FetchKeys {
    /// Returns the components of a key path from the fetched object; empty for the object itself; nil for anything
    /// else.
    static func path(_ node: ExpressionNode) -> [String]? {
        switch node {
        case .evaluatedObject: return []
        case .keyPath(let target, var components):
            guard target == nil || target == .evaluatedObject, !components.contains(where: { $0.hasPrefix("@") })
            else { return nil }
            if components.last == "objectID" || components.last == "self" { components.removeLast() }
            return components
        default: return nil
        }
    }

    /// Returns the key paths whose nil value makes a comparison unknown.
    static func needed(
        _ modifier: ComparisonModifier, _ left: ExpressionNode, _ sign: ComparisonOperator, _ right: ExpressionNode,
        isNegated: Bool
    ) -> [String] {
        let isNullTest = left == .constant(.null) || right == .constant(.null)
        // If nil makes the comparison false, treating it as unknown gives the same result.
        guard modifier == .direct, !isNullTest, isNegated || sign == .notEqual || sign == .equal else { return [] }
        return [left, right].compactMap { node in
            guard case .keyPath(let target, let components) = node, target == nil || target == .evaluatedObject,
                !components.contains(where: { $0.hasPrefix("@") })
            else { return nil }
            return components.joined(separator: ".")
        }
    }

    /// Returns the first components of all key paths from the fetched object.
    static func first(in node: PredicateNode) -> Set<String> {
        var found: Set<String> = []
        func collect(_ node: SyntaxNode) {
            switch node {
            case .expression(.keyPath(let target, let components)) where target == nil || target == .evaluatedObject:
                if let first = components.first, !first.hasPrefix("@") { found.insert(first) }
            // Inside a subquery's predicate, a bare key belongs to the member.
            case .expression(.subquery(let collection, _, _)): collect(.expression(collection))
            case .expression(.function), .expression(.element), .expression(.fetch), .expression(.assignment),
                .expression(.predicate):
                return
            default: node.children.forEach(collect)
            }
        }
        collect(.predicate(node))
        return found
    }
}
