import Diagnostics
import Synchronization

/// A model version with its entities resolved. It is immutable, so tasks can share it.
///
/// Memory: a few hundred bytes a property, inherited ones counted in each subentity.
public final class ManagedObjectModel: Sendable {
    /// The definition that the model was made from.
    public let definition: ModelDefinition
    let resolved: [ResolvedEntity]
    let indexByName: [String: Int]
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
        computed.withLock { $0.versionHashes = hashes }
    }

    /// All entities, by name in code point order.
    public var entities: [EntityDescription] {
        resolved.indices.map(entity(at:))
    }

    /// All entities by name.
    public var entitiesByName: [String: EntityDescription] {
        indexByName.mapValues(entity(at:))
    }

    /// The labels of the version. They are not used for matching.
    public var versionIdentifiers: Set<AnyHashable> { Set(definition.versionIdentifiers) }

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

    /// Returns the entity with a name; nil if there is none.
    public func entity(named name: String) -> EntityDescription? {
        indexByName[name].map(entity(at:))
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
