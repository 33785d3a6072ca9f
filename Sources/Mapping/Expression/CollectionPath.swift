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
        for (position, name) in path.enumerated() {
            if let found = current.attribute(named: name) {
                guard position == path.count - 1 else {
                    if found.attributeType.answers(to: path[position + 1]) {
                        throw Self.unsupported("\(path[position + 1]) is a message to the value of \(current).\(name)")
                    }
                    throw Self.unknown("\(current).\(name) is an attribute and has no \(path[position + 1])")
                }
                guard found.isStored else { throw Self.unsupported("\(current).\(name) is not in the store") }
                attribute = found
                break
            }
            guard let relationship = current.relationship(named: name) else {
                if current.composite(named: name) != nil {
                    throw Self.unsupported("\(current).\(name) is composite, a dictionary for objects only")
                }
                if current.definition.fetchedProperties.contains(where: { $0.name == name }) {
                    throw Self.unsupported("\(current).\(name) is a fetched property")
                }
                if ObjectKeys.contains(name) { throw Self.unsupported("\(name) is a key of objects") }
                throw Self.unknown("The source entity \(current) has no property \(name)")
            }
            guard !relationship.isTransient else { throw Self.unsupported("\(current).\(name) is not in the store") }
            if steps.isEmpty, !relationship.isToMany { prefix.append(relationship) } else { steps.append(relationship) }
            current = relationship.destination
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

    private static func unknown(_ message: String) -> MigrationError {
        MigrationError("mapping.unknownKeyPath", .configuration, message)
    }
    private static func unsupported(_ message: String) -> MigrationError {
        MigrationError("expression.unsupported", .configuration, message)
    }
}
