/// An entity of a model. It is a value that holds its model; two are equal if they are the same entity of one model.
public struct EntityDescription: Sendable, Hashable {
    /// The model that contains the entity.
    public let managedObjectModel: ManagedObjectModel
    /// The index in ``ManagedObjectModel/entities``.
    package var index: Int { Int(number) }
    // Beside the flag, so that a description takes no more than two words.
    private let number: Int32
    private let isOfRun: Bool

    /// - Parameter isOfRun: true if objects of a run show the entity: in a migration all of them are plain managed objects.
    package init(managedObjectModel: ManagedObjectModel, index: Int, isOfRun: Bool = false) {
        self.managedObjectModel = managedObjectModel
        number = Int32(index)
        self.isOfRun = isOfRun
    }

    /// The entity as objects of a run show it.
    package var ofRun: EntityDescription {
        EntityDescription(managedObjectModel: managedObjectModel, index: index, isOfRun: true)
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
        EntityDescription(managedObjectModel: managedObjectModel, index: index, isOfRun: isOfRun)
    }

    /// The name; never nil. Implicitly unwrapped as in Core Data, so that `name!` and `name ?? ""` compile.
    public var name: String! { resolved.definition.name }
    /// The entity as declared, with its own properties only.
    public var definition: EntityDefinition { resolved.definition }
    /// True if the entity has no objects of its own.
    public var isAbstract: Bool { resolved.definition.isAbstract }
    /// The class of the entity's objects in Core Data; `NSManagedObject` if the model names none, and for the entity of an
    /// object in a migration.
    public var managedObjectClassName: String! {
        (isOfRun ? nil : resolved.definition.managedObjectClassName) ?? "NSManagedObject"
    }
    /// The identifier that inference matches the entity by: its name if the model gives none.
    public var renamingIdentifier: String? { resolved.definition.renamingIdentifier ?? resolved.definition.name }
    /// A text set by the model's author that enters the version hash.
    public var versionHashModifier: String? { resolved.definition.versionHashModifier }
    /// Values set by the author of the model.
    public var userInfo: [AnyHashable: Any]? { resolved.definition.userInfo }

    /// The parent; nil for a root.
    public var superentity: EntityDescription? { resolved.superentity.map(entity) }
    /// The direct subentities, by name.
    public var subentities: [EntityDescription] { resolved.subentities.map(entity) }
    /// The direct subentities by name.
    public var subentitiesByName: [String: EntityDescription] {
        Dictionary(uniqueKeysWithValues: subentities.map { ($0.definition.name, $0) })
    }
    /// The topmost ancestor, which owns the table.
    package var root: EntityDescription { entity(resolved.root) }
    /// This entity and all its descendants, depth first, with subentities by name.
    package var withDescendants: [EntityDescription] { [self] + subentities.flatMap(\.withDescendants) }

    /// Tells whether this entity is the other one or inherits from it.
    public func isKindOf(entity other: EntityDescription) -> Bool {
        managedObjectModel === other.managedObjectModel && resolved.lineage.contains(other.index)
    }

    /// Tells whether one of the two entities is the other or inherits from it.
    package func isKin(of other: EntityDescription) -> Bool { isKindOf(entity: other) || other.isKindOf(entity: self) }

    /// The own and inherited attributes, by name in code point order. In the place of a composite attribute are its elements,
    /// in declared order and under dotted names.
    package var attributes: [AttributeDescription] { resolved.attributes }
    /// Own attributes, in the order of ``attributes``.
    package var ownAttributes: [AttributeDescription] {
        resolved.attributes.filter { $0.declaringEntityIndex == index }
    }
    /// The own and inherited attributes as declared, including composite ones, by name in code point order.
    package var declaredAttributes: [AttributeDescription] {
        let composites = managedObjectModel.definition.composites
        return resolved.lineage.flatMap { ancestor in
            let definition = managedObjectModel.resolved[ancestor].definition
            return definition.attributes.map {
                AttributeDescription(
                    definition: $0, declaringEntityIndex: ancestor, entityName: definition.name,
                    composites: $0.type == .composite ? composites : [:])
            }
        }.sorted { ModelResolution.precedes($0.name, $1.name) }
    }
    /// Own and inherited composite attributes, and the composites inside them, by path.
    package var composites: [CompositeDescription] {
        resolved.composites.values.sorted { ModelResolution.precedes($0.path, $1.path) }
    }
    /// Own and inherited relationships, by name in code point order.
    package var relationships: [RelationshipDescription] {
        resolved.relationships.map { RelationshipDescription(managedObjectModel: managedObjectModel, resolved: $0) }
    }

    /// The own and inherited attributes by name, including composite attributes but not their elements.
    public var attributesByName: [String: AttributeDescription] {
        Dictionary(uniqueKeysWithValues: declaredAttributes.map { ($0.name, $0) })
    }
    /// The own and inherited relationships by name.
    public var relationshipsByName: [String: RelationshipDescription] {
        Dictionary(uniqueKeysWithValues: relationships.map { ($0.name, $0) })
    }

    /// Returns the attribute with a name, own or inherited; nil for a composite attribute.
    package func attribute(named name: String) -> AttributeDescription? {
        resolved.attributeIndex[name].map { resolved.attributes[$0] }
    }
    /// Returns the composite attribute with a name, or the composite at a path inside one, own or inherited.
    package func composite(named path: String) -> CompositeDescription? { resolved.composites[path] }
    /// Returns the relationship with a name, own or inherited.
    package func relationship(named name: String) -> RelationshipDescription? {
        resolved.relationshipIndex[name].map {
            RelationshipDescription(managedObjectModel: managedObjectModel, resolved: resolved.relationships[$0])
        }
    }

    /// The own and inherited uniqueness constraints, the ancestors' first, each with the entity that declares it. A composite
    /// attribute is replaced by its elements.
    package var allUniquenessConstraints: [(entity: EntityDescription, attributes: [String])] {
        resolved.lineage.reversed().flatMap { ancestor in
            entity(ancestor).definition.uniquenessConstraints.map { constraint in
                (entity(ancestor), constraint.flatMap(attributeNames(of:)))
            }
        }
    }
    /// The own uniqueness constraints.
    public var uniquenessConstraints: [[String]] { resolved.definition.uniquenessConstraints }
    /// The own fetch indexes.
    public var indexes: [FetchIndexDefinition] { resolved.definition.indexes }
}

extension EntityDescription: CustomStringConvertible {
    public var description: String { resolved.definition.name }
}
