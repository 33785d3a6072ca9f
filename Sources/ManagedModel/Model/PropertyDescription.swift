import struct Foundation.Data

/// What attributes and relationships have in common.
public protocol PropertyDescription: Sendable {
    var name: String { get }
    var isOptional: Bool { get }
    var isTransient: Bool { get }
    var renamingIdentifier: String? { get }
    var versionHashModifier: String? { get }
    var userInfo: [String: String] { get }
}

extension AttributeDescription: PropertyDescription {
    /// The attribute's type, under the name that newer sources use.
    public var type: AttributeType { attributeType }

    /// Name of the class of the attribute's values; nil for undefined and composite attributes.
    public var attributeValueClassName: String? {
        switch attributeType {
        case .integer16, .integer32, .integer64, .double, .float, .boolean: "NSNumber"
        case .decimal: "NSDecimalNumber"
        case .string: "NSString"
        case .date: "NSDate"
        case .binaryData: "NSData"
        case .uuid: "NSUUID"
        case .uri: "NSURL"
        case .objectID: "NSManagedObjectID"
        case .transformable: definition.valueClassName ?? "NSData"
        case .undefined, .composite: nil
        }
    }

    public var valueTransformerName: String? { definition.valueTransformerName }
    public var allowsExternalBinaryDataStorage: Bool { definition.allowsExternalBinaryDataStorage }
    public var preservesValueInHistoryOnDeletion: Bool { definition.preservesValueInHistoryOnDeletion }
}

extension RelationshipDescription: PropertyDescription {
    public var versionHashModifier: String? { definition.versionHashModifier }
}

extension EntityDescription {
    /// Own and inherited attributes and relationships, by name in code point order.
    public var properties: [any PropertyDescription] {
        (attributes as [any PropertyDescription] + relationships).sorted {
            $0.name.unicodeScalars.lexicographicallyPrecedes($1.name.unicodeScalars)
        }
    }

    /// Own and inherited attributes and relationships.
    public var propertiesByName: [String: any PropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The relationships whose destination is an entity, by name in code point order.
    public func relationships(forDestination entity: EntityDescription) -> [RelationshipDescription] {
        relationships.filter { $0.destination == entity }
    }

    /// The version hash, 32 bytes; empty where it is known to Core Data only.
    public var versionHash: Data {
        name.flatMap { managedObjectModel.entityVersionHashesByName[$0] } ?? Data()
    }
}

/// Core Data's names of the types of attributes.
extension AttributeType {
    public static let undefinedAttributeType = AttributeType.undefined
    public static let integer16AttributeType = AttributeType.integer16
    public static let integer32AttributeType = AttributeType.integer32
    public static let integer64AttributeType = AttributeType.integer64
    public static let decimalAttributeType = AttributeType.decimal
    public static let doubleAttributeType = AttributeType.double
    public static let floatAttributeType = AttributeType.float
    public static let stringAttributeType = AttributeType.string
    public static let booleanAttributeType = AttributeType.boolean
    public static let dateAttributeType = AttributeType.date
    public static let binaryDataAttributeType = AttributeType.binaryData
    public static let UUIDAttributeType = AttributeType.uuid
    public static let URIAttributeType = AttributeType.uri
    public static let transformableAttributeType = AttributeType.transformable
    public static let objectIDAttributeType = AttributeType.objectID
    public static let compositeAttributeType = AttributeType.composite
}

/// Core Data's names of the delete rules.
extension DeleteRule {
    public static let noActionDeleteRule = DeleteRule.noAction
    public static let nullifyDeleteRule = DeleteRule.nullify
    public static let cascadeDeleteRule = DeleteRule.cascade
    public static let denyDeleteRule = DeleteRule.deny
}
