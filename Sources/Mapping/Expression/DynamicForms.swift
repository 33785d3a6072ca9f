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
        if case .fetch(_, _, let countOnly) = node { return !countOnly }
        return !isValue
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

    /// True if the expression can be evaluated over objects although it cannot be compiled: every key path starts at a named
    /// object.
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

    /// Checks every key path from `$source` against the model, at any depth; for expressions that are not compiled.
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

    /// Follows the relationships of a path. Components after an attribute or a collection operator are messages to its value
    /// and are not checked.
    fileprivate static func check(_ path: [String], from entity: EntityDescription) throws(MigrationError) {
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
                || name == "self" || ObjectKeys.contains(name)
            guard isKnown else {
                throw MigrationError(
                    "mapping.unknownKeyPath", .configuration, "The source entity \(current) has no property \(name)")
            }
            return
        }
    }
}

extension SourcePredicate {
    /// True if the predicate can be evaluated over objects although it cannot be compiled.
    package var isEvaluable: Bool {
        var pending: [SyntaxNode] = [.predicate(node)]
        while let next = pending.popLast() {
            if case .expression(.anyKey) = next { return false }
            pending.append(contentsOf: next.children)
        }
        return true
    }

    /// Checks every key path from the source object against the model, including bare ones and those from SELF.
    ///
    /// - Throws: `mapping.unknownKeyPath` (78) naming the entity and the name that it does not have.
    /// - Complexity: O(nodes).
    package func checkSourcePaths(from entity: EntityDescription) throws(MigrationError) {
        var pending: [SyntaxNode] = [.predicate(node)]
        while let next = pending.popLast() {
            guard case .expression(let node) = next, let (root, path) = node.keyPathParts,
                root == .variable("source") || root == .evaluatedObject
            else {
                pending.append(contentsOf: next.children)
                continue
            }
            try ValueExpression.check(path, from: entity)
        }
    }
}
