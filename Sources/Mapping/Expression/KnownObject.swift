import Foundation
import ManagedModel

/// The classes of objects other than managed objects that expressions can reach, with the keys of Core Data's classes.
///
/// One table gives both the kind of a key's value, before any row is read, and the value itself at a row. So every key that
/// passes the check has a value, and an unknown key is refused when the mapping model is loaded.
package enum KnownObject: String, Sendable, CaseIterable {
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
        case is NSAttributeDescription: self = .attribute
        case is NSRelationshipDescription: self = .relationship
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

    /// The names of the keys, in order.
    var keyNames: [String] { (Self.tables[self] ?? [:]).keys.sorted() }

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

    /// Tells whether a name is such a key. Only objects can evaluate them.
    package static func isObjectKey(_ name: String) -> Bool { objectKeys[name] != nil }

    // MARK: The tables

    private static let tables: [KnownObject: [String: Key]] = [
        .manager: managers, .entityMapping: entityMappings, .propertyMapping: propertyMappings,
        .mappingModel: mappingModels, .model: models, .entity: entities, .attribute: attributes,
        .relationship: relationships, .objectID: objectIDs, .expression: expressions,
    ]

    private typealias Row<Object> = (ExpressionKind, PartialKeyPath<Object> & Sendable)

    private static func table<Object>(_ rows: [String: Row<Object>]) -> [String: Key] {
        rows.mapValues { kind, path in Key(kind: kind) { ($0 as? Object).map { $0[keyPath: path] } } }
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

    private static let (text, truth) = (ExpressionKind.value(.text), ExpressionKind.value(.boolean))
    private static let userInfo = ExpressionKind.dictionary(.unknown)

    private static let entityMappings = table(
        [
            "name": (text, \.name), "mappingType": (.value(.integer), \.mappingType.rawValue),
            "sourceEntityName": (text, \.sourceEntityName), "destinationEntityName": (text, \.destinationEntityName),
            "sourceEntityVersionHash": (.value(.data), \.sourceEntityVersionHash),
            "destinationEntityVersionHash": (.value(.data), \.destinationEntityVersionHash),
            "attributeMappings": (list(.propertyMapping), \.attributeMappings),
            "relationshipMappings": (list(.propertyMapping), \.relationshipMappings),
            "sourceExpression": (service(.expression), \.sourceExpression),
            "entityMigrationPolicyClassName": (text, \.entityMigrationPolicyClassName),
            "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<EntityMapping>])

    private static let propertyMappings = table(
        [
            "name": (text, \.name), "valueExpression": (service(.expression), \.valueExpression),
            "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<PropertyMapping>])

    private static let mappingModels = table(
        [
            "entityMappings": (list(.entityMapping), \.entityMappings),
            "entityMappingsByName": (.dictionary(service(.entityMapping)), \.entityMappingsByName),
        ] as [String: Row<MappingModel>])

    private static let models = table(
        [
            "entities": (list(.entity), \.entities),
            "entitiesByName": (.dictionary(service(.entity)), \.entitiesByName),
            "versionIdentifiers": (.collection(text, isOrdered: false), \.identifiers),
            "configurations": (.collection(text, isOrdered: true), \.configurations),
            "entityVersionHashesByName": (.dictionary(.value(.data)), \.entityVersionHashesByName),
            "versionChecksum": (text, \.versionChecksum),
        ] as [String: Row<ManagedObjectModel>])

    private static let entities = table(
        [
            "name": (text, \.name), "managedObjectClassName": (text, \.managedObjectClassName),
            "isAbstract": (truth, \.isAbstract), "abstract": (truth, \.isAbstract),
            "superentity": (service(.entity), \.superentity), "subentities": (list(.entity), \.subentities),
            "subentitiesByName": (.dictionary(service(.entity)), \.subentitiesByName),
            "attributesByName": (.dictionary(service(.attribute)), \.attributesByName),
            "relationshipsByName": (.dictionary(service(.relationship)), \.relationshipsByName),
            "renamingIdentifier": (text, \.renamingIdentifier), "versionHashModifier": (text, \.versionHashModifier),
            "versionHash": (.value(.data), \.versionHash), "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<EntityDescription>])

    private static let attributes = table(
        [
            "name": (text, \.name), "attributeType": (.value(.integer), \.attributeType.rawValue),
            "isOptional": (truth, \.isOptional), "optional": (truth, \.isOptional),
            "isTransient": (truth, \.isTransient), "transient": (truth, \.isTransient),
            "defaultValue": (.unknown, \.defaultValue), "renamingIdentifier": (text, \.renamingIdentifier),
            "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<NSAttributeDescription>])

    private static let relationships = table(
        [
            "name": (text, \.name), "destinationEntity": (service(.entity), \.destinationEntity),
            "isOptional": (truth, \.isOptional), "optional": (truth, \.isOptional),
            "isToMany": (truth, \.isToMany), "toMany": (truth, \.isToMany),
            "isOrdered": (truth, \.isOrdered), "ordered": (truth, \.isOrdered),
            "renamingIdentifier": (text, \.renamingIdentifier), "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<NSRelationshipDescription>])

    private static let objectIDs: [String: Key] = {
        let isTemporary = Key(kind: truth) { ($0 as? any ExpressionObjectID)?.isTemporaryID }
        return [
            "URIRepresentation": Key(kind: .value(.uri)) { ($0 as? any ExpressionObjectID)?.uriRepresentation() },
            "entity": Key(kind: service(.entity)) { ($0 as? any ExpressionObjectID)?.entity },
            "isTemporaryID": isTemporary, "temporaryID": isTemporary,
        ]
    }()

    private static let expressions = table(["description": (text, \.format)] as [String: Row<ValueExpression>])
}

extension ManagedObjectModel {
    /// The version identifiers, as Core Data gives them.
    fileprivate var identifiers: NSSet { NSSet(array: definition.versionIdentifiers) }
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
