import Diagnostics
import ManagedModel

/// Resolves key paths from entities alone, to check expressions before there are batches. Slots are only counted.
struct EntityKeyPathResolver: KeyPathResolver {
    /// The entity of the row's own object, then those of the enclosing objects.
    private let entities: [EntityDescription]
    let scope: [String]
    private var slots = 0

    init(_ entities: [EntityDescription], scope: [String] = ["source"]) {
        self.entities = entities
        self.scope = scope
    }

    /// - Throws: `mapping.unknownKeyPath` if a component is not a property of its entity; `expression.unsupported` for paths
    ///   over to-many relationships and to properties that are not stored, which only objects have.
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
            // A composite at the end of a path is a dictionary, which objects have; no other name can follow it.
            if current.composite(named: name) != nil, let last = path.last, last != name, !last.hasPrefix("@") {
                throw .unknownKeyPath("\(current).\(name) is composite and has no element \(last)")
            }
            switch try current.step(path, at: index) {
            case .attribute(let attribute): return attribute.attributeType
            case .relationship(let relationship):
                guard !relationship.isToMany else { throw .unsupportedExpression("\(current).\(name) is to-many") }
                current = relationship.destination
            }
        }
        return .objectID
    }
}
