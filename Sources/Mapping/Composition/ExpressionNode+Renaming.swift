import ManagedModel

extension ExpressionNode {
    /// Returns the tree with the attributes that it reads renamed. Returns nil if it reads more than attributes of its one
    /// object, calls code, or reads a name for which `rename` gives nil.
    ///
    /// - Parameter root: the start of the key paths; nil for the evaluated object.
    func renamingKeys(of root: ExpressionNode?, _ rename: (String) -> String?) -> ExpressionNode? {
        func all(_ nodes: [ExpressionNode]) -> [ExpressionNode]? {
            let renamed = nodes.compactMap { $0.renamingKeys(of: root, rename) }
            return renamed.count == nodes.count ? renamed : nil
        }
        switch self {
        case .constant: return self
        case .keyPath(let target, let components):
            // An element of a composite has a path; that of another object has a name that no attribute has.
            guard target == root || (root == nil && target == .evaluatedObject),
                let name = rename(components.joined(separator: "."))
            else { return nil }
            return .keyPath(target: target, components: name.split(separator: ".").map(String.init))
        case .function(target: nil, let selector, let arguments):
            return all(arguments).map { .function(target: nil, selector: selector, arguments: $0) }
        case .arithmetic(let sign, let left, let right):
            return all([left, right]).map { .arithmetic(sign, $0[0], $0[1]) }
        case .negation(let inner): return inner.renamingKeys(of: root, rename).map { .negation($0) }
        case .aggregate(let elements): return all(elements).map { .aggregate($0) }
        case .ternary(let condition, let then, let otherwise):
            guard let condition = condition.renamingKeys(of: root, rename), let parts = all([then, otherwise]) else {
                return nil
            }
            return .ternary(condition, parts[0], parts[1])
        case .cast(let inner, let type): return inner.renamingKeys(of: root, rename).map { .cast($0, type) }
        case .predicate(let predicate): return predicate.renamingKeys(of: root, rename).map { .predicate($0) }
        case .variable, .evaluatedObject, .function, .subquery, .setOperation, .element, .fetch, .assignment, .anyKey,
            .opaque:
            return nil
        }
    }

    /// True if the expression reads nothing and calls no code.
    var isConstant: Bool { renamingKeys(of: .variable("source")) { _ in nil } != nil }

    /// Tells whether the expression reads only attributes of the source object and calls no code.
    func readsOwnAttributesOnly(of entity: EntityDescription) -> Bool {
        renamingKeys(of: .variable("source")) { entity.attribute(named: $0) == nil ? nil : $0 } != nil
    }
}

extension PredicateNode {
    /// Returns the tree with the attributes of its object renamed; nil as for expressions.
    ///
    /// - Parameter root: the start of the key paths; nil for the evaluated object, as in filters.
    func renamingKeys(of root: ExpressionNode? = nil, _ rename: (String) -> String?) -> PredicateNode? {
        func all(_ nodes: [PredicateNode]) -> [PredicateNode]? {
            let renamed = nodes.compactMap { $0.renamingKeys(of: root, rename) }
            return renamed.count == nodes.count ? renamed : nil
        }
        switch self {
        case .constant: return self
        case .not(let inner): return inner.renamingKeys(of: root, rename).map { .not($0) }
        case .and(let parts): return all(parts).map { .and($0) }
        case .or(let parts): return all(parts).map { .or($0) }
        case .comparison(let modifier, let left, let comparison, let right, let options):
            guard let left = left.renamingKeys(of: root, rename), let right = right.renamingKeys(of: root, rename)
            else { return nil }
            return .comparison(modifier: modifier, left, comparison, right, options)
        case .expression(let node): return node.renamingKeys(of: root, rename).map { .expression($0) }
        }
    }
}
