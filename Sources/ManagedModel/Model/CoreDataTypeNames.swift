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
