import Archives
import Diagnostics

/// The operators of archived comparison predicates, with the codes of NSComparisonPredicate.Operator.
enum ArchivedOperator: Int64 {
    case lessThan = 0
    case lessThanOrEqual = 1
    case greaterThan = 2
    case greaterThanOrEqual = 3
    case equal = 4
    case notEqual = 5
    case matches = 6
    case like = 7
    case beginsWith = 8
    case endsWith = 9
    case isIn = 10
    case contains = 99
    case between = 100

    var text: String {
        switch self {
        case .lessThan: "<"
        case .lessThanOrEqual: "<="
        case .greaterThan: ">"
        case .greaterThanOrEqual: ">="
        case .equal: "=="
        case .notEqual: "!="
        case .matches: "MATCHES"
        case .like: "LIKE"
        case .beginsWith: "BEGINSWITH"
        case .endsWith: "ENDSWITH"
        case .isIn: "IN"
        case .contains: "CONTAINS"
        case .between: "BETWEEN"
        }
    }
}

extension ModelArchiveReader {
    /// Reads the rules of a validation predicate that a definition can hold: `SELF >= n`, `SELF <= n`, the same of `length`,
    /// `SELF MATCHES "…"`, and combinations of these with AND (cyface V3; SampleModel2_V1). Other predicates are ignored.
    static func read(
        validation predicate: ArchivedObject, into attribute: inout AttributeDefinition,
        _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) {
        // A closure cannot capture the inout parameter, so it works on a copy.
        var copy = attribute
        try tree.visit(predicate) { tree throws(MigrationError) in
            if predicate.isKind(of: "NSCompoundPredicate") {
                guard try predicate.integer("NSCompoundPredicateType") == 1 else { return }
                for part in try predicate.elements("NSSubpredicates") ?? [] {
                    guard let part = part.object else { continue }
                    try read(validation: part, into: &copy, &tree)
                }
            } else if predicate.isKind(of: "NSComparisonPredicate") {
                try read(comparison: predicate, into: &copy, &tree)
            }
        }
        attribute = copy
    }

    private static func read(
        comparison predicate: ArchivedObject, into attribute: inout AttributeDefinition,
        _ tree: inout ArchivedTreeGuard
    ) throws(MigrationError) {
        guard let left = try predicate.object("NSLeftExpression"),
            let right = try predicate.object("NSRightExpression"),
            let operation = try predicate.object("NSPredicateOperator"),
            let code = try operation.integer("NSOperatorType")
        else { throw malformed("A validation predicate lacks an operand or its operator") }
        guard right.isKind(of: "NSConstantValueExpression") else { return }
        let constant = try right.value("NSConstantValue")
        if left.isKind(of: "NSSelfExpression") {
            switch ArchivedOperator(rawValue: code) {
            case .greaterThanOrEqual:
                attribute.minimum = try value(constant, of: attribute.type, "minimum")
            case .lessThanOrEqual:
                attribute.maximum = try value(constant, of: attribute.type, "maximum")
            case .matches:
                attribute.regularExpression = try constant.string()
            default: break
            }
        } else if try ArchivedExpressionText.expression(left, &tree) == "length" {
            guard let length = try constant.integer().flatMap({ Int(exactly: $0) }) else {
                throw malformed("A bound of the length is a \(constant.kindName)")
            }
            switch ArchivedOperator(rawValue: code) {
            case .greaterThanOrEqual: attribute.minimumLength = length
            case .lessThanOrEqual: attribute.maximumLength = length
            default: break
            }
        }
    }
}
