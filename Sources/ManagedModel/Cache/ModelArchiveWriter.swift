import Archives
import Diagnostics

/// Writes the object graph of a model, with the classes, keys and copies of inherited properties that Core Data's caches have.
/// It holds the whole archive until it is encoded.
struct ModelArchiveWriter {
    typealias Reference = KeyedArchiveBuilder.Reference
    typealias Fields = KeyedArchiveBuilder.Fields
    typealias ClassName = KeyedArchiveBuilder.ClassName

    /// The value that NSKnownKeysDictionary1 puts into empty slots.
    private static let emptyToken = "__empty_slot_token_4c24_98dc_ac1e_b773__"

    let model: ManagedObjectModel
    private let archiver: (any PredicateArchiver)?
    var builder = KeyedArchiveBuilder()
    private let modelReference: Reference
    private let emptyUserInfo: Reference
    /// The entities' references by entity index. They are reserved first, because properties refer to entities and to each
    /// other.
    private(set) var entities: [Reference] = []
    /// The properties' references by entity index and property name, inherited ones included.
    private(set) var properties: [[String: Reference]] = []
    /// Expressions of fetch indexes so far: each gets a name by its number.
    private var indexExpressions = 0

    init(_ model: ManagedObjectModel, archiver: (any PredicateArchiver)?) {
        self.model = model
        self.archiver = archiver
        modelReference = builder.reserve()
        emptyUserInfo = builder.dictionary([])
    }

    mutating func write() throws(MigrationError) -> [UInt8] {
        for entity in model.entities {
            entities.append(builder.reserve())
            var references: [String: Reference] = [:]
            for attribute in entity.declaredAttributes { references[attribute.name] = builder.reserve() }
            for relationship in entity.relationships { references[relationship.name] = builder.reserve() }
            for property in fetchedProperties(of: entity) where references[property.name] == nil {
                references[property.name] = builder.reserve()
            }
            properties.append(references)
        }
        for entity in model.entities {
            do { try write(entity) } catch { throw error.inside(.init(entity: entity.definition.name)) }
        }
        var fields: Fields = [
            "NSEntities": entityDictionary().field,
            "NSVersionIdentifiers": strings(model.definition.versionIdentifiers.sorted(), isSet: true).field,
            "NSFetchRequestTemplates": Reference.null.field,
        ]
        let requests = try model.definition.fetchRequests.map { request throws(MigrationError) in
            (key: builder.string(request.name), value: try fetchRequest(request))
        }
        if !requests.isEmpty { fields["NSFetchRequestTemplates"] = builder.dictionary(requests, isMutable: true).field }
        if !model.configurations.isEmpty { fields["NSConfigurations"] = configurations().field }
        builder.fill(modelReference, ClassName("NSManagedObjectModel"), fields)
        return try builder.encode(root: modelReference)
    }

    /// Returns own and inherited fetched properties, by name.
    func fetchedProperties(of entity: EntityDescription) -> [FetchedPropertyDefinition] {
        var found: [FetchedPropertyDefinition] = []
        var current: EntityDescription? = entity
        while let ancestor = current {
            found += ancestor.definition.fetchedProperties.filter { property in
                !found.contains { $0.name == property.name }
            }
            current = ancestor.superentity
        }
        return found.sorted { ModelResolution.precedes($0.name, $1.name) }
    }

    // MARK: The model's parts

    private mutating func entityDictionary() -> Reference {
        let names = model.entities.map { builder.string($0.definition.name) }
        let mapping = builder.object(
            ClassName("NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy"),
            ["version": .integer(1), "length": .integer(Int64(names.count)), "keys": builder.array(names).field])
        return builder.object(
            ClassName("NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary"),
            [
                "version": .integer(1), "searchMapping": mapping.field,
                "emptyToken": builder.string(Self.emptyToken).field, "values": builder.array(entities).field,
            ])
    }

    private mutating func configurations() -> Reference {
        let entries = model.configurations.map { name in
            let members = (model.definition.configurations[name] ?? []).compactMap(model.entity(named:))
            return (key: builder.string(name), value: builder.set(members.map { entities[$0.index] }))
        }
        return builder.dictionary(entries, isMutable: true)
    }

    private mutating func strings(_ texts: [String], isSet: Bool = false) -> Reference {
        let references = texts.map { builder.string($0) }
        return isSet ? builder.set(references) : builder.array(references, isMutable: true)
    }

    mutating func userInfo(_ info: [String: String], _ archived: ArchivedParts) -> Reference {
        let keys = Set(info.keys).union(archived.userInfo.keys).sorted(by: ModelResolution.precedes)
        guard !keys.isEmpty else { return emptyUserInfo }
        let entries = keys.map { key in
            let value: Reference
            if let text = info[key] {
                // The text of a number may have been given another value.
                let number = archived.numbers[key].flatMap { ModelArchiveReader.userInfoText($0) == text ? $0 : nil }
                value = number.map { builder.plain($0) } ?? builder.string(text)
            } else {
                value = archived.userInfo[key].map { graph($0) } ?? .null
            }
            return (key: builder.string(key), value: value)
        }
        return builder.dictionary(entries)
    }

    // MARK: Parts that are kept as they were archived

    /// A part of another archive, its names replaced by this archive's entities and properties.
    mutating func graph(_ graph: ArchivedGraph) -> Reference {
        let (model, modelReference, entities, properties) = (model, modelReference, entities, properties)
        return builder.graph(graph) { name in
            let parts = name.split(separator: ":", maxSplits: 2).map(String.init)
            guard parts.count > 1 else { return modelReference }
            guard let entity = model.entity(named: parts[1]) else { return nil }
            return parts.count == 2 ? entities[entity.index] : properties[entity.index][parts[2]]
        }
    }

    mutating func add(_ others: [String: ArchivedGraph], to fields: inout Fields) {
        for (key, other) in others.sorted(by: { $0.key < $1.key }) { fields[key] = graph(other).field }
    }

    /// Writes a predicate as it was archived, or else from its text; nil if the text is no predicate.
    mutating func predicate(_ text: String?, _ form: ArchivedForm?) -> Reference? {
        if let form, form.text == text { return graph(form.graph) }
        return text.flatMap { archiver?.predicate($0) }.map { graph($0) }
    }

    /// Writes an expression from its text; nil if the text is no expression.
    mutating func expression(_ text: String) -> Reference? {
        if let archived = archiver?.expression(text) { return graph(archived) }
        // These forms are known without the language.
        return text.uppercased() == "SELF" ? builder.selfExpression() : try? derivation(text)
    }

    // MARK: Entities

    private mutating func write(_ entity: EntityDescription) throws(MigrationError) {
        let definition = entity.definition
        var fields: Fields = [
            "NSEntityName": builder.string(definition.name).field,
            "NSClassNameForEntity": builder.string(definition.managedObjectClassName).field,
            "NSManagedObjectModel": modelReference.field,
            "NSSuperentity": (entity.superentity.map { entities[$0.index] } ?? .null).field,
            "NSRenamingIdentifier": builder.string(definition.renamingIdentifier ?? definition.name).field,
            "NSVersionHashModifier": builder.string(definition.versionHashModifier).field,
            "NSUserInfo": userInfo(definition.userInfo, definition.archived).field,
        ]
        add(definition.archived.fields, to: &fields)
        let subentities = entity.subentities.map {
            (key: builder.string($0.definition.name), value: entities[$0.index])
        }
        fields["NSSubentities"] = builder.dictionary(subentities, isMutable: true).field
        let entries = properties[entity.index].sorted { ModelResolution.precedes($0.key, $1.key) }
            .map { (key: builder.string($0.key), value: $0.value) }
        fields["NSProperties"] = builder.dictionary(entries, isMutable: true).field
        if definition.isAbstract { fields["NSIsAbstract"] = .boolean(true) }
        if !definition.uniquenessConstraints.isEmpty {
            fields["NSUniqueTuples"] = lists(definition.uniquenessConstraints).field
        }
        fields["NSCompoundIndexes"] = lists(definition.compoundIndexes).field
        let indexes = definition.indexes.compactMap { fetchIndex($0, of: entity) }
        fields["NSFetchIndexDescriptions"] = builder.array(indexes, isMutable: true).field
        builder.fill(entities[entity.index], ClassName("NSEntityDescription"), fields)
        try writeProperties(of: entity)
    }

    private mutating func lists(_ lists: [[String]]) -> Reference {
        builder.array(lists.map { strings($0) }, isMutable: true)
    }

    /// Writes a fetch index; nil if its predicate or expression cannot be archived: without it the index would cover other
    /// rows.
    private mutating func fetchIndex(_ index: FetchIndexDefinition, of entity: EntityDescription) -> Reference? {
        let partial = index.partialIndexPredicate.flatMap { $0.isEmpty ? nil : $0 }
        let predicate = predicate(partial, index.archived.form)
        if partial != nil, predicate == nil { return nil }
        var targets: [(name: Reference, expression: Reference?)] = []
        for element in index.elements {
            guard let target = target(of: element, entity) else { return nil }
            targets.append(target)
        }
        let reference = builder.reserve()
        var elements: [Reference] = []
        for (element, target) in zip(index.elements, targets) {
            var fields: Fields = [
                "NSPropertyName": target.name.field, "NSFetchIndexElementType": .integer(element.isRTree ? 1 : 0),
                "NSAscending": .boolean(element.isAscending), "NSFetchIndexDescription": reference.field,
            ]
            if let expression = target.expression { fields["NSIndexedProperty"] = expression.field }
            elements.append(builder.object(ClassName("NSFetchIndexElementDescription"), fields))
        }
        builder.fill(
            reference, ClassName("NSFetchIndexDescription"),
            [
                "NSIndexName": builder.string(index.name).field,
                "NSPartialIndexPredicate": (predicate ?? .null).field,
                "NSIndexElements": builder.array(elements).field, "NSEntity": entities[entity.index].field,
            ])
        return reference
    }

    /// Returns the property's name. An expression gets a made-up name and a description of it (as in Photos).
    private mutating func target(
        of element: FetchIndexElement, _ entity: EntityDescription
    ) -> (name: Reference, expression: Reference?)? {
        if let name = element.propertyName { return (builder.string(name), nil) }
        indexExpressions += 1
        if let form = element.archived.form, form.text == element.expression {
            let name = form.graph.string("NSPropertyName") ?? "expression\(indexExpressions)"
            return (builder.string(name), graph(form.graph))
        }
        guard let text = element.expression, let expression = expression(text) else { return nil }
        let name = builder.string("expression\(indexExpressions)")
        let description = builder.object(
            ClassName("NSExpressionDescription", "NSPropertyDescription"),
            [
                "NSPropertyName": name.field, "NSRenamingIdentifier": name.field, "NSExpression": expression.field,
                "NSExpressionType": .integer(0), "NSEntity": entities[entity.index].field,
                "NSIsOptional": .boolean(true), "NSIsReadOnly": .boolean(true), "_P": .integer(247),
            ])
        return (name, description)
    }
}
