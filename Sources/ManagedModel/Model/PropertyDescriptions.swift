import Archives
import Foundation

/// An attribute of an entity, own or inherited; an element of a composite attribute has a dotted name (`author.person`).
package struct AttributeDescription: Sendable, Equatable {
    /// The attribute as the model's file declares it. An element of a composite that may be nil counts as optional here.
    package let definition: AttributeDefinition
    /// The index of the entity that declares it.
    package let declaringEntityIndex: Int
    /// The name of the entity that declares it.
    package let entityName: String
    /// The path of the optional composite in which the element is required: if the composite has any value, the element has one
    /// too. Nil if the element is not in such a composite.
    package private(set) var requiringComposite: String?

    /// The property's name.
    package var name: String { definition.name }
    /// The type of its values.
    package var attributeType: AttributeType { definition.type }
    /// True if an object may have no value.
    package var isOptional: Bool { definition.isOptional }
    /// True if it is not stored.
    package var isTransient: Bool { definition.isTransient }
    /// The identifier that inference matches it by: its name if the model gives none.
    package var renamingIdentifier: String? { definition.renamingIdentifier ?? definition.name }
    /// A text set by the model's author that enters the version hash.
    package var versionHashModifier: String? { definition.versionHashModifier }
    /// Values set by the author of the model.
    package var userInfo: [AnyHashable: Any]? { definition.userInfo }
    /// True if the attribute has a column.
    package var isStored: Bool { !definition.isTransient && definition.type != .undefined }
    package var isDerived: Bool { definition.derivationExpression != nil }
}

extension AttributeValue {
    /// The value in Core Data's types: NSNumber, String, Date, …
    package var object: Any? {
        switch self {
        case .boolean(let value): NSNumber(value: value)
        case .integer(let value): NSNumber(value: value)
        case .double(let value): NSNumber(value: value)
        case .decimal(let value): HashableDecimal(decimal: value)
        case .string(let value): value
        case .date(let value): Date(timeIntervalSinceReferenceDate: value)
        case .data(let value): value
        case .uuid(let value): value
        case .uri(let value): URL(string: value)
        }
    }

    /// Makes a value of a type from Core Data's or Swift's; nil if it does not fit.
    init?(object: Any, of type: AttributeType) {
        let number = object as? NSNumber
        switch (type, object) {
        case (.integer16, _), (.integer32, _), (.integer64, _):
            guard let number else { return nil }
            self = .integer(number.int64Value)
        case (.boolean, _):
            guard let number else { return nil }
            self = .boolean(number.boolValue)
        case (.double, _), (.float, _):
            guard let number else { return nil }
            self = .double(number.doubleValue)
        case (.decimal, _):
            guard let value = object as? Decimal ?? number?.decimalValue else { return nil }
            self = .decimal(value)
        case (.string, let text as String): self = .string(text)
        case (.date, let date as Date): self = .date(date.timeIntervalSinceReferenceDate)
        case (.binaryData, let data as Data), (.transformable, let data as Data): self = .data(data)
        case (.uuid, let uuid as UUID): self = .uuid(uuid)
        case (.uri, let url as URL): self = .uri(url.absoluteString)
        default: return nil
        }
    }
}

/// A relationship of an entity, own or inherited.
package struct RelationshipDescription: Sendable, Equatable {
    package let managedObjectModel: ManagedObjectModel
    let resolved: ResolvedRelationship

    package static func == (left: RelationshipDescription, right: RelationshipDescription) -> Bool {
        left.managedObjectModel === right.managedObjectModel
            && left.resolved.declaringEntity == right.resolved.declaringEntity && left.name == right.name
    }

    /// The relationship as declared in the model.
    package var definition: RelationshipDefinition { resolved.definition }
    /// The property's name.
    package var name: String { resolved.definition.name }
    /// True if there may be more than one destination object.
    package var isToMany: Bool { resolved.definition.isToMany }
    /// True if the destination objects have an order. Only a to-many relationship can have one, whatever is declared.
    package var isOrdered: Bool { resolved.definition.isOrdered && resolved.definition.isToMany }
    /// True if an object may have no value.
    package var isOptional: Bool { resolved.definition.isOptional }
    /// True if it is not stored.
    package var isTransient: Bool { resolved.definition.isTransient }
    /// The least number of destination objects of a valid object that has any.
    package var minCount: Int { resolved.definition.minimumCount }
    /// The greatest number of destination objects of a valid object; 0 for any number.
    package var maxCount: Int { resolved.definition.maximumCount }
    /// The effect on the destination objects when the object is deleted.
    package var deleteRule: DeleteRule { resolved.definition.deleteRule }
    /// The identifier that inference matches it by: its name if the model gives none.
    package var renamingIdentifier: String? { resolved.definition.renamingIdentifier ?? resolved.definition.name }
    /// Values set by the author of the model.
    package var userInfo: [AnyHashable: Any]? { resolved.definition.userInfo }

    /// The entity that declares the relationship, which may be an ancestor of the entity it was looked up in.
    package var entity: EntityDescription {
        EntityDescription(managedObjectModel: managedObjectModel, index: resolved.declaringEntity)
    }
    /// The destination entity.
    package var destinationEntity: EntityDescription? { destination }
    /// The destination entity, which always exists.
    package var destination: EntityDescription {
        EntityDescription(managedObjectModel: managedObjectModel, index: resolved.destinationEntity)
    }
    /// The relationship of the destination entity that is declared as the inverse.
    package var inverseRelationship: RelationshipDescription? {
        resolved.definition.inverseName.flatMap { destination.relationship(named: $0) }
    }
    /// True if one object may be in the relationship for several owners. The inverse tells. Without one, a to-one is a column of
    /// its owner, which leaves this open, and a to-many is a column of its member, which has room for one owner.
    package var sharesMembers: Bool { inverseRelationship?.isToMany ?? !isToMany }
}
