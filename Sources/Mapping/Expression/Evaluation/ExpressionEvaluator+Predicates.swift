import Foundation
import Synchronization

extension ExpressionEvaluator {
    /// Tells whether a predicate holds; in a filter, unknown does not hold.
    func holds(_ node: PredicateNode) throws -> Bool { try truth(node) == true }

    /// Returns the truth of a predicate: true or false, or in a filter also nil, unknown.
    func truth(_ node: PredicateNode) throws -> Bool? {
        try enter()
        defer { leave() }
        switch node {
        case .constant(let value): return value
        case .not(let inner): return try truth(inner).map { !$0 }
        case .and(let parts): return try chain(parts, deciding: false)
        case .or(let parts): return try chain(parts, deciding: true)
        case .expression(.predicate(let inner)) where isFilter: return try truth(inner)
        case .expression(let inner):
            let value = try evaluate(inner)
            if value.isNull { return isFilter ? nil : false }
            guard value.isNumber else {
                throw ProgramFault.type(
                    "a value of type \(value.label) is used where a predicate is expected",
                    remedy: "Compare it with something")
            }
            return value.real != 0
        case .comparison(.direct, .anyKey, let comparison, let right, let options):
            return try anyKey(comparison, evaluate(right), options)
        case .comparison(let modifier, let left, let comparison, let right, let options):
            if isFilter { return try filtered(modifier, left, comparison, right, TextFolding(options)) }
            // A comparison with nil needs no object, which nobody may be able to make.
            let first = try evaluate(left, asStored: right == .constant(.null))
            return try compare(modifier, first, comparison, evaluate(right), TextFolding(options))
        }
    }

    /// Evaluates AND, which false decides, or OR, which true decides. Parts after the deciding one are not evaluated.
    private func chain(_ parts: [PredicateNode], deciding: Bool) throws -> Bool? {
        var isKnown = true
        for part in parts {
            switch try truth(part) {
            case deciding?: return deciding
            case nil: isKnown = false
            default: continue
            }
        }
        return isKnown ? !deciding : nil
    }

    /// Evaluates `ANYKEY operator value` over the values of a dictionary.
    private func anyKey(
        _ comparison: ComparisonOperator, _ right: EvaluatedValue, _ options: ComparisonOptions
    ) throws -> Bool {
        guard case .dictionary(let dictionary) = object else {
            throw ProgramFault.unsupported("ANYKEY is known for dictionaries only")
        }
        for value in dictionary.values where try Self.compare(value, comparison, right, TextFolding(options)) {
            return true
        }
        return false
    }

    /// Compares with ANY, ALL or NONE of the members of the left side. A single value is its own only member; nil has no
    /// members.
    private func compare(
        _ modifier: ComparisonModifier, _ left: EvaluatedValue, _ comparison: ComparisonOperator,
        _ right: EvaluatedValue, _ folding: TextFolding
    ) throws -> Bool {
        switch modifier {
        case .direct: return try Self.compare(left, comparison, right, folding)
        case .any: return try members(of: left) { try Self.compare($0, comparison, right, folding) }
        case .none: return try !members(of: left) { try Self.compare($0, comparison, right, folding) }
        case .all: return try !members(of: left) { try !Self.compare($0, comparison, right, folding) }
        }
    }

    /// Tells whether a test holds for a member. Members that are collections, as at the end of a path through two to-many
    /// relationships, are searched too.
    private func members(of value: EvaluatedValue, contain test: (EvaluatedValue) throws -> Bool) throws -> Bool {
        switch value {
        case .null: return false
        case .collection(let collection):
            try enter()
            defer { leave() }
            for member in collection.members {
                if case .collection = member {
                    if try members(of: member, contain: test) { return true }
                } else {
                    try step()
                    if try test(member) { return true }
                }
            }
            return false
        default: return try test(value)
        }
    }

    // MARK: Comparisons

    /// Tells whether `left comparison right` holds.
    static func compare(
        _ left: EvaluatedValue, _ comparison: ComparisonOperator, _ right: EvaluatedValue, _ folding: TextFolding
    ) throws(ProgramFault) -> Bool {
        switch comparison {
        case .equal: return ValueOrder.areEqual(left, right, folding)
        case .notEqual: return !ValueOrder.areEqual(left, right, folding)
        case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
            if left.isNull || right.isNull { return false }
            return comparison.holds(try ValueOrder.order(left, right, folding))
        case .between:
            guard case .collection(let bounds) = right, bounds.count == 2 else {
                throw .type("BETWEEN takes a list of two values, {low, high}")
            }
            let (low, high) = (bounds.members[0], bounds.members[1])
            guard try compare(left, .greaterThanOrEqual, low, folding) else { return false }
            return try compare(left, .lessThanOrEqual, high, folding)
        case .isIn: return try isIn(left, right, folding, name: "IN")
        case .contains: return try isIn(right, left, folding, name: "CONTAINS")
        case .beginsWith, .endsWith:
            guard let text = try left.searchable(comparison.rawValue),
                let part = try right.searchable(comparison.rawValue)
            else { return false }
            return TextSearch.finds(text, comparison, part, folding)
        case .like, .matches:
            guard let text = try left.searchable(comparison.rawValue),
                let pattern = try right.searchable(comparison.rawValue)
            else { return false }
            return try PatternCache.pattern(pattern, comparison, folding).matches(text)
        }
    }

    private static func isIn(
        _ value: EvaluatedValue, _ whole: EvaluatedValue, _ folding: TextFolding, name: String
    ) throws(ProgramFault) -> Bool {
        switch whole {
        case .null: return false
        case .collection(let collection): return collection.contains(value, folding)
        case .dictionary(let dictionary):
            return dictionary.values.contains { ValueOrder.areEqual(value, $0, folding) }
        default:
            guard let text = try whole.searchable(name), let part = try value.searchable(name) else { return false }
            return TextSearch.finds(text, .contains, part, folding)
        }
    }
}

extension EvaluatedCollection {
    /// Tells whether a value is a member.
    func contains(_ value: EvaluatedValue, _ folding: TextFolding) -> Bool {
        members.contains { ValueOrder.areEqual(value, $0, folding) }
    }
}

extension EvaluatedValue {
    /// Returns the text that BEGINSWITH and similar operators search; nil for nil.
    fileprivate func searchable(_ name: String) throws(ProgramFault) -> String? {
        switch self {
        case .null: return nil
        case .text(let text): return text
        case .url(let url): return url.absoluteString
        default: throw .type("\(name) does not take a value of type \(label)")
        }
    }
}

/// The last compiled patterns of LIKE and MATCHES. The same few are used for every object.
private enum PatternCache {
    struct Key: Hashable {
        let text: String
        let comparison: ComparisonOperator
        let folding: TextFolding
    }

    static let capacity = 64
    /// The length of the longest cached pattern. Longer ones are compiled each time, so that the cache stays small.
    static let longest = 200

    private static let known = Mutex<[Key: TextPattern]>([:])

    static func pattern(
        _ text: String, _ comparison: ComparisonOperator, _ folding: TextFolding
    ) throws(ProgramFault) -> TextPattern {
        let key = Key(text: text, comparison: comparison, folding: folding)
        if let pattern = known.withLock({ $0[key] }) { return pattern }
        let pattern = try TextPattern(text, comparison, folding)
        if text.utf8.count <= longest {
            known.withLock { patterns in
                if patterns.count >= capacity { patterns.removeAll(keepingCapacity: true) }
                patterns[key] = pattern
            }
        }
        return pattern
    }
}
