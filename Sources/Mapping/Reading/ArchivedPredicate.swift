import Archives
import Diagnostics

/// Reads archived NSPredicate objects into the syntax tree. The keys are those of validation predicates in compiled models
/// (SampleModel2_V1 and cyface V3). Bounded like ``ArchivedExpression``.
enum ArchivedPredicate {
    /// Tells whether an object is a predicate, by its class.
    static func isPredicate(_ object: ArchivedObject) -> Bool {
        object.isKind(of: "NSPredicate") || object.className.hasSuffix("Predicate")
    }

    /// Reads one predicate with its parts.
    ///
    /// - Throws: `archive.…` for damage, cycles and size; `archive.expression` for predicates without a text form: blocks,
    ///   comparisons by a selector of an app.
    static func node(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> PredicateNode {
        try tree.visit(object) { tree throws(MigrationError) in
            switch true {
            case object.isKind(of: "NSTruePredicate"): return .constant(true)
            case object.isKind(of: "NSFalsePredicate"): return .constant(false)
            case object.isKind(of: "NSComparisonPredicate"): return try comparison(object, &tree)
            case object.isKind(of: "NSCompoundPredicate"): return try compound(object, &tree)
            case object.isKind(of: "NSBlockPredicate"):
                throw ArchivedExpression.unreadable(object, "is a block, which is code of the app that archived it")
            default: throw ArchivedExpression.unreadable(object, "is no predicate that is known")
            }
        }
    }

    private static func compound(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> PredicateNode {
        var parts: [PredicateNode] = []
        for value in try object.elements("NSSubpredicates") ?? [] {
            guard let part = value.object else {
                throw ArchivedExpression.unreadable(object, "holds a \(value.kindName) where a predicate is expected")
            }
            parts.append(try node(part, &tree))
        }
        switch try object.integer("NSCompoundPredicateType") ?? 0 {
        case 0:
            guard parts.count == 1 else { throw ArchivedExpression.unreadable(object, "negates not just one part") }
            return .not(parts[0])
        case 1: return parts.count > 1 ? .and(parts) : parts.first ?? .constant(true)
        case 2: return parts.count > 1 ? .or(parts) : parts.first ?? .constant(false)
        case let type: throw ArchivedExpression.unreadable(object, "joins its parts in an unknown way (\(type))")
        }
    }

    private static func comparison(
        _ object: ArchivedObject, _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) -> PredicateNode {
        guard let left = try object.object("NSLeftExpression"), let right = try object.object("NSRightExpression"),
            let operation = try object.object("NSPredicateOperator")
        else { throw ArchivedExpression.unreadable(object, "lacks an operand or its operator") }
        let code = try operation.integer("NSOperatorType") ?? 0
        guard let comparison = ComparisonOperator.byCode[code] else {
            throw ArchivedExpression.unreadable(
                operation,
                code == 11
                    ? "compares by a selector, which is code of the app that archived it" : "is unknown (\(code))")
        }
        let type = try operation.integer("NSModifier") ?? 0
        guard let modifier = ComparisonModifier.byCode[type] else {
            throw ArchivedExpression.unreadable(operation, "has an unknown quantifier (\(type))")
        }
        // Text operators have their options in NSFlags, the others in NSOptions.
        var flags = try operation.integer("NSOptions")
        if flags == nil { flags = try operation.integer("NSFlags") }
        let options = ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: (flags ?? 0) & 0xF))
        return .comparison(
            modifier: modifier, try ArchivedExpression.node(left, &tree), comparison,
            try ArchivedExpression.node(right, &tree), options)
    }
}
