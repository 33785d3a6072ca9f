import ManagedModel

import struct Foundation.Data
import struct Foundation.Decimal

/// The syntax tree of value expressions, with all of NSExpression's forms.
package indirect enum ExpressionNode: Hashable, Sendable {
    case constant(ExpressionConstant)
    /// `$name`, without the dollar sign.
    case variable(String)
    /// `SELF`.
    case evaluatedObject
    /// `target.a.b`; a nil target is the evaluated object. Components may be collection operators (`@count`).
    case keyPath(target: ExpressionNode?, components: [String])
    /// `FUNCTION(target, 'selector:', arguments…)`, or a built-in function (`sum(…)`, `now()`) with a nil target.
    case function(target: ExpressionNode?, selector: String, arguments: [ExpressionNode])
    case arithmetic(ArithmeticOperator, ExpressionNode, ExpressionNode)
    case negation(ExpressionNode)
    case aggregate([ExpressionNode])
    case ternary(PredicateNode, ExpressionNode, ExpressionNode)
    case cast(ExpressionNode, String)
    /// `SUBQUERY(collection, $variable, predicate)`.
    case subquery(ExpressionNode, variable: String, PredicateNode)
    case setOperation(SetOperator, ExpressionNode, ExpressionNode)
    /// `collection[index]`, `[FIRST]`, `[LAST]`, `[SIZE]`.
    case element(ExpressionNode, ElementIndex)
    /// `FETCH(request, context, countOnly)`.
    case fetch(request: ExpressionNode, context: ExpressionNode, countOnly: Bool)
    /// `$name := value`.
    case assignment(String, ExpressionNode)
    /// `ANYKEY`: any key of the object, as in search predicates.
    case anyKey
    /// A predicate used as a value.
    case predicate(PredicateNode)
    /// A part without a text form: an object, a closure, or a text that could not be parsed.
    case opaque(OpaqueConstant)
}

package enum ExpressionConstant: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case decimal(Decimal)
    case string(String)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data(Data)
}

/// The operators of arithmetic, with their codes in instructions.
package enum ArithmeticOperator: Int32, Sendable, CaseIterable {
    case add, subtract, multiply, divide, power, modulus

    var symbol: String { ["+", "-", "*", "/", "**", "%"][Int(rawValue)] }

    /// The selector by which archives and function calls name the operator.
    var selector: String {
        [
            "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "raise:toPower:", "modulus:by:",
        ][Int(rawValue)]
    }

    /// The operators by selector.
    static let bySelector = Dictionary(uniqueKeysWithValues: allCases.map { ($0.selector, $0) })
}

package enum SetOperator: String, Sendable {
    case union = "UNION"
    case intersection = "INTERSECT"
    case difference = "MINUS"
}

package indirect enum ElementIndex: Hashable, Sendable {
    case at(ExpressionNode)
    case first
    case last
    case size
}

/// The syntax tree of predicates, with all of NSPredicate's forms.
package indirect enum PredicateNode: Hashable, Sendable {
    case constant(Bool)
    case not(PredicateNode)
    case and([PredicateNode])
    case or([PredicateNode])
    case comparison(
        modifier: ComparisonModifier, ExpressionNode, ComparisonOperator, ExpressionNode, ComparisonOptions)
    /// An expression used as a predicate. It holds if its value is true.
    case expression(ExpressionNode)
}

package enum ComparisonModifier: String, Sendable {
    case direct = ""
    case any = "ANY"
    case all = "ALL"
    case none = "NONE"

    /// The modifiers by Core Data's codes. NONE is the negation of ANY.
    static let byCode: [Int64: ComparisonModifier] = [0: .direct, 1: .all, 2: .any]
    /// Core Data's code.
    var code: Int64 { self == .direct ? 0 : self == .all ? 1 : 2 }
}

package typealias ComparisonOperator = ManagedModel.ComparisonOperator

package struct ComparisonOptions: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let caseInsensitive = ComparisonOptions(rawValue: 1)
    package static let diacriticInsensitive = ComparisonOptions(rawValue: 2)
    package static let normalized = ComparisonOptions(rawValue: 4)
    package static let localeSensitive = ComparisonOptions(rawValue: 8)
}
