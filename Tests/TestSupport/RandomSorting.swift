import CoreDataStore
import ManagedModel
import Mapping

/// Random orders of the members of an explicit migration's relationships, by attributes with values that many rows share.
package struct RandomSorting {
    /// The mapping model with orders.
    package let mapping: MappingModel
    /// The store with few values in the attributes that order.
    package let store: ReferenceStore

    /// Orders at least one relationship; nil if none can be ordered.
    package init?(of migration: RandomMigration) {
        guard let model = migration.mapping?.copy() as? MappingModel else { return nil }
        var generator = SeededGenerator(seed: migration.seed &* 61 &+ 17)
        var store = migration.store
        var count = 0
        for mapping in model.entityMappings ?? [] where !mapping.hasPolicy {
            guard let source = mapping.sourceEntityName.flatMap(migration.source.entity(named:)),
                let target = mapping.destinationEntityName.flatMap(migration.destination.entity(named:))
            else { continue }
            let read = source.relationships.filter { $0.isToMany && !$0.isTransient }
            for relationship in target.relationships
            where relationship.isToMany && relationship.isOrdered && !relationship.isTransient && !read.isEmpty {
                let fitting = read.filter { Self.becomes($0.destination, relationship.destination, model, migration) }
                guard !fitting.isEmpty else { continue }
                let old = fitting[generator.below(fitting.count)]
                guard let path = Self.keyPath(from: old.destination, in: &store, &generator) else { continue }
                let property = PropertyMapping(name: relationship.name, valueExpression: Self.lookup(of: old))
                property.sorting = MemberSorting(keyPath: path)
                mapping.relationshipMappings =
                    (mapping.relationshipMappings ?? []).filter { $0.name != relationship.name } + [property]
                count += 1
            }
        }
        guard count > 0 else { return nil }
        self.mapping = model
        self.store = store
    }

    /// Tells whether an entity mapping makes objects that fit a relationship of those that its counterpart has.
    private static func becomes(
        _ old: EntityDescription, _ new: EntityDescription, _ model: MappingModel, _ migration: RandomMigration
    ) -> Bool {
        (model.entityMappings ?? []).contains { mapping in
            guard let source = mapping.sourceEntityName.flatMap(migration.source.entity(named:)),
                let target = mapping.destinationEntityName.flatMap(migration.destination.entity(named:))
            else { return false }
            return source.isKindOf(entity: old) && target.isKindOf(entity: new)
        }
    }

    private static func lookup(of relationship: RelationshipDescription) -> ValueExpression {
        let argument = ExpressionNode.keyPath(target: .variable("source"), components: [relationship.name])
        return ValueExpression(
            node: .function(
                target: .variable("manager"), selector: LookupSelector.bySourceRelationship,
                arguments: [.constant(.string(relationship.name)), argument]))
    }

    /// Returns the key path to an attribute, whose rows get few values; nil if there is none.
    private static func keyPath(
        from entity: EntityDescription, in store: inout ReferenceStore, _ generator: inout SeededGenerator
    ) -> String? {
        let schema = store.schema
        func attributes(_ entity: EntityDescription) -> [AttributeDescription] {
            entity.attributes.filter { values(of: $0) != nil && schema.column(of: $0) != nil }
        }
        var paths: [(path: String, owner: EntityDescription, attribute: AttributeDescription)] = attributes(entity).map
        {
            ($0.name, entity, $0)
        }
        for step in entity.relationships where !step.isToMany && !step.isTransient {
            paths += attributes(step.destination).map { ("\(step.name).\($0.name)", step.destination, $0) }
        }
        guard !paths.isEmpty else { return nil }
        let chosen = paths[generator.below(paths.count)]
        store.fill(chosen.attribute, of: chosen.owner, from: values(of: chosen.attribute) ?? [], &generator)
        return chosen.path
    }

    /// The values that an attribute's rows get; nil if its type orders nothing.
    private static func values(of attribute: AttributeDescription) -> [ReferenceValue]? {
        switch attribute.attributeType {
        case .integer16, .integer32, .integer64: [.integer(-3), .integer(0), .integer(7)]
        case .boolean: [.integer(0), .integer(1)]
        case .double: [.real(-1e300), .real(-0.5), .real(0), .real(2.5)]
        case .date: [.real(-86_400.25), .real(0), .real(86_400.25)]
        default: nil
        }
    }
}
