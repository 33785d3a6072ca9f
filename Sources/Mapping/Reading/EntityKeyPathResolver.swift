import Diagnostics
import ManagedModel

/// Resolves key paths from entities alone, to check expressions before there are batches. Slots are only counted.
struct EntityKeyPathResolver: KeyPathResolver {
    /// The entity of the row's own object, then those of the enclosing objects.
    private let entities: [EntityDescription]
    let scope: [String]
    private var slots = 0

    init(_ entity: EntityDescription) {
        entities = [entity]
        scope = ["source"]
    }

    private init(_ entities: [EntityDescription], scope: [String]) {
        self.entities = entities
        self.scope = scope
    }

    /// - Throws: `mapping.unknownKeyPath` if a component is not a property of its entity; `expression.unsupported` for paths
    ///   over to-many relationships and to properties that are not stored, which only objects have.
    mutating func slot(forKeyPath path: [String]) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        try slot(forKeyPath: path, level: 0)
    }

    mutating func slot(
        forKeyPath path: [String], level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        let type = try Self.type(of: path, from: entities[level])
        slots += 1
        return (slots - 1, type)
    }

    mutating func slot(
        for fold: CollectionFold, level: Int
    ) throws(MigrationError) -> (slot: Int, type: AttributeType) {
        let path = try CollectionPath(fold.path, from: entities[level])
        let fold = try fold.resolved(path)
        var member = EntityKeyPathResolver(
            [path.member] + entities[level...], scope: [fold.variable] + scope[level...])
        let program = try CollectionFoldProgram(compiling: fold, resolver: &member)
        slots += 1
        return (slots - 1, program.type)
    }

    func collectionLength(of path: [String], level: Int) -> Int? {
        CollectionPath.length(of: path, from: entities[level])
    }

    func elementPaths(ofCompositeAt path: [String], level: Int) -> [[String]]? {
        entities[level].elementPaths(ofCompositeAt: path)
    }

    private static func type(
        of path: [String], from entity: EntityDescription
    ) throws(MigrationError) -> AttributeType {
        var current = entity
        let path = entity.joiningElements(in: path)
        for (index, name) in path.enumerated() {
            if let attribute = current.attribute(named: name) {
                guard index == path.count - 1 else {
                    if attribute.attributeType.answers(to: path[index + 1]) {
                        throw unsupported("\(path[index + 1]) is a message to the value of \(current).\(name)")
                    }
                    throw failure("\(current).\(name) is an attribute and has no \(path[index + 1])")
                }
                if !attribute.isStored { throw unsupported("\(current).\(name) is not in the store") }
                return attribute.attributeType
            }
            if current.composite(named: name) != nil { throw unsupported(ofComposite: name, current, path.last) }
            guard let relationship = current.relationship(named: name) else {
                // Fetched properties and similar ones exist only for objects.
                if current.definition.fetchedProperties.contains(where: { $0.name == name }) {
                    throw unsupported("\(current).\(name) is a fetched property")
                }
                if ObjectKeys.contains(name) { throw unsupported("\(name) is a key of objects") }
                throw failure("The source entity \(current) has no property \(name)")
            }
            if relationship.isToMany { throw unsupported("\(current).\(name) is to-many") }
            current = relationship.destination
        }
        return .objectID
    }

    /// A composite at the end of a path is a dictionary, which objects have; no other name can follow it.
    private static func unsupported(
        ofComposite name: String, _ entity: EntityDescription, _ last: String?
    ) -> MigrationError {
        guard let last, last != name, !last.hasPrefix("@") else {
            return unsupported("\(entity).\(name) is composite, a dictionary for objects only")
        }
        return failure("\(entity).\(name) is composite and has no element \(last)")
    }

    private static func failure(_ message: String) -> MigrationError {
        MigrationError("mapping.unknownKeyPath", .configuration, message)
    }
    private static func unsupported(_ message: String) -> MigrationError {
        MigrationError("expression.unsupported", .configuration, message)
    }
}
