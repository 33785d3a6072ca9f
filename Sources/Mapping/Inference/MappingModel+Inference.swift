import Diagnostics
import ManagedModel

extension MappingModel {
    /// Infers the mapping model between two versions, as Core Data's lightweight migration does.
    ///
    /// Entities are matched by their renaming identifiers and names, every source entity at most once. Their properties get
    /// expressions that copy the counterpart with the same identifier or name. The mappings are named as Core Data names them:
    ///
    /// | destination entity | mapping | type |
    /// |---|---|---|
    /// | without counterpart | `IEM_Add_<E>` | add |
    /// | of the same version hash, every property mapped from its own name | `IEM_Copy_<E>` | copy |
    /// | with any other counterpart | `IEM_Transform_<E>` | transform |
    ///
    /// and `IEM_Remove_<E>` for a source entity without a counterpart. `<E>` is the destination's name, in a remove mapping the
    /// source's. If a hash is unknown, its ingredients are compared. Abstract entities have mappings too; they have no rows.
    /// The mappings are in the order of Z_ENT over the destination's entities, then the removals in that of the source's.
    ///
    /// A new required attribute without a default is accepted here: it is an error only if rows exist.
    ///
    /// - Parameters:
    ///   - unmappable: the treatment of properties that cannot be mapped. Entities of two hierarchies put into one are
    ///     refused in any case.
    ///   - mergesDuplicates: true to merge the objects of an entity that would break a uniqueness constraint which only the
    ///     destination has, as `mergeBy` with the constraint's attributes does: the first is kept.
    /// - Throws: `inference.attributeType`, `inference.propertyKind`, `inference.cardinality`,
    ///   `inference.relationshipDestination`, `inference.hierarchies` (78): the first problem in the context, all in the
    ///   message; `inference.merge` (78) for a constraint by which objects cannot be merged.
    /// - Complexity: O(n log n) in properties, inherited ones counted in each entity. Memory: one small object a property.
    public static func inferred(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, unmappable: UnmappableProperties = .refuse,
        mergesDuplicates: Bool = false
    ) throws(MigrationError) -> MappingModel {
        let (model, problems) = inference(from: source, to: destination, unmappable: unmappable)
        if let error = problems.error { throw error }
        if mergesDuplicates { try model.mergeDuplicates(from: source, to: destination) }
        return model
    }

    /// Returns the mapping model that is inferred, and the reasons why it may not be used.
    ///
    /// - Complexity: as ``inferred(from:to:unmappable:mergesDuplicates:)``.
    package static func inference(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, unmappable: UnmappableProperties
    ) -> (model: MappingModel, problems: InferenceProblems) {
        let entities = InferredEntities(source, destination)
        let (new, counterparts) = (entities.new, entities.counterparts)
        let entityMappings = entities.mappings(beside: [])
        var problems = InferenceProblems()
        entities.checkHierarchies(entityMappings, &problems)
        let automatic = AutomaticMapping(
            entityMappings: entityMappings, source: source, destination: destination, requiresTarget: true)
        for (index, mapping) in entityMappings.prefix(new.count).enumerated() {
            let properties = automatic.properties(from: counterparts[index], to: new[index])
            func mapped(_ property: AutomaticMapping.Property) -> PropertyMapping {
                (unmappable == .convert ? property.convertingMapping : nil) ?? property.propertyMapping()
            }
            for property in properties where unmappable != .leave {
                guard let (reason, origin) = property.problem,
                    unmappable == .refuse || property.convertingMapping == nil
                else { continue }
                problems.add(
                    reason, entity: new[index].definition.name, property: property.matchedName, from: origin,
                    declaredBy: property.declaringEntity, line: property.convertingLine(of: new[index].definition.name))
            }
            mapping.attributeMappings = properties.filter { !$0.isRelationship }.map(mapped)
            mapping.relationshipMappings = properties.filter(\.isRelationship).map(mapped)
        }

        let model = MappingModel()
        model.entityMappings = entityMappings
        model.rulesOfTheSource = .warn
        model.isInferred = true
        return (model, problems)
    }

    /// Infers the mapping model: ``inferred(from:to:unmappable:mergesDuplicates:)`` under Core Data's name.
    public static func inferredMappingModel(
        forSourceModel source: ManagedObjectModel, destinationModel destination: ManagedObjectModel
    ) throws -> MappingModel {
        try inferred(from: source, to: destination)
    }
}
