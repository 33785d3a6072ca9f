import ManagedModel

/// The parts of an entity that determine the form of its rows: the ingredients of its version hash, compared directly.
///
/// It serves entities with an unknown hash (they have or inherit derived or composite attributes).
struct EntityStructure: Equatable {
    private struct Ancestor: Equatable {
        let name: String
        let isAbstract: Bool
        let modifier: String?
        let constraints: [String]
    }
    private struct Attribute: Equatable {
        let name: String
        let isOptional: Bool
        let modifier: String?
        let type: AttributeType
        let isExternal: Bool
        let isPreserved: Bool
        let derivation: String?
        let requiringComposite: String?
    }
    private struct Relationship: Equatable {
        let name: String
        let isOptional: Bool
        let modifier: String?
        let destination: String
        let inverse: String?
        let minimum: Int
        let maximum: Int
        let isOrdered: Bool
    }
    private let lineage: [Ancestor]
    private let attributes: [Attribute]
    private let relationships: [Relationship]

    init(_ entity: EntityDescription) {
        var lineage: [Ancestor] = []
        var next: EntityDescription? = entity
        while let ancestor = next {
            let definition = ancestor.definition
            lineage.append(
                Ancestor(
                    name: definition.name, isAbstract: definition.isAbstract,
                    modifier: definition.versionHashModifier,
                    constraints: definition.uniquenessConstraints.map { $0.joined(separator: ".") }.sorted()))
            next = ancestor.superentity
        }
        self.lineage = lineage
        attributes = entity.attributes.filter { !$0.isTransient }.map {
            Attribute(
                name: $0.name, isOptional: $0.isOptional, modifier: $0.versionHashModifier, type: $0.attributeType,
                isExternal: $0.definition.allowsExternalBinaryDataStorage,
                isPreserved: $0.definition.preservesValueInHistoryOnDeletion,
                derivation: $0.definition.derivationExpression, requiringComposite: $0.requiringComposite)
        }
        relationships = entity.relationships.filter { !$0.isTransient }.map {
            Relationship(
                name: $0.name, isOptional: $0.isOptional, modifier: $0.definition.versionHashModifier,
                destination: $0.definition.destinationEntityName, inverse: $0.definition.inverseName,
                minimum: $0.minCount, maximum: $0.maxCount, isOrdered: $0.isOrdered)
        }
    }
}
