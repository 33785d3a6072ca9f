import Diagnostics
import ManagedModel

/// The way from an object to the members of a collection, with its names looked up in the model.
package struct CollectionPath {
    /// To-one relationships before the first to-many.
    package let prefix: [RelationshipDescription]
    /// The first to-many relationship and all relationships after it.
    package let steps: [RelationshipDescription]
    /// The attribute that ends the path; nil if the path ends at objects.
    package let attribute: AttributeDescription?
    /// The entity of the members.
    package let member: EntityDescription

    /// Looks up the names of a path.
    ///
    /// - Throws: `mapping.unknownKeyPath` for a name that its entity does not have and for a step beyond an attribute,
    ///   `expression.type` if no relationship is to-many, `expression.unsupported` for properties that the store does not hold.
    package init(_ path: [String], from entity: EntityDescription) throws(MigrationError) {
        var current = entity
        let path = entity.joiningElements(in: path)
        var prefix: [RelationshipDescription] = []
        var steps: [RelationshipDescription] = []
        var attribute: AttributeDescription?
        for index in path.indices {
            switch try current.step(path, at: index) {
            case .attribute(let found):
                guard found.attributeType != .transformable || !steps.isEmpty else {
                    throw .unsupportedExpression("\(found.name) is transformable, a collection for objects only")
                }
                attribute = found
            case .relationship(let relationship):
                guard !relationship.isTransient else {
                    throw .unsupportedExpression("\(current).\(path[index]) is not in the store")
                }
                if steps.isEmpty, !relationship.isToMany {
                    prefix.append(relationship)
                } else {
                    steps.append(relationship)
                }
                current = relationship.destination
            }
        }
        guard !steps.isEmpty else {
            throw MigrationError(
                "expression.type", .configuration,
                "\((path.isEmpty ? ["the object"] : path).joined(separator: ".")) is no to-many relationship, and a collection is needed"
            )
        }
        self.prefix = prefix
        self.steps = steps
        self.attribute = attribute
        member = current
    }

    /// Returns the number of components up to and including the last to-many relationship; nil if none is to-many or a name is
    /// unknown.
    package static func length(of path: [String], from entity: EntityDescription) -> Int? {
        var current = entity
        let path = entity.joiningElements(in: path)
        var length: Int?
        for (position, name) in path.enumerated() {
            if current.attribute(named: name) != nil { return position == path.count - 1 ? length : nil }
            guard let relationship = current.relationship(named: name) else { return nil }
            if relationship.isToMany { length = position + 1 }
            current = relationship.destination
        }
        return length
    }
}

/// A component of a key path that a row can be read by.
enum PathStep {
    case attribute(AttributeDescription)
    case relationship(RelationshipDescription)
}

extension EntityDescription {
    /// Looks up a component of a key path.
    ///
    /// - Throws: `mapping.unknownKeyPath` for a name that the entity does not have and for a step beyond an attribute,
    ///   `expression.unsupported` for properties that the store does not hold.
    func step(_ path: [String], at index: Int) throws(MigrationError) -> PathStep {
        let name = path[index]
        if let attribute = attribute(named: name) {
            guard index == path.count - 1 else {
                if attribute.attributeType.answers(to: path[index + 1]) {
                    throw .unsupportedExpression("\(path[index + 1]) is a message to the value of \(self).\(name)")
                }
                throw .unknownKeyPath("\(self).\(name) is an attribute and has no \(path[index + 1])")
            }
            guard attribute.isStored else { throw .unsupportedExpression("\(self).\(name) is not in the store") }
            return .attribute(attribute)
        }
        if let relationship = relationship(named: name) { return .relationship(relationship) }
        if composite(named: name) != nil {
            throw .unsupportedExpression("\(self).\(name) is composite, a dictionary for objects only")
        }
        // Fetched properties and similar ones exist only for objects.
        if definition.fetchedProperties.contains(where: { $0.name == name }) {
            throw .unsupportedExpression("\(self).\(name) is a fetched property")
        }
        if KnownObject.isObjectKey(name) { throw .unsupportedExpression("\(name) is a key of objects") }
        throw .unknownProperty(name, of: self)
    }
}

extension MigrationError {
    static func unknownKeyPath(_ message: String, remedy: String? = nil) -> MigrationError {
        MigrationError("mapping.unknownKeyPath", .configuration, message, remedy: remedy)
    }

    static func unknownProperty(_ name: String, of entity: EntityDescription) -> MigrationError {
        unknownKeyPath(
            "The source entity \(entity) has no property \(name)",
            remedy: EditDistance.remedy(for: name, among: entity.declaredPropertyNames))
    }

    static func unsupportedExpression(_ message: String) -> MigrationError {
        MigrationError("expression.unsupported", .configuration, message)
    }
}
