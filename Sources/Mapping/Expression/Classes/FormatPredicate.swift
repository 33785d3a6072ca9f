import Diagnostics
import Foundation

/// A predicate over objects: Core Data's NSPredicate.
///
/// The initialisers do not throw, so a format that cannot be parsed is kept. Using such a predicate records the error with the
/// running migration, which ends when the policy's method returns. Outside a migration the predicate is false.
///
/// ```swift
/// let long = FormatPredicate(format: "pageCount > %d AND title CONTAINS[cd] %@", 300, "sea")
/// let either = FormatPredicate(format: "%K IN %@", "genre", ["novel", "poem"])
/// print(long.predicateFormat, long.evaluate(with: object), either)
/// ```
open class FormatPredicate: NSObject, @unchecked Sendable {
    /// The syntax tree.
    package let node: PredicateNode

    package init(node: PredicateNode) { self.node = node }

    /// Parses an NSPredicate format string.
    ///
    /// - Parameters:
    ///   - predicateFormat: at most 1 MiB of text, nested at most 200 levels deep.
    ///   - arguments: values for `%@`, `%K`, `%d` … in order.
    public init(format predicateFormat: String, _ arguments: Any?...) {
        node = PredicateNode(keeping: predicateFormat, arguments)
    }

    /// Parses an NSPredicate format string with its arguments in an array.
    public init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        node = PredicateNode(keeping: predicateFormat, arguments ?? [])
    }

    /// Parses an NSPredicate format string with its arguments in an array that may hold nil.
    public init(format predicateFormat: String, arguments: [Any?]) {
        node = PredicateNode(keeping: predicateFormat, arguments)
    }

    /// Makes a predicate that holds always or never.
    public init(value: Bool) { node = .constant(value) }

    /// Makes a predicate that a closure evaluates, from the object and the substitution variables.
    public init(block: @escaping (Any?, [String: Any]?) -> Bool) {
        node = .expression(.opaque(OpaqueConstant(.predicateBlock(block))))
    }

    /// Parses an NSPredicate format string.
    ///
    /// - Throws: `expression.syntax` with the text, the column and what was expected.
    public init(parsing predicateFormat: String) throws(MigrationError) {
        node = try ExpressionParser.predicate(predicateFormat)
    }

    /// The tree as a part of another predicate. A subclass in user code is evaluated through its own method.
    package final var part: PredicateNode {
        let type = type(of: self)
        if type == FormatPredicate.self || type == ComparisonPredicate.self || type == CompoundPredicate.self {
            return node
        }
        return .expression(
            .opaque(OpaqueConstant(.predicateBlock { self.evaluate(with: $0, substitutionVariables: $1) })))
    }

    /// The error of a format that could not be parsed; nil if it was parsed.
    package final var failure: MigrationError? {
        guard case .expression(.opaque(let constant)) = node else { return nil }
        return constant.failure
    }

    /// The predicate's text as Core Data prints it: texts in double quotes, Booleans as 1 and 0.
    open var predicateFormat: String { ExpressionPrinter.text(style: .cocoa) { $0.write(node) } }

    /// Tells whether the predicate holds for an object.
    open func evaluate(with object: Any?) -> Bool { evaluate(with: object, substitutionVariables: nil) }

    /// Tells whether the predicate holds for an object, with values for its `$variables`.
    open func evaluate(with object: Any?, substitutionVariables bindings: [String: Any]?) -> Bool {
        EvaluationScope.recording(false) {
            try ExpressionEvaluator(object: object, variables: bindings ?? [:]).holds(SourcePredicate(node: node))
        }
    }

    /// Returns the predicate with its variables replaced by values. Variables without a value stay.
    open func withSubstitutionVariables(_ variables: [String: Any]) -> FormatPredicate {
        FormatPredicate.make(node.substituting(variables.mapValues(ExpressionNode.argument)))
    }

    /// Returns the predicate of a tree, in the class that Core Data uses for it.
    package static func make(_ node: PredicateNode) -> FormatPredicate {
        switch node {
        case .not, .and, .or: return CompoundPredicate(node: node)
        case .comparison(.none, let left, let comparison, let right, let options):
            return CompoundPredicate(node: .not(.comparison(modifier: .any, left, comparison, right, options)))
        case .comparison: return ComparisonPredicate(node: node)
        default: return FormatPredicate(node: node)
        }
    }

    open override func isEqual(_ object: Any?) -> Bool { (object as? FormatPredicate)?.node == node }
    open override var hash: Int { node.hashValue }
    open override var description: String { predicateFormat }
    open override func copy() -> Any { self }
}

extension PredicateNode {
    /// Makes the tree of a format. If the format cannot be parsed, the tree throws the error when it is used.
    init(keeping format: String, _ arguments: [Any?]) {
        do throws(MigrationError) { self = try ExpressionParser.predicate(format, arguments: arguments) } catch {
            self = .expression(.opaque(OpaqueConstant(.failure(error, text: ExpressionLexer.excerpt(format)))))
        }
    }
}
