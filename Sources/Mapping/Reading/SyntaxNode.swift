/// A node of a syntax tree of either kind, for walks over both kinds.
enum SyntaxNode {
    case expression(ExpressionNode)
    case predicate(PredicateNode)

    /// The child nodes, in reading order.
    var children: [SyntaxNode] {
        switch self {
        case .expression(let node): node.children
        case .predicate(let node): node.children
        }
    }
}

extension ExpressionNode {
    fileprivate var children: [SyntaxNode] {
        switch self {
        case .constant, .variable, .evaluatedObject, .anyKey, .opaque: []
        case .keyPath(let target, _): target.map { [.expression($0)] } ?? []
        case .function(let target, _, let arguments):
            (target.map { [.expression($0)] } ?? []) + arguments.map(SyntaxNode.expression)
        case .arithmetic(_, let left, let right), .setOperation(_, let left, let right):
            [.expression(left), .expression(right)]
        case .negation(let operand), .cast(let operand, _), .assignment(_, let operand): [.expression(operand)]
        case .aggregate(let elements): elements.map(SyntaxNode.expression)
        case .ternary(let condition, let yes, let no): [.predicate(condition), .expression(yes), .expression(no)]
        case .subquery(let collection, _, let predicate): [.expression(collection), .predicate(predicate)]
        case .element(let collection, .at(let index)): [.expression(collection), .expression(index)]
        case .element(let collection, .first), .element(let collection, .last), .element(let collection, .size):
            [.expression(collection)]
        case .fetch(let request, let context, _): [.expression(request), .expression(context)]
        case .predicate(let predicate): [.predicate(predicate)]
        }
    }
}

extension PredicateNode {
    fileprivate var children: [SyntaxNode] {
        switch self {
        case .constant: []
        case .not(let operand): [.predicate(operand)]
        case .and(let operands), .or(let operands): operands.map(SyntaxNode.predicate)
        case .comparison(_, let left, _, let right, _): [.expression(left), .expression(right)]
        case .expression(let expression): [.expression(expression)]
        }
    }
}
