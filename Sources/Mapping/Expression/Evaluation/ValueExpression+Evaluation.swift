import Diagnostics
import Foundation

extension ValueExpression {
    /// The value for an object, without compiling: for what compiled programs cannot do and for policies.
    ///
    /// - Parameters:
    ///   - object: what SELF and bare key paths mean; any value a policy sees.
    ///   - variables: values of `$name`, by name.
    /// - Returns: a value as policies see it: NSNumber, NSDecimalNumber, String, Date, Data, UUID, URL, an object, an
    ///   NSSet, NSOrderedSet or array; nil.
    /// - Throws: `value.type`, `value.outOfRange`, `value.divisionByZero`, `value.key`, `expression.variable`,
    ///   `expression.unsupported`, `expression.limit` with the expression's text, and what objects and functions throw.
    package func evaluate(with object: Any?, variables: [String: Any?] = [:]) throws -> Any? {
        try ExpressionEvaluator(object: object, variables: variables).value(of: self).object
    }
}

extension SourcePredicate {
    /// Whether the predicate holds for an object, without compiling. `$source` is the object where it is not given.
    ///
    /// It has two truth values, as NSPredicate has them: a comparison with nil is false, and NOT makes it true. A
    /// compiled filter follows SQL, where it stays unknown.
    ///
    /// - Throws: as ``ValueExpression/evaluate(with:variables:)``.
    package func evaluate(with object: Any?, variables: [String: Any?] = [:]) throws -> Bool {
        var variables = variables
        if variables["source"] == nil { variables["source"] = .some(object) }
        return try ExpressionEvaluator(object: object, variables: variables).holds(self)
    }
}
