/// A node of a syntax tree of either kind, for walks over both kinds.
package enum SyntaxNode {
    case expression(ExpressionNode)
    case predicate(PredicateNode)

    /// The child nodes, in reading order.
    package var children: [SyntaxNode] {
        var children: [SyntaxNode] = []
        func add(_ node: ExpressionNode) -> ExpressionNode? {
            children.append(.expression(node))
            return node
        }
        func add(_ node: PredicateNode) -> PredicateNode? {
            children.append(.predicate(node))
            return node
        }
        switch self {
        case .expression(let node): _ = node.replacingChildren(add, add)
        case .predicate(let node): _ = node.replacingChildren(add, add)
        }
        return children
    }

    /// The node and all nodes below it, in reading order.
    package var descendants: some Sequence<SyntaxNode> {
        sequence(state: [self]) { (pending: inout [SyntaxNode]) in
            guard let next = pending.popLast() else { return nil }
            pending += next.children.reversed()
            return next
        }
    }
}

extension ExpressionNode {
    /// Returns the node with its children replaced, in reading order; nil if a child has no replacement.
    func replacingChildren(
        _ expression: (ExpressionNode) -> ExpressionNode?, _ predicate: (PredicateNode) -> PredicateNode?
    ) -> ExpressionNode? {
        switch self {
        case .constant, .variable, .evaluatedObject, .anyKey, .opaque, .keyPath(nil, _): return self
        case .keyPath(let target?, let components):
            return expression(target).map { .keyPath(target: $0, components: components) }
        case .function(nil, let selector, let arguments):
            return arguments.replaced(expression).map { .function(target: nil, selector: selector, arguments: $0) }
        case .function(let target?, let selector, let arguments):
            return ([target] + arguments).replaced(expression).map {
                .function(target: $0[0], selector: selector, arguments: Array($0[1...]))
            }
        case .arithmetic(let sign, let left, let right):
            return [left, right].replaced(expression).map { .arithmetic(sign, $0[0], $0[1]) }
        case .negation(let inner): return expression(inner).map { .negation($0) }
        case .aggregate(let elements): return elements.replaced(expression).map { .aggregate($0) }
        case .ternary(let condition, let then, let otherwise):
            guard let condition = predicate(condition), let parts = [then, otherwise].replaced(expression) else {
                return nil
            }
            return .ternary(condition, parts[0], parts[1])
        case .cast(let inner, let type): return expression(inner).map { .cast($0, type) }
        case .subquery(let collection, let variable, let condition):
            guard let collection = expression(collection), let condition = predicate(condition) else { return nil }
            return .subquery(collection, variable: variable, condition)
        case .setOperation(let sign, let left, let right):
            return [left, right].replaced(expression).map { .setOperation(sign, $0[0], $0[1]) }
        case .element(let collection, .at(let index)):
            return [collection, index].replaced(expression).map { .element($0[0], .at($0[1])) }
        case .element(let collection, let index): return expression(collection).map { .element($0, index) }
        case .fetch(let request, let context, let countOnly):
            return [request, context].replaced(expression).map {
                .fetch(request: $0[0], context: $0[1], countOnly: countOnly)
            }
        case .assignment(let name, let value): return expression(value).map { .assignment(name, $0) }
        case .predicate(let inner): return predicate(inner).map { .predicate($0) }
        }
    }

    /// Returns the tree with variables replaced. A SUBQUERY's own variable is not replaced inside it.
    func substituting(_ values: [String: ExpressionNode]) -> ExpressionNode {
        switch self {
        case .variable(let name): return values[name] ?? self
        case .subquery(let collection, let variable, let predicate):
            var inner = values
            inner[variable] = nil
            return .subquery(collection.substituting(values), variable: variable, predicate.substituting(inner))
        default: return replacingChildren({ $0.substituting(values) }, { $0.substituting(values) }) ?? self
        }
    }
}

extension PredicateNode {
    /// Returns the node with its children replaced, in reading order; nil if a child has no replacement.
    func replacingChildren(
        _ expression: (ExpressionNode) -> ExpressionNode?, _ predicate: (PredicateNode) -> PredicateNode?
    ) -> PredicateNode? {
        switch self {
        case .constant: return self
        case .not(let inner): return predicate(inner).map { .not($0) }
        case .and(let parts): return parts.replaced(predicate).map { .and($0) }
        case .or(let parts): return parts.replaced(predicate).map { .or($0) }
        case .comparison(let modifier, let left, let comparison, let right, let options):
            return [left, right].replaced(expression).map {
                .comparison(modifier: modifier, $0[0], comparison, $0[1], options)
            }
        case .expression(let node): return expression(node).map { .expression($0) }
        }
    }

    /// The operand of `operand == nil` or `operand != nil` with a literal nil on either side; nil for other predicates.
    var nilTest: (operand: ExpressionNode, isEqual: Bool)? {
        guard case .comparison(_, let left, let sign, let right, _) = self, sign == .equal || sign == .notEqual,
            left == .constant(.null) || right == .constant(.null)
        else { return nil }
        return (right == .constant(.null) ? left : right, sign == .equal)
    }

    /// Returns the predicate `node == nil`, or `node != nil`.
    static func isNil(_ node: ExpressionNode, _ isEqual: Bool = true) -> PredicateNode {
        .comparison(modifier: .direct, node, isEqual ? .equal : .notEqual, .constant(.null), [])
    }

    /// Returns the tree with variables replaced.
    func substituting(_ values: [String: ExpressionNode]) -> PredicateNode {
        replacingChildren({ $0.substituting(values) }, { $0.substituting(values) }) ?? self
    }
}

extension Array {
    /// Returns the replacements of all elements; nil if one has none.
    fileprivate func replaced(_ replacement: (Element) -> Element?) -> [Element]? {
        let replaced = compactMap(replacement)
        return replaced.count == count ? replaced : nil
    }
}
