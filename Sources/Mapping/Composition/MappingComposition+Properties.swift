import ManagedModel

extension MappingComposition {
    /// Returns the attribute mappings of a composed entity mapping.
    func attributes(
        of pair: Pair, from source: EntityDescription, to destination: EntityDescription
    ) throws(Obstacle) -> [PropertyMapping] {
        guard let one = pair.first, let other = pair.second, let middle = pair.middle else { return [] }
        var properties: [PropertyMapping] = []
        var copied: Set<String> = []
        for late in other.attributeMappings ?? [] {
            guard let name = late.name, let attribute = destination.attribute(named: name) else { continue }
            let property = PropertyMapping(name: name, valueExpression: nil)
            properties.append(property)
            guard let node = late.valueExpression?.node else {
                property.carriedValue = late.carriedValue
                property.unmapped = unmapped(late, pair)
                continue
            }
            if let key = node.ownKey, let between = middle.attribute(named: key) {
                copied.insert(key)
                try copy(between, one.attributeMapping(named: key), to: attribute, late, from: source, into: property)
                continue
            }
            guard let renamed = node.renamingKeys(of: .variable("source"), { key in self.renamed(key, pair) }) else {
                throw Obstacle("\(other.name ?? "") computes \(name) from what the step before computes")
            }
            property.valueExpression = ValueExpression(node: renamed)
            property.carriedValue = late.fill(of: attribute)
        }
        // A computed value that is not used may still fail to compute.
        for early in one.attributeMappings ?? [] where !copied.contains(early.name ?? "") {
            guard let expression = early.valueExpression, let attribute = middle.attribute(named: early.name ?? ""),
                let key = expression.node.ownKey
            else {
                if early.valueExpression?.node.isConstant == false {
                    throw Obstacle("\(one.name ?? "") computes \(early.name ?? ""), which the next step does not copy")
                }
                continue
            }
            guard let old = source.attribute(named: key)?.attributeType,
                attribute.attributeType.holdsEveryValue(of: old)
            else {
                throw Obstacle("\(one.name ?? "") converts \(attribute.name), which the next step does not copy")
            }
        }
        return properties
    }

    /// Returns the property that the second step leaves unmapped, with its name in the first step's source.
    private func unmapped(_ late: PropertyMapping, _ pair: Pair) -> UnmappedProperty? {
        guard var unmapped = late.unmapped else { return nil }
        guard let name = unmapped.source, let one = pair.first else { return unmapped }
        unmapped.source =
            one.attributeMapping(named: name)?.valueExpression?.node.ownKey
            ?? first.origin(of: name, in: one).relationship
        return unmapped
    }

    /// Maps an attribute that the second step copies. The first step's mapping applies.
    private func copy(
        _ middle: AttributeDescription, _ early: PropertyMapping?, to attribute: AttributeDescription,
        _ late: PropertyMapping, from source: EntityDescription, into property: PropertyMapping
    ) throws(Obstacle) {
        let isSameType = middle.attributeType == attribute.attributeType
        func external(_ attribute: AttributeDescription) -> Bool {
            attribute.definition.allowsExternalBinaryDataStorage
        }
        guard let early, let expression = early.valueExpression else {
            defer { property.unmapped = early?.unmapped }
            if let value = early?.carriedValue ?? middle.definition.defaultValue {
                guard isSameType else { throw Obstacle("\(middle.name) has a default of another type") }
                property.carriedValue = value
            } else if let value = late.fill(of: attribute) {
                property.carriedValue = value
            } else {
                property.valueExpression = ValueExpression(node: .constant(.null))
            }
            return
        }
        let original = expression.node.ownKey.flatMap { source.attribute(named: $0) }
        // A value that both steps take as it stands is copied once.
        let isCopied =
            original.map { original in
                original.attributeType == middle.attributeType
                    || middle.attributeType.holdsEveryValue(of: original.attributeType)
                        && attribute.attributeType.holdsEveryValue(of: middle.attributeType)
            } ?? false
        guard isCopied || isSameType, expression.node.isConstant || expression.node.readsOwnAttributesOnly(of: source)
        else { throw Obstacle("\(middle.name) is computed by one step and converted by the next") }
        if original.map(external) ?? external(middle) != external(middle), external(middle) != external(attribute) {
            throw Obstacle("\(middle.name) is stored in files by one version and not by the next")
        }
        let filling = early.fill(of: middle)
        guard filling == nil || isSameType else { throw Obstacle("\(middle.name) has a default of another type") }
        property.valueExpression = expression
        property.carriedValue = filling ?? late.fill(of: attribute)
    }

    /// Returns the relationship mappings of a composed entity mapping.
    func relationships(of pair: Pair, to destination: EntityDescription) throws(Obstacle) -> [PropertyMapping] {
        guard let one = pair.first, let other = pair.second else { return [] }
        var properties: [PropertyMapping] = []
        for late in other.relationshipMappings ?? [] {
            guard let name = late.name, let relationship = destination.relationship(named: name) else { continue }
            let property = PropertyMapping(name: name, valueExpression: nil)
            properties.append(property)
            guard late.valueExpression != nil else {
                property.unmapped = unmapped(late, pair)
                continue
            }
            guard case .link(let middleName, let lateMapping) = second.origin(of: name, in: other),
                let middle = pair.middle?.relationship(named: middleName)
            else { throw Obstacle("\(other.name ?? "") computes the relationship \(name)") }
            switch first.origin(of: middleName, in: one) {
            case .other: throw Obstacle("\(one.name ?? "") computes the relationship \(middleName)")
            case .none:
                try checkUntouched(middle, relationship, in: other)
                property.unmapped = one.relationshipMapping(named: middleName)?.unmapped
            case .link(let sourceName, let earlyMapping):
                guard let old = pair.source?.relationship(named: sourceName) else {
                    throw Obstacle("\(one.name ?? "") computes the relationship \(middleName)")
                }
                guard first.isIsomorphic(middleName, in: one) || second.isIsomorphic(name, in: other) else {
                    throw Obstacle("the relationship \(middleName) changes its kind or its inverse in both steps")
                }
                guard !first.narrows(old, middle) else {
                    throw Obstacle("the relationship \(middleName) loses objects because of their entity")
                }
                property.valueExpression = try lookup(
                    old, middle, relationship, early: earlyMapping, late: lateMapping)
            }
        }
        return properties
    }

    /// Checks a relationship that the first step does not set: it is empty, or its inverse fills it.
    private func checkUntouched(
        _ middle: RelationshipDescription, _ relationship: RelationshipDescription, in mapping: EntityMapping
    ) throws(Obstacle) {
        /// The origins of a relationship in the mappings of a step.
        func origins(_ inverse: RelationshipDescription?, _ step: CompositionStep) -> [CompositionStep.Origin] {
            guard let inverse else { return [] }
            return step.mappings.filter { step.destination(of: $0)?.isKindOf(entity: inverse.entity) ?? false }
                .map { step.origin(of: inverse.name, in: $0) }.filter { $0 != .none }
        }
        if !origins(middle.inverseRelationship, first).isEmpty {
            guard second.isIsomorphic(relationship.name, in: mapping) else {
                throw Obstacle("the relationship \(middle.name) is filled by its inverse, which the next step changes")
            }
        } else if origins(relationship.inverseRelationship, second).contains(where: {
            // Objects that come from the empty relationship's own inverse are empty too.
            $0.relationship != middle.inverseRelationship?.name
        }) {
            throw Obstacle("the relationship \(relationship.name) is empty, and its inverse is not")
        }
    }

    /// Returns the lookup with the same result as the two lookups.
    private func lookup(
        _ old: RelationshipDescription, _ middle: RelationshipDescription, _ new: RelationshipDescription,
        early: String?, late: String?
    ) throws(Obstacle) -> ValueExpression {
        let all = pairs.filter { pair in
            guard let source = pair.source, let destination = pair.destination else { return false }
            return source.isKindOf(entity: old.destination) && destination.isKindOf(entity: new.destination)
        }
        let found = all.filter { pair in
            guard let between = pair.middle, between.isKindOf(entity: middle.destination) else { return false }
            return (early == nil || pair.first?.name == early) && (late == nil || pair.second?.name == late)
        }
        let argument = ExpressionNode.keyPath(target: .variable("source"), components: [old.name])
        func call(_ selector: String, _ name: String) -> ValueExpression {
            ValueExpression(
                node: .function(
                    target: .variable("manager"), selector: selector, arguments: [.constant(.string(name)), argument]))
        }
        if found.count == 1 { return call(LookupSelector.byEntityMapping, found[0].name) }
        guard found.count == all.count else {
            throw Obstacle("the relationship \(middle.name) looks among several entity mappings")
        }
        return call(LookupSelector.bySourceRelationship, old.name)
    }
}
