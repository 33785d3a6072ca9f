import Diagnostics

/// Reads the tags of an entity's other properties and of its indexes, with the errors of ``TagValues``.
enum PropertyTags {
    /// The delete rules by the words that Xcode writes.
    static let deleteRules: KeyValuePairs<String, DeleteRule> = [
        "Nullify": .nullify, "Cascade": .cascade, "Deny": .deny, "No Action": .noAction,
    ]

    /// Reads a `<relationship>`: to-one with `maxCount="1"` or without `toMany`, else to-many, bounded by `maxCount`.
    static func relationship(_ tag: XMLTag, entity: String) throws(MigrationError) -> RelationshipDefinition {
        let (name, values) = try TagValues.named(tag, in: entity)
        var relationship = RelationshipDefinition(
            name: name, destinationEntityName: try values.required("destinationEntity"))
        relationship.inverseName = values.nonEmpty("inverseName")
        relationship.isOptional = try values.flag("optional")
        relationship.isTransient = try values.flag("transient")
        relationship.isIndexed = try values.flag("indexed")
        relationship.isOrdered = try values.flag("ordered")
        relationship.isIndexedBySpotlight = try values.flag("spotlightIndexingEnabled")
        relationship.isStoredInExternalRecord = try values.flag("storedInTruthFile")
        relationship.deleteRule = try values.choice("deletionRule", deleteRules) ?? .nullify
        values.readNames(into: &relationship)
        let count = try values.integer("maxCount")
        relationship.isToMany = try values.flag("toMany") && count != 1
        relationship.maximumCount = count ?? (relationship.isToMany ? 0 : 1)
        relationship.minimumCount = try values.integer("minCount") ?? 0
        return relationship
    }

    /// Reads a `<fetchedProperty>` without its request, which is a child.
    static func fetchedProperty(_ tag: XMLTag, entity: String) throws(MigrationError) -> FetchedPropertyDefinition {
        let (name, values) = try TagValues.named(tag, in: entity)
        var property = FetchedPropertyDefinition(name: name)
        property.isOptional = try values.flag("optional")
        values.readNames(into: &property)
        return property
    }

    /// A `<fetchRequest>` of the model or of a fetched property. Faults, subentities and pending changes do not matter to
    /// a migration, and their archived form is not known: they are kept for Xcode only.
    static func fetchRequest(_ tag: XMLTag, entity: String?) throws(MigrationError) -> FetchRequestDefinition {
        let values = TagValues(tag: tag, entity: entity)
        var request = FetchRequestDefinition(
            name: try values.required("name"), entityName: try values.required("entity"),
            predicate: values.nonEmpty("predicateString"))
        request.fetchLimit = max(0, try values.integer("fetchLimit") ?? 0)
        request.fetchBatchSize = max(0, try values.integer("fetchBatchSize") ?? 0)
        request.resultType = max(0, try values.integer("resultType") ?? 0)
        request.returnsDistinctResults = try values.flag("returnDistinctResults")
        return request
    }

    /// Reads a `<fetchIndex>` without its elements, which are children.
    static func fetchIndex(_ tag: XMLTag, entity: String) throws(MigrationError) -> FetchIndexDefinition {
        let values = TagValues(tag: tag, entity: entity)
        var index = FetchIndexDefinition(name: try values.required("name"))
        index.partialIndexPredicate = values.nonEmpty("partialIndexPredicate")
        return index
    }

    /// Reads a `<fetchIndexElement>`: a property or an expression.
    static func fetchIndexElement(
        _ tag: XMLTag, entity: String, index: String
    ) throws(MigrationError) -> FetchIndexElement {
        let values = TagValues(tag: tag, entity: entity, property: index)
        let expression = values.nonEmpty("expression")
        var element = FetchIndexElement(propertyName: expression == nil ? try values.required("property") : nil)
        element.expression = expression
        element.isRTree = try values.choice("type", ["Binary": false, "RTree": true]) ?? false
        element.isAscending = try values.choice("order", ["ascending": true, "descending": false]) ?? true
        return element
    }
}
