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
