/// A property of an entity: an ``AttributeDescription`` or a ``RelationshipDescription``.
public protocol PropertyDescription: Sendable {
    var name: String { get }
    var isOptional: Bool { get }
    var isTransient: Bool { get }
    var renamingIdentifier: String? { get }
    var versionHashModifier: String? { get }
    var userInfo: [AnyHashable: Any]? { get }
    /// Whether an index is asked for.
    var isIndexed: Bool { get }
}

extension AttributeDescription: PropertyDescription {
    public var isIndexed: Bool { definition.isIndexed }
    /// Whether large values may lie in files of their own.
    public var allowsExternalBinaryDataStorage: Bool { definition.allowsExternalBinaryDataStorage }
    public var valueTransformerName: String? { definition.valueTransformerName }
    public var preservesValueInHistoryOnDeletion: Bool { definition.preservesValueInHistoryOnDeletion }

    /// The class of the attribute's values, under Core Data's name.
    public var attributeValueClassName: String? {
        switch attributeType {
        case .boolean, .integer16, .integer32, .integer64, .double, .float: "NSNumber"
        case .decimal: "NSDecimalNumber"
        case .string: "NSString"
        case .date: "NSDate"
        case .binaryData: "NSData"
        case .uuid: "NSUUID"
        case .uri: "NSURL"
        case .transformable: definition.valueClassName
        case .undefined, .objectID, .composite: nil
        }
    }
}

extension RelationshipDescription: PropertyDescription {
    public var versionHashModifier: String? { definition.versionHashModifier }
    public var isIndexed: Bool { definition.isIndexed }
}

extension EntityDescription {
    /// Own and inherited properties: attributes by name, then relationships by name.
    public var properties: [any PropertyDescription] {
        attributes.map { $0 as any PropertyDescription } + relationships.map { $0 as any PropertyDescription }
    }

    /// Own and inherited properties by name.
    public var propertiesByName: [String: any PropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The relationships, own and inherited, that lead to an entity.
    public func relationships(forDestination entity: EntityDescription) -> [RelationshipDescription] {
        relationships.filter { $0.destination == entity }
    }
}

/// Core Data's names of the types.
extension AttributeType {
    public static var undefinedAttributeType: AttributeType { .undefined }
    public static var integer16AttributeType: AttributeType { .integer16 }
    public static var integer32AttributeType: AttributeType { .integer32 }
    public static var integer64AttributeType: AttributeType { .integer64 }
    public static var decimalAttributeType: AttributeType { .decimal }
    public static var doubleAttributeType: AttributeType { .double }
    public static var floatAttributeType: AttributeType { .float }
    public static var stringAttributeType: AttributeType { .string }
    public static var booleanAttributeType: AttributeType { .boolean }
    public static var dateAttributeType: AttributeType { .date }
    public static var binaryDataAttributeType: AttributeType { .binaryData }
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static var UUIDAttributeType: AttributeType { .uuid }
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static var URIAttributeType: AttributeType { .uri }
    public static var transformableAttributeType: AttributeType { .transformable }
    public static var objectIDAttributeType: AttributeType { .objectID }
    public static var compositeAttributeType: AttributeType { .composite }
}

/// Core Data's names of the delete rules.
extension DeleteRule {
    public static var noActionDeleteRule: DeleteRule { .noAction }
    public static var nullifyDeleteRule: DeleteRule { .nullify }
    public static var cascadeDeleteRule: DeleteRule { .cascade }
    public static var denyDeleteRule: DeleteRule { .deny }
}
