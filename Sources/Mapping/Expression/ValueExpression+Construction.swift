import Diagnostics
import Foundation

/// The constructors of NSExpression.
extension ValueExpression {
    /// Parses an NSExpression format string.
    ///
    /// It does not throw, as Core Data's does not: a text that cannot be parsed is kept. A mapping model that holds such an
    /// expression is refused, and evaluating it records the error with the running migration.
    ///
    /// - Parameters:
    ///   - expressionFormat: at most 1 MiB of text, nested at most 200 levels deep.
    ///   - arguments: values for `%@`, `%K`, `%d` … in order.
    public init(format expressionFormat: String, _ arguments: Any?...) {
        self.init(format: expressionFormat, arguments: arguments)
    }

    /// Parses an NSExpression format string with its arguments in an array.
    public init(format expressionFormat: String, argumentArray arguments: [Any]) {
        self.init(format: expressionFormat, arguments: arguments)
    }

    /// Parses an NSExpression format string with its arguments in an array that may hold nil.
    public init(format expressionFormat: String, arguments: [Any?]) {
        do throws(MigrationError) {
            self.init(node: try ExpressionParser.expression(expressionFormat, arguments: arguments))
        } catch {
            let text = ExpressionLexer.excerpt(expressionFormat)
            self.init(node: .opaque(OpaqueConstant(.failure(error, text: text))))
        }
    }

    /// Makes a constant: a number, text, date, data, UUID, URL, collection, object or nil.
    public init(forConstantValue value: Any?) { self.init(node: .value(value)) }

    /// Makes a key path from the evaluated object.
    public init(forKeyPath keyPath: String) { self.init(node: .keyPath(text: keyPath)) }

    /// Makes a variable, `$name`.
    public init(forVariable name: String) { self.init(node: .variable(name)) }

    /// Makes a call of a built-in function by its selector: `sum:`, `add:to:`, `now` …
    public init(forFunction name: String, arguments: [Any]) {
        self.init(node: .function(target: nil, selector: name, arguments: arguments.map(ExpressionNode.argument)))
    }

    /// Makes a call of a function on another expression's value, by its selector.
    public init(forFunction target: ValueExpression, selectorName name: String, arguments: [Any]?) {
        let nodes = (arguments ?? []).map(ExpressionNode.argument)
        self.init(node: .function(target: target.node, selector: name, arguments: nodes))
    }

    /// Makes a list, `{a, b}`.
    public init(forAggregate subexpressions: [Any]) {
        self.init(node: .aggregate(subexpressions.map(ExpressionNode.argument)))
    }

    /// Makes the union of two collections.
    public init(forUnionSet left: ValueExpression, with right: ValueExpression) {
        self.init(node: .setOperation(.union, left.node, right.node))
    }

    /// Makes the intersection of two collections.
    public init(forIntersectSet left: ValueExpression, with right: ValueExpression) {
        self.init(node: .setOperation(.intersection, left.node, right.node))
    }

    /// Makes the difference of two collections: the members of the first that are not in the second.
    public init(forMinusSet left: ValueExpression, with right: ValueExpression) {
        self.init(node: .setOperation(.difference, left.node, right.node))
    }

    /// Makes `SUBQUERY(expression, $variable, predicate)`.
    public init(
        forSubquery expression: ValueExpression, usingIteratorVariable variable: String, predicate: FormatPredicate
    ) {
        self.init(node: .subquery(expression.node, variable: variable, predicate.part))
    }

    /// Makes `TERNARY(predicate, trueExpression, falseExpression)`.
    public init(
        forConditional predicate: FormatPredicate, trueExpression: ValueExpression, falseExpression: ValueExpression
    ) {
        self.init(node: .ternary(predicate.part, trueExpression.node, falseExpression.node))
    }

    /// Makes an expression whose value a closure computes from the evaluated object, the arguments and the context.
    public init(
        block: @escaping (Any?, [ValueExpression], NSMutableDictionary?) -> Any?, arguments: [ValueExpression]?
    ) {
        self.init(node: .opaque(OpaqueConstant(.expressionBlock(block, arguments ?? []))))
    }

    /// Returns the expression `SELF`.
    public static func expressionForEvaluatedObject() -> ValueExpression { ValueExpression(node: .evaluatedObject) }

    /// Returns the expression `ANYKEY`.
    public static func expressionForAnyKey() -> ValueExpression { ValueExpression(node: .anyKey) }

    /// Returns the value for an object.
    ///
    /// - Parameters:
    ///   - object: the value of SELF and the start of bare key paths.
    ///   - context: the values of the expression's `$variables`. Assignments are added to it.
    /// - Returns: the value; nil also if it could not be computed. Then the failure is recorded with the running migration.
    public func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
        EvaluationScope.recording(nil) {
            try ExpressionEvaluator(object: object, context: context).value(of: self).object
        }
    }
}

extension ExpressionNode {
    /// Returns the key path of a text like `a.b.@count`. A leading SELF is the evaluated object, a leading `$name` a variable.
    static func keyPath(text: String) -> ExpressionNode {
        keyPath(from: text.split(separator: ".", omittingEmptySubsequences: false).map(String.init))
    }

    /// Returns the key path of components as a text has them.
    static func keyPath(from components: [String]) -> ExpressionNode {
        let target: ExpressionNode
        if components[0] == "self" || components[0] == "SELF" {
            target = .evaluatedObject
        } else if components[0].hasPrefix("$"), components[0].count > 1 {
            target = .variable(String(components[0].dropFirst()))
        } else {
            return .keyPath(target: nil, components: components)
        }
        return components.count == 1 ? target : .keyPath(target: target, components: Array(components[1...]))
    }
}
