import Foundation
import ManagedModel

/// The classes of objects other than managed objects that expressions can reach, with the keys of Core Data's classes.
///
/// One table gives both the kind of a key's value, before any row is read, and the value itself at a row. So every key that
/// passes the check has a value, and an unknown key is refused when the mapping model is loaded.
enum KnownObject: String, Sendable, CaseIterable {
    case manager, entityPolicy, entityMapping, propertyMapping, mappingModel, model, entity, attribute, relationship
    case objectID, context, fetchRequest, expression

    /// A key of a class: the kind of its value and how to read it.
    struct Key: Sendable {
        let kind: ExpressionKind
        /// Reads the value from an object of the class.
        let value: @Sendable (Any) -> Any?
    }

    /// Finds the class of a value; nil for values without a table. The manager and policies are not found here: they answer for
    /// themselves.
    init?(of value: Any) {
        switch value {
        case is EntityMapping: self = .entityMapping
        case is PropertyMapping: self = .propertyMapping
        case is MappingModel: self = .mappingModel
        case is ManagedObjectModel: self = .model
        case is EntityDescription: self = .entity
        case is AttributeDescription: self = .attribute
        case is RelationshipDescription: self = .relationship
        case is any ExpressionObjectID: self = .objectID
        case is any ExpressionFetching: self = .context
        case is ValueExpression: self = .expression
        default: return nil
        }
    }

    /// True if objects of the class may have keys that no table lists: stored properties, registered functions.
    var isOpen: Bool { self == .manager || self == .entityPolicy }

    /// Returns the key of a name; nil for an unknown name.
    func key(_ name: String) -> Key? { Self.tables[self]?[name] }

    /// The names of the keys as a sentence; nil if there are none.
    var keysInWords: String? {
        let names = (Self.tables[self] ?? [:]).keys.sorted()
        return names.isEmpty ? nil : "It has \(names.joined(separator: ", "))"
    }

    // MARK: Keys of managed objects

    /// The keys of managed objects that are not properties of their entities, with the kinds of their values.
    static let objectKeys: [String: ExpressionKind] = [
        "objectID": .service(.objectID, "objectID"), "entity": .service(.entity, "entity"),
        "managedObjectContext": .service(.context, "managedObjectContext"), "isDeleted": .value(.boolean),
        "deleted": .value(.boolean), "isInserted": .value(.boolean), "inserted": .value(.boolean),
        "isUpdated": .value(.boolean), "updated": .value(.boolean), "isFault": .value(.boolean),
        "fault": .value(.boolean), "hasChanges": .value(.boolean), "description": .value(.text),
        "hash": .value(.integer),
    ]

    // MARK: The tables

    private static let tables: [KnownObject: [String: Key]] = [
        .manager: managers, .entityMapping: entityMappings, .propertyMapping: propertyMappings,
        .mappingModel: mappingModels, .model: models, .entity: entities, .attribute: attributes,
        .relationship: relationships, .objectID: objectIDs, .expression: expressions,
    ]

    private static func key<Object>(
        _ kind: ExpressionKind, _ value: @escaping @Sendable (Object) -> Any?
    ) -> Key {
        Key(kind: kind) { object in (object as? Object).flatMap(value) }
    }

    private static func service(_ object: KnownObject) -> ExpressionKind { .service(object, object.rawValue) }

    private static func list(_ object: KnownObject) -> ExpressionKind {
        .collection(service(object), isOrdered: true)
    }

    /// Makes a key of the manager, which reads its values itself.
    private static func own(_ kind: ExpressionKind) -> Key { Key(kind: kind) { _ in nil } }

    private static let managers: [String: Key] = [
        "sourceContext": own(.service(.context, "$manager.sourceContext")),
        "destinationContext": own(.service(.context, "$manager.destinationContext")),
        "sourceModel": own(.service(.model, "$manager.sourceModel")),
        "destinationModel": own(.service(.model, "$manager.destinationModel")),
        "mappingModel": own(.service(.mappingModel, "$manager.mappingModel")),
        "currentEntityMapping": own(.service(.entityMapping, "$manager.currentEntityMapping")),
        "userInfo": own(.dictionary(.unknown)), "migrationProgress": own(.value(.real)),
        "usesStoreSpecificMigrationManager": own(.value(.boolean)),
    ]

    private static let entityMappings: [String: Key] = [
        "name": key(.value(.text)) { (mapping: EntityMapping) in mapping.name },
        "mappingType": key(.value(.integer)) { (mapping: EntityMapping) in Int(mapping.mappingType.rawValue) },
        "sourceEntityName": key(.value(.text)) { (mapping: EntityMapping) in mapping.sourceEntityName },
        "destinationEntityName": key(.value(.text)) { (mapping: EntityMapping) in mapping.destinationEntityName },
        "sourceEntityVersionHash": key(.value(.data)) { (mapping: EntityMapping) in mapping.sourceEntityVersionHash },
        "destinationEntityVersionHash": key(.value(.data)) { (mapping: EntityMapping) in
            mapping.destinationEntityVersionHash
        },
        "attributeMappings": key(list(.propertyMapping)) { (mapping: EntityMapping) in mapping.attributeMappings },
        "relationshipMappings": key(list(.propertyMapping)) { (mapping: EntityMapping) in
            mapping.relationshipMappings
        },
        "sourceExpression": key(service(.expression)) { (mapping: EntityMapping) in mapping.sourceExpression },
        "entityMigrationPolicyClassName": key(.value(.text)) { (mapping: EntityMapping) in
            mapping.entityMigrationPolicyClassName
        },
        "userInfo": key(.dictionary(.unknown)) { (mapping: EntityMapping) in mapping.userInfo },
    ]

    private static let propertyMappings: [String: Key] = [
        "name": key(.value(.text)) { (mapping: PropertyMapping) in mapping.name },
        "valueExpression": key(service(.expression)) { (mapping: PropertyMapping) in mapping.valueExpression },
        "userInfo": key(.dictionary(.unknown)) { (mapping: PropertyMapping) in mapping.userInfo },
    ]

    private static let mappingModels: [String: Key] = [
        "entityMappings": key(list(.entityMapping)) { (model: MappingModel) in model.entityMappings },
        "entityMappingsByName": key(.dictionary(service(.entityMapping))) { (model: MappingModel) in
            model.entityMappingsByName
        },
    ]

    private static let models: [String: Key] = [
        "entities": key(list(.entity)) { (model: ManagedObjectModel) in model.entities },
        "entitiesByName": key(.dictionary(service(.entity))) { (model: ManagedObjectModel) in model.entitiesByName },
        "versionIdentifiers": key(.collection(.value(.text), isOrdered: false)) { (model: ManagedObjectModel) in
            NSSet(array: model.definition.versionIdentifiers)
        },
        "configurations": key(.collection(.value(.text), isOrdered: true)) { (model: ManagedObjectModel) in
            model.configurations
        },
        "entityVersionHashesByName": key(.dictionary(.value(.data))) { (model: ManagedObjectModel) in
            model.entityVersionHashesByName
        },
        "versionChecksum": key(.value(.text)) { (model: ManagedObjectModel) in model.versionChecksum },
    ]

    private static let entities: [String: Key] = {
        let isAbstract = key(.value(.boolean)) { (entity: EntityDescription) in entity.isAbstract }
        return [
            "name": key(.value(.text)) { (entity: EntityDescription) in entity.name },
            "managedObjectClassName": key(.value(.text)) { (entity: EntityDescription) in
                entity.managedObjectClassName
            },
            "isAbstract": isAbstract, "abstract": isAbstract,
            "superentity": key(service(.entity)) { (entity: EntityDescription) in entity.superentity },
            "subentities": key(list(.entity)) { (entity: EntityDescription) in entity.subentities },
            "subentitiesByName": key(.dictionary(service(.entity))) { (entity: EntityDescription) in
                entity.subentitiesByName
            },
            "attributesByName": key(.dictionary(service(.attribute))) { (entity: EntityDescription) in
                entity.attributesByName
            },
            "relationshipsByName": key(.dictionary(service(.relationship))) { (entity: EntityDescription) in
                entity.relationshipsByName
            },
            "renamingIdentifier": key(.value(.text)) { (entity: EntityDescription) in entity.renamingIdentifier },
            "versionHashModifier": key(.value(.text)) { (entity: EntityDescription) in entity.versionHashModifier },
            "versionHash": key(.value(.data)) { (entity: EntityDescription) in entity.versionHash },
            "userInfo": key(.dictionary(.unknown)) { (entity: EntityDescription) in entity.userInfo },
        ]
    }()

    private static let attributes: [String: Key] = {
        let isOptional = key(.value(.boolean)) { (attribute: AttributeDescription) in attribute.isOptional }
        let isTransient = key(.value(.boolean)) { (attribute: AttributeDescription) in attribute.isTransient }
        return [
            "name": key(.value(.text)) { (attribute: AttributeDescription) in attribute.name },
            "attributeType": key(.value(.integer)) { (attribute: AttributeDescription) in
                Int(attribute.attributeType.rawValue)
            },
            "isOptional": isOptional, "optional": isOptional, "isTransient": isTransient, "transient": isTransient,
            "defaultValue": key(.unknown) { (attribute: AttributeDescription) in attribute.defaultValue },
            "renamingIdentifier": key(.value(.text)) { (attribute: AttributeDescription) in
                attribute.renamingIdentifier
            },
            "userInfo": key(.dictionary(.unknown)) { (attribute: AttributeDescription) in attribute.userInfo },
        ]
    }()

    private static let relationships: [String: Key] = {
        let isOptional = key(.value(.boolean)) { (item: RelationshipDescription) in item.isOptional }
        let isToMany = key(.value(.boolean)) { (item: RelationshipDescription) in item.isToMany }
        let isOrdered = key(.value(.boolean)) { (item: RelationshipDescription) in item.isOrdered }
        return [
            "name": key(.value(.text)) { (item: RelationshipDescription) in item.name },
            "destinationEntity": key(service(.entity)) { (item: RelationshipDescription) in item.destinationEntity },
            "isOptional": isOptional, "optional": isOptional, "isToMany": isToMany, "toMany": isToMany,
            "isOrdered": isOrdered, "ordered": isOrdered,
            "renamingIdentifier": key(.value(.text)) { (item: RelationshipDescription) in item.renamingIdentifier },
            "userInfo": key(.dictionary(.unknown)) { (item: RelationshipDescription) in item.userInfo },
        ]
    }()

    private static let objectIDs: [String: Key] = {
        let isTemporary = key(.value(.boolean)) { (id: any ExpressionObjectID) in id.isTemporaryID }
        return [
            "URIRepresentation": key(.value(.uri)) { (id: any ExpressionObjectID) in id.uriRepresentation() },
            "entity": key(service(.entity)) { (id: any ExpressionObjectID) in id.entity },
            "isTemporaryID": isTemporary, "temporaryID": isTemporary,
        ]
    }()

    private static let expressions: [String: Key] = [
        "description": key(.value(.text)) { (expression: ValueExpression) in expression.format }
    ]
}

/// The identity of an object, as expressions read it.
package protocol ExpressionObjectID: AnyObject {
    /// The entity of the object.
    var entity: EntityDescription { get }
    /// True if the object has no key in its store yet.
    var isTemporaryID: Bool { get }
    /// Returns the URI of the object.
    func uriRepresentation() -> URL
}

/// Keys of managed objects that are not properties of their entities, such as `objectID`. Only objects can evaluate them.
package enum ObjectKeys {
    package static func contains(_ name: String) -> Bool { KnownObject.objectKeys[name] != nil }
}
