import ManagedModel
import Mapping

/// The data of a source that is meant to stay behind, so that it is neither warned of nor refused:
///
/// - what a mapping model of the user's own drops in so many words: `null` for a source property, a remove mapping;
/// - what ``MappingModel/losses`` and ``MigrationOptions/allowedLosses`` name.
///
/// An inferred mapping model means nothing: nobody wrote it.
struct MeantLosses {
    /// Names that count for subentities too.
    private var names: Set<LossName> = []
    /// The properties that mappings of an entity's own objects drop, by entity.
    private var dropped: [Int: Set<String>] = [:]
    /// The entities of remove mappings.
    private var removed: Set<Int> = []
    /// The source entities of mappings that make destination objects, or that have a policy, which may make some.
    private var migrated: Set<Int> = []
    /// Answers for the steps of a chain that run as one migration, whose composed mapping model says nothing itself; nil if
    /// there is one step.
    var ofSteps: ((_ entity: EntityDescription, _ property: String?) -> Bool)?

    /// - Parameters:
    ///   - models: all mapping models of the run.
    ///   - allowed: names given beside the mapping models. Those that the source does not have are ignored.
    init(models: [MappingModel], allowed: some Sequence<String>, source: ManagedObjectModel) {
        for name in models.flatMap(\.losses) + allowed {
            let name = LossName(name)
            guard name.problem(in: source) == nil, let entity = source.entity(named: name.entity) else { continue }
            guard let property = name.property else {
                names.insert(name)
                continue
            }
            for attribute in entity.attributeNames(of: property) {
                names.insert(LossName(entity: name.entity, property: attribute))
            }
        }
        for model in models {
            for mapping in model.entityMappings ?? [] {
                guard let entity = mapping.sourceEntityName.flatMap({ source.entity(named: $0) }) else { continue }
                let own = mapping.usedSourceExpression == nil ? [entity] : entity.withDescendants
                for entity in own {
                    dropped[entity.index, default: []].formUnion(
                        mapping.droppedProperties.flatMap { entity.attributeNames(of: $0) })
                    if mapping.destinationEntityName != nil || mapping.hasPolicy {
                        migrated.insert(entity.index)
                    } else if !model.isInferred {
                        removed.insert(entity.index)
                    }
                }
            }
        }
    }

    /// Tells whether data of an entity's own objects is meant to stay behind. The name of an entity, and a remove mapping,
    /// declare objects that become nothing, with all their values and links, but no property of objects that are migrated.
    ///
    /// - Parameters:
    ///   - entity: the source entity that the objects belong to.
    ///   - property: an attribute, for its values; a relationship, for its links and the order of its lists; nil for the objects
    ///     themselves.
    func covers(entity: EntityDescription, property: String?) -> Bool {
        if let property {
            if isNamed(entity, property) || dropped[entity.index]?.contains(property) ?? false { return true }
            if migrated.contains(entity.index) { return ofSteps?(entity, property) ?? false }
        }
        if isNamed(entity, nil) || removed.contains(entity.index) { return true }
        return ofSteps?(entity, property) ?? false
    }

    /// Tells whether the objects of an entity are named, so that those that pass no filter are meant to become nothing.
    func names(objectsOf entity: EntityDescription) -> Bool { isNamed(entity, nil) }

    private func isNamed(_ entity: EntityDescription, _ property: String?) -> Bool {
        var next: EntityDescription? = entity
        while let current = next {
            if names.contains(LossName(entity: current.definition.name, property: property)) { return true }
            next = current.superentity
        }
        return false
    }
}
