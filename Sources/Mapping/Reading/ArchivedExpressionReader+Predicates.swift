import Archives
import Diagnostics

/// Reads archived NSPredicate objects into the syntax tree. The keys are those of validation predicates in compiled models
/// (SampleModel2_V1 and cyface V3).
extension ArchivedExpressionReader {
    /// Tells whether an object is a predicate, by its class.
    func isPredicate(_ object: ArchivedObject) -> Bool {
        object.isKind(of: "NSPredicate") || object.className.hasSuffix("Predicate")
    }

    /// Reads one predicate with its parts.
    ///
    /// - Throws: `archive.…` for damage, cycles and size; `archive.expression` for predicates without a text form: blocks,
    ///   comparisons by a selector of an app.
    func predicate(_ object: ArchivedObject) throws(MigrationError) -> PredicateNode {
        try tree.enter(object)
        defer { tree.leave() }
        switch true {
        case object.isKind(of: "NSTruePredicate"): return .constant(true)
        case object.isKind(of: "NSFalsePredicate"): return .constant(false)
        case object.isKind(of: "NSComparisonPredicate"): return try comparison(object)
        case object.isKind(of: "NSCompoundPredicate"): return try compound(object)
        case object.isKind(of: "NSBlockPredicate"):
            throw Self.unreadable(object, "is a block, which is code of the app that archived it")
        default: throw Self.unreadable(object, "is no predicate that is known")
        }
    }

    private func compound(_ object: ArchivedObject) throws(MigrationError) -> PredicateNode {
        let parts = try (object.elements("NSSubpredicates") ?? []).map { value throws(MigrationError) in
            if let part = value.object { return try predicate(part) }
            throw Self.unreadable(object, "holds a \(value.kindName) where a predicate is expected")
        }
        switch try object.integer("NSCompoundPredicateType") ?? 0 {
        case 0:
            guard parts.count == 1 else { throw Self.unreadable(object, "negates not just one part") }
            return .not(parts[0])
        case 1: return parts.count > 1 ? .and(parts) : parts.first ?? .constant(true)
        case 2: return parts.count > 1 ? .or(parts) : parts.first ?? .constant(false)
        case let type: throw Self.unreadable(object, "joins its parts in an unknown way (\(type))")
        }
    }

    private func comparison(_ object: ArchivedObject) throws(MigrationError) -> PredicateNode {
        guard let left = try object.object("NSLeftExpression"), let right = try object.object("NSRightExpression"),
            let operation = try object.object("NSPredicateOperator")
        else { throw Self.unreadable(object, "lacks an operand or its operator") }
        let code = try operation.integer("NSOperatorType") ?? 0
        guard let comparison = ComparisonOperator.byCode[code] else {
            throw Self.unreadable(
                operation,
                code == 11
                    ? "compares by a selector, which is code of the app that archived it" : "is unknown (\(code))")
        }
        let type = try operation.integer("NSModifier") ?? 0
        guard let modifier = ComparisonModifier.byCode[type] else {
            throw Self.unreadable(operation, "has an unknown quantifier (\(type))")
        }
        // Text operators have their options in NSFlags, the others in NSOptions.
        var flags = try operation.integer("NSOptions")
        if flags == nil { flags = try operation.integer("NSFlags") }
        let options = ComparisonOptions(rawValue: UInt8(truncatingIfNeeded: (flags ?? 0) & 0xF))
        return .comparison(
            modifier: modifier, try node(left), comparison,
            try node(right), options)
    }
}
