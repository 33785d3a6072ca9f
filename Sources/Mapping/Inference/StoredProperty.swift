import ManagedModel

/// A property that is stored, or a composite attribute, whose elements are stored.
enum StoredProperty {
    case attribute(AttributeDescription)
    case composite(EntityDescription, CompositeDescription)
    case relationship(RelationshipDescription)

    /// The properties of an entity as its model declares them: attributes, then relationships.
    static func all(of entity: EntityDescription) -> [StoredProperty] {
        entity.declaredAttributes.compactMap { property(entity, $0.name) }
            + entity.relationships.filter { !$0.isTransient }.map(StoredProperty.relationship)
    }

    /// Returns the attribute or composite with a name or path; nil if it is not stored.
    static func property(_ entity: EntityDescription, _ path: String) -> StoredProperty? {
        if let composite = entity.composite(named: path) {
            return composite.definition.isTransient ? nil : .composite(entity, composite)
        }
        return entity.attribute(named: path).flatMap { $0.isStored ? .attribute($0) : nil }
    }

    var name: String {
        switch self {
        case .attribute(let attribute): attribute.name
        case .composite(_, let composite): composite.path
        case .relationship(let relationship): relationship.name
        }
    }
    var isRelationship: Bool {
        if case .relationship = self { true } else { false }
    }
    var declaringEntity: String {
        switch self {
        case .attribute(let attribute): attribute.entityName
        case .composite(let entity, let composite):
            composite.attributes.first.flatMap(entity.attribute(named:))?.entityName ?? entity.definition.name
        case .relationship(let relationship): relationship.entity.definition.name
        }
    }

    /// The type; nil for a relationship.
    var type: AttributeType? {
        switch self {
        case .attribute(let attribute): attribute.attributeType
        case .composite: .composite
        case .relationship: nil
        }
    }

    /// The names by which it is matched. An element has its own name and identifier within its composite.
    var renamable: RenamableName {
        switch self {
        case .attribute(let attribute):
            RenamableName(
                name: String(attribute.elementName),
                identifier: attribute.definition.renamingIdentifier.flatMap {
                    $0.split(separator: ".").last.map(String.init)
                })
        case .composite(_, let composite):
            RenamableName(name: composite.definition.name, identifier: composite.definition.renamingIdentifier)
        case .relationship(let relationship):
            RenamableName(name: relationship.name, identifier: relationship.definition.renamingIdentifier)
        }
    }

    /// A composite's elements, in declared order; empty for other properties.
    var elements: [StoredProperty] {
        guard case .composite(let entity, let composite) = self else { return [] }
        return composite.elements.compactMap { Self.property(entity, "\(composite.path).\($0.name)") }
    }

    /// The attributes in which it is stored.
    var attributes: [StoredProperty] {
        guard case .composite = self else { return [self] }
        return elements.flatMap(\.attributes)
    }

    /// Tells whether it holds every value of another property as it stands. Relationships have no values.
    func holdsEveryValue(of old: StoredProperty) -> Bool {
        guard let old = old.type, let type else { return true }
        return type.holdsEveryValue(of: old)
    }

    func replacesNil(of old: StoredProperty) -> Bool {
        guard case .attribute(let new) = self, case .attribute(let old) = old else { return false }
        return old.isOptional && !new.isOptional && new.definition.defaultValue != nil
    }
}

extension AttributeType {
    /// Tells whether an attribute of this type holds every value of another type as it stands: of the same type, and an integer
    /// those of a narrower integer or a Boolean, which are all stored alike.
    package func holdsEveryValue(of other: AttributeType) -> Bool {
        guard let bits = integerBits, let others = other.integerBits else { return self == other }
        return bits >= others
    }

    /// The number of bits of an integer, 1 for a Boolean; nil for other types.
    var integerBits: Int? {
        switch self {
        case .boolean: 1
        case .integer16: 16
        case .integer32: 32
        case .integer64: 64
        default: nil
        }
    }
}

extension AttributeDescription {
    /// True for an element of a composite.
    var isElement: Bool { name.contains(".") }
}

extension ExpressionNode {
    /// `$source.<name>`; an element of a composite by its path.
    static func source(_ name: String) -> ExpressionNode {
        .keyPath(target: .variable("source"), components: name.split(separator: ".").map(String.init))
    }
}
