import Archives
import Diagnostics

extension ModelArchiveWriter {
    /// The code that Core Data reports if a broken rule has no code of its own.
    private static let brokenRule: Int64 = 1550

    /// Writes the rules of an attribute with their warnings. Rules that are unchanged are written as they were archived.
    /// Returns nil if there is none.
    mutating func validation(
        of attribute: AttributeDefinition
    ) throws(MigrationError) -> (predicates: Reference, warnings: Reference)? {
        let rules = attribute.validationRules
        if let archived = attribute.archived.validation, archived.rules == rules {
            return (graph(archived.predicates), graph(archived.warnings))
        }
        var predicates: [Reference] = []
        var warnings: [Reference] = []
        for (isOnLength, operation, constant, warning) in Self.bounds(of: attribute) {
            guard let constant else { continue }
            let constantReference = try value(constant)
            predicates.append(
                comparison(operation, isOnLength ? keyPath("length") : selfExpression(), constantReference))
            warnings.append(builder.integer(warning))
        }
        for rule in attribute.validationPredicates {
            // The plan names a text that is no predicate.
            guard let archived = predicate(rule.format, rule.form) else { continue }
            predicates.append(archived)
            warnings.append(builder.integer(Self.brokenRule))
        }
        // Texts that no longer belong to an archived rule take the first places.
        for (index, text) in attribute.validationWarnings.enumerated() where warnings.indices.contains(index) {
            warnings[index] = builder.string(text)
        }
        guard !predicates.isEmpty else { return nil }
        return (builder.array(predicates, isMutable: true), builder.array(warnings, isMutable: true))
    }

    /// The bounds of an attribute, the lower one first: on its value or on the length of that, with the code that Core Data
    /// reports if the rule is broken.
    private static func bounds(
        of attribute: AttributeDefinition
    ) -> [(isOnLength: Bool, ArchivedOperator, AttributeValue?, warning: Int64)] {
        let isDate = attribute.type == .date
        func length(_ count: Int?) -> AttributeValue? { count.map { .integer(Int64($0)) } }
        return [
            (false, .greaterThanOrEqual, attribute.minimum, isDate ? 1640 : 1620),
            (false, .lessThanOrEqual, attribute.maximum, isDate ? 1630 : 1610),
            (true, .greaterThanOrEqual, length(attribute.minimumLength), 1670),
            (true, .lessThanOrEqual, length(attribute.maximumLength), 1660),
            (false, .matches, attribute.regularExpression.map { .string($0) }, 1680),
        ]
    }

    /// A comparison with a constant, as NSComparisonPredicate (cyface V3).
    private mutating func comparison(
        _ comparison: ArchivedOperator, _ left: Reference, _ constant: Reference
    ) -> Reference {
        let code = comparison.rawValue
        var fields: Fields = ["NSModifier": .integer(0), "NSOperatorType": .integer(code)]
        let operation: Reference
        if comparison == .matches {
            fields["NSFlags"] = .integer(0)
            operation = builder.object(
                ClassName("NSMatchingPredicateOperator", "NSStringPredicateOperator", "NSPredicateOperator"), fields)
        } else {
            (fields["NSVariant"], fields["NSOptions"]) = (.integer(code), .integer(0))
            operation = builder.object(ClassName("NSComparisonPredicateOperator", "NSPredicateOperator"), fields)
        }
        let right = builder.object(
            ClassName("NSConstantValueExpression", "NSExpression"),
            ["NSExpressionType": .integer(0), "NSConstantValue": constant.field])
        return builder.object(
            ClassName("NSComparisonPredicate", "NSPredicate"),
            [
                "NSLeftExpression": left.field, "NSRightExpression": right.field,
                "NSPredicateOperator": operation.field,
            ])
    }

    mutating func selfExpression() -> Reference {
        builder.object(ClassName("NSSelfExpression", "NSExpression"), ["NSExpressionType": .integer(1)])
    }

    private mutating func keyPath(_ path: String) -> Reference {
        let selector = path.contains(".") ? "valueForKeyPath:" : "valueForKey:"
        let specifier = builder.object(
            ClassName("NSKeyPathSpecifierExpression", "NSExpression"),
            ["NSExpressionType": .integer(10), "NSKeyPath": builder.string(path).field])
        let arguments = builder.array([specifier], isMutable: true)
        return builder.object(
            ClassName("NSKeyPathExpression", "NSFunctionExpression", "NSExpression"),
            [
                "NSExpressionType": .integer(3), "NSOperand": selfExpression().field,
                "NSSelectorName": builder.string(selector).field, "NSArguments": arguments.field,
            ])
    }

    private mutating func function(_ selector: String, _ arguments: [Reference]) -> Reference {
        let operand = builder.object(
            ClassName("NSConstantValueExpression", "NSExpression"),
            [
                "NSExpressionType": .integer(0),
                "NSConstantValueClassName": builder.string("_NSPredicateUtilities").field,
            ])
        return builder.object(
            ClassName("NSFunctionExpression", "NSExpression"),
            [
                "NSExpressionType": .integer(4), "NSOperand": operand.field,
                "NSSelectorName": builder.string(selector).field,
                "NSArguments": builder.array(arguments).field,
            ])
    }

    /// Writes a derivation expression: `now()`, a key path, an aggregate of one, or a function of one key path.
    ///
    /// - Throws: `archive.derivation` for any other text.
    mutating func derivation(_ text: String) throws(MigrationError) -> Reference {
        if text == "now()" { return function("now", []) }
        if let parts = DerivationFunction.call(text) {
            if let aggregate = DerivationFunction.aggregates[parts.selector] {
                return try derivation("\(parts.keyPath).\(aggregate)")
            }
            return function(parts.selector, [keyPath(parts.keyPath)])
        }
        guard DerivationFunction.isKeyPath(text) else {
            throw MigrationError(
                "archive.derivation", .configuration, "The derivation expression cannot be archived",
                context: .init(expression: text))
        }
        for (selector, aggregate) in DerivationFunction.aggregates where text.hasSuffix("." + aggregate) {
            return function(selector, [keyPath(String(text.dropLast(aggregate.count + 1)))])
        }
        return keyPath(text)
    }
}

extension DerivationFunction {
    /// Splits `name:(key.path)`, such as `canonical:(title)`, into its parts.
    static func call(_ text: String) -> (selector: String, keyPath: String)? {
        guard text.hasSuffix(")"), let open = text.firstIndex(of: "(") else { return nil }
        let selector = String(text[..<open])
        let argument = String(text[text.index(after: open)...].dropLast())
        guard selector.hasSuffix(":"), isKeyPath(String(selector.dropLast())), isKeyPath(argument) else { return nil }
        return (selector, argument)
    }
}
