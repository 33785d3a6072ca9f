import Diagnostics
import ManagedModel

extension ValueExpression {
    /// Whether the expression gives a value that is never an object: a literal, arithmetic, text.
    package var isValue: Bool {
        switch node {
        case .constant, .arithmetic, .negation, .cast, .predicate: true
        default: false
        }
    }

    /// Whether objects can evaluate what no compiled program can: every key path says of which object it is.
    package var isEvaluable: Bool {
        var pending: [SyntaxNode] = [.expression(node)]
        while let next = pending.popLast() {
            switch next {
            case .expression(.keyPath(nil, _)), .expression(.evaluatedObject), .expression(.anyKey): return false
            default: pending.append(contentsOf: next.children)
            }
        }
        return true
    }

    /// Checks every key path from `$source` against the model, at any depth: for expressions that are not compiled.
    ///
    /// - Throws: `mapping.unknownKeyPath` (78) naming the entity and the name that it does not have.
    /// - Complexity: O(nodes).
    package func checkSourcePaths(from entity: EntityDescription) throws(MigrationError) {
        var pending: [SyntaxNode] = [.expression(node)]
        while let next = pending.popLast() {
            guard case .expression(let node) = next, let (root, path) = node.keyPathParts,
                root == .variable("source")
            else {
                pending.append(contentsOf: next.children)
                continue
            }
            try Self.check(path, from: entity)
        }
    }

    /// Follows relationships; what comes behind an attribute or a collection operator is a message to its value.
    private static func check(_ path: [String], from entity: EntityDescription) throws(MigrationError) {
        var current = entity
        for name in path where !name.hasPrefix("@distinctUnion") && !name.hasPrefix("@union") {
            if let relationship = current.relationship(named: name) {
                current = relationship.destination
                continue
            }
            if ["@sum", "@avg", "@min", "@max"].contains(name) { continue }
            let isKnown =
                name.hasPrefix("@") || current.attribute(named: name) != nil
                || current.definition.fetchedProperties.contains { $0.name == name }
                || ["objectID", "entity", "self", "managedObjectContext", "description"].contains(name)
            guard isKnown else {
                throw MigrationError(
                    "mapping.unknownKeyPath", .configuration, "The source entity \(current) has no property \(name)")
            }
            return
        }
    }
}
