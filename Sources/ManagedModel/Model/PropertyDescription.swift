import struct Foundation.Data

/// A property of an entity: an ``AttributeDescription`` or a ``RelationshipDescription``.
public protocol PropertyDescription: Sendable {
    /// The property's name.
    var name: String { get }
    /// True if an object may have no value.
    var isOptional: Bool { get }
    /// True if it is not stored.
    var isTransient: Bool { get }
    /// The identifier that inference matches it by: its name if the model gives none.
    var renamingIdentifier: String? { get }
    /// A text set by the model's author that enters the version hash.
    var versionHashModifier: String? { get }
    /// Values set by the author of the model.
    var userInfo: [AnyHashable: Any]? { get }
    /// True if the model requests an index.
    var isIndexed: Bool { get }
}

extension AttributeDescription: PropertyDescription {
    public var isIndexed: Bool { definition.isIndexed }
    /// True if large values may be stored in files of their own.
    public var allowsExternalBinaryDataStorage: Bool { definition.allowsExternalBinaryDataStorage }
    /// The name of the transformer that turns a transformable attribute's objects into bytes.
    public var valueTransformerName: String? { definition.valueTransformerName }
    /// True if persistent history keeps the value of a deleted object.
    public var preservesValueInHistoryOnDeletion: Bool { definition.preservesValueInHistoryOnDeletion }

    /// The name of the class of the attribute's values in Core Data.
    public var attributeValueClassName: String? {
        attributeType == .transformable ? definition.valueClassName : attributeType.defaultValueClassName
    }
}

extension RelationshipDescription: PropertyDescription {
    /// A text set by the model's author that enters the version hash.
    public var versionHashModifier: String? { definition.versionHashModifier }
    public var isIndexed: Bool { definition.isIndexed }
}

extension EntityDescription {
    /// The own and inherited properties: attributes by name, then relationships by name.
    public var properties: [any PropertyDescription] {
        declaredAttributes.map { $0 as any PropertyDescription } + relationships.map { $0 as any PropertyDescription }
    }

    /// The own and inherited properties by name.
    public var propertiesByName: [String: any PropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the relationships, own and inherited, with a destination entity.
    public func relationships(forDestination entity: EntityDescription) -> [RelationshipDescription] {
        relationships.filter { $0.destination == entity }
    }
}

/// Core Data's names of the types.
extension AttributeType {
    /// Core Data's name of ``undefined``.
    public static var undefinedAttributeType: AttributeType { .undefined }
    /// Core Data's name of ``integer16``.
    public static var integer16AttributeType: AttributeType { .integer16 }
    /// Core Data's name of ``integer32``.
    public static var integer32AttributeType: AttributeType { .integer32 }
    /// Core Data's name of ``integer64``.
    public static var integer64AttributeType: AttributeType { .integer64 }
    /// Core Data's name of ``decimal``.
    public static var decimalAttributeType: AttributeType { .decimal }
    /// Core Data's name of ``double``.
    public static var doubleAttributeType: AttributeType { .double }
    /// Core Data's name of ``float``.
    public static var floatAttributeType: AttributeType { .float }
    /// Core Data's name of ``string``.
    public static var stringAttributeType: AttributeType { .string }
    /// Core Data's name of ``boolean``.
    public static var booleanAttributeType: AttributeType { .boolean }
    /// Core Data's name of ``date``.
    public static var dateAttributeType: AttributeType { .date }
    /// Core Data's name of ``binaryData``.
    public static var binaryDataAttributeType: AttributeType { .binaryData }
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Core Data's name of ``uuid``.
    public static var UUIDAttributeType: AttributeType { .uuid }
    // swift-format-ignore: AlwaysUseLowerCamelCase
    /// Core Data's name of ``uri``.
    public static var URIAttributeType: AttributeType { .uri }
    /// Core Data's name of ``transformable``.
    public static var transformableAttributeType: AttributeType { .transformable }
    /// Core Data's name of ``objectID``.
    public static var objectIDAttributeType: AttributeType { .objectID }
    /// Core Data's name of ``composite``.
    public static var compositeAttributeType: AttributeType { .composite }
}

/// Core Data's names of the delete rules.
extension DeleteRule {
    /// Core Data's name of ``noAction``.
    public static var noActionDeleteRule: DeleteRule { .noAction }
    /// Core Data's name of ``nullify``.
    public static var nullifyDeleteRule: DeleteRule { .nullify }
    /// Core Data's name of ``cascade``.
    public static var cascadeDeleteRule: DeleteRule { .cascade }
    /// Core Data's name of ``deny``.
    public static var denyDeleteRule: DeleteRule { .deny }
}

extension AttributeDescription {
    /// The attribute's type, under the name of newer Core Data versions.
    public var type: AttributeType { attributeType }
}

extension EntityDescription {
    /// The version hash, 32 bytes; empty if only Core Data can compute it.
    public var versionHash: Data {
        name.flatMap { managedObjectModel.entityVersionHashesByName[$0] } ?? Data()
    }
}
