import ManagedModel

extension ExpressionNode {
    /// Returns the tree with the attributes that it reads renamed. Returns nil if it reads more than attributes of its one
    /// object, calls code, or reads a name for which `rename` gives nil.
    ///
    /// - Parameter root: the start of the key paths; nil for the evaluated object.
    func renamingKeys(of root: ExpressionNode?, _ rename: (String) -> String?) -> ExpressionNode? {
        switch self {
        case .keyPath(let target, let components):
            // An element of a composite has a path; that of another object has a name that no attribute has.
            guard target == root || (root == nil && target == .evaluatedObject),
                let name = rename(components.joined(separator: "."))
            else { return nil }
            return .keyPath(target: target, components: name.split(separator: ".").map(String.init))
        case .variable, .evaluatedObject, .function(_?, _, _), .subquery, .setOperation, .element, .fetch, .assignment,
            .anyKey, .opaque:
            return nil
        default:
            return replacingChildren(
                { $0.renamingKeys(of: root, rename) }, { $0.renamingKeys(of: root, rename) })
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
        replacingChildren({ $0.renamingKeys(of: root, rename) }, { $0.renamingKeys(of: root, rename) })
    }
}
