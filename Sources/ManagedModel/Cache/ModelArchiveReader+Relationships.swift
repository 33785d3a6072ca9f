import Archives
import Diagnostics

extension ModelArchiveReader {
    func relationship(_ object: ArchivedObject, named name: String) throws(MigrationError) -> RelationshipDefinition {
        var destination = try object.string("_NSDestinationEntityName")
        if destination == nil { destination = try entityName(try object.object("NSDestinationEntity")) }
        guard let destination else { throw Self.malformed("The relationship has no destination entity") }
        var relationship = RelationshipDefinition(name: name, destinationEntityName: destination)
        relationship.inverseName = try object.string("_NSInverseRelationshipName")
        if relationship.inverseName == nil, let inverse = try object.object("NSInverseRelationship") {
            relationship.inverseName = try underlying(inverse).string("NSPropertyName")
        }
        relationship.isOptional = try object.flag("NSIsOptional")
        relationship.isTransient = try object.flag("NSIsTransient")
        relationship.isOrdered = try object.flag("NSIsOrdered")
        relationship.isIndexed = try object.flag("NSIsIndexed")
        relationship.isIndexedBySpotlight = try object.flag("NSIndexedBySpotlight")
        relationship.minimumCount = try count(object, "NSMinCount", least: 0)
        // A model made in code may have -1 for unlimited (SampleModel2_V1 Author.books). The value enters the version hash.
        relationship.maximumCount = try count(object, "NSMaxCount", least: -1)
        relationship.isToMany = relationship.maximumCount != 1
        if let code = try object.integer("NSDeleteRule") {
            guard let rawRule = UInt32(exactly: code), let rule = DeleteRule(rawValue: rawRule) else {
                throw Self.malformed("The relationship has the unknown delete rule \(code)")
            }
            relationship.deleteRule = rule
        }
        try readCommonFields(object, into: &relationship, beside: KnownFields.relationship)
        return relationship
    }

    func count(_ object: ArchivedObject, _ key: String, least: Int) throws(MigrationError) -> Int {
        guard let number = try object.integer(key) else { return 0 }
        if let count = Int(exactly: number), count >= least { return count }
        throw Self.malformed("\(key) of the relationship is \(number)")
    }

    func fetchedProperty(
        _ object: ArchivedObject, named name: String
    ) throws(MigrationError) -> FetchedPropertyDefinition {
        var property = FetchedPropertyDefinition(name: name)
        property.isOptional = try object.flag("NSIsOptional")
        try readCommonFields(object, into: &property, beside: KnownFields.fetchedProperty)
        if let request = try object.object("NSFetchRequest") {
            // The archive has no name for it. Xcode uses this one in every model.
            property.fetchRequest = try fetchRequest(
                request, name: "fetchedPropertyFetchRequest",
                entityName: try object.string("_NSFetchRequestEntityName"))
        }
        return property
    }

    /// - Parameter entityName: the entity's name according to the owner of the request; nil if the owner does not state it.
    func fetchRequest(
        _ object: ArchivedObject, name: String, entityName: String?
    ) throws(MigrationError) -> FetchRequestDefinition {
        guard object.isKind(of: "NSFetchRequest") else {
            throw Self.malformed("The fetch request \(name) is archived as a \(object.className)")
        }
        var entity = entityName
        if entity == nil { entity = try self.entityName(try object.object("NSEntity")) }
        if entity == nil { entity = try object.string("NSEntityName") }
        guard let entity else { throw Self.malformed("The fetch request \(name) has no entity") }
        var request = FetchRequestDefinition(name: name, entityName: entity)
        if let predicate = try object.object("NSPredicate") {
            request.predicate = try texts.predicate(predicate)
            request.archived.form = ArchivedForm(graph: try graph(.object(predicate)), text: request.predicate)
        }
        request.fetchLimit = try count(object, "NSFetchLimit", least: 0)
        request.fetchBatchSize = try count(object, "NSBatchSize", least: 0)
        request.resultType = try count(object, "NSResultType", least: 0)
        let flags = try object.integer("NSFetchRequestFlags")
        request.returnsDistinctResults = (flags ?? 0) & FetchRequestFields.distinct != 0
        for (key, option) in try otherFields(object, beside: KnownFields.fetchRequest)
        where key == "NSFetchRequestFlags"
            ? flags != FetchRequestFields.flags(of: request) : !FetchRequestFields.isUsual(option, key)
        {
            request.archived.fields[key] = option
        }
        return request
    }

    func fetchIndex(_ value: ArchivedValue) throws(MigrationError) -> FetchIndexDefinition {
        guard let object = value.object, object.isKind(of: "NSFetchIndexDescription"),
            let name = try object.string("NSIndexName")
        else { throw Self.malformed("A fetch index has no name, or is archived as a \(value.kindName)") }
        var index = FetchIndexDefinition(name: name)
        if let predicate = try object.object("NSPartialIndexPredicate") {
            // Without its predicate it would be an index of all objects.
            index.partialIndexPredicate = try texts.predicate(predicate) ?? "(a predicate that cannot be read)"
            index.archived.form = ArchivedForm(graph: try graph(.object(predicate)), text: index.partialIndexPredicate)
        }
        for element in try elements(object, "NSIndexElements") ?? [] {
            let what = "An element of the fetch index \(name)"
            index.elements.append(try fetchIndexElement(try part(element, what, is: "is"), of: name))
        }
        return index
    }

    func fetchIndexElement(_ object: ArchivedObject, of index: String) throws(MigrationError) -> FetchIndexElement {
        var element = FetchIndexElement(propertyName: nil)
        let property = try object.value("NSPropertyName")
        // An expression comes with a name that Core Data made up for it (Photos: `expression1` for `entity`).
        let descriptions = [property.object, try object.value("NSIndexedProperty").object].compactMap(\.self)
        if let description = descriptions.first(where: { $0.isKind(of: "NSExpressionDescription") }),
            let expression = try description.object("NSExpression")
        {
            element.expression = try texts.expression(expression)
            element.archived.form = ArchivedForm(graph: try graph(.object(description)), text: element.expression)
        } else {
            element.propertyName = try propertyName(property, in: "The fetch index \(index)")
        }
        element.isAscending = try object.flag("NSAscending")
        element.isRTree = try object.integer("NSFetchIndexElementType") == 1
        return element
    }
}
