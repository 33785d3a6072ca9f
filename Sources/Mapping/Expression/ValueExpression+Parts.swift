import Diagnostics
import Foundation

/// The parts of an expression, as NSExpression gives them. A part that the expression does not have is nil or empty.
extension ValueExpression {
    /// The kinds of expressions, with Core Data's codes.
    public enum ExpressionType: UInt, Sendable {
        /// A value written in the text.
        case constantValue = 0
        /// `SELF`
        case evaluatedObject
        /// `$name`
        case variable
        /// Keys, joined by dots.
        case keyPath
        /// A call of a function or method.
        case function
        /// `UNION`
        case unionSet
        /// `INTERSECT`
        case intersectSet
        /// `MINUS`
        case minusSet
        /// `SUBQUERY(…)`
        case subquery = 13
        /// A list in braces.
        case aggregate = 14
        /// A wildcard of Spotlight; its value here is nil.
        case anyKey = 15
        /// A closure, which has no text form.
        case block = 19
        /// `TERNARY(…)`
        case conditional = 20
    }

    /// The kind of the outermost expression.
    public var expressionType: ExpressionType {
        switch node {
        case .constant, .predicate: .constantValue
        case .opaque(let constant): if case .expressionBlock = constant.content { .block } else { .constantValue }
        case .evaluatedObject: .evaluatedObject
        case .variable: .variable
        case .keyPath: .keyPath
        case .function, .arithmetic, .negation, .cast, .element, .fetch, .assignment: .function
        case .setOperation(.union, _, _): .unionSet
        case .setOperation(.intersection, _, _): .intersectSet
        case .setOperation(.difference, _, _): .minusSet
        case .subquery: .subquery
        case .aggregate: .aggregate
        case .anyKey: .anyKey
        case .ternary: .conditional
        }
    }

    /// The value of a constant.
    public var constantValue: Any? {
        switch node {
        case .constant(let constant): return EvaluatedValue(constant).object
        case .opaque(let constant): if case .value(let value) = constant.content { return value } else { return nil }
        case .predicate(let predicate): return FormatPredicate.make(predicate)
        default: return nil
        }
    }

    /// The key path as text, without its start; empty if there is none.
    public var keyPath: String {
        guard case .keyPath(_, let components) = node else { return "" }
        return components.joined(separator: ".")
    }

    /// The selector of the function; empty if there is none.
    public var function: String {
        switch node {
        case .function(_, let selector, _): selector
        case .arithmetic(let sign, _, _): sign.selector
        case .negation: "negate:"
        case .cast: "castObject:toType:"
        case .element: "objectFrom:withIndex:"
        case .keyPath: "valueForKeyPath:"
        default: ""
        }
    }

    /// The name of the variable without the dollar sign; empty if there is none.
    public var variable: String {
        switch node {
        case .variable(let name), .assignment(let name, _), .subquery(_, let name, _): name
        default: ""
        }
    }

    /// The target of the function, or the start of the key path; SELF if none is written.
    public var operand: ValueExpression {
        switch node {
        case .function(let target?, _, _), .keyPath(let target?, _): ValueExpression(node: target)
        default: ValueExpression(node: .evaluatedObject)
        }
    }

    /// The arguments of a function or block.
    public var arguments: [ValueExpression]? {
        let nodes: [ExpressionNode]
        switch node {
        case .function(_, _, let arguments): nodes = arguments
        case .arithmetic(_, let left, let right): nodes = [left, right]
        case .negation(let inner): nodes = [inner]
        case .cast(let inner, let type): nodes = [inner, .constant(.string(type))]
        case .element(let collection, .at(let index)): nodes = [collection, index]
        case .element(let collection, _): nodes = [collection]
        case .keyPath: nodes = [.constant(.string(keyPath))]
        case .opaque(let constant):
            if case .expressionBlock(_, let arguments) = constant.content { return arguments } else { return nil }
        default: return nil
        }
        return nodes.map(ValueExpression.init(node:))
    }

    /// The expressions of a list, or the collection of a subquery.
    public var collection: Any? {
        switch node {
        case .aggregate(let elements): elements.map(ValueExpression.init(node:))
        case .subquery(let collection, _, _): ValueExpression(node: collection)
        default: nil
        }
    }

    /// The predicate of a subquery or conditional.
    public var predicate: FormatPredicate {
        switch node {
        case .subquery(_, _, let predicate), .ternary(let predicate, _, _), .predicate(let predicate):
            FormatPredicate.make(predicate)
        default: FormatPredicate(value: true)
        }
    }

    /// The value of a conditional if its predicate holds.
    public var `true`: ValueExpression {
        if case .ternary(_, let value, _) = node { ValueExpression(node: value) } else { Self.null }
    }

    /// The value of a conditional if its predicate does not hold.
    public var `false`: ValueExpression {
        if case .ternary(_, _, let value) = node { ValueExpression(node: value) } else { Self.null }
    }

    /// The left operand of a set operation.
    public var left: ValueExpression {
        if case .setOperation(_, let left, _) = node { ValueExpression(node: left) } else { Self.null }
    }

    /// The right operand of a set operation.
    public var right: ValueExpression {
        if case .setOperation(_, _, let right) = node { ValueExpression(node: right) } else { Self.null }
    }

    private static let null = ValueExpression(node: .constant(.null))

    /// The error of a format that could not be parsed; nil if it was parsed.
    package var failure: MigrationError? {
        if case .opaque(let constant) = node { constant.failure } else { nil }
    }

    /// Returns the expression itself, which is a value.
    public func copy() -> Any { self }
}
