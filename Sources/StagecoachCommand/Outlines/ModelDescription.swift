import Diagnostics
import ManagedModel

/// The encodable description of a model for `inspect`.
struct ModelDescription: Encodable {
    /// An attribute, its own or inherited.
    struct Attribute: Encodable {
        let name: String
        let type: String
        let isOptional: Bool
        let isTransient: Bool
        /// The renaming identifier if it differs from the name; else nil.
        let renamingIdentifier: String?
    }
    /// A relationship, its own or inherited.
    struct Relationship: Encodable {
        let name: String
        let destination: String
        let inverse: String?
        let isOptional: Bool
        let isToMany: Bool
        let isOrdered: Bool
        let renamingIdentifier: String?
    }
    /// An entity with all its properties.
    struct Entity: Encodable {
        let name: String
        let parent: String?
        let isAbstract: Bool
        let renamingIdentifier: String?
        /// 64 hexadecimal digits; nil if only Core Data knows the hash.
        let versionHash: String?
        let attributes: [Attribute]
        let relationships: [Relationship]
    }

    let kind = "model"
    let path: String
    let version: String?
    /// The versions of the bundle; empty if a single version is shown.
    let versions: [String]
    let versionIdentifiers: [String]
    let versionChecksum: String?
    let entities: [Entity]
    /// The account of the Swift sources that the model was derived from; nil for other models.
    let sources: SwiftSourcesOutline?

    /// Reads a model.
    init(argument: String, sources: SwiftModelArgument? = nil) throws(MigrationError) {
        self.sources = sources.map(SwiftSourcesOutline.init)
        let loaded = try ModelLocator.load(argument)
        let model = loaded.model
        path = loaded.path
        version = loaded.versionName
        let whole = PathIdentity.withoutSlash(argument)
        versions = ModelLocator.bundle(of: argument) == whole ? try ModelLocator.versions(in: whole) : []
        versionIdentifiers = model.definition.versionIdentifiers.filter { !$0.isEmpty }
        versionChecksum = model.versionChecksum
        let hashes = model.entityVersionHashesByName
        entities = model.entities.map { entity in
            let name = entity.definition.name
            return Entity(
                name: name, parent: entity.superentity?.definition.name, isAbstract: entity.isAbstract,
                renamingIdentifier: Self.renaming(entity.renamingIdentifier, name),
                versionHash: hashes[name]?.hexadecimal,
                attributes: entity.attributesAndComposites.map {
                    Attribute(
                        name: $0.name, type: $0.attributeType.label, isOptional: $0.isOptional,
                        isTransient: $0.isTransient, renamingIdentifier: Self.renaming($0.renamingIdentifier, $0.name))
                },
                relationships: entity.relationships.map {
                    Relationship(
                        name: $0.name, destination: $0.destination.definition.name,
                        inverse: $0.definition.inverseName, isOptional: $0.isOptional, isToMany: $0.isToMany,
                        isOrdered: $0.isOrdered, renamingIdentifier: Self.renaming($0.renamingIdentifier, $0.name))
                })
        }.sorted { $0.name < $1.name }
    }

    private static func renaming(_ identifier: String?, _ name: String) -> String? {
        identifier == name ? nil : identifier
    }
}
