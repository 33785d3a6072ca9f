import Foundation

extension ValueExpression {
    /// Returns the value for an object without compiling, for policies and for expressions that compiled programs do not
    /// support.
    ///
    /// - Parameters:
    ///   - object: the value of SELF and the start of bare key paths; any value a policy sees.
    ///   - variables: the values of `$name`, by name.
    ///   - asStored: true for a ``TransformableValue`` where the value is that of a transformable attribute, passed on.
    /// - Returns: a value as policies see it: NSNumber, NSDecimalNumber, String, Date, Data, UUID, URL, an object, an NSSet,
    ///   NSOrderedSet or array; or nil.
    /// - Throws: `value.type`, `value.outOfRange`, `value.divisionByZero`, `value.key`, `expression.variable`,
    ///   `expression.unsupported`, `expression.limit` with the expression's text, and the errors of objects and functions.
    package func evaluate(with object: Any?, variables: [String: Any?] = [:], asStored: Bool = false) throws -> Any? {
        try ExpressionEvaluator(object: object, variables: variables).value(of: self, asStored: asStored).object
    }
}

extension SourcePredicate {
    /// Tells whether the predicate holds for an object, without compiling. `$source` is the object unless it is given.
    ///
    /// There are two truth values, as in NSPredicate: a comparison with nil is false, and NOT makes it true. A compiled filter
    /// follows SQL, where NOT leaves it unknown.
    ///
    /// - Throws: as ``ValueExpression/evaluate(with:variables:asStored:)``.
    package func evaluate(with object: Any?, variables: [String: Any?] = [:]) throws -> Bool {
        var variables = variables
        if variables["source"] == nil { variables["source"] = .some(object) }
        return try ExpressionEvaluator(object: object, variables: variables).holds(self)
    }

    /// Returns the truth of the predicate for a source object as in a filter, without compiling. There are three truth values,
    /// as in SQL and compiled filters.
    ///
    /// - Returns: nil for unknown.
    /// - Throws: as ``ValueExpression/evaluate(with:variables:asStored:)``.
    package func filterTruth(of object: Any?, variables: [String: Any?]) throws -> Bool? {
        var variables = variables
        variables["source"] = .some(object)
        return try ExpressionEvaluator(object: object, variables: variables).truth(self)
    }
}

/// An expression whose value is read repeatedly. Between two reads the caller points the evaluated object at another row, so
/// that the value may differ. Nothing of an earlier read is kept.
package final class ExpressionEvaluation {
    /// A value of the expression.
    package struct Value {
        fileprivate let value: EvaluatedValue

        /// The value as a policy sees it; a ``TransformableValue`` where a transformable attribute is passed on.
        package var object: Any? { value.object }
        /// The value if it is a floating-point number; nil for others.
        package var real: Double? { if case .real(let number) = value { number } else { nil } }
        /// The value if it is a text; nil for others.
        package var text: String? { if case .text(let text) = value { text } else { nil } }
    }

    private let expression: ValueExpression
    private let evaluator: ExpressionEvaluator

    /// Makes an evaluation; the parameters are those of ``ValueExpression/evaluate(with:variables:asStored:)``.
    package init(of expression: ValueExpression, with object: Any?, variables: [String: Any?]) {
        self.expression = expression
        evaluator = ExpressionEvaluator(object: object, variables: variables)
    }

    /// Returns the present value.
    ///
    /// - Throws: as ``ValueExpression/evaluate(with:variables:asStored:)``.
    package func value() throws -> Value {
        evaluator.beginAgain()
        return Value(value: try evaluator.value(of: expression, asStored: true))
    }
}
