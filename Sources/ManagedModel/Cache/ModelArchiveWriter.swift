import Archives
import Diagnostics

/// Writes the object graph of a model, with the classes, keys and copies of inherited properties that Core Data's caches have.
/// It holds the whole archive until it is encoded.
struct ModelArchiveWriter {
    typealias Reference = KeyedArchiveBuilder.Reference
    typealias Fields = [String: PropertyListValue]
    typealias ClassName = KeyedArchiveBuilder.ClassName

    /// The value that NSKnownKeysDictionary1 puts into empty slots.
    private static let emptyToken = "__empty_slot_token_4c24_98dc_ac1e_b773__"

    let model: ManagedObjectModel
    var builder = KeyedArchiveBuilder()
    private let modelReference: Reference
    private let emptyUserInfo: Reference
    /// The entities' references by entity index. They are reserved first, because properties refer to entities and to each
    /// other.
    private(set) var entities: [Reference] = []
    /// The properties' references by entity index and property name, inherited ones included.
    private(set) var properties: [[String: Reference]] = []

    init(_ model: ManagedObjectModel) {
        self.model = model
        modelReference = builder.reserve()
        emptyUserInfo = builder.dictionary([])
    }

    mutating func write() throws(MigrationError) -> [UInt8] {
        for entity in model.entities {
            entities.append(builder.reserve())
            var references: [String: Reference] = [:]
            for attribute in entity.attributes { references[attribute.name] = builder.reserve() }
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
            "NSVersionIdentifiers": strings(model.versionIdentifiers.sorted(), isSet: true).field,
            "NSFetchRequestTemplates": Reference.null.field,
        ]
        if !model.definition.fetchRequests.isEmpty {
            var entries: [(key: Reference, value: Reference)] = []
            for request in model.definition.fetchRequests {
                entries.append((builder.string(request.name), try fetchRequest(request)))
            }
            fields["NSFetchRequestTemplates"] = builder.dictionary(entries, isMutable: true).field
        }
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
        let keys = builder.array(names)
        let mapping = builder.object(
            ClassName("NSKnownKeysMappingStrategy1", "NSKnownKeysMappingStrategy"),
            ["version": .integer(1), "length": .integer(Int64(names.count)), "keys": keys.field])
        let token = builder.string(Self.emptyToken)
        let values = builder.array(entities)
        return builder.object(
            ClassName("NSKnownKeysDictionary1", "NSKnownKeysDictionary", "NSMutableDictionary", "NSDictionary"),
            [
                "version": .integer(1), "searchMapping": mapping.field, "emptyToken": token.field,
                "values": values.field,
            ])
    }

    private mutating func configurations() -> Reference {
        var entries: [(key: Reference, value: Reference)] = []
        for name in model.configurations {
            let members = (model.definition.configurations[name] ?? []).compactMap { model.entity(named: $0) }
                .map { entities[$0.index] }
            let key = builder.string(name)
            entries.append((key, builder.set(members)))
        }
        return builder.dictionary(entries, isMutable: true)
    }

    private mutating func strings(_ texts: [String], isSet: Bool = false) -> Reference {
        let references = texts.map { builder.string($0) }
        return isSet ? builder.set(references) : builder.array(references, isMutable: true)
    }

    mutating func userInfo(_ info: [String: String]) -> Reference {
        guard !info.isEmpty else { return emptyUserInfo }
        return builder.dictionary(
            info.sorted { ModelResolution.precedes($0.key, $1.key) }.map {
                (builder.string($0.key), builder.string($0.value))
            })
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
            "NSUserInfo": userInfo(definition.userInfo).field,
        ]
        let subentities = entity.subentities.map {
            (key: builder.string($0.definition.name), value: entities[$0.index])
        }
        fields["NSSubentities"] = builder.dictionary(subentities, isMutable: true).field
        let names = properties[entity.index].keys.sorted(by: ModelResolution.precedes)
        let entries = names.map {
            (key: builder.string($0), value: properties[entity.index][$0] ?? .null)
        }
        fields["NSProperties"] = builder.dictionary(entries, isMutable: true).field
        if definition.isAbstract { fields["NSIsAbstract"] = .boolean(true) }
        if !definition.uniquenessConstraints.isEmpty {
            fields["NSUniqueTuples"] = lists(definition.uniquenessConstraints).field
        }
        fields["NSCompoundIndexes"] = lists(definition.compoundIndexes).field
        // An index whose predicate cannot be archived here would become an index of all rows.
        let indexes = definition.indexes.filter { index in
            (index.partialIndexPredicate ?? "").isEmpty
                || index.partialIndexPredicate.flatMap(IndexPredicate.init) != nil
        }.map { fetchIndex($0, of: entity) }
        fields["NSFetchIndexDescriptions"] = builder.array(indexes, isMutable: true).field
        builder.fill(entities[entity.index], ClassName("NSEntityDescription"), fields)
        try writeProperties(of: entity)
    }

    private mutating func lists(_ lists: [[String]]) -> Reference {
        let references = lists.map { strings($0) }
        return builder.array(references, isMutable: true)
    }

    private mutating func fetchIndex(_ index: FetchIndexDefinition, of entity: EntityDescription) -> Reference {
        let reference = builder.reserve()
        let partial = index.partialIndexPredicate.flatMap(IndexPredicate.init)
        let elements = index.elements.map { element in
            builder.object(
                ClassName("NSFetchIndexElementDescription"),
                [
                    "NSPropertyName": builder.string(element.propertyName ?? element.expression ?? "").field,
                    "NSFetchIndexElementType": .integer(element.isRTree ? 1 : 0),
                    "NSAscending": .boolean(element.isAscending), "NSFetchIndexDescription": reference.field,
                ])
        }
        builder.fill(
            reference, ClassName("NSFetchIndexDescription"),
            [
                "NSIndexName": builder.string(index.name).field,
                "NSPartialIndexPredicate": (partial.map { predicate($0) } ?? .null).field,
                "NSIndexElements": builder.array(elements).field, "NSEntity": entities[entity.index].field,
            ])
        return reference
    }
}
