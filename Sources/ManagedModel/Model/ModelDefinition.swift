import struct Foundation.Data
import struct Foundation.Decimal
import struct Foundation.UUID

/// A model as read from a file: plain values, with names not yet resolved.
///
/// ``ManagedObjectModel/init(_:)`` checks it and resolves names, inheritance and inverses.
public struct ModelDefinition: Sendable, Equatable {
    /// The entities, in the order of the file.
    public var entities: [EntityDefinition] = []
    /// The labels of the version, `userDefinedModelVersionIdentifier` and similar.
    public var versionIdentifiers: [String] = []
    /// The names of a configuration's entities, by its name.
    public var configurations: [String: [String]] = [:]
    /// The elements of a composite, by its name. They may be composites themselves.
    public var composites: [String: [AttributeDefinition]] = [:]
    /// The fetch request templates.
    public var fetchRequests: [FetchRequestDefinition] = []
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()
    /// True for a model of SwiftData: the elements of a structure in a structure enter its hash as if they were in one list.
    package var hashesCompositesFlat = false

    /// Makes an empty model.
    public init() {}
}

/// A fetch request template of a model, or the request of a fetched property.
public struct FetchRequestDefinition: Sendable, Equatable {
    /// The template's name.
    public var name: String
    /// The name of the entity whose objects are fetched.
    public var entityName: String
    /// The format string of the predicate; nil for all objects.
    public var predicate: String?
    /// The most objects that are fetched; 0: any number.
    public var fetchLimit = 0
    /// The number of objects fetched at a time; 0 for all.
    public var fetchBatchSize = 0
    /// Core Data's code of the results' kind; 0: objects.
    public var resultType = 0
    /// True if equal results count once.
    public var returnsDistinctResults = false
    /// Parts of an archive for which this definition has no property.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes a fetch request template.
    public init(name: String, entityName: String, predicate: String? = nil) {
        self.name = name
        self.entityName = entityName
        self.predicate = predicate
    }
}

/// An entity as declared, with its own properties only.
public struct EntityDefinition: Sendable, Equatable {
    /// The entity's name.
    public var name: String
    /// The class of its objects in Core Data.
    public var managedObjectClassName: String?
    /// The name of the parent; nil for a root.
    public var superentityName: String?
    /// True if it has no objects of its own.
    public var isAbstract = false
    /// The renaming identifier, `elementID` in XML; nil means the name.
    public var renamingIdentifier: String?
    /// A text that enters the version hash.
    public var versionHashModifier: String?
    /// Its own attributes, without inherited ones.
    public var attributes: [AttributeDefinition] = []
    /// Its own relationships, without inherited ones.
    public var relationships: [RelationshipDefinition] = []
    /// Its own fetched properties, which no store holds.
    public var fetchedProperties: [FetchedPropertyDefinition] = []
    /// Its own uniqueness constraints, each a list of attribute names in declared order.
    public var uniquenessConstraints: [[String]] = []
    /// Its fetch indexes.
    public var indexes: [FetchIndexDefinition] = []
    /// The compound indexes of old models: lists of property names.
    public var compoundIndexes: [[String]] = []
    /// Values set by the author of the model.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive for which this definition has no property.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes an entity without properties.
    public init(name: String) { self.name = name }
}

/// The type of an attribute, with Core Data's codes.
public enum AttributeType: UInt32, Sendable, CaseIterable {
    /// No type, which only transient attributes may have.
    case undefined = 0
    /// A whole number of 16 bits.
    case integer16 = 100
    /// A whole number of 32 bits.
    case integer32 = 200
    /// A whole number of 64 bits.
    case integer64 = 300
    /// A decimal number; SQLite stores it as an integer or a double.
    case decimal = 400
    /// A floating-point number of 64 bits.
    case double = 500
    /// A floating-point number of 32 bits.
    case float = 600
    /// Text.
    case string = 700
    /// True or false.
    case boolean = 800
    /// A moment: seconds since 2001-01-01 UTC.
    case date = 900
    /// Bytes, in the row or in a file of their own.
    case binaryData = 1000
    /// 16 bytes.
    case uuid = 1100
    /// A URL, stored as text.
    case uri = 1200
    /// The bytes that a value transformer made of an object.
    case transformable = 1800
    /// The identity of an object; never stored.
    case objectID = 2000
    /// Several attributes under one name.
    case composite = 2100

    /// The name Xcode shows and writes: `Integer 16`, `String`, …
    public var label: String {
        switch self {
        case .undefined: "Undefined"
        case .integer16: "Integer 16"
        case .integer32: "Integer 32"
        case .integer64: "Integer 64"
        case .decimal: "Decimal"
        case .double: "Double"
        case .float: "Float"
        case .string: "String"
        case .boolean: "Boolean"
        case .date: "Date"
        case .binaryData: "Binary"
        case .uuid: "UUID"
        case .uri: "URI"
        case .transformable: "Transformable"
        case .objectID: "Object ID"
        case .composite: "Composite"
        }
    }

    /// True if values of the type convert into those of other such types: integers, floating-point numbers, decimals and
    /// Booleans.
    public var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
        default: false
        }
    }
}

/// A value in a model: a default or a bound.
public enum AttributeValue: Sendable, Hashable {
    /// The value of a Boolean attribute.
    case boolean(Bool)
    /// The value of an integer attribute.
    case integer(Int64)
    /// The value of a double, float or date attribute.
    case double(Double)
    /// The value of a decimal attribute.
    case decimal(Decimal)
    /// The value of a string or URI attribute.
    case string(String)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    /// The value of a binary or transformable attribute.
    case data(Data)
    /// The value of a UUID attribute.
    case uuid(UUID)
    /// The absolute string of a URI.
    case uri(String)
}

/// An attribute as declared.
public struct AttributeDefinition: Sendable, Equatable {
    /// The attribute's name.
    public var name: String
    /// The type of its values.
    public var type: AttributeType
    /// True if an object may have no value.
    public var isOptional = false
    /// True if it is not stored.
    public var isTransient = false
    /// True for `indexed="YES"` of old models.
    public var isIndexed = false
    /// The value of a new object.
    public var defaultValue: AttributeValue?
    /// The least number or date.
    public var minimum: AttributeValue?
    /// The greatest number or date.
    public var maximum: AttributeValue?
    /// The least length of a string, in characters.
    public var minimumLength: Int?
    /// The greatest length of a string, in characters.
    public var maximumLength: Int?
    /// The regular expression that a whole string must match.
    public var regularExpression: String?
    /// The validation predicates besides those of the bounds and the pattern.
    public var validationPredicates: [ValidationPredicate] = []
    /// The texts that Core Data shows if one of the rules is broken. Models made in code have them.
    public var validationWarnings: [String] = []
    /// The class that turns a transformable attribute's objects into bytes.
    public var valueTransformerName: String?
    /// The class of its values, as the model names it.
    public var valueClassName: String?
    /// True if large values may be stored in files of their own.
    public var allowsExternalBinaryDataStorage = false
    /// True if persistent history keeps the value of a deleted object.
    public var preservesValueInHistoryOnDeletion = false
    /// True if CloudKit encrypts its values. The flag is kept in Xcode's form only: its archived form is not known.
    public var allowsCloudEncryption = false
    /// True if Spotlight indexes its values.
    public var isIndexedBySpotlight = false
    /// True if Spotlight's external records have its values, `storedInTruthFile` in XML. The flag is kept in Xcode's form only:
    /// its archived form is not known.
    public var isStoredInExternalRecord = false
    /// The derivation expression; nil unless the attribute is derived.
    public var derivationExpression: String?
    /// The name of the composite, for the type composite.
    public var compositeName: String?
    /// The identifier that inference matches it by; nil for its name.
    public var renamingIdentifier: String?
    /// A text that enters the version hash.
    public var versionHashModifier: String?
    /// True if Xcode generates a scalar property for it; nil if the file does not state it.
    public var usesScalarValueType: Bool?
    /// Values set by the author of the model.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes a required attribute without a default.
    public init(name: String, type: AttributeType) {
        self.name = name
        self.type = type
    }
}

/// The effect on the destination of a relationship when its owner is deleted, with Core Data's codes.
public enum DeleteRule: UInt32, Sendable {
    /// The destination objects keep a dangling reference.
    case noAction = 0
    /// The destination objects lose the reference.
    case nullify = 1
    /// The destination objects are deleted too.
    case cascade = 2
    /// An object with destination objects is not deleted.
    case deny = 3
}

/// A relationship as declared.
public struct RelationshipDefinition: Sendable, Equatable {
    /// The relationship's name.
    public var name: String
    /// The name of the destination entity.
    public var destinationEntityName: String
    /// The name of the inverse relationship; nil if there is none.
    public var inverseName: String?
    /// True if an object may have no destination object.
    public var isOptional = false
    /// True if it is not stored.
    public var isTransient = false
    /// True if there may be more than one destination object.
    public var isToMany = false
    /// True if the destination objects have an order.
    public var isOrdered = false
    /// The least number of destination objects of a valid object that has any.
    public var minimumCount: Int = 0
    /// The greatest number of destination objects: 1 for a to-one relationship, 0 for an unlimited to-many.
    public var maximumCount: Int = 0
    /// The effect on the destination objects when the object is deleted.
    public var deleteRule: DeleteRule = .nullify
    /// True if an old model requests an index.
    public var isIndexed = false
    /// True if Spotlight indexes it.
    public var isIndexedBySpotlight = false
    /// True if Spotlight's external records have it, `storedInTruthFile` in XML. The flag is kept in Xcode's form only: its
    /// archived form is not known.
    public var isStoredInExternalRecord = false
    /// The identifier that inference matches it by; nil for its name.
    public var renamingIdentifier: String?
    /// A text that enters the version hash.
    public var versionHashModifier: String?
    /// Values set by the author of the model.
    public var userInfo: [String: String] = [:]
    /// The parts of the archived definition that have no property of their own here. They are kept, so that an archive of the model
    /// has them again.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes a required to-one relationship without an inverse.
    public init(name: String, destinationEntityName: String) {
        self.name = name
        self.destinationEntityName = destinationEntityName
    }
}

/// A fetched property. It is not stored, but kept for the cached model.
public struct FetchedPropertyDefinition: Sendable, Equatable {
    /// The property's name.
    public var name: String
    /// True if it may be empty.
    public var isOptional = true
    /// The fetch request.
    public var fetchRequest: FetchRequestDefinition?
    /// The name that it is matched by; nil: its own.
    public var renamingIdentifier: String?
    /// A text of the model's author.
    public var versionHashModifier: String?
    /// Notes of the model's author.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes a fetched property without a fetch request.
    public init(name: String) { self.name = name }
}

/// A fetch index as declared: its name, the elements to sort by, and the predicate that limits it to some objects.
public struct FetchIndexDefinition: Sendable, Equatable {
    /// The index's name within its entity.
    public var name: String
    /// The elements to sort by, in order.
    public var elements: [FetchIndexElement] = []
    /// The format string of the predicate of a partial index: only objects that satisfy it are in the index.
    public var partialIndexPredicate: String?
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes an index without elements.
    public init(name: String) { self.name = name }
}

/// One element of a fetch index.
public struct FetchIndexElement: Sendable, Equatable {
    /// The name of the property; nil for an expression.
    public var propertyName: String?
    /// The format string of the expression; nil for a property.
    public var expression: String?
    /// True if it belongs to an R-tree.
    public var isRTree = false
    /// True for ascending order.
    public var isAscending = true
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()
    /// The attributes of its tag that only Xcode reads.
    package var xcode = XcodeAttributes()

    /// Makes an ascending element over a property.
    public init(propertyName: String?) { self.propertyName = propertyName }
}
