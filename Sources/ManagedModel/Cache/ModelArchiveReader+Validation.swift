import Archives
import Diagnostics

extension ModelArchiveReader {
    /// Reads the rules of an attribute with their warnings.
    func readValidation(_ object: ArchivedObject, into attribute: inout AttributeDefinition) throws(MigrationError) {
        let predicates = try elements(object, "NSValidationPredicates") ?? []
        let warnings = try elements(object, "NSValidationWarnings") ?? []
        var rules = ValidationRules()
        for (index, predicate) in predicates.enumerated() {
            let predicate = try part(predicate, "A validation predicate")
            let warning = warnings.indices.contains(index) ? try warnings[index].string() : nil
            if let warning { attribute.validationWarnings.append(warning) }
            if let found = try bounds(predicate, of: attribute.type), rules.add(found) { continue }
            let text = try texts.predicate(predicate)
            attribute.validationPredicates.append(
                ValidationPredicate(format: text, form: ArchivedForm(graph: try graph(.object(predicate)), text: text)))
        }
        attribute.take(rules)
        guard !predicates.isEmpty else { return }
        attribute.archived.validation = ArchivedValidation(
            predicates: try graph(try object.value("NSValidationPredicates")),
            warnings: try graph(try object.value("NSValidationWarnings")), rules: attribute.validationRules)
    }

    /// Returns the bounds that a predicate expresses: `SELF >= n`, `SELF <= n`, the same of `length`, `SELF MATCHES "…"`, and
    /// several of them joined by AND (cyface V3; SampleModel2_V1). Returns nil if any part of it is something else.
    private func bounds(
        _ predicate: ArchivedObject, of type: AttributeType
    ) throws(MigrationError) -> ValidationRules? {
        try texts.tree.enter(predicate)
        defer { texts.tree.leave() }
        if predicate.isKind(of: "NSCompoundPredicate") {
            guard try predicate.integer("NSCompoundPredicateType") == 1 else { return nil }
            var all = ValidationRules()
            let parts = try predicate.elements("NSSubpredicates") ?? []
            for part in parts {
                guard let part = part.object, let found = try bounds(part, of: type), all.add(found) else { return nil }
            }
            return parts.isEmpty ? nil : all
        }
        return predicate.isKind(of: "NSComparisonPredicate") ? try bound(comparison: predicate, of: type) : nil
    }

    private func bound(
        comparison predicate: ArchivedObject, of type: AttributeType
    ) throws(MigrationError) -> ValidationRules? {
        guard let left = try predicate.object("NSLeftExpression"),
            let right = try predicate.object("NSRightExpression"),
            let operation = try predicate.object("NSPredicateOperator"),
            let code = try operation.integer("NSOperatorType")
        else { throw Self.malformed("A validation predicate lacks an operand or its operator") }
        guard right.isKind(of: "NSConstantValueExpression"), try operation.integer("NSModifier") ?? 0 == 0,
            try operation.integer("NSOptions") ?? 0 == 0, try operation.integer("NSFlags") ?? 0 == 0
        else { return nil }
        let constant = try right.value("NSConstantValue")
        var bound = ValidationRules()
        if left.isKind(of: "NSSelfExpression") {
            switch ComparisonOperator.byCode[code] {
            case .greaterThanOrEqual: bound.minimum = try? Self.value(constant, of: type, "minimum")
            case .lessThanOrEqual: bound.maximum = try? Self.value(constant, of: type, "maximum")
            case .matches: bound.regularExpression = try constant.string()
            default: return nil
            }
        } else if try texts.expression(left) == "length" {
            let length = try constant.integer().flatMap { Int(exactly: $0) }
            switch ComparisonOperator.byCode[code] {
            case .greaterThanOrEqual: bound.minimumLength = length
            case .lessThanOrEqual: bound.maximumLength = length
            default: return nil
            }
        }
        return bound == ValidationRules() ? nil : bound
    }
}
