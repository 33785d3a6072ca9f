import Diagnostics
import ManagedModel

extension ValueExpression {
    /// True if the expression's form shows that its value is never an object: a literal, arithmetic, text.
    package var isValue: Bool {
        switch node {
        case .constant, .arithmetic, .negation, .cast, .predicate: true
        default: false
        }
    }

    /// True if the expression's form allows objects as its value.
    package var mayGiveObjects: Bool {
        if case .fetch(_, _, let countOnly) = node { !countOnly } else { !isValue }
    }

    /// The entities whose objects the expression fetches, as far as its requests name them with literal texts.
    package var fetchedEntityNames: [String] {
        var pending = [node]
        var names: [String] = []
        while let next = pending.popLast() {
            switch next {
            case .fetch(.function(.variable("manager"), LookupSelector.fetch, let arguments), _, _),
                .fetch(.function(.variable("manager"), LookupSelector.fetchWithSubentities, let arguments), _, _):
                if case .constant(.string(let name))? = arguments.first { names.append(name) }
            case .setOperation(.union, let left, let right), .ternary(_, let left, let right): pending += [left, right]
            case .setOperation(_, let left, _): pending.append(left)
            case .subquery(let collection, _, _): pending.append(collection)
            default: continue
            }
        }
        return names
    }

}

/// A value expression or the predicate of a source filter.
package protocol SyntaxOwner {
    /// The syntax tree.
    var syntax: SyntaxNode { get }
    /// The starts of key paths that mean the source object.
    static var sourceRoots: [ExpressionNode] { get }
}

extension ValueExpression: SyntaxOwner {
    package var syntax: SyntaxNode { .expression(node) }
    package static var sourceRoots: [ExpressionNode] { [.variable("source")] }
}

extension SourcePredicate: SyntaxOwner {
    package var syntax: SyntaxNode { .predicate(node) }
    package static var sourceRoots: [ExpressionNode] { [.variable("source"), .evaluatedObject] }
}

extension SyntaxOwner {
    /// True if it can be evaluated over objects although it cannot be compiled: every key path starts at a known object.
    package var isEvaluable: Bool {
        syntax.descendants.allSatisfy { part in
            switch part {
            case .expression(.anyKey): false
            case .expression(.keyPath(nil, _)), .expression(.evaluatedObject):
                Self.sourceRoots.contains(.evaluatedObject)
            default: true
            }
        }
    }

    /// Checks every key path from the source object against the model, at any depth; for those that are not compiled.
    ///
    /// - Throws: `mapping.unknownKeyPath` (78) naming the entity and the name that it does not have.
    /// - Complexity: O(nodes).
    package func checkSourcePaths(from entity: EntityDescription) throws(MigrationError) {
        var pending = [syntax]
        while let next = pending.popLast() {
            if case .expression(let node) = next, let (root, path) = node.keyPathParts, Self.sourceRoots.contains(root)
            {
                try Self.check(path, from: entity)
            } else {
                pending += next.children
            }
        }
    }

    /// Follows the relationships of a path. Components after an attribute or a collection operator are messages to its value
    /// and are not checked.
    private static func check(_ path: [String], from entity: EntityDescription) throws(MigrationError) {
        var current = entity
        for name in entity.joiningElements(in: path)
        where !name.hasPrefix("@distinctUnion") && !name.hasPrefix("@union") {
            if let relationship = current.relationship(named: name) {
                current = relationship.destination
                continue
            }
            if ["@sum", "@avg", "@min", "@max"].contains(name) { continue }
            let isKnown =
                name.hasPrefix("@") || current.hasProperty(named: name)
                || current.definition.fetchedProperties.contains { $0.name == name }
                || name == "self" || KnownObject.isObjectKey(name)
            guard isKnown else { throw .unknownProperty(name, of: current) }
            return
        }
    }
}
