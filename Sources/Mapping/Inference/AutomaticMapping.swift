import Diagnostics
import ManagedModel

/// The expressions that properties get when nobody says how they are computed: what inference and Xcode's compiler
/// fill in, and what JSON leaves out.
///
/// - An attribute: `$source.<counterpart>`; a new one has no expression, and keeps what insertion gives it.
/// - A relationship: the objects that the counterpart's objects became,
///   `FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', '<mapping>', $source.<counterpart>)`
///   where exactly one entity mapping leads to the relationship's destination entity and its subentities, else
///   `FUNCTION($manager, 'destinationInstancesForSourceRelationshipNamed:sourceInstances:', '<counterpart>',
///   $source.<counterpart>)`; a new one has no expression. (SampleModel's V2toV3.cdm shows both: `owner`, `cars`.)
/// - Transient properties hold nothing in a store and are not mapped, neither from nor to. A derived attribute is copied
///   where the source has it.
///
/// Counterparts are found as ``CounterpartMatching`` says, attributes and relationships in one list, so that an attribute
/// that became a relationship is noticed.
package struct AutomaticMapping {
    /// One property of a destination entity.
    package struct Property {
        package let name: String
        package let isRelationship: Bool
        /// The property that was matched as a whole: a composite attribute for its elements, where it has no counterpart that
        /// has elements too.
        package let matchedName: String
        /// The entity that declares it.
        package let declaringEntity: String
        package let outcome: Outcome
        /// Whether a nil source value becomes the model's default: the attribute was optional, and is now required
        /// with a default.
        package let replacesNil: Bool
        /// What Xcode's compiler fills in: the expression also where the two properties do not fit, which shows when it
        /// runs, unless a policy deals with the property; nil for a new property, and where an attribute became a
        /// relationship or the reverse.
        package let compiledExpression: ValueExpression?

        /// The expression; nil where the property is new, or where it cannot be mapped.
        package var expression: ValueExpression? {
            if case .mapped(let expression, _) = outcome { return expression }
            return nil
        }

        /// Why it cannot be mapped; nil where it can, or is new.
        package var unmapped: UnmappedProperty? {
            guard case .incompatible(let reason, let origin) = outcome else { return nil }
            return UnmappedProperty(source: origin, reason: reason.reason(of: name, from: origin))
        }

        /// The line that maps it in JSON, where its values convert when an expression names them; nil where they do not.
        var convertingLine: String? {
            guard case .incompatible(let reason, let origin) = outcome, reason.convertsWhereNamed else { return nil }
            return "\"\(name)\": \"$source.\(origin)\""
        }

        /// A property mapping that says so. What cannot be mapped is left, with the reason.
        package func propertyMapping() -> PropertyMapping {
            if let unmapped {
                let mapping = PropertyMapping(name: name, valueExpression: nil)
                mapping.unmapped = unmapped
                return mapping
            }
            let mapping = PropertyMapping(name: name, valueExpression: expression, isAutomatic: true)
            mapping.replacesNil = replacesNil
            return mapping
        }
    }

    package enum Outcome {
        /// Computed by the expression, from the source property of the name.
        case mapped(ValueExpression, from: String)
        /// The source has no counterpart.
        case new
        /// The source property of the name has values that the property cannot take over.
        case incompatible(Incompatibility, from: String)
    }

    private let source: ManagedObjectModel
    private let destination: ManagedObjectModel
    /// Name of the mapping and index of the destination entity, by index of the source entity.
    private var targets: [Int: [EntityDescription]] = [:]
    /// By index of a destination entity: the entity mappings into it and its subentities.
    private var producers: [Int: (count: Int, name: String, hasSource: Bool)] = [:]
    /// Whether a relationship to an entity that nothing migrates is an incompatibility (inference) or leads nowhere.
    private let requiresTarget: Bool

    /// Prepares the expressions for a list of entity mappings. Mappings that name unknown entities count for nothing.
    ///
    /// - Parameter requiresTarget: Whether a relationship whose old destination entity no mapping migrates is refused.
    /// - Complexity: O(mappings × depth of inheritance).
    package init(
        entityMappings: [EntityMapping], source: ManagedObjectModel, destination: ManagedObjectModel,
        requiresTarget: Bool = false
    ) {
        self.source = source
        self.destination = destination
        self.requiresTarget = requiresTarget
        for mapping in entityMappings {
            guard let target = mapping.destinationEntityName.flatMap({ destination.entity(named: $0) }) else {
                continue
            }
            let origin = mapping.sourceEntityName.flatMap { source.entity(named: $0) }
            if let origin { targets[origin.index, default: []].append(target) }
            var next: EntityDescription? = target
            while let entity = next {
                let count = producers[entity.index]?.count ?? 0
                producers[entity.index] = (count + 1, mapping.name ?? "", origin != nil)
                next = entity.superentity
            }
        }
    }

    /// The stored properties of a destination entity, own and inherited: attributes, then relationships, each by name. The
    /// elements of composite attributes stand in their places.
    ///
    /// - Parameter sourceEntity: Nil for an add mapping: everything is new.
    /// - Complexity: O(properties × subentities of their destinations).
    package func properties(
        from sourceEntity: EntityDescription?, to destinationEntity: EntityDescription
    ) -> [Property] {
        let new = StoredProperty.all(of: destinationEntity)
        let old = sourceEntity.map(StoredProperty.all(of:)) ?? []
        return CompositePairing.pairs(new, old).map { pair in
            let expression = pair.isPart ? nil : pair.old.flatMap { self.expression(of: pair.new, from: $0) }
            return Property(
                name: pair.new.name, isRelationship: pair.new.isRelationship, matchedName: pair.matched,
                declaringEntity: pair.new.declaringEntity, outcome: outcome(of: pair, expression),
                replacesNil: pair.old.map { pair.new.replacesNil(of: $0) } ?? false,
                compiledExpression: expression)
        }
    }

    private func outcome(of pair: CompositePairing.Pair, _ expression: ValueExpression?) -> Outcome {
        guard let counterpart = pair.old else {
            return pair.filling(nil).map { .mapped($0, from: pair.optional?.old.path ?? "") } ?? .new
        }
        if pair.isPart {
            let problem: Incompatibility =
                switch counterpart {
                case .relationship: .kind(from: "a relationship", to: "an attribute")
                case .attribute, .composite:
                    .attributeType(from: counterpart.typeLabel, to: AttributeType.composite.label)
                }
            return .incompatible(problem, from: counterpart.name)
        }
        if let problem = incompatibility(from: counterpart, to: pair.new) {
            return .incompatible(problem, from: counterpart.name)
        }
        guard let expression else { return .new }
        return .mapped(pair.filling(expression, from: counterpart) ?? expression, from: counterpart.name)
    }

    /// Nil where the two are not both attributes or both relationships.
    private func expression(of property: StoredProperty, from counterpart: StoredProperty) -> ValueExpression? {
        let value = ExpressionNode.source(counterpart.name)
        switch (property, counterpart) {
        case (.attribute, .attribute): return ValueExpression(node: value)
        case (.relationship(let relationship), .relationship):
            return lookup(of: value, in: relationship, mapping: nil, name: counterpart.name)
        default: return nil
        }
    }

    /// The expression that looks up the destination objects of source objects, for a relationship.
    ///
    /// - Parameters:
    ///   - value: The source objects.
    ///   - mapping: The entity mapping that made the objects; nil: the only one that leads to the relationship's
    ///     destination entity, or whichever did.
    ///   - name: The source relationship.
    func lookup(
        of value: ExpressionNode, in relationship: RelationshipDescription, mapping: String?, name: String
    ) -> ValueExpression {
        let only =
            mapping
            ?? producers[relationship.destination.index].flatMap { $0.count == 1 && $0.hasSource ? $0.name : nil }
        let node = ExpressionNode.function(
            target: .variable("manager"),
            selector: only == nil ? LookupSelector.bySourceRelationship : LookupSelector.byEntityMapping,
            arguments: [.constant(.string(only ?? name)), value])
        return ValueExpression(node: node)
    }

    private func incompatibility(from old: StoredProperty, to new: StoredProperty) -> Incompatibility? {
        switch (old, new) {
        case (.attribute, .relationship), (.composite, .relationship):
            return .kind(from: "an attribute", to: "a relationship")
        case (.relationship, .attribute), (.relationship, .composite):
            return .kind(from: "a relationship", to: "an attribute")
        case (.attribute(let old), .attribute(let new)) where old.isElement && new.isElement:
            guard old.attributeType != new.attributeType else { return nil }
            let path = old.name.split(separator: ".").dropFirst().joined(separator: ".")
            return .compositeElement(path: path, from: old.attributeType.label, to: new.attributeType.label)
        case (.attribute, .attribute), (.attribute, .composite), (.composite, .attribute), (.composite, .composite):
            return old.typeLabel == new.typeLabel ? nil : .attributeType(from: old.typeLabel, to: new.typeLabel)
        case (.relationship(let old), .relationship(let new)):
            if old.isToMany && !new.isToMany { return .cardinality }
            return destinationIncompatibility(from: old.destination, to: new.destination)
        }
    }

    /// What the old destination entity became must be kin of the new one. Where it became nothing itself (an abstract
    /// parent was dissolved), its subentities speak for it.
    private func destinationIncompatibility(
        from old: EntityDescription, to new: EntityDescription
    ) -> Incompatibility? {
        let counterparts =
            targets[old.index] ?? old.withDescendants.flatMap { targets[$0.index] ?? [] }
        if counterparts.isEmpty && !requiresTarget { return nil }
        if counterparts.contains(where: { $0.isKin(of: new) }) { return nil }
        return .destination(
            old: old.definition.name, counterpart: counterparts.first?.definition.name, new: new.definition.name)
    }
}

/// Selectors of the migration manager that look objects up by a name.
enum LookupSelector {
    static let byEntityMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
    /// The method's name in Swift, as some mapping models spell it.
    static let byEntityMappingName = "destinationInstancesForEntityMappingName:sourceInstances:"
    static let bySourceRelationship = "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
    static let sourcesByEntityMapping = "sourceInstancesForEntityMappingNamed:destinationInstances:"
    static let fetch = "fetchRequestForSourceEntityNamed:predicateString:"
    static let fetchWithSubentities = "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:"
}
