import Foundation

// Mapping models are copied before they are changed, as in Core Data. Copies share no mutable state.

extension MappingModel: NSCopying {
    /// Returns a mapping model with copies of all entity mappings.
    public func copy(with zone: NSZone? = nil) -> Any {
        let copy = MappingModel()
        copy.take(self, with: entityMappings.map { $0.copied() })
        return copy
    }

    /// Becomes like another mapping model, with other entity mappings.
    func take(_ other: MappingModel, with mappings: [EntityMapping]) {
        entityMappings = mappings
        path = other.path
        rulesOfTheSource = other.rulesOfTheSource
        rulesPlace = other.rulesPlace
        losses = other.losses
        isInferred = other.isInferred
        sourceVersionName = other.sourceVersionName
        destinationVersionName = other.destinationVersionName
    }
}

extension EntityMapping: NSCopying {
    public func copy(with zone: NSZone? = nil) -> Any { copied() }

    /// Returns an entity mapping with copies of all property mappings.
    func copied() -> EntityMapping {
        let copy = EntityMapping()
        copy.name = name
        copy.mappingType = mappingType
        copy.sourceEntityName = sourceEntityName
        copy.destinationEntityName = destinationEntityName
        copy.sourceEntityVersionHash = sourceEntityVersionHash
        copy.destinationEntityVersionHash = destinationEntityVersionHash
        copy.attributeMappings = attributeMappings?.map { $0.copied() }
        copy.relationshipMappings = relationshipMappings?.map { $0.copied() }
        copy.sourceExpression = sourceExpression
        copy.sourceFilter = sourceFilter
        copy.sourceFilterPlace = sourceFilterPlace
        copy.grouping = grouping
        copy.forEach = forEach
        copy.forEachPlace = forEachPlace
        copy.matching = matching
        copy.sourceExpressionPlace = sourceExpressionPlace
        copy.entityMigrationPolicyClassName = entityMigrationPolicyClassName
        copy.userInfo = userInfo
        copy.droppedProperties = droppedProperties
        copy.sourceOnlyAttributes = sourceOnlyAttributes
        copy.sourceOnlyRelationships = sourceOnlyRelationships
        copy.statesVersionHashes = statesVersionHashes
        copy.convertedFrom = convertedFrom
        copy.hasOpenSource = hasOpenSource
        copy.place = place
        return copy
    }
}

extension PropertyMapping: NSCopying {
    public func copy(with zone: NSZone? = nil) -> Any { copied() }

    func copied() -> PropertyMapping {
        let copy = PropertyMapping()
        copy.name = name
        copy.valueExpression = valueExpression
        copy.userInfo = userInfo
        copy.isAutomatic = isAutomatic
        copy.replacesNil = replacesNil
        copy.openValue = openValue
        copy.carriedValue = carriedValue
        copy.sorting = sorting
        copy.unmapped = unmapped
        copy.refusal = refusal
        copy.place = place
        return copy
    }
}
