import Foundation
import ManagedModel

// The parts of property descriptions that are predicates and expressions.

extension NSPropertyDescription {
    /// The predicates that a value has to satisfy, over SELF: the bounds, the lengths and the regular expression of an
    /// attribute, and other rules of the model. Empty for a relationship, whose counts are its rules.
    public var validationPredicates: [FormatPredicate] {
        guard let rule = (self as? NSAttributeDescription)?.definition else { return [] }
        var predicates: [FormatPredicate] = []
        func add(_ format: String, _ bound: Any?) {
            if let bound { predicates.append(FormatPredicate(format: format, bound)) }
        }
        add("SELF >= %@", rule.minimum?.object)
        add("SELF <= %@", rule.maximum?.object)
        add("length >= %@", rule.minimumLength)
        add("length <= %@", rule.maximumLength)
        add("SELF MATCHES %@", rule.regularExpression)
        return predicates + rule.validationPredicates.compactMap { $0.format.map { FormatPredicate(format: $0) } }
    }

    /// The texts that Core Data shows if one of the rules is broken.
    public var validationWarnings: [Any] { (self as? NSAttributeDescription)?.definition.validationWarnings ?? [] }

    /// Sets the predicates that a value has to satisfy, and a text for each. Those of a relationship are left out.
    public func setValidationPredicates(
        _ predicates: [FormatPredicate]?, withValidationWarnings warnings: [String]?
    ) {
        guard let attribute = self as? NSAttributeDescription else { return }
        attribute.set(
            \.validationPredicates, (predicates ?? []).map { ValidationPredicate(format: $0.predicateFormat) })
        attribute.set(\.validationWarnings, warnings ?? [])
    }
}

extension NSDerivedAttributeDescription {
    /// The expression that computes the value; nil for a form that cannot be written as text.
    public var derivationExpression: ValueExpression? {
        get { definition.derivationExpression.flatMap { try? ValueExpression(parsing: $0) } }
        set { set(\.derivationExpression, newValue?.format) }
    }
}
