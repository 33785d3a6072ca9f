/// An entity of a model. A value that holds its model; two are equal when they are the same entity of one model.
public struct EntityDescription: Sendable, Hashable {
    /// The model that the entity is part of.
    public let managedObjectModel: ManagedObjectModel
    /// Position in ``ManagedObjectModel/entities``.
    package let index: Int

    package init(managedObjectModel: ManagedObjectModel, index: Int) {
        self.managedObjectModel = managedObjectModel
        self.index = index
    }

    public static func == (left: EntityDescription, right: EntityDescription) -> Bool {
        left.index == right.index && left.managedObjectModel === right.managedObjectModel
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(managedObjectModel))
        hasher.combine(index)
    }

    private var resolved: ResolvedEntity { managedObjectModel.resolved[index] }
    private func entity(_ index: Int) -> EntityDescription {
        EntityDescription(managedObjectModel: managedObjectModel, index: index)
    }

    /// The name; never nil. Implicitly unwrapped as in Core Data, so that `name!` and `name ?? ""` compile.
    public var name: String! { resolved.definition.name }
    /// What the entity declares itself.
    public var definition: EntityDefinition { resolved.definition }
    /// Whether the entity has no objects of its own.
    public var isAbstract: Bool { resolved.definition.isAbstract }
    /// The class of the entity's objects in Core Data; `NSManagedObject` where the model names none.
    public var managedObjectClassName: String! { resolved.definition.managedObjectClassName ?? "NSManagedObject" }
    /// What the entity is matched by in inference: its name where the model gives none.
    public var renamingIdentifier: String? { resolved.definition.renamingIdentifier ?? resolved.definition.name }
    /// A text of the model's author that enters the version hash.
    public var versionHashModifier: String? { resolved.definition.versionHashModifier }
    /// What the model's author noted.
    public var userInfo: [AnyHashable: Any]? { resolved.definition.userInfo }

    /// The parent; nil for a root.
    public var superentity: EntityDescription? { resolved.superentity.map(entity) }
    /// Direct subentities, by name.
    public var subentities: [EntityDescription] { resolved.subentities.map(entity) }
    /// The children, without theirs.
    public var subentitiesByName: [String: EntityDescription] {
        Dictionary(uniqueKeysWithValues: subentities.map { ($0.definition.name, $0) })
    }
    /// The topmost ancestor, which owns the table.
    package var root: EntityDescription { entity(resolved.root) }
    /// This entity and all below it, depth first, subentities by name.
    package var withDescendants: [EntityDescription] { [self] + subentities.flatMap(\.withDescendants) }

    /// Whether this entity is the other one or inherits from it.
    public func isKindOf(entity other: EntityDescription) -> Bool {
        managedObjectModel === other.managedObjectModel && resolved.lineage.contains(other.index)
    }

    /// Own and inherited attributes, by name in code point order.
    package var attributes: [AttributeDescription] { resolved.attributes }
    /// Own and inherited relationships, by name in code point order.
    package var relationships: [RelationshipDescription] {
        resolved.relationships.map { RelationshipDescription(managedObjectModel: managedObjectModel, resolved: $0) }
    }

    /// Own and inherited attributes.
    public var attributesByName: [String: AttributeDescription] {
        Dictionary(uniqueKeysWithValues: resolved.attributes.map { ($0.name, $0) })
    }
    /// Own and inherited relationships.
    public var relationshipsByName: [String: RelationshipDescription] {
        Dictionary(uniqueKeysWithValues: relationships.map { ($0.name, $0) })
    }

    /// The attribute of a name, inherited or own.
    package func attribute(named name: String) -> AttributeDescription? {
        resolved.attributeIndex[name].map { resolved.attributes[$0] }
    }
    /// The relationship of a name, inherited or own.
    package func relationship(named name: String) -> RelationshipDescription? {
        resolved.relationshipIndex[name].map {
            RelationshipDescription(managedObjectModel: managedObjectModel, resolved: resolved.relationships[$0])
        }
    }

    /// Own and inherited uniqueness constraints, the ancestors' first, with the entity that declares each.
    package var allUniquenessConstraints: [(entity: EntityDescription, attributes: [String])] {
        resolved.lineage.reversed().flatMap { ancestor in
            entity(ancestor).definition.uniquenessConstraints.map { (entity(ancestor), $0) }
        }
    }
    /// Own constraints.
    public var uniquenessConstraints: [[String]] { resolved.definition.uniquenessConstraints }
    /// Own fetch indexes.
    public var indexes: [FetchIndexDefinition] { resolved.definition.indexes }
}

extension EntityDescription: CustomStringConvertible {
    public var description: String { resolved.definition.name }
}
