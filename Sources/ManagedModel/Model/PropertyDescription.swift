import Foundation

/// A property of an entity: an ``NSAttributeDescription`` or an ``NSRelationshipDescription``.
///
/// Properties that code makes may be changed until a model takes over their entity. Those of a model do not change: an attempt
/// is a programmer's error and ends the process, as in Core Data. They are made anew each time they are asked for; two are
/// equal if they are the same property of one model.
public class NSPropertyDescription: NSObject, @unchecked Sendable {
    /// The entity, own or inheriting, that the property was asked of; nil until a model takes over a property that code made.
    public internal(set) var entity: EntityDescription!

    override init() {}

    init(of entity: EntityDescription) { self.entity = entity }

    /// The property as declared.
    var declared: any PropertyDefinition {
        get { preconditionFailure("a property is an attribute or a relationship") }
        set {}
    }

    /// Changes a property that belongs to no model yet.
    func change(_ body: (inout any PropertyDefinition) -> Void) {
        precondition(entity == nil, "\(name) is a property of a model and cannot be changed")
        body(&declared)
    }

    /// The property's name.
    public final var name: String {
        get { declared.name }
        set { change { $0.name = newValue } }
    }
    /// True if an object may have no value.
    public final var isOptional: Bool {
        get { declared.isOptional }
        set { change { $0.isOptional = newValue } }
    }
    /// True if it is not stored.
    public final var isTransient: Bool {
        get { declared.isTransient }
        set { change { $0.isTransient = newValue } }
    }
    /// True if the model requests an index.
    public final var isIndexed: Bool {
        get { declared.isIndexed }
        set { change { $0.isIndexed = newValue } }
    }
    /// True if Spotlight indexes its values.
    public final var isIndexedBySpotlight: Bool {
        get { declared.isIndexedBySpotlight }
        set { change { $0.isIndexedBySpotlight = newValue } }
    }
    /// True if Spotlight's external records have its values.
    public final var isStoredInExternalRecord: Bool {
        get { declared.isStoredInExternalRecord }
        set { change { $0.isStoredInExternalRecord = newValue } }
    }
    /// The identifier that inference matches it by: its name if the model gives none.
    public final var renamingIdentifier: String? {
        get { declared.renamingIdentifier ?? declared.name }
        set { change { $0.renamingIdentifier = newValue } }
    }
    /// A text set by the model's author that enters the version hash.
    public final var versionHashModifier: String? {
        get { declared.versionHashModifier }
        set { change { $0.versionHashModifier = newValue } }
    }
    /// Texts by name, set by the author of the model. Other values that are set are left out.
    public final var userInfo: [AnyHashable: Any]? {
        get { declared.userInfo }
        set { change { $0.userInfo = newValue as? [String: String] ?? [:] } }
    }
    /// The version hash, 32 bytes; empty if only Core Data can compute it, and for a relationship of no model.
    public var versionHash: Data { Data() }

    public override var hash: Int { name.hashValue }
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSPropertyDescription else { return false }
        guard let entity, let others = other.entity else { return self === other }
        return name == other.name && entity == others
    }
    public override var description: String { name }
}

/// An attribute of an entity.
public class NSAttributeDescription: NSPropertyDescription, @unchecked Sendable {
    /// The attribute as the model's file declares it.
    package final var definition: AttributeDefinition
    /// The default that code has set, until the type is known.
    private final var givenDefault: Any?

    /// Core Data's newer name of the type of an attribute's values.
    public typealias AttributeType = ManagedModel.AttributeType

    /// Makes an attribute of no model.
    public override init() {
        definition = AttributeDefinition(name: "", type: .undefined)
        definition.isOptional = true
        super.init()
    }

    init(_ attribute: AttributeDescription, of entity: EntityDescription) {
        definition = attribute.definition
        super.init(of: entity)
    }

    /// Returns the description of an attribute of a model, of the class that its form has in Core Data.
    static func make(_ attribute: AttributeDescription, of entity: EntityDescription) -> NSAttributeDescription {
        if attribute.isDerived { return NSDerivedAttributeDescription(attribute, of: entity) }
        if attribute.attributeType == .composite { return NSCompositeAttributeDescription(attribute, of: entity) }
        return NSAttributeDescription(attribute, of: entity)
    }

    final override var declared: any PropertyDefinition {
        get { definition }
        set { if let changed = newValue as? AttributeDefinition { definition = changed } }
    }

    /// Changes an attribute that belongs to no model yet.
    package final func set<Value>(_ path: WritableKeyPath<AttributeDefinition, Value>, _ value: Value) {
        precondition(entity == nil, "\(name) is a property of a model and cannot be changed")
        definition[keyPath: path] = value
    }

    /// The definition with the default that code has set.
    final var completeDefinition: AttributeDefinition {
        guard let givenDefault else { return definition }
        var complete = definition
        complete.defaultValue = AttributeValue(object: givenDefault, of: definition.type)
        return complete
    }

    /// The type of its values.
    public final var attributeType: AttributeType {
        get { definition.type }
        set { set(\.type, newValue) }
    }
    /// The attribute's type, under the name of newer Core Data versions.
    public final var type: AttributeType {
        get { attributeType }
        set { attributeType = newValue }
    }
    /// The default in Core Data's types: NSNumber, String, Date, … One that does not fit the type is left out.
    public final var defaultValue: Any? {
        get { givenDefault ?? definition.defaultValue?.object }
        set {
            set(\.defaultValue, nil)
            givenDefault = newValue
        }
    }
    /// The name of the class of the attribute's values in Core Data.
    public final var attributeValueClassName: String? {
        get { attributeType == .transformable ? definition.valueClassName : attributeType.defaultValueClassName }
        set { set(\.valueClassName, newValue) }
    }
    /// The name of the transformer that turns a transformable attribute's objects into bytes.
    public final var valueTransformerName: String? {
        get { definition.valueTransformerName }
        set { set(\.valueTransformerName, newValue) }
    }
    /// True if large values may be stored in files of their own.
    public final var allowsExternalBinaryDataStorage: Bool {
        get { definition.allowsExternalBinaryDataStorage }
        set { set(\.allowsExternalBinaryDataStorage, newValue) }
    }
    /// True if persistent history keeps the value of a deleted object.
    public final var preservesValueInHistoryOnDeletion: Bool {
        get { definition.preservesValueInHistoryOnDeletion }
        set { set(\.preservesValueInHistoryOnDeletion, newValue) }
    }
    /// True if CloudKit encrypts its values.
    public final var allowsCloudEncryption: Bool {
        get { definition.allowsCloudEncryption }
        set { set(\.allowsCloudEncryption, newValue) }
    }
    /// The elements of a composite attribute in declared order; empty for other attributes.
    public final var elements: [NSAttributeDescription] {
        guard let entity, let name = definition.compositeName else { return [] }
        return (entity.managedObjectModel.definition.composites[name] ?? []).map {
            .make(AttributeDescription(definition: $0, declaringEntityIndex: entity.index, entityName: ""), of: entity)
        }
    }
    public override var versionHash: Data {
        let composites = entity?.managedObjectModel.definition.composites ?? [:]
        return VersionHash.hash(of: completeDefinition, composites: composites).bytes.map { Data($0) } ?? Data()
    }
}

/// An attribute whose value Core Data computes from other values when it saves.
public final class NSDerivedAttributeDescription: NSAttributeDescription, @unchecked Sendable {}

/// An attribute of several elements under one name.
public final class NSCompositeAttributeDescription: NSAttributeDescription, @unchecked Sendable {}

/// A relationship of an entity.
public final class NSRelationshipDescription: NSPropertyDescription, @unchecked Sendable {
    /// The relationship as declared in the model.
    package private(set) var definition: RelationshipDefinition
    /// The relationship of a model; nil for one that code made.
    private let described: RelationshipDescription?
    private var givenDestination: EntityDescription?
    private weak var givenInverse: NSRelationshipDescription?

    /// Makes a to-many relationship of no model.
    public override init() {
        definition = RelationshipDefinition(name: "", destinationEntityName: "")
        (definition.isOptional, definition.isToMany) = (true, true)
        described = nil
        super.init()
    }

    init(_ relationship: RelationshipDescription, of entity: EntityDescription) {
        definition = relationship.definition
        described = relationship
        super.init(of: entity)
    }

    override var declared: any PropertyDefinition {
        get { definition }
        set { if let changed = newValue as? RelationshipDefinition { definition = changed } }
    }

    private func set<Value>(_ path: WritableKeyPath<RelationshipDefinition, Value>, _ value: Value) {
        precondition(entity == nil, "\(name) is a property of a model and cannot be changed")
        definition[keyPath: path] = value
    }

    /// The definition with the names of the destination and the inverse that code has set.
    var completeDefinition: RelationshipDefinition {
        var complete = definition
        if let name = givenDestination?.name { complete.destinationEntityName = name }
        if let name = givenInverse?.name { complete.inverseName = name }
        return complete
    }

    /// Refers to the destination that the model has, in place of the entity that code made: two of these with relationships to
    /// each other would hold each other for ever.
    func resolveDestination() { givenDestination = givenDestination?.inModel }

    /// The destination entity.
    public var destinationEntity: EntityDescription? {
        get { described?.destination ?? givenDestination?.inModel }
        set {
            set(\.destinationEntityName, newValue?.name ?? "")
            givenDestination = newValue
        }
    }
    /// The relationship of the destination entity that is declared as the inverse.
    public var inverseRelationship: NSRelationshipDescription? {
        get {
            guard let described else { return givenInverse }
            return described.inverseRelationship.map { NSRelationshipDescription($0, of: described.destination) }
        }
        set {
            set(\.inverseName, nil)
            givenInverse = newValue
        }
    }
    /// True if there may be more than one destination object.
    public var isToMany: Bool { definition.isToMany }
    /// True if the destination objects have an order. Only a to-many relationship can have one, whatever is declared.
    public var isOrdered: Bool {
        get { definition.isOrdered && definition.isToMany }
        set { set(\.isOrdered, newValue) }
    }
    /// The least number of destination objects of a valid object that has any.
    public var minCount: Int {
        get { definition.minimumCount }
        set { set(\.minimumCount, newValue) }
    }
    /// The greatest number of destination objects of a valid object: 1 for a to-one relationship, 0 for any number.
    public var maxCount: Int {
        get { definition.maximumCount }
        set {
            set(\.maximumCount, newValue)
            definition.isToMany = newValue != 1
        }
    }
    /// The effect on the destination objects when the object is deleted.
    public var deleteRule: DeleteRule {
        get { definition.deleteRule }
        set { set(\.deleteRule, newValue) }
    }
    public override var versionHash: Data {
        described.flatMap { VersionHash.hash(of: $0).bytes.map { Data($0) } } ?? Data()
    }
}

/// A property as declared: what attributes and relationships have in common.
protocol PropertyDefinition {
    var name: String { get set }
    var isOptional: Bool { get set }
    var isTransient: Bool { get set }
    var isIndexed: Bool { get set }
    var isIndexedBySpotlight: Bool { get set }
    var isStoredInExternalRecord: Bool { get set }
    var renamingIdentifier: String? { get set }
    var versionHashModifier: String? { get set }
    var userInfo: [String: String] { get set }
}

extension AttributeDefinition: PropertyDefinition {}
extension RelationshipDefinition: PropertyDefinition {}

extension EntityDescription {
    /// The own and inherited properties: attributes by name, then relationships by name. May be set for an entity of no model.
    public var properties: [NSPropertyDescription] {
        get {
            draft?.properties ?? attributeDescriptions + relationships.map { NSRelationshipDescription($0, of: self) }
        }
        nonmutating set { changing { draft, _ in draft.properties = newValue } }
    }
    /// The own and inherited properties by name.
    public var propertiesByName: [String: NSPropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    /// The own and inherited attributes by name, including composite attributes but not their elements.
    public var attributesByName: [String: NSAttributeDescription] {
        let found = draft?.properties.compactMap { $0 as? NSAttributeDescription } ?? attributeDescriptions
        return Dictionary(found.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    /// The own and inherited relationships by name.
    public var relationshipsByName: [String: NSRelationshipDescription] {
        let found =
            draft?.properties.compactMap { $0 as? NSRelationshipDescription }
            ?? relationships.map { NSRelationshipDescription($0, of: self) }
        return Dictionary(found.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
    /// Returns the relationships, own and inherited, with a destination entity.
    public func relationships(forDestination entity: EntityDescription) -> [NSRelationshipDescription] {
        relationships.filter { $0.destination == entity }.map { NSRelationshipDescription($0, of: self) }
    }

    private var attributeDescriptions: [NSAttributeDescription] {
        // Without composites, the attributes are those that are declared, in their order.
        (composites.isEmpty ? attributes : declaredAttributes).map { .make($0, of: self) }
    }
}

extension EntityDescription {
    /// The version hash, 32 bytes; empty if only Core Data can compute it.
    public var versionHash: Data {
        name.flatMap { managedObjectModel.entityVersionHashesByName[$0] } ?? Data()
    }
}
