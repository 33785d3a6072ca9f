import Archives
import Diagnostics

extension ModelArchiveWriter {
    /// The code that Core Data reports if a broken rule has no code of its own.
    private static let brokenRule: Int64 = 1550

    /// Writes the rules of an attribute with their warnings. Rules that are unchanged are written as they were archived.
    /// Returns nil if there is none.
    mutating func validation(of attribute: AttributeDefinition) -> (predicates: Reference, warnings: Reference)? {
        let rules = attribute.validationRules
        if let archived = attribute.archived.validation, archived.rules == rules {
            return (graph(archived.predicates), graph(archived.warnings))
        }
        var predicates: [Reference] = []
        var warnings: [Reference] = []
        for (isOnLength, operation, constant, warning) in Self.bounds(of: attribute) {
            guard let constant else { continue }
            let reference = value(constant)
            let left = isOnLength ? builder.keyPath("length") : builder.selfExpression()
            predicates.append(
                builder.comparison(left, builder.operation(operation), builder.constant(reference)))
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
    ) -> [(isOnLength: Bool, ComparisonOperator, AttributeValue?, warning: Int64)] {
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

    /// Writes a derivation expression: `now()`, a key path, an aggregate of one, or a function of one key path.
    ///
    /// - Throws: `archive.derivation` for any other text.
    mutating func derivation(_ text: String) throws(MigrationError) -> Reference {
        if text == "now()" { return builder.function("now", []) }
        if let parts = DerivationFunction.call(text) {
            if let aggregate = DerivationFunction.aggregates[parts.selector] {
                return try derivation("\(parts.keyPath).\(aggregate)")
            }
            return builder.function(parts.selector, [builder.keyPath(parts.keyPath)])
        }
        guard DerivationFunction.isKeyPath(text) else {
            throw MigrationError(
                "archive.derivation", .configuration, "The derivation expression cannot be archived",
                context: .init(expression: text))
        }
        for (selector, aggregate) in DerivationFunction.aggregates where text.hasSuffix("." + aggregate) {
            return builder.function(selector, [builder.keyPath(String(text.dropLast(aggregate.count + 1)))])
        }
        return builder.keyPath(text)
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
