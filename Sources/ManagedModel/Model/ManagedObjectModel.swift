import Diagnostics
import Synchronization

/// A model version with its entities resolved. It is immutable, so tasks can share it. One that code makes by ``init()`` may
/// be changed until it is used, and is shared only afterwards.
///
/// Memory: a few hundred bytes a property, inherited ones counted in each subentity.
///
/// ```swift
/// let model = try ModelLocator.load("Library.xcdatamodeld").model
/// for entity in model.entities {
///     print(entity.name ?? "", entity.attributesByName.keys.sorted(), entity.relationshipsByName.keys.sorted())
/// }
/// ```
public final class ManagedObjectModel: Sendable {
    // Changed only in a model that code makes, before it is used: reading needs no checks.
    /// The definition that the model was made from.
    @exclusivity(unchecked) nonisolated(unsafe) public private(set) var definition: ModelDefinition
    @exclusivity(unchecked) nonisolated(unsafe) private(set) var resolved: [ResolvedEntity]
    @exclusivity(unchecked) nonisolated(unsafe) private(set) var indexByName: [String: Int]
    /// The draft of an entity that code makes outside of a model, and for which this model stands. Nil for a real model.
    let draft: EntityDraft?
    /// True for a model that code makes.
    private let isOpen: Bool
    /// The values computed from the content so far. They are kept because many stores may be migrated with one model.
    let computed = Mutex(ComputedOfModel())
    /// The whole model of which this one is a configuration; nil for a whole model.
    let origin: ConfigurationOrigin?

    /// Checks a definition and resolves inheritance and inverses.
    ///
    /// An inverse is kept as declared, even if its other side names another inverse: in real models two relationships claim the
    /// same one (ArtsyPartner: `Image.artist` and `Image.thumbnail`).
    ///
    /// - Throws: `model.duplicateEntity`, `model.invalidName`, `model.unknownSuperentity`, `model.inheritanceCycle`,
    ///   `model.inheritanceDepth`, `model.tooManyProperties`, `model.duplicateProperty`,
    ///   `model.redeclaredProperty`, `model.unknownDestination`, `model.unknownInverse`, `model.relationshipCount`,
    ///   `model.unknownConstraintProperty`, `model.unknownConfigurationEntity`, `model.unknownComposite`,
    ///   `model.compositeCycle`, `model.compositeElement`; all in category `configuration`, with entity and property.
    /// - Complexity: O(n log n) in properties, inherited ones included.
    public convenience init(_ definition: ModelDefinition) throws(MigrationError) {
        try self.init(definition, origin: nil, hashes: nil)
    }

    /// Makes the part of a model for a configuration, with the version hashes that its entities have in the whole model.
    init(
        _ definition: ModelDefinition, origin: ConfigurationOrigin?, hashes: [String: EntityVersionHash]?
    ) throws(MigrationError) {
        self.definition = definition
        (resolved, indexByName) = try ModelResolution.resolve(definition)
        self.origin = origin
        (draft, isOpen) = (nil, false)
        computed.withLock { $0.versionHashes = hashes }
    }

    /// Makes a model of resolved entities, which code may still change.
    init(
        _ definition: ModelDefinition, _ resolved: [ResolvedEntity], _ indexByName: [String: Int],
        draft: EntityDraft? = nil, isOpen: Bool = false
    ) {
        (self.definition, self.resolved, self.indexByName) = (definition, resolved, indexByName)
        (self.draft, self.isOpen) = (draft, isOpen)
        origin = nil
    }

    /// Sets the definition of the entity for which the model stands alone.
    func setDraft(_ definition: EntityDefinition) {
        resolved = [ResolvedEntity(alone: definition)]
        computed.withLock { $0 = ComputedOfModel() }
    }

    /// Replaces the content of a model that code makes. Throws the errors of ``init(_:)``.
    func replace(by definition: ModelDefinition) throws(MigrationError) {
        precondition(isOpen, "a model that was read cannot be changed: make another one of its definition")
        (resolved, indexByName) = try ModelResolution.resolve(definition)
        self.definition = definition
        computed.withLock { $0 = ComputedOfModel() }
    }

    /// Replaces the content of a model that code makes. One that contradicts itself ends the process, as in Core Data.
    private func endingOnError(_ change: () throws(MigrationError) -> Void) {
        do throws(MigrationError) { try change() } catch { preconditionFailure("\(error)") }
    }

    /// All entities, by name in code point order.
    ///
    /// May be set for a model made by ``init()``, before it is used. Entities that contradict each other end the process, as in
    /// Core Data; ``init(_:)`` throws instead.
    public var entities: [EntityDescription] {
        get { resolved.indices.map(entity(at:)) }
        set { endingOnError { () throws(MigrationError) in try take(newValue) } }
    }

    /// All entities by name.
    public var entitiesByName: [String: EntityDescription] {
        indexByName.mapValues(entity(at:))
    }

    /// The labels of the version, texts. They are not used for matching. May be set like ``entities``.
    public var versionIdentifiers: Set<AnyHashable> {
        get { Set(definition.versionIdentifiers) }
        set {
            var changed = definition
            changed.versionIdentifiers = newValue.compactMap { $0 as? String }.sorted()
            endingOnError { () throws(MigrationError) in try replace(by: changed) }
        }
    }

    /// The names of the configurations, sorted.
    public var configurations: [String] { definition.configurations.keys.sorted() }

    /// Returns the entities of a configuration, by name in code point order; nil if there is no such configuration.
    ///
    /// - Parameter name: the configuration, or nil (as in Core Data, also `PF_DEFAULT_CONFIGURATION_NAME`) for all entities.
    public func entities(forConfigurationName name: String?) -> [EntityDescription]? {
        guard let name, name != "PF_DEFAULT_CONFIGURATION_NAME" else { return entities }
        guard let members = definition.configurations[name] else { return nil }
        return Set(members.compactMap { indexByName[$0] }).sorted().map(entity(at:))
    }

    /// Makes a configuration of some of the model's entities. Only for a model made by ``init()``, as ``entities``.
    public func setEntities(_ entities: [EntityDescription], forConfigurationName configuration: String) {
        var changed = definition
        changed.configurations[configuration] = entities.map(\.definition.name)
        endingOnError { () throws(MigrationError) in try replace(by: changed) }
    }

    /// Returns the entity with a name; nil if there is none.
    public func entity(named name: String) -> EntityDescription? {
        indexByName[name].map(entity(at:))
    }

    /// Returns a value of a type that stands for one thing computed from the content. It is made at the first call, and kept as
    /// long as the model has this content. It must not hold the model.
    package func computedOnce<Value: Sendable>(_ make: () -> Value) -> Value {
        let type = ObjectIdentifier(Value.self)
        if let known = computed.withLock({ $0.others[type] }) as? Value { return known }
        let value = make()
        computed.withLock { $0.others[type] = value }
        return value
    }

    /// Returns the entity at an index of ``entities``.
    package func entity(at index: Int) -> EntityDescription {
        EntityDescription(managedObjectModel: self, index: index)
    }
}

/// The values computed from a model's content, each when it was first asked for.
struct ComputedOfModel: Sendable {
    /// The version hashes of the entities.
    var versionHashes: [String: EntityVersionHash]?
    /// The digest of the whole content.
    var definitionDigest: [UInt8]?
    /// The contents of a store's model cache, by whether texts of predicates are archived in it.
    var cacheContents: [Bool: [UInt8]] = [:]
    /// The values that other layers compute, by their types.
    var others: [ObjectIdentifier: any Sendable] = [:]
}

/// An entity after resolution. Its indices refer to `ManagedObjectModel.resolved`.
struct ResolvedEntity: Sendable {
    let definition: EntityDefinition
    let superentity: Int?
    let root: Int
    /// The direct subentities, sorted by name.
    let subentities: [Int]
    /// This entity and its ancestors, nearest first.
    let lineage: [Int]
    /// Own and inherited, by name in code point order, with a composite attribute's elements in its place.
    let attributes: [AttributeDescription]
    let relationships: [ResolvedRelationship]
    /// The composites, by path.
    let composites: [String: CompositeDescription]
    let attributeIndex: [String: Int]
    let relationshipIndex: [String: Int]
}

extension ResolvedEntity {
    /// Makes an entity of no model, without properties.
    init(alone definition: EntityDefinition) {
        self.init(
            definition: definition, superentity: nil, root: 0, subentities: [], lineage: [0], attributes: [],
            relationships: [], composites: [:], attributeIndex: [:], relationshipIndex: [:])
    }
}

struct ResolvedRelationship: Sendable {
    let definition: RelationshipDefinition
    /// The index of the entity that declares it.
    let declaringEntity: Int
    let destinationEntity: Int
}

extension ManagedObjectModel {
    /// The entities in the order in which Core Data numbers them (Z_ENT): roots sorted by name without regard to case, each
    /// followed directly by its subentities, sorted likewise.
    ///
    /// For example, `SyncableSettingsMetadata` precedes `SyncFeatureEntity` in the store of duckduckgo's sync metadata. Names
    /// that differ only in case are in code point order.
    ///
    /// - Complexity: O(n log n) in entities.
    package var entitiesInStoreOrder: [EntityDescription] {
        func sorted(_ entities: [EntityDescription]) -> [EntityDescription] {
            entities.map { (key: $0.definition.name.lowercased(), entity: $0) }.sorted {
                $0.key == $1.key
                    ? $0.entity.index < $1.entity.index : ModelResolution.precedes($0.key, $1.key)
            }.map(\.entity)
        }
        var order: [EntityDescription] = []
        // A stack instead of recursion, because the model chooses the depth of the hierarchy.
        var pending = Array(sorted(entities.filter { $0.superentity == nil }).reversed())
        while let next = pending.popLast() {
            order.append(next)
            pending.append(contentsOf: sorted(next.subentities).reversed())
        }
        return order
    }
}
