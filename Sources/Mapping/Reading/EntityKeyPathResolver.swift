import Diagnostics
import ManagedModel

/// Resolves key paths against an entity alone, to check expressions before there are batches: slots are only counted.
struct EntityKeyPathResolver: KeyPathResolver {
    private let entity: EntityDescription
    private var slots: [[String]: Int] = [:]

    init(_ entity: EntityDescription) { self.entity = entity }

    /// - Throws: `mapping.unknownKeyPath` where a component names no property of its entity; `expression.unsupported` for
    ///   paths over to-many relationships and to properties that the store does not hold, which only objects have.
    mutating func slot(forKeyPath path: [String]) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        let type = try self.type(of: path)
        let slot = slots[path] ?? slots.count
        slots[path] = slot
        return (slot, type)
    }

    private func type(of path: [String]) throws(MigrationError) -> AttributeType {
        var current = entity
        for (index, name) in path.enumerated() {
            if let attribute = current.attribute(named: name) {
                guard index == path.count - 1 else {
                    throw failure("\(current).\(name) is an attribute and has no \(path[index + 1])")
                }
                if !attribute.isStored { throw Self.unsupported("\(current).\(name) is not in the store") }
                return attribute.attributeType
            }
            guard let relationship = current.relationship(named: name) else {
                // Fetched properties and the like exist for objects only.
                if current.definition.fetchedProperties.contains(where: { $0.name == name }) {
                    throw Self.unsupported("\(current).\(name) is a fetched property")
                }
                throw failure("The source entity \(current) has no property \(name)")
            }
            if relationship.isToMany { throw Self.unsupported("\(current).\(name) is to-many") }
            current = relationship.destination
        }
        return .objectID
    }

    private func failure(_ message: String) -> MigrationError {
        MigrationError("mapping.unknownKeyPath", .configuration, message)
    }
    private static func unsupported(_ message: String) -> MigrationError {
        MigrationError("expression.unsupported", .configuration, message)
    }
}
