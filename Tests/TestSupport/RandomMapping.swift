import ManagedModel
import Mapping

/// Random explicit mapping models: splits, merges, renames, arithmetic, concatenation, constants, null expressions,
/// lookups by entity mapping and by relationship. Expressions that could run out of a type's range are not made.
struct RandomMapping {
    let source: ManagedObjectModel
    let destination: ManagedObjectModel
    private var pairs: [(name: String, source: EntityDescription, destination: EntityDescription)] = []

    static func make(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, _ generator: inout SeededGenerator
    ) -> MappingModel {
        var maker = RandomMapping(source: source, destination: destination)
        return maker.model(&generator)
    }

    private init(source: ManagedObjectModel, destination: ManagedObjectModel) {
        self.source = source
        self.destination = destination
    }

    private mutating func model(_ generator: inout SeededGenerator) -> MappingModel {
        let origins = source.entities.filter { !$0.isAbstract }
        for target in destination.entities where !target.isAbstract && !origins.isEmpty {
            let counterpart = source.entity(named: target.renamingIdentifier ?? "") ?? source.entity(named: target.name)
            // Mostly its counterpart, then others: a split for them, a merge for the target.
            for count in 0..<[1, 1, 1, 2, 0][generator.below(5)] {
                var origin = origins[generator.below(origins.count)]
                if count == 0, let counterpart, !counterpart.isAbstract, !generator.chance(4) { origin = counterpart }
                pairs.append(("Mapping\(pairs.count)", origin, target))
            }
        }
        pairs.shuffle(using: &generator)
        let model = MappingModel()
        model.entityMappings = pairs.map { mapping($0, &generator) }
        if generator.chance(3) {
            let add = EntityMapping()
            add.name = "Add"
            add.mappingType = .addEntityMappingType
            add.destinationEntityName = destination.entities.first { !$0.isAbstract }?.definition.name
            if add.destinationEntityName != nil { model.entityMappings.append(add) }
        }
        for entity in origins where !pairs.contains(where: { $0.source == entity }) && generator.chance(2) {
            let remove = EntityMapping()
            remove.name = "Remove\(entity)"
            remove.mappingType = .removeEntityMappingType
            remove.sourceEntityName = entity.definition.name
            model.entityMappings.append(remove)
        }
        return model
    }

    private func mapping(
        _ pair: (name: String, source: EntityDescription, destination: EntityDescription),
        _ generator: inout SeededGenerator
    ) -> EntityMapping {
        let mapping = EntityMapping()
        mapping.name = pair.name
        mapping.mappingType = .transformEntityMappingType
        mapping.sourceEntityName = pair.source.definition.name
        mapping.destinationEntityName = pair.destination.definition.name
        var attributes: [PropertyMapping] = []
        for attribute in pair.destination.attributes where attribute.isStored && !generator.chance(6) {
            let node = value(for: attribute, from: pair.source, &generator)
            attributes.append(
                PropertyMapping(name: attribute.name, valueExpression: node.map { ValueExpression(node: $0) }))
        }
        var relationships: [PropertyMapping] = []
        for relationship in pair.destination.relationships where !relationship.isTransient && !generator.chance(5) {
            let node = lookup(for: relationship, from: pair.source, &generator)
            relationships.append(
                PropertyMapping(name: relationship.name, valueExpression: node.map { ValueExpression(node: $0) }))
        }
        mapping.attributeMappings = attributes
        if generator.chance(4) {
            mapping.sourceFilter = filter(from: pair.source, &generator).map { SourcePredicate(node: $0) }
        }
        mapping.relationshipMappings = relationships
        return mapping
    }

    // MARK: Attributes

    /// An expression for an attribute; nil for none.
    private func value(
        for attribute: AttributeDescription, from entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> ExpressionNode? {
        guard attribute.isOptional else {
            return generator.chance(2) ? nil : constant(attribute.attributeType, &generator)
        }
        switch generator.below(8) {
        case 0: return nil
        case 1: return .constant(.null)
        case 2: return constant(attribute.attributeType, &generator)
        case 3: return fold(for: attribute, from: entity, &generator) ?? path(for: attribute, from: entity, &generator)
        case 4:
            let computed = self.computed(for: attribute, from: entity, &generator)
            return computed ?? path(for: attribute, from: entity, &generator)
        default: return path(for: attribute, from: entity, &generator)
        }
    }

    private func constant(_ type: AttributeType, _ generator: inout SeededGenerator) -> ExpressionNode? {
        switch type {
        case .integer16, .integer32, .integer64: .constant(.integer(Int64(generator.below(500)) - 250))
        case .double, .float: .constant(.double(Double(generator.below(100)) / 8))
        case .boolean: .constant(.boolean(generator.chance(2)))
        case .string: .constant(.string(generator.chance(3) ? "" : "constant's ü"))
        default: nil
        }
    }

    /// Arithmetic or concatenation.
    private func computed(
        for attribute: AttributeDescription, from entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> ExpressionNode? {
        func operand(_ types: [AttributeType]) -> ExpressionNode? {
            let fitting = entity.attributes.filter { $0.isStored && types.contains($0.attributeType) }
            guard !fitting.isEmpty else { return nil }
            return Self.source([fitting[generator.below(fitting.count)].name])
        }
        let choice = generator.below(4)
        switch attribute.attributeType {
        case .integer64:
            guard let left = operand([.integer16, .integer32, .boolean]) else { return nil }
            switch choice {
            case 0: return .arithmetic(.add, left, .constant(.integer(7)))
            case 1: return .arithmetic(.divide, left, .constant(.integer(-3)))
            case 2: return .arithmetic(.multiply, .constant(.integer(5)), left)
            default: return .arithmetic(.subtract, left, operand([.integer16, .integer32]) ?? .constant(.integer(1)))
            }
        case .double:
            let types: [AttributeType] = [.integer16, .integer32, .integer64, .double, .float, .boolean]
            guard let left = operand(types) else { return nil }
            switch choice {
            case 0: return .arithmetic(.divide, left, .constant(.double(1.8)))
            case 1: return .arithmetic(.add, left, .constant(.double(-32)))
            case 2:
                return .arithmetic(
                    .multiply, .arithmetic(.subtract, left, .constant(.double(32))), .constant(.double(0.5)))
            default: return .arithmetic(.add, left, operand([.float, .integer32]) ?? .constant(.integer(1)))
            }
        case .string:
            guard let left = operand([.string]) else { return nil }
            let right = choice < 2 ? .constant(.string(" é")) : operand([.string]) ?? .constant(.string(""))
            return .function(target: left, selector: "stringByAppendingString:", arguments: [right])
        default: return nil
        }
    }

    /// `$source.attribute`, or through one or two to-one relationships.
    private func path(
        for attribute: AttributeDescription, from entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> ExpressionNode? {
        var components: [String] = []
        var place = entity
        for _ in 0..<2 where generator.chance(4) {
            let steps = place.relationships.filter { !$0.isToMany && !$0.isTransient }
            guard !steps.isEmpty else { break }
            let step = steps[generator.below(steps.count)]
            components.append(step.name)
            place = step.destination
        }
        let fitting = place.attributes.filter { $0.isStored && Self.fits($0.attributeType, attribute.attributeType) }
        guard !fitting.isEmpty else { return nil }
        let same = fitting.first { $0.name == attribute.name || $0.name == attribute.renamingIdentifier }
        let chosen = same ?? fitting[generator.below(fitting.count)]
        return Self.source(components + [chosen.name])
    }

    /// Tells whether every value of one type converts to another.
    private static func fits(_ from: AttributeType, _ to: AttributeType) -> Bool {
        if from == to { return true }
        switch to {
        case .integer32: return [.integer16, .boolean].contains(from)
        case .integer64: return [.integer16, .integer32, .boolean].contains(from)
        case .double: return from.isNumeric
        // Other numbers are mostly out of its range.
        case .boolean: return false
        case .float: return [.integer16, .integer32, .integer64, .boolean].contains(from)
        default: return false
        }
    }

    // MARK: Relationships

    private func lookup(
        for relationship: RelationshipDescription, from entity: EntityDescription, _ generator: inout SeededGenerator
    ) -> ExpressionNode? {
        if generator.chance(8) { return generator.chance(2) ? nil : .constant(.null) }
        var arguments: [(path: [String], entity: EntityDescription)] = [([], entity)]
        for first in entity.relationships where !first.isTransient {
            // The relationships of the source itself more often than it and longer paths.
            arguments += Array(repeating: ([first.name], first.destination), count: 3)
            guard let second = first.destination.relationships.first(where: { !$0.isTransient }) else { continue }
            arguments.append(([first.name, second.name], second.destination))
            guard generator.chance(3), let third = second.destination.relationships.last(where: { !$0.isTransient })
            else { continue }
            arguments.append(([first.name, second.name, third.name], third.destination))
        }
        let argument = arguments[generator.below(arguments.count)]
        let fitting = pairs.filter { pair in
            (pair.source.isKindOf(entity: argument.entity) || argument.entity.isKindOf(entity: pair.source))
                && pair.destination.isKindOf(entity: relationship.destination)
        }
        // A lookup that can never give an object of the relationship's entity is refused.
        guard !fitting.isEmpty else { return nil }
        let node = longer(Self.source(argument.path), argument.entity, &generator)
        let selector = "destinationInstancesFor"
        if generator.chance(3), let name = argument.path.last {
            return .function(
                target: .variable("manager"), selector: selector + "SourceRelationshipNamed:sourceInstances:",
                arguments: [.constant(.string(name)), node])
        }
        return .function(
            target: .variable("manager"), selector: selector + "EntityMappingNamed:sourceInstances:",
            arguments: [.constant(.string(fitting[generator.below(fitting.count)].name)), node])
    }

    private static func source(_ path: [String]) -> ExpressionNode {
        path.isEmpty ? .variable("source") : .keyPath(target: .variable("source"), components: path)
    }
}
