import Foundation
import ManagedModel
import Mapping

/// The values of an expression's parts for one object, each evaluated by itself.
struct ExpressionTrace {
    /// The greatest number of parts that are evaluated.
    private static let most = 100

    let object: NSObject
    let variables: [String: Any?]
    /// True for a source filter, whose comparisons with nil are unknown.
    var isFilter = false
    private(set) var parts: [ObjectExplanation.Part] = []

    init(_ object: NSObject, variables: [String: Any?], isFilter: Bool = false) {
        self.object = object
        self.variables = variables
        self.isFilter = isFilter
    }

    /// Returns the parts of an expression or predicate in reading order, without literals and bare variables.
    func parts(of syntax: SyntaxNode) -> [ObjectExplanation.Part] {
        var trace = self
        trace.descend(into: syntax, depth: 0)
        return trace.parts
    }

    private mutating func add(_ node: SyntaxNode, depth: Int) {
        guard parts.count < Self.most else { return }
        switch node {
        case .expression(.constant), .expression(.variable), .expression(.evaluatedObject), .expression(.anyKey),
            .expression(.opaque), .predicate(.constant):
            return
        case .expression(.predicate(let inner)): add(.predicate(inner), depth: depth)
        case .predicate(.expression(let inner)): add(.expression(inner), depth: depth)
        default:
            if case .expression(.aggregate) = node, node.children.allSatisfy(\.isLiteral) { return }
            var (value, problem): (ShownValue?, String?)
            do { value = try evaluate(node) } catch { problem = VerificationObstacle.reason(of: error) }
            parts.append(.init(expression: node.format, depth: depth, value: value, problem: problem))
            descend(into: node, depth: depth + 1)
        }
    }

    private mutating func descend(into node: SyntaxNode, depth: Int) {
        switch node {
        // The members of the collection are not at hand.
        case .expression(.subquery(let collection, _, _)): add(.expression(collection), depth: depth)
        case .expression(.ternary(let condition, let then, let otherwise)):
            add(.predicate(condition), depth: depth)
            guard let holds = try? truth(of: condition) == true else { return }
            add(.expression(holds ? then : otherwise), depth: depth)
        case .expression(.keyPath(let target, let names))
        where names.count > 1 && !names.contains { $0.hasPrefix("@") }:
            add(.expression(.keyPath(target: target, components: names.dropLast())), depth: depth)
        default: for child in node.children { add(child, depth: depth) }
        }
    }

    private func evaluate(_ node: SyntaxNode) throws -> ShownValue {
        switch node {
        case .expression(let node):
            ShownValue(
                try ValueExpression(node: node).evaluate(with: object, variables: variables, asStored: true))
        case .predicate(let node): try truth(of: node).map(ShownValue.boolean) ?? .other("unknown")
        }
    }

    private func truth(of node: PredicateNode) throws -> Bool? {
        let predicate = SourcePredicate(node: node)
        return isFilter
            ? try predicate.filterTruth(of: object, variables: variables)
            : try predicate.evaluate(with: object, variables: variables)
    }
}

extension SyntaxNode {
    fileprivate var isLiteral: Bool { if case .expression(.constant) = self { true } else { false } }

    fileprivate var format: String {
        switch self {
        case .expression(let node): ValueExpression(node: node).format
        case .predicate(let node): SourcePredicate(node: node).format
        }
    }
}
