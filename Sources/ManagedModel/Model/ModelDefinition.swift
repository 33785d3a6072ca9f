import struct Foundation.Data
import struct Foundation.Decimal
import struct Foundation.UUID

/// A model as a reader found it: plain values, names not yet resolved.
///
/// ``ManagedObjectModel/init(_:)`` checks it and resolves names, inheritance and inverses.
public struct ModelDefinition: Sendable, Equatable {
    /// In the order of the file.
    public var entities: [EntityDefinition] = []
    /// `userDefinedModelVersionIdentifier` and its like; labels only.
    public var versionIdentifiers: [String] = []
    /// Configuration name to the names of its entities.
    public var configurations: [String: [String]] = [:]
    /// Composite name to its elements, which may be composites themselves.
    public var composites: [String: [AttributeDefinition]] = [:]
    /// Fetch request templates.
    public var fetchRequests: [FetchRequestDefinition] = []

    /// An empty model.
    public init() {}
}

/// A stored fetch request of a model, or the one of a fetched property.
public struct FetchRequestDefinition: Sendable, Equatable {
    /// The template's name.
    public var name: String
    /// The entity whose objects are fetched.
    public var entityName: String
    /// A predicate's format string; nil: all objects.
    public var predicate: String?
    /// The most objects that are fetched; 0: any number.
    public var fetchLimit = 0
    /// How many objects are fetched at a time; 0: all.
    public var fetchBatchSize = 0
    /// Core Data's code of what is fetched; 0: objects.
    public var resultType = 0
    /// True where equal results count once.
    public var returnsDistinctResults = false
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// A fetch request template.
    public init(name: String, entityName: String, predicate: String? = nil) {
        self.name = name
        self.entityName = entityName
        self.predicate = predicate
    }
}

/// An entity as declared: own properties only.
public struct EntityDefinition: Sendable, Equatable {
    /// The entity's name.
    public var name: String
    /// The class of its objects in Core Data.
    public var managedObjectClassName: String?
    /// The parent's name; nil for a root.
    public var superentityName: String?
    /// Whether it has no objects of its own.
    public var isAbstract = false
    /// `elementID` in XML. Nil means the name.
    public var renamingIdentifier: String?
    /// A text that enters the version hash.
    public var versionHashModifier: String?
    /// Its own attributes, without inherited ones.
    public var attributes: [AttributeDefinition] = []
    /// Its own relationships, without inherited ones.
    public var relationships: [RelationshipDefinition] = []
    /// Its own fetched properties, which no store holds.
    public var fetchedProperties: [FetchedPropertyDefinition] = []
    /// Own constraints, each a list of attribute names in declared order.
    public var uniquenessConstraints: [[String]] = []
    /// Its fetch indexes.
    public var indexes: [FetchIndexDefinition] = []
    /// Old style: lists of property names.
    public var compoundIndexes: [[String]] = []
    /// What the model's author noted.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// An entity without properties.
    public init(name: String) { self.name = name }
}

/// The type of an attribute, with Core Data's codes.
public enum AttributeType: UInt32, Sendable, CaseIterable {
    /// No type: transient attributes may have it.
    case undefined = 0
    /// A whole number of 16 bits.
    case integer16 = 100
    /// A whole number of 32 bits.
    case integer32 = 200
    /// A whole number of 64 bits.
    case integer64 = 300
    /// A decimal number; SQLite keeps it as an integer or a double.
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
    /// A URL, kept as text.
    case uri = 1200
    /// What a value transformer made of an object: bytes.
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

    /// Whether values of the two types convert into each other: integers, floats, decimals and Booleans.
    public var isNumeric: Bool {
        switch self {
        case .integer16, .integer32, .integer64, .decimal, .double, .float, .boolean: true
        default: false
        }
    }
}

/// A value that a model holds: a default, a bound.
public enum AttributeValue: Sendable, Hashable {
    /// Of a Boolean attribute.
    case boolean(Bool)
    /// Of an attribute of any whole number.
    case integer(Int64)
    /// Of a double, a float or a date.
    case double(Double)
    /// Of a decimal attribute.
    case decimal(Decimal)
    /// Of text or of a URI.
    case string(String)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    /// Of bytes or of a transformable attribute.
    case data(Data)
    /// Of a UUID.
    case uuid(UUID)
    /// The absolute string.
    case uri(String)
}

/// An attribute as declared.
public struct AttributeDefinition: Sendable, Equatable {
    /// The attribute's name.
    public var name: String
    /// What its values are.
    public var type: AttributeType
    /// Whether an object may have none.
    public var isOptional = false
    /// Whether it is left out of stores.
    public var isTransient = false
    /// Old style `indexed="YES"`.
    public var isIndexed = false
    /// What a new object has.
    public var defaultValue: AttributeValue?
    /// Least number or date.
    public var minimum: AttributeValue?
    /// Greatest number or date.
    public var maximum: AttributeValue?
    /// Least length of a string, in characters.
    public var minimumLength: Int?
    /// Greatest length of a string, in characters.
    public var maximumLength: Int?
    /// Pattern that a string must match as a whole.
    public var regularExpression: String?
    /// Predicates beside those that the bounds and the pattern are.
    public var validationPredicates: [ValidationPredicate] = []
    /// Texts that Core Data shows where one of the rules is broken. Models made in code have them.
    public var validationWarnings: [String] = []
    /// The class that turns a transformable attribute's objects into bytes.
    public var valueTransformerName: String?
    /// The class of its values, as the model names it.
    public var valueClassName: String?
    /// Whether large values may be files of their own.
    public var allowsExternalBinaryDataStorage = false
    /// Whether persistent history keeps the value of a deleted object.
    public var preservesValueInHistoryOnDeletion = false
    /// Derivation expression; not nil makes the attribute derived.
    public var derivationExpression: String?
    /// Name of the composite, where the type is composite.
    public var compositeName: String?
    /// What it is matched by in inference; nil: its name.
    public var renamingIdentifier: String?
    /// A text that enters the version hash.
    public var versionHashModifier: String?
    /// Whether Xcode generates a scalar for it; nil where the file does not say.
    public var usesScalarValueType: Bool?
    /// What the model's author noted.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// A required attribute without a default.
    public init(name: String, type: AttributeType) {
        self.name = name
        self.type = type
    }
}

/// What happens to the destination of a relationship when its owner is deleted, with Core Data's codes.
public enum DeleteRule: UInt32, Sendable {
    /// The other objects keep a reference that leads nowhere.
    case noAction = 0
    /// The other objects lose the reference.
    case nullify = 1
    /// The other objects are deleted too.
    case cascade = 2
    /// An object that has others is not deleted.
    case deny = 3
}

/// A relationship as declared.
public struct RelationshipDefinition: Sendable, Equatable {
    /// The relationship's name.
    public var name: String
    /// The entity of the other objects.
    public var destinationEntityName: String
    /// The relationship that leads back; nil where there is none.
    public var inverseName: String?
    /// Whether an object may have no others.
    public var isOptional = false
    /// Whether it is left out of stores.
    public var isTransient = false
    /// Whether there may be more than one other object.
    public var isToMany = false
    /// Whether the others have an order.
    public var isOrdered = false
    /// The fewest others that a valid object has, where it has any.
    public var minimumCount: Int = 0
    /// 1 for a to-one, 0 for an unlimited to-many, else the bound of a to-many.
    public var maximumCount: Int = 0
    /// What becomes of the others where the object is deleted.
    public var deleteRule: DeleteRule = .nullify
    /// Whether old models ask for an index.
    public var isIndexed = false
    /// What it is matched by in inference; nil: its name.
    public var renamingIdentifier: String?
    /// A text that enters the version hash.
    public var versionHashModifier: String?
    /// What the model's author noted.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// A required to-one relationship without an inverse.
    public init(name: String, destinationEntityName: String) {
        self.name = name
        self.destinationEntityName = destinationEntityName
    }
}

/// A fetched property: not stored, kept for the cached model.
public struct FetchedPropertyDefinition: Sendable, Equatable {
    /// The property's name.
    public var name: String
    /// Whether it may be empty.
    public var isOptional = true
    /// What it fetches.
    public var fetchRequest: FetchRequestDefinition?
    /// The name that it is matched by; nil: its own.
    public var renamingIdentifier: String?
    /// A text of the model's author.
    public var versionHashModifier: String?
    /// What the model's author noted.
    public var userInfo: [String: String] = [:]
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// A fetched property that fetches nothing yet.
    public init(name: String) { self.name = name }
}

/// A fetch index.
public struct FetchIndexDefinition: Sendable, Equatable {
    /// The index's name within its entity.
    public var name: String
    /// What it sorts by, in order.
    public var elements: [FetchIndexElement] = []
    /// The format string of a predicate: only such objects are in the index.
    public var partialIndexPredicate: String?
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// An index without elements.
    public init(name: String) { self.name = name }
}

/// One element of a fetch index.
public struct FetchIndexElement: Sendable, Equatable {
    /// Property name; nil where the element is an expression.
    public var propertyName: String?
    /// An expression's format string, where it is no property.
    public var expression: String?
    /// Whether it belongs to an R-tree.
    public var isRTree = false
    /// The direction.
    public var isAscending = true
    /// Parts of an archive that have no place above.
    package var archived = ArchivedParts()

    /// An ascending element over a property.
    public init(propertyName: String?) { self.propertyName = propertyName }
}
