import ManagedModel

/// The default expressions of properties: inference and Xcode's compiler fill them in, and JSON may leave them out.
///
/// - An attribute: `$source.<counterpart>`; a new one has no expression, and keeps the value of its insertion.
/// - A relationship: the objects that were made of the counterpart's objects, `FUNCTION($manager,
///   'destinationInstancesForEntityMappingNamed:sourceInstances:', '<mapping>', $source.<counterpart>)` if exactly one entity
///   mapping leads to the relationship's destination entity and its subentities, else `FUNCTION($manager,
///   'destinationInstancesForSourceRelationshipNamed:sourceInstances:', '<counterpart>', $source.<counterpart>)`; a new one has
///   no expression. (SampleModel's V2toV3.cdm shows both: `owner`, `cars`.)
/// - Transient properties have no value in a store, and are mapped neither from nor to. A derived attribute is copied if the
///   source has it.
///
/// ``CounterpartMatching`` finds the counterparts, with attributes and relationships in one list, so that an attribute that
/// became a relationship is noticed.
package struct AutomaticMapping {
    /// One property of a destination entity.
    package struct Property {
        package let name: String
        package let isRelationship: Bool
        /// The name of the property that was matched: the property itself, or the composite around it if its counterpart has no
        /// elements.
        package let matchedName: String
        /// The entity that declares it.
        package let declaringEntity: String
        package let outcome: Outcome
        /// The reason why some links of the counterpart may find no room in the property; nil if there is room for all. The
        /// links that fit are made where an instruction allows it.
        package let shortage: Incompatibility?
        /// True if a nil source value becomes the model's default: the attribute was optional, and is now required with a
        /// default.
        package let replacesNil: Bool
        /// The expression that Xcode's compiler fills in, also if the two properties do not fit: that shows at run time, unless
        /// a policy sets the property. Nil for a new property, and if an attribute became a relationship or the reverse.
        package let compiledExpression: ValueExpression?

        /// The expression; nil if the property is new or cannot be mapped.
        package var expression: ValueExpression? {
            if case .mapped(let expression, _) = outcome { expression } else { nil }
        }

        /// The reason why the property cannot be mapped; nil if it can, or is new.
        package var unmapped: UnmappedProperty? {
            guard case .incompatible(let reason, let origin) = outcome else { return nil }
            return UnmappedProperty(source: origin, reason: reason.reason(of: name, from: origin))
        }

        /// The reason why the property is not mapped without an instruction, and its source property; nil if it is.
        package var problem: (reason: Incompatibility, source: String)? {
            switch outcome {
            case .incompatible(let reason, let origin): (reason, origin)
            case .mapped(_, let origin): shortage.map { ($0, origin) }
            case .new: nil
            }
        }

        /// Returns the line that maps the property of an entity, if its values convert when an expression names them, or if the
        /// links that fit are made; else nil.
        func convertingLine(of entity: String) -> ConvertingLine? {
            func line(_ expression: (Character) -> String, _ price: String?) -> ConvertingLine? {
                MappingChange("\(entity).\(name)=\(expression("\""))").map { change in
                    let text = "\"\(name)\": \"\(expression("'"))\" (\(change.option)\(price.map { "; " + $0 } ?? ""))"
                    return ConvertingLine(text: text, change: change)
                }
            }
            if shortage != nil, case .mapped(_, let origin) = outcome {
                let selector = LookupSelector.bySourceRelationship
                return line(
                    { "FUNCTION($manager, \($0)\(selector)\($0), \($0)\(origin)\($0), $source.\(origin))" }, nil)
            }
            guard case .incompatible(let reason, let origin) = outcome, let conversion = reason.conversion else {
                return nil
            }
            return line({ conversion.expression(of: origin, quote: $0) }, conversion.price)
        }

        /// The property mapping that converts the values without a loss; nil if there is none.
        var convertingMapping: PropertyMapping? {
            guard case .incompatible(let reason, let origin) = outcome, let conversion = reason.conversion,
                conversion.isLossless, let expression = try? ValueExpression(parsing: conversion.expression(of: origin))
            else { return nil }
            return PropertyMapping(name: name, valueExpression: expression)
        }

        /// Returns a property mapping for the outcome. A property that cannot be mapped has no expression, but the reason.
        package func propertyMapping() -> PropertyMapping {
            let unmapped = unmapped
            let mapping = PropertyMapping(name: name, valueExpression: expression, isAutomatic: problem == nil)
            mapping.replacesNil = replacesNil && unmapped == nil
            mapping.unmapped = unmapped
            return mapping
        }
    }

    /// A line that maps a property which inference does not map without being told.
    struct ConvertingLine {
        /// The line in JSON, with the option that gives the same change, and its price.
        let text: String
        let change: MappingChange
    }

    package enum Outcome {
        /// Computed by the expression, from the source property with the name.
        case mapped(ValueExpression, from: String)
        /// The source has no counterpart.
        case new
        /// The source property with the name has values that the property cannot take.
        case incompatible(Incompatibility, from: String)
    }

    private let source: ManagedObjectModel
    private let destination: ManagedObjectModel
    /// The destination entities of the mappings, by index of the source entity.
    private var targets: [Int: [EntityDescription]] = [:]
    /// The entity mappings into a destination entity and its subentities, by its index.
    private var producers: [Int: (count: Int, name: String, hasSource: Bool)] = [:]
    /// True if a relationship to an entity that nothing migrates is an incompatibility (inference). If false, it leads nowhere.
    private let requiresTarget: Bool

    /// Prepares the expressions for a list of entity mappings. Mappings that name unknown entities are ignored.
    ///
    /// - Parameter requiresTarget: true to refuse a relationship if no mapping migrates its old destination entity.
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
    /// elements of composite attributes take their places.
    ///
    /// - Parameter sourceEntity: the source entity; nil for an add mapping, where everything is new.
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
                shortage: pair.old.flatMap { shortage(from: $0, to: pair.new) },
                replacesNil: pair.old.map { pair.new.replacesNil(of: $0) } ?? false,
                compiledExpression: expression)
        }
    }

    private func outcome(of pair: CompositePairing.Pair, _ expression: ValueExpression?) -> Outcome {
        guard let counterpart = pair.old else {
            return pair.filling(nil).map { .mapped($0, from: pair.optional?.old.path ?? "") } ?? .new
        }
        if pair.isPart {
            let problem =
                counterpart.type.map { Incompatibility.attributeType(from: $0, to: .composite) }
                ?? .kind(from: "a relationship", to: "an attribute")
            return .incompatible(problem, from: counterpart.name)
        }
        if let problem = incompatibility(from: counterpart, to: pair.new) {
            return .incompatible(problem, from: counterpart.name)
        }
        guard let expression else { return .new }
        return .mapped(pair.filling(expression, from: counterpart) ?? expression, from: counterpart.name)
    }

    /// Returns the expression that maps a property; nil unless both are attributes or both are relationships.
    private func expression(of property: StoredProperty, from counterpart: StoredProperty) -> ValueExpression? {
        let value = ExpressionNode.source(counterpart.name)
        switch (property, counterpart) {
        case (.attribute, .attribute): return ValueExpression(node: value)
        case (.relationship(let relationship), .relationship):
            return lookup(of: value, in: relationship, mapping: nil, name: counterpart.name)
        default: return nil
        }
    }

    /// Returns the expression that looks up the destination objects of source objects, for a relationship.
    ///
    /// - Parameters:
    ///   - value: the source objects.
    ///   - mapping: the entity mapping that made the objects. If nil, it is the only one that leads to the relationship's
    ///     destination entity, or any if there are several.
    ///   - name: the source relationship.
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
            guard !new.attributeType.holdsEveryValue(of: old.attributeType) else { return nil }
            let path = old.name.split(separator: ".").dropFirst().joined(separator: ".")
            return .compositeElement(path: path, from: old.attributeType, to: new.attributeType)
        case (.attribute, .attribute), (.attribute, .composite), (.composite, .attribute), (.composite, .composite):
            guard !new.holdsEveryValue(of: old), let old = old.type, let new = new.type else { return nil }
            return .attributeType(from: old, to: new)
        case (.relationship(let old), .relationship(let new)):
            if old.isToMany && !new.isToMany { return .cardinality }
            return destinationIncompatibility(from: old.destination, to: new.destination)
        }
    }

    /// Returns the shortage of a relationship whose objects could be in it for several owners, and can be for one only; nil if
    /// there is none.
    private func shortage(from old: StoredProperty, to new: StoredProperty) -> Incompatibility? {
        guard case .relationship(let old) = old, case .relationship(let new) = new, old.sharesMembers,
            !new.sharesMembers
        else { return nil }
        return .owners(inverse: new.inverseRelationship.map { "\($0.entity.definition.name).\($0.name)" })
    }

    /// Returns the incompatibility of two destination entities; nil if they fit. The counterpart of the old one must be related
    /// to the new one by inheritance. If the old one has no counterpart (an abstract parent was dissolved), its subentities
    /// decide.
    private func destinationIncompatibility(
        from old: EntityDescription, to new: EntityDescription
    ) -> Incompatibility? {
        let counterparts =
            targets[old.index] ?? old.withDescendants.flatMap { targets[$0.index] ?? [] }
        if counterparts.isEmpty && !requiresTarget { return nil }
        if counterparts.contains(where: { $0.isKin(of: new) }) { return nil }
        let (oldName, newName) = (old.definition.name, new.definition.name)
        let isNew = !targets.values.contains { $0.contains(new) }
        if counterparts.isEmpty, isNew, !old.isAbstract, !new.isAbstract {
            return .renamedDestination(old: oldName, new: newName)
        }
        return .destination(old: oldName, counterpart: counterparts.first?.definition.name, new: newName)
    }
}
