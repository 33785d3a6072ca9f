import ManagedModel
import Mapping

// Rules that random rows break: about one object in some ten by each.
extension RandomModel {
    /// Adds rules to the model: required properties, bounds, lengths, patterns, counts, uniqueness.
    mutating func addRules(_ generator: inout SeededGenerator) {
        for index in definition.entities.indices {
            for position in definition.entities[index].attributes.indices {
                addRules(toAttribute: position, of: index, &generator)
            }
            for position in definition.entities[index].relationships.indices {
                addRules(toRelationship: position, of: index, &generator)
            }
            guard generator.chance(2) else { continue }
            addConstraint(to: index, &generator)
            if generator.chance(3) { addConstraint(to: index, &generator) }
        }
    }

    private mutating func addRules(
        toAttribute position: Int, of entity: Int, _ generator: inout SeededGenerator
    ) {
        var attribute = definition.entities[entity].attributes[position]
        guard attribute.defaultValue == nil else { return }
        if generator.chance(6) { attribute.isOptional = false }
        switch attribute.type {
        case .integer16, .integer32, .integer64:
            if generator.chance(4) { attribute.minimum = .integer(-20_000) }
            if generator.chance(4) { attribute.maximum = .integer(2_000_000) }
        case .double, .float:
            if generator.chance(4) { attribute.minimum = .double(-2) }
            if generator.chance(4) { attribute.maximum = .double(1e9) }
        case .date: if generator.chance(3) { attribute.maximum = .date(700_000_000) }
        case .decimal: if generator.chance(3) { attribute.maximum = .decimal(800) }
        case .string:
            switch generator.below(5) {
            case 0: attribute.minimumLength = 1
            case 1: attribute.maximumLength = 100
            case 2: attribute.regularExpression = "[^\\n]*"
            case 3: attribute.regularExpression = "(?:[a-z]+|.{0,12})"
            default: break
            }
        case .binaryData: if generator.chance(3) { attribute.maximumLength = 1000 }
        default: break
        }
        definition.entities[entity].attributes[position] = attribute
    }

    private mutating func addRules(
        toRelationship position: Int, of entity: Int, _ generator: inout SeededGenerator
    ) {
        var relationship = definition.entities[entity].relationships[position]
        if generator.chance(3) { relationship.isOptional = false }
        if relationship.isToMany {
            if generator.chance(2) { relationship.minimumCount = 1 + generator.below(2) }
            if generator.chance(6) { relationship.maximumCount = 4 }
        }
        definition.entities[entity].relationships[position] = relationship
    }

    /// Changes what no mapping can be inferred for: an attribute's type, or a to-many without inverse to a to-one.
    mutating func retype(_ generator: inout SeededGenerator) {
        let index = generator.below(definition.entities.count)
        let links = definition.entities[index].relationships.indices.filter {
            let link = definition.entities[index].relationships[$0]
            return link.isToMany && link.inverseName == nil
        }
        if let position = links.first, generator.chance(2) {
            definition.entities[index].relationships[position].isToMany = false
            definition.entities[index].relationships[position].isOrdered = false
            definition.entities[index].relationships[position].minimumCount = 0
            definition.entities[index].relationships[position].maximumCount = 1
        } else if !definition.entities[index].attributes.isEmpty {
            let position = generator.below(definition.entities[index].attributes.count)
            let old = definition.entities[index].attributes[position]
            var new = AttributeDefinition(name: old.name, type: old.type == .string ? .integer32 : .string)
            new.renamingIdentifier = old.renamingIdentifier
            definition.entities[index].attributes[position] = new
            definition.entities[index].uniquenessConstraints.removeAll { $0.contains(old.name) }
        }
    }

    private mutating func addConstraint(to entity: Int, _ generator: inout SeededGenerator) {
        let names = definition.entities[entity].attributes.filter { attribute in
            !attribute.isTransient
                && [.string, .integer16, .integer32, .integer64, .boolean, .double, .uri].contains(attribute.type)
        }.map(\.name)
        guard let first = names.isEmpty ? nil : names[generator.below(names.count)] else { return }
        var constraint = [first]
        let others = names.filter { $0 != first }
        if !others.isEmpty, generator.chance(2) { constraint.append(others[generator.below(others.count)]) }
        guard !definition.entities[entity].uniquenessConstraints.contains(constraint) else { return }
        definition.entities[entity].uniquenessConstraints.append(constraint)
    }
}

extension RandomMapping {
    /// Gives some integer attributes expressions that run out of range or divide by zero for some rows.
    static func addRisks(
        to mapping: MappingModel, from source: ManagedObjectModel, to destination: ManagedObjectModel,
        _ generator: inout SeededGenerator
    ) throws {
        for entityMapping in mapping.entityMappings {
            guard let from = source.entity(named: entityMapping.sourceEntityName ?? ""),
                let to = destination.entity(named: entityMapping.destinationEntityName ?? "")
            else { continue }
            let numbers = from.attributes.filter {
                $0.isStored && [.integer16, .integer32, .integer64].contains($0.attributeType)
            }.map(\.name)
            guard !numbers.isEmpty else { continue }
            for property in entityMapping.attributeMappings ?? [] {
                guard let type = to.attribute(named: property.name ?? "")?.attributeType,
                    [.integer16, .integer32].contains(type), generator.chance(3)
                else { continue }
                let (first, second) = (numbers[generator.below(numbers.count)], numbers[generator.below(numbers.count)])
                let text = generator.chance(2) ? "$source.\(first)" : "$source.\(first) / $source.\(second)"
                property.valueExpression = try ValueExpression(parsing: text)
            }
        }
    }
}
