import ManagedModel

/// Checks the rules of the middle version. The two steps check them and a composed mapping model does not, so they must follow
/// from the rules that it does check.
extension MappingComposition {
    /// - Throws: ``Obstacle`` naming the entity and the property with a rule that the destination lacks.
    func checkRules() throws(Obstacle) {
        for one in first.mappings {
            guard let source = first.source(of: one), let middle = first.destination(of: one) else { continue }
            let next = second.mappings.filter { second.source(of: $0) == middle && second.destination(of: $0) != nil }
            // Objects without a destination break no rule of it.
            for other in next.isEmpty ? [nil] : next.map(Optional.some) {
                try checkAttributes(one, source, middle, other)
                try checkRelationships(one, source, middle, other)
                try checkUniqueness(source, middle, other, one)
            }
        }
    }

    /// True if the first step accepts a broken rule that its source had already.
    private var firstExcuses: Bool { excuses && first.model.rulesOfTheSource == .warn }
    /// True if the composed mapping model accepts broken rules that its source had already.
    private var excusesAll: Bool { firstExcuses && second.model.rulesOfTheSource == .warn }

    private func checkAttributes(
        _ one: EntityMapping, _ source: EntityDescription, _ middle: EntityDescription, _ other: EntityMapping?
    ) throws(Obstacle) {
        let destination = other.flatMap(second.destination(of:))
        for attribute in middle.attributes where attribute.isStored && !attribute.isDerived {
            let early = one.attributeMapping(named: attribute.name)
            // A default of the model satisfies the model's rules.
            if early?.valueExpression == nil, (early?.carriedValue ?? attribute.definition.defaultValue) != nil {
                continue
            }
            let copies: [(attribute: AttributeDescription, mapping: PropertyMapping)] =
                (other?.attributeMappings ?? []).compactMap { late in
                    guard late.valueExpression?.node.ownKey == attribute.name,
                        let copy = late.name.flatMap({ destination?.attribute(named: $0) })
                    else { return nil }
                    return (copy, late)
                }
            let original = early?.valueExpression?.node.ownKey.flatMap { source.attribute(named: $0) }
            let old = original.map { Self.rules($0) } ?? []
            let rules = Self.rules(attribute)
            func checked(_ attribute: AttributeDescription, _ mapping: PropertyMapping?) -> Set<String> {
                Self.rules(attribute).subtracting(mapping?.fill(of: attribute) == nil ? [] : [Self.required])
            }
            let kept = copies.map { checked($0.attribute, $0.mapping) } + (firstExcuses ? [old] : [])
            try check(
                checked(attribute, early), keptIn: kept, rules, old, copies.map { Self.rules($0.attribute) },
                "\(middle.definition.name).\(attribute.name)")
        }
    }

    /// Checks that each rule of a property in the middle is kept, and that none of its neighbours' common rules is missing.
    ///
    /// - Parameters:
    ///   - checked: the rules that the first step checks.
    ///   - late: the rules of the copies in the destination.
    private func check(
        _ checked: Set<String>, keptIn kept: [Set<String>], _ rules: Set<String>, _ old: Set<String>,
        _ late: [Set<String>], _ name: String
    ) throws(Obstacle) {
        guard checked.allSatisfy({ rule in kept.contains { $0.contains(rule) } }) else {
            throw Obstacle("\(name) has a rule that the next version lacks")
        }
        guard !excusesAll || late.allSatisfy({ $0.subtracting(rules).isDisjoint(with: old) }) else {
            throw Obstacle("\(name) lacks a rule that both its neighbours have")
        }
    }

    private func checkRelationships(
        _ one: EntityMapping, _ source: EntityDescription, _ middle: EntityDescription, _ other: EntityMapping?
    ) throws(Obstacle) {
        let destination = other.flatMap(second.destination(of:))
        for relationship in middle.relationships where !relationship.isTransient {
            let rules = Self.rules(relationship)
            let original = first.origin(of: relationship.name, in: one).relationship
                .flatMap { source.relationship(named: $0) }
            let old = original.map(Self.rules) ?? []
            let copies = (other?.relationshipMappings ?? []).compactMap { late in
                guard let other, let name = late.name,
                    second.origin(of: name, in: other).relationship == relationship.name
                else { return nil as RelationshipDescription? }
                return destination?.relationship(named: name)
            }
            let late = copies.map { Self.rules($0) }
            try check(rules, keptIn: late, rules, old, late, "\(middle.definition.name).\(relationship.name)")
        }
    }

    private func checkUniqueness(
        _ source: EntityDescription, _ middle: EntityDescription, _ other: EntityMapping?, _ one: EntityMapping
    ) throws(Obstacle) {
        let destination = other.flatMap(second.destination(of:))
        func origins(_ constraint: [String], _ mapping: EntityMapping?, _ step: CompositionStep) -> Set<String>? {
            let names = constraint.map { name in
                mapping?.attributeMapping(named: name)?.valueExpression?.node.ownKey
                    ?? mapping?.relationshipMapping(named: name)?.valueExpression.flatMap { _ in
                        mapping.flatMap { step.origin(of: name, in: $0).relationship }
                    }
            }
            return names.contains(nil) ? nil : Set(names.compactMap { $0 })
        }
        let kept = Set((destination.map(Self.constraints) ?? []).compactMap { origins($0, other, second) })
        let own = Self.constraints(middle)
        for constraint in own where !kept.contains(Set(constraint)) {
            throw Obstacle("\(middle.definition.name) has a uniqueness constraint that the next version lacks")
        }
        guard excusesAll else { return }
        let old = Set(Self.constraints(source).map { Set($0) })
        for constraint in kept.subtracting(own.map { Set($0) }) {
            if let names = origins(Array(constraint), one, first), old.contains(names) {
                throw Obstacle("\(middle.definition.name) lacks a uniqueness constraint that both its neighbours have")
            }
        }
    }

    private static let required = "required"

    private static func rules(_ description: AttributeDescription) -> Set<String> {
        let attribute = description.definition
        var rules: Set<String> = attribute.isOptional ? [] : [required]
        func add(_ name: String, _ value: String?) { if let value { rules.insert("\(name) \(value)") } }
        add("required in", description.requiringComposite)
        add("minimum", attribute.minimum.map { "\($0)" })
        add("maximum", attribute.maximum.map { "\($0)" })
        add("minimumLength", attribute.minimumLength.map { "\($0)" })
        add("maximumLength", attribute.maximumLength.map { "\($0)" })
        add("pattern", attribute.regularExpression)
        for predicate in attribute.validationPredicates { add("predicate", "\(predicate)") }
        return rules
    }

    private static func rules(_ relationship: RelationshipDescription) -> Set<String> {
        var rules: Set<String> = relationship.isOptional ? [] : [required]
        guard relationship.isToMany else { return rules }
        if relationship.minCount > 0 {
            rules.insert("minimumCount \(relationship.minCount) \(relationship.isOptional)")
        }
        if relationship.maxCount > 0 { rules.insert("maximumCount \(relationship.maxCount)") }
        return rules
    }

    private static func constraints(_ entity: EntityDescription) -> [[String]] {
        entity.allUniquenessConstraints.map(\.attributes)
    }
}
