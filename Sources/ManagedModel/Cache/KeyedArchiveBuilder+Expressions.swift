import Archives

/// The objects that archived NSExpressions and NSPredicates are made of, for models and for the expression language.
extension KeyedArchiveBuilder {
    package typealias Fields = [String: PropertyListValue]

    /// Adds an expression of a class, with Core Data's code of its kind.
    package mutating func expression(_ name: String, _ code: UInt, _ fields: Fields = [:]) -> Reference {
        var fields = fields
        fields["NSExpressionType"] = .integer(Int64(code))
        return object(ClassName(name, "NSExpression"), fields)
    }

    package mutating func selfExpression() -> Reference { expression("NSSelfExpression", 1) }

    package mutating func constant(_ value: Reference) -> Reference {
        expression("NSConstantValueExpression", 0, ["NSConstantValue": value.field])
    }

    /// Adds a key path. Paths from a variable are archived as calls of valueForKeyPath: (SampleModel2_V1's
    /// `$FETCH_SOURCE.alias`).
    ///
    /// - Parameter target: the start of the path; nil for SELF.
    package mutating func keyPath(_ path: String, of target: Reference? = nil) -> Reference {
        let specifier = expression("NSKeyPathSpecifierExpression", 10, ["NSKeyPath": string(path).field])
        let operand = target ?? selfExpression()
        let selector = target != nil || path.contains(".") ? "valueForKeyPath:" : "valueForKey:"
        return object(
            ClassName("NSKeyPathExpression", "NSFunctionExpression", "NSExpression"),
            [
                "NSExpressionType": .integer(target == nil ? 3 : 4), "NSOperand": operand.field,
                "NSSelectorName": string(selector).field,
                "NSArguments": array([specifier], isMutable: true).field,
            ])
    }

    /// Adds a call of a function.
    ///
    /// - Parameter operand: the target; nil for a built-in function.
    package mutating func function(
        _ selector: String, of operand: Reference? = nil, _ arguments: [Reference], isMutable: Bool = false
    ) -> Reference {
        let operand =
            operand
            ?? expression(
                "NSConstantValueExpression", 0,
                ["NSConstantValueClassName": string("_NSPredicateUtilities").field])
        return expression(
            "NSFunctionExpression", 4,
            [
                "NSOperand": operand.field, "NSSelectorName": string(selector).field,
                "NSArguments": array(arguments, isMutable: isMutable).field,
            ])
    }

    /// Adds the operator of a comparison. Core Data's codes say the members of a collection that it tests, and the options.
    package mutating func operation(
        _ sign: ComparisonOperator, modifier: Int64 = 0, options: Int64 = 0
    ) -> Reference {
        let (code, flags) = (PropertyListValue.integer(sign.code), PropertyListValue.integer(options))
        let (name, fields): (String, Fields) =
            switch sign {
            case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
                ("NSComparisonPredicateOperator", ["NSVariant": code, "NSOptions": flags])
            case .equal, .notEqual:
                ("NSEqualityPredicateOperator", ["NSNegate": .boolean(sign == .notEqual), "NSOptions": flags])
            case .between: ("NSBetweenPredicateOperator", [:])
            case .contains, .isIn: ("NSInPredicateOperator", ["NSFlags": flags])
            case .matches: ("NSMatchingPredicateOperator", ["NSFlags": flags])
            case .like: ("NSLikePredicateOperator", ["NSFlags": flags])
            case .beginsWith, .endsWith:
                (
                    "NSSubstringPredicateOperator",
                    ["NSFlags": flags, "NSPosition": .integer(sign == .beginsWith ? 0 : 1)]
                )
            }
        let className =
            [.matches, .like, .beginsWith, .endsWith].contains(sign)
            ? ClassName(name, "NSStringPredicateOperator", "NSPredicateOperator")
            : ClassName(name, "NSPredicateOperator")
        return object(
            className, fields.merging(["NSOperatorType": code, "NSModifier": .integer(modifier)]) { $1 })
    }

    /// Adds a comparison by an operator object.
    package mutating func comparison(_ left: Reference, _ operation: Reference, _ right: Reference) -> Reference {
        object(
            ClassName("NSComparisonPredicate", "NSPredicate"),
            [
                "NSLeftExpression": left.field, "NSRightExpression": right.field,
                "NSPredicateOperator": operation.field,
            ])
    }
}

/// The operators of comparisons, by their texts.
package enum ComparisonOperator: String, Sendable {
    case lessThan = "<"
    case lessThanOrEqual = "<="
    case greaterThan = ">"
    case greaterThanOrEqual = ">="
    case equal = "=="
    case notEqual = "!="
    case matches = "MATCHES"
    case like = "LIKE"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case isIn = "IN"
    case between = "BETWEEN"

    /// The operators by Core Data's codes.
    package static let byCode: [Int64: ComparisonOperator] = [
        0: .lessThan, 1: .lessThanOrEqual, 2: .greaterThan, 3: .greaterThanOrEqual, 4: .equal, 5: .notEqual,
        6: .matches, 7: .like, 8: .beginsWith, 9: .endsWith, 10: .isIn, 99: .contains, 100: .between,
    ]
    /// Core Data's code.
    package var code: Int64 { Self.byCode.first { $0.value == self }?.key ?? 4 }
}
