import Diagnostics

/// A path of relationships from the source object, as the argument of a lookup gives it.
package struct SourcePath: Hashable, Sendable {
    /// The names of the relationships in order; empty for the source object itself. An object reached in several ways counts
    /// once.
    package let components: [String]
    /// The variable of a SUBQUERY, which names a member in ``condition``.
    package private(set) var variable: String?
    package private(set) var condition: PredicateNode?
}

/// The value expression of a relationship mapping, in a form that needs no evaluation per object.
package enum RelationshipExpression: Hashable, Sendable {
    /// `FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', mapping, argument)`, also
    /// spelled `destinationInstancesForEntityMappingName:sourceInstances:`.
    case lookup(mapping: String, argument: SourcePath)
    /// `FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', relationship, argument)`.
    case lookupByRelationship(relationship: String, argument: SourcePath)
    /// nil, or a lookup of nil.
    case constantNil

    /// Recognises an expression.
    ///
    /// - Parameter context: the place of the expression, for the error.
    /// - Throws: `expression.unsupported` with the text for every other form.
    package init(
        _ expression: ValueExpression, context: MigrationError.Context = .init()
    ) throws(MigrationError) {
        func refusal(_ message: String) -> MigrationError {
            MigrationError(
                "expression.unsupported", .configuration, message,
                remedy: "Use FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', "
                    + "'<entity mapping>', $source.<relationship>), or a migration policy",
                context: .init(expression: ExpressionLexer.excerpt(expression.format))
            ).inside(context)
        }
        if expression.node == .constant(.null) {
            self = .constantNil
            return
        }
        guard case .function(let target, let selector, let arguments) = expression.node else {
            throw refusal("the value of a relationship has to be a lookup of destination objects or nil")
        }
        guard target == .variable("manager") else {
            throw refusal("a relationship's function has to be called on $manager")
        }
        let isByRelationship: Bool
        switch selector {
        case LookupSelector.byEntityMapping, LookupSelector.byEntityMappingName: isByRelationship = false
        case LookupSelector.bySourceRelationship: isByRelationship = true
        default: throw refusal("the selector '\(selector)' does not look destination objects up")
        }
        guard arguments.count == 2 else {
            throw refusal("the lookup takes two arguments, a name and source objects, not \(arguments.count)")
        }
        guard case .constant(.string(let name)) = arguments[0], !name.isEmpty else {
            throw refusal("the first argument of the lookup has to be a name as a string")
        }
        if arguments[1] == .constant(.null) || arguments[1] == .aggregate([]) {
            self = .constantNil
            return
        }
        guard let path = SourcePath(arguments[1]) else {
            throw refusal("the second argument of the lookup has to be $source or a key path from it")
        }
        self =
            isByRelationship
            ? .lookupByRelationship(relationship: name, argument: path) : .lookup(mapping: name, argument: path)
    }
}

extension SourcePath {
    /// Recognises `$source.a.b`, also written with `valueForKey:` and `valueForKeyPath:`, with the operators that unite several
    /// sets (`@distinctUnionOfSets`), or inside a SUBQUERY.
    init?(_ node: ExpressionNode) {
        guard let (root, path) = node.keyPathParts else { return nil }
        switch root {
        case .variable("source"):
            guard let components = path.withoutOperators(CollectionFold.unions) else { return nil }
            self.init(components: components)
        case .subquery(let collection, let variable, let condition) where path.isEmpty:
            guard let inner = SourcePath(collection), inner.condition == nil else { return nil }
            self.init(components: inner.components, variable: variable, condition: condition)
        default: return nil
        }
    }
}

extension ExpressionNode {
    /// The components of a key path from `$source` without collection operators; empty for `$source` itself; nil for every
    /// other expression.
    package var sourceKeyPath: [String]? {
        guard let (root, path) = keyPathParts, root == .variable("source") else { return nil }
        return path.contains { $0.hasPrefix("@") } ? nil : path
    }
}
