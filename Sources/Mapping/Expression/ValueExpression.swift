import Diagnostics

/// A value expression, parsed from an NSExpression format string.
///
/// ```swift
/// let celsius = try ValueExpression(parsing: "($source.temperature - 32.0) / 1.8")
/// print(celsius.format)
/// do {
///     _ = try ValueExpression(parsing: "$source.temperature -")
/// } catch {
///     print(error.code.rawValue, error.message)  // expression.syntax, and what was expected
/// }
/// ```
public struct ValueExpression: Sendable, Hashable {
    /// The syntax tree.
    package let node: ExpressionNode

    package init(node: ExpressionNode) { self.node = node }

    /// Parses an NSExpression format string.
    ///
    /// - Parameter format: at most 1 MiB of text, nested at most 200 levels deep.
    /// - Throws: `expression.syntax` with the text, the column and what was expected.
    /// - Complexity: O(bytes) time and memory.
    public init(parsing format: String) throws(MigrationError) {
        node = try ExpressionParser.expression(format)
    }

    /// The canonical text. Parsing it gives an equal expression.
    public var format: String { ExpressionPrinter.text { $0.write(node) } }
}

extension ValueExpression: CustomStringConvertible {
    public var description: String { format }
}

/// The predicate of a source filter, parsed from an NSPredicate format string.
public struct SourcePredicate: Sendable, Hashable {
    /// The syntax tree.
    package let node: PredicateNode

    package init(node: PredicateNode) { self.node = node }

    /// Parses an NSPredicate format string.
    ///
    /// - Parameter format: at most 1 MiB of text, nested at most 200 levels deep.
    /// - Throws: `expression.syntax` with the text, the column and what was expected.
    /// - Complexity: O(bytes) time and memory.
    public init(format: String) throws(MigrationError) {
        node = try ExpressionParser.predicate(format)
    }

    /// The canonical text. Parsing it gives an equal predicate.
    public var format: String { ExpressionPrinter.text { $0.write(node) } }
}

extension SourcePredicate: CustomStringConvertible {
    public var description: String { format }
}
