import ManagedModel
import Mapping

/// An explicit migration some of whose entity mappings make an object for each member of a to-many relationship, by random.
package struct RandomForEach {
    package let mapping: MappingModel
    /// The mappings with `forEach`.
    private var made: [(name: String, source: EntityDescription, member: EntityDescription, made: EntityDescription)] =
        []
    private let migration: RandomMigration
    private var generator: SeededGenerator

    /// Gives at least one mapping a `forEach`; nil if no source entity has a to-many relationship.
    package init?(of migration: RandomMigration) {
        guard let model = migration.mapping?.copy() as? MappingModel else { return nil }
        mapping = model
        self.migration = migration
        generator = SeededGenerator(seed: migration.seed &* 61 &+ 17)
        for mapping in model.entityMappings ?? [] where made.isEmpty || generator.chance(3) { iterate(mapping) }
        guard !made.isEmpty else { return nil }
        for mapping in model.entityMappings ?? [] { lookUp(mapping) }
    }

    private mutating func iterate(_ mapping: EntityMapping) {
        guard let source = mapping.sourceEntityName.flatMap(migration.source.entity(named:)),
            let destination = mapping.destinationEntityName.flatMap(migration.destination.entity(named:)),
            let name = mapping.name, !mapping.hasPolicy
        else { return }
        var paths: [(path: [String], member: EntityDescription)] = []
        for first in source.relationships where !first.isTransient {
            if first.isToMany {
                paths += Array(repeating: ([first.name], first.destination), count: 3)
                continue
            }
            for second in first.destination.relationships where second.isToMany && !second.isTransient {
                paths.append(([first.name, second.name], second.destination))
            }
        }
        guard !paths.isEmpty else { return }
        let (path, member) = paths[generator.below(paths.count)]
        mapping.forEach = ValueExpression(node: .keyPath(target: .variable("source"), components: path))
        made.append((name, source, member, destination))
        for property in mapping.attributeMappings ?? [] where generator.chance(2) {
            guard let attribute = property.name.flatMap(destination.attribute(named:)) else { continue }
            if let node = value(for: attribute, of: member) { property.valueExpression = ValueExpression(node: node) }
        }
        for property in mapping.relationshipMappings ?? [] where generator.chance(2) {
            guard let relationship = property.name.flatMap(destination.relationship(named:)),
                let node = lookup(for: relationship, of: member)
            else { continue }
            property.valueExpression = ValueExpression(node: node)
        }
    }

    /// Returns `$index`, or a value of `$member`, for an attribute; nil if none fits.
    private mutating func value(for attribute: AttributeDescription, of member: EntityDescription) -> ExpressionNode? {
        guard attribute.isOptional, attribute.isStored else { return nil }
        if [.integer32, .integer64].contains(attribute.attributeType), generator.chance(2) {
            return .variable("index")
        }
        let fitting = member.attributes.filter { $0.isStored && $0.attributeType == attribute.attributeType }
        guard !fitting.isEmpty else { return nil }
        return .keyPath(
            target: .variable("member"), components: [fitting[generator.below(fitting.count)].name])
    }

    /// Returns a lookup of what the member became; nil if no mapping makes objects that fit.
    private mutating func lookup(
        for relationship: RelationshipDescription, of member: EntityDescription
    ) -> ExpressionNode? {
        let names = (mapping.entityMappings ?? []).filter { candidate in
            guard let source = candidate.sourceEntityName.flatMap(migration.source.entity(named:)),
                let made = candidate.destinationEntityName.flatMap(migration.destination.entity(named:))
            else { return false }
            return source.isKin(of: member) && made.isKindOf(entity: relationship.destination)
        }.compactMap(\.name)
        guard !names.isEmpty else { return nil }
        return .function(
            target: .variable("manager"), selector: "destinationInstancesForEntityMappingNamed:sourceInstances:",
            arguments: [.constant(.string(names[generator.below(names.count)])), .variable("member")])
    }

    /// Lets some relationships of a mapping look up what a `forEach` made of the mapping's source object.
    private mutating func lookUp(_ mapping: EntityMapping) {
        guard let source = mapping.sourceEntityName.flatMap(migration.source.entity(named:)),
            let destination = mapping.destinationEntityName.flatMap(migration.destination.entity(named:))
        else { return }
        for property in mapping.relationshipMappings ?? [] where generator.chance(3) {
            guard let relationship = property.name.flatMap(destination.relationship(named:)) else { continue }
            let fitting = made.filter { $0.made.isKindOf(entity: relationship.destination) }
            guard !fitting.isEmpty else { continue }
            let chosen = fitting[generator.below(fitting.count)]
            var forms: [(selector: String, arguments: [ExpressionNode])] = []
            if chosen.source.isKin(of: source) { forms.append(("source:", [.variable("source")])) }
            if chosen.member.isKin(of: source) { forms.append(("member:", [.variable("source")])) }
            if chosen.name == mapping.name {
                forms.append(("source:member:", [.variable("source"), .variable("member")]))
            }
            guard !forms.isEmpty else { continue }
            let form = forms[generator.below(forms.count)]
            property.valueExpression = ValueExpression(
                node: .function(
                    target: .variable("stagecoach"), selector: "objectsOfEntityMapping:" + form.selector,
                    arguments: [.constant(.string(chosen.name))] + form.arguments))
        }
    }
}
