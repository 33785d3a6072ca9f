import struct Foundation.Data
import struct Foundation.Decimal
import struct Foundation.UUID

/// A model as a reader found it: plain values, names not yet resolved.
///
/// ``ManagedObjectModel/init(_:)`` checks it and resolves names, inheritance and inverses.
public struct ModelDefinition: Sendable, Equatable {
    public var entities: [EntityDefinition] = []
    /// `userDefinedModelVersionIdentifier` and its like; labels only.
    public var versionIdentifiers: [String] = []
    /// Configuration name to the names of its entities.
    public var configurations: [String: [String]] = [:]
    /// Composite name to its elements, which may be composites themselves.
    public var composites: [String: [AttributeDefinition]] = [:]
    public var fetchRequests: [FetchRequestDefinition] = []

    public init() {}
}

/// A stored fetch request of a model, or the one of a fetched property.
public struct FetchRequestDefinition: Sendable, Equatable {
    public var name: String
    public var entityName: String
    public var predicate: String?

    public init(name: String, entityName: String, predicate: String? = nil) {
        self.name = name
        self.entityName = entityName
        self.predicate = predicate
    }
}

/// An entity as declared: own properties only.
public struct EntityDefinition: Sendable, Equatable {
    public var name: String
    public var managedObjectClassName: String?
    public var superentityName: String?
    public var isAbstract = false
    /// `elementID` in XML. Nil means the name.
    public var renamingIdentifier: String?
    public var versionHashModifier: String?
    public var attributes: [AttributeDefinition] = []
    public var relationships: [RelationshipDefinition] = []
    public var fetchedProperties: [FetchedPropertyDefinition] = []
    /// Own constraints, each a list of attribute names in declared order.
    public var uniquenessConstraints: [[String]] = []
    public var indexes: [FetchIndexDefinition] = []
    /// Old style: lists of property names.
    public var compoundIndexes: [[String]] = []
    public var userInfo: [String: String] = [:]

    public init(name: String) { self.name = name }
}

/// The type of an attribute, with Core Data's codes.
public enum AttributeType: UInt32, Sendable, CaseIterable {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binaryData = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800
    case objectID = 2000
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
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case decimal(Decimal)
    case string(String)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data(Data)
    case uuid(UUID)
    /// The absolute string.
    case uri(String)
}

/// An attribute as declared.
public struct AttributeDefinition: Sendable, Equatable {
    public var name: String
    public var type: AttributeType
    public var isOptional = false
    public var isTransient = false
    /// Old style `indexed="YES"`.
    public var isIndexed = false
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
    public var valueTransformerName: String?
    public var valueClassName: String?
    public var allowsExternalBinaryDataStorage = false
    public var preservesValueInHistoryOnDeletion = false
    /// Derivation expression; not nil makes the attribute derived.
    public var derivationExpression: String?
    /// Name of the composite, where the type is composite.
    public var compositeName: String?
    public var renamingIdentifier: String?
    public var versionHashModifier: String?
    public var usesScalarValueType: Bool?
    public var userInfo: [String: String] = [:]

    public init(name: String, type: AttributeType) {
        self.name = name
        self.type = type
    }
}

/// What happens to the destination of a relationship when its owner is deleted, with Core Data's codes.
public enum DeleteRule: UInt32, Sendable {
    case noAction = 0
    case nullify = 1
    case cascade = 2
    case deny = 3
}

/// A relationship as declared.
public struct RelationshipDefinition: Sendable, Equatable {
    public var name: String
    public var destinationEntityName: String
    public var inverseName: String?
    public var isOptional = false
    public var isTransient = false
    public var isToMany = false
    public var isOrdered = false
    public var minimumCount: Int = 0
    /// 1 for a to-one, 0 for an unlimited to-many, else the bound of a to-many.
    public var maximumCount: Int = 0
    public var deleteRule: DeleteRule = .nullify
    public var isIndexed = false
    public var renamingIdentifier: String?
    public var versionHashModifier: String?
    public var userInfo: [String: String] = [:]

    public init(name: String, destinationEntityName: String) {
        self.name = name
        self.destinationEntityName = destinationEntityName
    }
}

/// A fetched property: not stored, kept for the cached model.
public struct FetchedPropertyDefinition: Sendable, Equatable {
    public var name: String
    public var isOptional = true
    public var fetchRequest: FetchRequestDefinition?
    public var userInfo: [String: String] = [:]

    public init(name: String) { self.name = name }
}

/// A fetch index.
public struct FetchIndexDefinition: Sendable, Equatable {
    public var name: String
    public var elements: [FetchIndexElement] = []
    public var partialIndexPredicate: String?

    public init(name: String) { self.name = name }
}

/// One element of a fetch index.
public struct FetchIndexElement: Sendable, Equatable {
    /// Property name; nil where the element is an expression.
    public var propertyName: String?
    public var expression: String?
    public var isRTree = false
    public var isAscending = true

    public init(propertyName: String?) { self.propertyName = propertyName }
}
