import Diagnostics

/// A value expression: an NSExpression format string, parsed.
public struct ValueExpression: Sendable, Hashable {
    /// The syntax tree.
    package let node: ExpressionNode

    package init(node: ExpressionNode) { self.node = node }
}

/// The predicate of a source filter: an NSPredicate format string, parsed.
public struct SourcePredicate: Sendable, Hashable {
    /// The syntax tree.
    package let node: PredicateNode

    package init(node: PredicateNode) { self.node = node }
}
