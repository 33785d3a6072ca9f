import Foundation
import ManagedModel

/// The classes of objects other than managed objects that expressions can reach, with the keys of Core Data's classes.
///
/// One table gives both the kind of a key's value, before any row is read, and the value itself at a row. So every key that
/// passes the check has a value, and an unknown key is refused when the mapping model is loaded. The tables of mapping models
/// stand in the room of these.
package enum KnownObject: String, Sendable, CaseIterable {
    case manager, entityPolicy, entityMapping, propertyMapping, mappingModel, model, entity, attribute, relationship
    case objectID, context, fetchRequest, expression

    /// A key of a class: the kind of its value and how to read it.
    struct Key: Sendable {
        let kind: ExpressionKind
        /// Reads the value from an object of the class.
        let value: @Sendable (Any) -> Any?
    }

    /// Returns the keys of an object's class; nil for another object. The manager and policies are not found here: they answer
    /// for themselves.
    static func keys(of object: Any) -> [String: Key]? {
        switch object {
        case let keyed as any KeyedObject: type(of: keyed).keys
        case is any ExpressionObjectID: objectIDs
        case is any ExpressionFetching: [:]
        default: nil
        }
    }

    /// True if objects of the class may have keys that no table lists: stored properties, registered functions.
    var isOpen: Bool { self == .manager || self == .entityPolicy }

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

    typealias Row<Object> = (ExpressionKind, PartialKeyPath<Object> & Sendable)

    static func table<Object>(_ rows: [String: Row<Object>]) -> [String: Key] {
        rows.mapValues { kind, path in Key(kind: kind) { ($0 as? Object).map { $0[keyPath: path] } } }
    }

    static func service(_ object: KnownObject) -> ExpressionKind { .service(object, object.rawValue) }

    static func list(_ object: KnownObject) -> ExpressionKind {
        .collection(service(object), isOrdered: true)
    }

    /// Makes a key of the manager, which reads its values itself.
    private static func own(_ kind: ExpressionKind) -> Key { Key(kind: kind) { _ in nil } }

    static let managers: [String: Key] = [
        "sourceContext": own(.service(.context, "$manager.sourceContext")),
        "destinationContext": own(.service(.context, "$manager.destinationContext")),
        "sourceModel": own(.service(.model, "$manager.sourceModel")),
        "destinationModel": own(.service(.model, "$manager.destinationModel")),
        "mappingModel": own(.service(.mappingModel, "$manager.mappingModel")),
        "currentEntityMapping": own(.service(.entityMapping, "$manager.currentEntityMapping")),
        "userInfo": own(.dictionary(.unknown)), "migrationProgress": own(.value(.real)),
        "usesStoreSpecificMigrationManager": own(.value(.boolean)),
    ]

    static let (text, truth) = (ExpressionKind.value(.text), ExpressionKind.value(.boolean))
    static let userInfo = ExpressionKind.dictionary(.unknown)

    static let models = table(
        [
            "entities": (list(.entity), \.entities),
            "entitiesByName": (.dictionary(service(.entity)), \.entitiesByName),
            "versionIdentifiers": (.collection(text, isOrdered: false), \.identifiers),
            "configurations": (.collection(text, isOrdered: true), \.configurations),
            "entityVersionHashesByName": (.dictionary(.value(.data)), \.entityVersionHashesByName),
            "versionChecksum": (text, \.versionChecksum),
        ] as [String: Row<ManagedObjectModel>])

    static let entities = table(
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

    static let attributes = table(
        [
            "name": (text, \.name), "attributeType": (.value(.integer), \.attributeType.rawValue),
            "isOptional": (truth, \.isOptional), "optional": (truth, \.isOptional),
            "isTransient": (truth, \.isTransient), "transient": (truth, \.isTransient),
            "defaultValue": (.unknown, \.defaultValue), "renamingIdentifier": (text, \.renamingIdentifier),
            "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<NSAttributeDescription>])

    static let relationships = table(
        [
            "name": (text, \.name), "destinationEntity": (service(.entity), \.destinationEntity),
            "isOptional": (truth, \.isOptional), "optional": (truth, \.isOptional),
            "isToMany": (truth, \.isToMany), "toMany": (truth, \.isToMany),
            "isOrdered": (truth, \.isOrdered), "ordered": (truth, \.isOrdered),
            "renamingIdentifier": (text, \.renamingIdentifier), "userInfo": (userInfo, \.userInfo),
        ] as [String: Row<NSRelationshipDescription>])

    static let objectIDs: [String: Key] = {
        let isTemporary = Key(kind: truth) { ($0 as? any ExpressionObjectID)?.isTemporaryID }
        return [
            "URIRepresentation": Key(kind: .value(.uri)) { ($0 as? any ExpressionObjectID)?.uriRepresentation() },
            "entity": Key(kind: service(.entity)) { ($0 as? any ExpressionObjectID)?.entity },
            "isTemporaryID": isTemporary, "temporaryID": isTemporary,
        ]
    }()

    static let expressions = table(["description": (text, \.format)] as [String: Row<ValueExpression>])
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

/// A class whose objects expressions read by key.
protocol KeyedObject {
    /// The keys of the class.
    static var keys: [String: KnownObject.Key] { get }
}

extension ManagedObjectModel: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.models } }
extension EntityDescription: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.entities } }
extension NSAttributeDescription: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.attributes } }
extension NSRelationshipDescription: KeyedObject {
    static var keys: [String: KnownObject.Key] { KnownObject.relationships }
}
extension ValueExpression: KeyedObject { static var keys: [String: KnownObject.Key] { KnownObject.expressions } }
