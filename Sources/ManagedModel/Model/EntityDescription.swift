/// An entity of a model. It is a value that holds its model; two are equal if they are the same entity of one model.
///
/// An entity that code makes by ``init()`` may be changed until a model takes it over, by ``ManagedObjectModel/entities``. An
/// attempt to change an entity of a model is a programmer's error and ends the process, as in Core Data.
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
    public var name: String! {
        get { resolved.definition.name }
        nonmutating set { changing { $1.name = newValue ?? "" } }
    }
    /// The entity as declared, with its own properties only.
    public var definition: EntityDefinition { resolved.definition }
    /// True if the entity has no objects of its own.
    public var isAbstract: Bool {
        get { resolved.definition.isAbstract }
        nonmutating set { changing { $1.isAbstract = newValue } }
    }
    /// The class of the entity's objects in Core Data; `NSManagedObject` if the model names none, and for the entity of an
    /// object in a migration.
    public var managedObjectClassName: String! {
        get { (isOfRun ? nil : resolved.definition.managedObjectClassName) ?? "NSManagedObject" }
        nonmutating set { changing { $1.managedObjectClassName = newValue } }
    }
    /// The identifier that inference matches the entity by: its name if the model gives none.
    public var renamingIdentifier: String? {
        get { resolved.definition.renamingIdentifier ?? resolved.definition.name }
        nonmutating set { changing { $1.renamingIdentifier = newValue } }
    }
    /// A text set by the model's author that enters the version hash.
    public var versionHashModifier: String? {
        get { resolved.definition.versionHashModifier }
        nonmutating set { changing { $1.versionHashModifier = newValue } }
    }
    /// Texts by name, set by the author of the model. Other values that are set are left out.
    public var userInfo: [AnyHashable: Any]? {
        get { resolved.definition.userInfo }
        nonmutating set { changing { $1.userInfo = newValue as? [String: String] ?? [:] } }
    }

    /// The parent; nil for a root.
    public var superentity: EntityDescription? { resolved.superentity.map(entity) }
    /// The direct subentities, by name.
    public var subentities: [EntityDescription] {
        get { draft?.subentities ?? resolved.subentities.map(entity) }
        nonmutating set { changing { draft, _ in draft.subentities = newValue } }
    }
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
        resolved.lineage.flatMap { ancestor in
            let definition = managedObjectModel.resolved[ancestor].definition
            return definition.attributes.map {
                AttributeDescription(definition: $0, declaringEntityIndex: ancestor, entityName: definition.name)
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

    /// The names of the own and inherited properties: attributes, composite ones among them, then relationships.
    package var declaredPropertyNames: [String] { declaredAttributes.map(\.name) + relationships.map(\.name) }

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
    public var uniquenessConstraints: [[String]] {
        get { resolved.definition.uniquenessConstraints }
        nonmutating set { changing { $1.uniquenessConstraints = newValue } }
    }
    /// The own fetch indexes.
    public var indexes: [FetchIndexDefinition] { resolved.definition.indexes }
}

extension EntityDescription: CustomStringConvertible {
    public var description: String { resolved.definition.name }
}
