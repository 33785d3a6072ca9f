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
        let composite: CompositeShape?
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
                derivation: $0.definition.derivationExpression,
                composite: $0.definition.compositeName.map {
                    CompositeShape(named: $0, in: entity.managedObjectModel.definition)
                })
        }
        relationships = entity.relationships.filter { !$0.isTransient }.map {
            Relationship(
                name: $0.name, isOptional: $0.isOptional, modifier: $0.definition.versionHashModifier,
                destination: $0.definition.destinationEntityName, inverse: $0.definition.inverseName,
                minimum: $0.minCount, maximum: $0.maxCount, isOrdered: $0.isOrdered)
        }
    }
}

/// The elements of a composite attribute, flattened: dotted path to type.
struct CompositeShape: Equatable {
    /// The types, by path. A composite element is replaced by its own elements.
    let elements: [String: AttributeType]

    /// Flattens a composite attribute. A model cannot have a composite that contains itself.
    ///
    /// - Complexity: O(n) in flattened elements; at most ``limit`` of them are examined.
    init(named name: String, in model: ModelDefinition) {
        var elements: [String: AttributeType] = [:]
        var pending: [(prefix: String, composite: String)] = [("", name)]
        while let next = pending.popLast(), elements.count < Self.limit {
            for element in model.composites[next.composite] ?? [] {
                let path = next.prefix + element.name
                if element.type == .composite, let inner = element.compositeName {
                    pending.append((path + ".", inner))
                } else {
                    elements[path] = element.type
                }
            }
        }
        self.elements = elements
    }

    /// The greatest number of elements, more than any real composite has. Nested composites could multiply without bound.
    private static let limit = 10_000

    /// Returns the first element, by path, that has different types in the two.
    func firstConflict(with new: CompositeShape) -> (path: String, old: AttributeType, new: AttributeType)? {
        for (path, type) in elements.sorted(by: { $0.key < $1.key }) {
            if let other = new.elements[path], other != type { return (path, type, other) }
        }
        return nil
    }
}
