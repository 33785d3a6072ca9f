import Foundation

/// An attribute of an entity, own or inherited; an element of a composite attribute has a dotted name (`author.person`).
public struct AttributeDescription: Sendable, Equatable {
    /// What the model's file says. An element of a composite that may be nil counts as optional here.
    public let definition: AttributeDefinition
    /// Index of the entity that declares it.
    package let declaringEntityIndex: Int
    /// Name of the entity that declares it.
    package let entityName: String
    /// The path of the optional composite in which the element is required: where the composite has any value, the element
    /// has one too. Nil where ``isOptional`` says it all.
    package let requiringComposite: String?
    /// The model's composites, for a composite attribute's elements.
    let composites: [String: [AttributeDefinition]]

    init(
        definition: AttributeDefinition, declaringEntityIndex: Int, entityName: String,
        requiringComposite: String? = nil, composites: [String: [AttributeDefinition]] = [:]
    ) {
        self.definition = definition
        self.declaringEntityIndex = declaringEntityIndex
        self.entityName = entityName
        self.requiringComposite = requiringComposite
        self.composites = composites
    }

    /// The property's name.
    public var name: String { definition.name }
    /// What its values are.
    public var attributeType: AttributeType { definition.type }
    /// Whether an object may have no value.
    public var isOptional: Bool { definition.isOptional }
    /// Whether it is left out of stores.
    public var isTransient: Bool { definition.isTransient }
    /// What it is matched by in inference: its name where the model gives none.
    public var renamingIdentifier: String? { definition.renamingIdentifier ?? definition.name }
    /// A text of the model's author that enters the version hash.
    public var versionHashModifier: String? { definition.versionHashModifier }
    /// What the model's author noted.
    public var userInfo: [AnyHashable: Any]? { definition.userInfo }
    /// Whether the attribute has a column.
    package var isStored: Bool { !definition.isTransient && definition.type != .undefined }
    package var isDerived: Bool { definition.derivationExpression != nil }

    /// The default as Core Data gives it: NSNumber, String, Date, …
    public var defaultValue: Any? {
        switch definition.defaultValue {
        case nil: nil
        case .boolean(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .decimal(let value): NSDecimalNumber(decimal: value)
        case .string(let value): value
        case .date(let value): Date(timeIntervalSinceReferenceDate: value)
        case .data(let value): value
        case .uuid(let value): value
        case .uri(let value): URL(string: value)
        }
    }
}

/// A relationship of an entity, own or inherited.
public struct RelationshipDescription: Sendable, Equatable {
    package let managedObjectModel: ManagedObjectModel
    let resolved: ResolvedRelationship

    init(managedObjectModel: ManagedObjectModel, resolved: ResolvedRelationship) {
        self.managedObjectModel = managedObjectModel
        self.resolved = resolved
    }

    public static func == (left: RelationshipDescription, right: RelationshipDescription) -> Bool {
        left.managedObjectModel === right.managedObjectModel
            && left.resolved.declaringEntity == right.resolved.declaringEntity && left.name == right.name
    }

    /// What the model's file says.
    public var definition: RelationshipDefinition { resolved.definition }
    /// The property's name.
    public var name: String { resolved.definition.name }
    /// Whether there may be more than one other object.
    public var isToMany: Bool { resolved.definition.isToMany }
    /// Only a to-many has an order, whatever is declared.
    public var isOrdered: Bool { resolved.definition.isOrdered && resolved.definition.isToMany }
    /// Whether an object may have no value.
    public var isOptional: Bool { resolved.definition.isOptional }
    /// Whether it is left out of stores.
    public var isTransient: Bool { resolved.definition.isTransient }
    /// The fewest others that a valid object has, where it has any.
    public var minCount: Int { resolved.definition.minimumCount }
    /// The most others that a valid object has; 0: any number.
    public var maxCount: Int { resolved.definition.maximumCount }
    /// What becomes of the others where the object is deleted.
    public var deleteRule: DeleteRule { resolved.definition.deleteRule }
    /// What it is matched by in inference: its name where the model gives none.
    public var renamingIdentifier: String? { resolved.definition.renamingIdentifier ?? resolved.definition.name }
    /// What the model's author noted.
    public var userInfo: [AnyHashable: Any]? { resolved.definition.userInfo }

    /// The entity that declares the relationship (not the subentity it was asked of).
    public var entity: EntityDescription {
        EntityDescription(managedObjectModel: managedObjectModel, index: resolved.declaringEntity)
    }
    /// The entity it points to.
    public var destinationEntity: EntityDescription? {
        EntityDescription(managedObjectModel: managedObjectModel, index: resolved.destinationEntity)
    }
    /// The entity it points to.
    package var destination: EntityDescription {
        EntityDescription(managedObjectModel: managedObjectModel, index: resolved.destinationEntity)
    }
    /// The relationship named as the inverse, on the destination entity.
    public var inverseRelationship: RelationshipDescription? {
        resolved.definition.inverseName.flatMap { destination.relationship(named: $0) }
    }
}
