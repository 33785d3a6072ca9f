/// Replaces variables with nodes.
extension ExpressionNode {
    /// Returns the tree with variables replaced. A SUBQUERY's own variable is not replaced inside it.
    func substituting(_ values: [String: ExpressionNode]) -> ExpressionNode {
        switch self {
        case .constant, .evaluatedObject, .anyKey, .opaque: return self
        case .variable(let name): return values[name] ?? self
        case .keyPath(let target, let components):
            return .keyPath(target: target?.substituting(values), components: components)
        case .function(let target, let selector, let arguments):
            return .function(
                target: target?.substituting(values), selector: selector,
                arguments: arguments.map { $0.substituting(values) })
        case .arithmetic(let sign, let left, let right):
            return .arithmetic(sign, left.substituting(values), right.substituting(values))
        case .negation(let inner): return .negation(inner.substituting(values))
        case .aggregate(let elements): return .aggregate(elements.map { $0.substituting(values) })
        case .ternary(let condition, let then, let otherwise):
            return .ternary(condition.substituting(values), then.substituting(values), otherwise.substituting(values))
        case .cast(let inner, let type): return .cast(inner.substituting(values), type)
        case .subquery(let collection, let variable, let predicate):
            var inner = values
            inner[variable] = nil
            return .subquery(collection.substituting(values), variable: variable, predicate.substituting(inner))
        case .setOperation(let sign, let left, let right):
            return .setOperation(sign, left.substituting(values), right.substituting(values))
        case .element(let collection, .at(let index)):
            return .element(collection.substituting(values), .at(index.substituting(values)))
        case .element(let collection, let index): return .element(collection.substituting(values), index)
        case .fetch(let request, let context, let countOnly):
            return .fetch(
                request: request.substituting(values), context: context.substituting(values), countOnly: countOnly)
        case .assignment(let name, let value): return .assignment(name, value.substituting(values))
        case .predicate(let predicate): return .predicate(predicate.substituting(values))
        }
    }
}

extension PredicateNode {
    /// Returns the tree with variables replaced.
    func substituting(_ values: [String: ExpressionNode]) -> PredicateNode {
        switch self {
        case .constant: self
        case .not(let inner): .not(inner.substituting(values))
        case .and(let parts): .and(parts.map { $0.substituting(values) })
        case .or(let parts): .or(parts.map { $0.substituting(values) })
        case .comparison(let modifier, let left, let comparison, let right, let options):
            .comparison(
                modifier: modifier, left.substituting(values), comparison, right.substituting(values), options)
        case .expression(let node): .expression(node.substituting(values))
        }
    }
}
