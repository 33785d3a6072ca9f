/// Describes the differences between a store's model and a given one, for the error that refuses a store of another model.
package enum ModelDifference {
    /// Compares the hashes in a store with those computed from a model.
    ///
    /// - Parameters:
    ///   - hashes: `NSStoreModelVersionHashes` of the store: 32 bytes by entity name.
    ///   - model: the model that is claimed to fit.
    ///   - configuration: the configuration that the store was made with; only its entities are expected. Nil, or a name that
    ///     the model does not have, means all entities.
    /// - Returns: one sentence without a full stop for each entity that differs, by entity name; empty if no difference can be
    ///   found. An entity whose hash cannot be computed is no difference.
    /// - Complexity: O(p log p) in the model's properties.
    package static func describe(
        store hashes: [String: [UInt8]], model: ManagedObjectModel, configuration: String? = nil
    ) -> [String] {
        // For a model of one configuration, a store may or may not list the ancestors that belong to it.
        let own = model.restrictedConfigurations.first
        let entities = (configuration ?? own).flatMap { model.entities(forConfigurationName: $0) } ?? model.entities
        let computed = VersionHash.entityHashes(of: model)
        var differing: Set<String> = []
        for entity in entities {
            guard let stored = hashes[entity.definition.name],
                case .known(let bytes)? = computed[entity.definition.name]
            else { continue }
            // A hash that only Core Data can compute may have been left out. The entity then has the attributes that prevent
            // its computation.
            if stored.isEmpty ? !entity.hasUnknownHash : stored != bytes { differing.insert(entity.definition.name) }
        }
        let expected = Set(entities.map(\.definition.name))
        var lines: [(name: String, text: String)] = []
        for name in hashes.keys where !expected.contains(name) {
            if own != nil, model.entity(named: name) != nil { continue }
            let reason = model.entity(named: name) == nil ? "the model has none" : "which is not in the configuration"
            lines.append((name, "the store has an entity \(name), \(reason)"))
        }
        for entity in entities {
            let name = entity.definition.name
            if hashes[name] == nil {
                lines.append((name, "the model has an entity \(name), the store has none"))
            } else if differing.contains(name) {
                // A parent's hash enters those of its children, so the topmost entity that differs has the cause.
                let parent = entity.superentity.flatMap { differing.contains($0.definition.name) ? $0 : nil }
                let reason = parent.map { ", as does its parent \($0.definition.name)" } ?? ""
                lines.append((name, "the entity \(name) differs\(reason)"))
            }
        }
        return lines.sorted { ModelResolution.precedes($0.name, $1.name) }.map(\.text)
    }

    /// Describes why the version hashes of two versions of a model differ. The store's version is its cached model.
    ///
    /// - Returns: one sentence without a full stop for each difference, sorted by entity name: an entity that only one model has;
    ///   another parent, hash modifier or uniqueness constraint; and by name each property that is missing, extra or different. An
    ///   inherited property is named once, at the entity that declares it.
    /// - Complexity: O(p log p) in the models' properties.
    package static func describe(storeModel: ManagedObjectModel, model: ManagedObjectModel) -> [String] {
        var lines: [String] = []
        let names = Set(storeModel.indexByName.keys).union(model.indexByName.keys)
        for name in names.sorted(by: ModelResolution.precedes) {
            switch (storeModel.entity(named: name), model.entity(named: name)) {
            case (nil, _): lines.append("the model has an entity \(name), the store has none")
            case (_, nil): lines.append("the store has an entity \(name), the model has none")
            case (let first?, let second?): lines += entityDifferences(first, second)
            }
        }
        return lines
    }

    /// Tells whether all that enters the version hash of an entity is the same in two versions, also if a hash is unknown.
    package static func areAlike(_ first: EntityDescription, _ second: EntityDescription) -> Bool {
        guard first.definition.name == second.definition.name, entityDifferences(first, second).isEmpty else {
            return false
        }
        guard let parent = first.superentity, let other = second.superentity else { return true }
        return areAlike(parent, other)
    }

    private static func entityDifferences(_ first: EntityDescription, _ second: EntityDescription) -> [String] {
        let name = first.definition.name
        var lines: [String] = []
        func compare(_ what: String, _ stored: String, _ given: String) {
            if stored != given { lines.append("\(name): \(what) is \(stored) in the store, \(given) in the model") }
        }
        let parents = [first, second].map { $0.definition.superentityName ?? "none" }
        compare("the parent", parents[0], parents[1])
        compare("abstract", first.isAbstract ? "yes" : "no", second.isAbstract ? "yes" : "no")
        compare("the hash modifier", quoted(first.versionHashModifier), quoted(second.versionHashModifier))
        compare("the list of uniqueness constraints", constraints(first), constraints(second))
        let stored = properties(first)
        let given = properties(second)
        for property in Set(stored.keys).union(given.keys).sorted(by: ModelResolution.precedes) {
            switch (stored[property], given[property]) {
            case (nil, _): lines.append("\(name).\(property) is in the model only")
            case (_, nil): lines.append("\(name).\(property) is in the store only")
            case (let old?, let new?):
                // Two properties of one kind have the same number of words, in the same order.
                for (stored, given) in zip(old, new).prefix(old[0] == new[0] ? old.count : 1) where stored != given {
                    lines.append("\(name).\(property) is \(stored) in the store, \(given) in the model")
                }
            }
        }
        return lines
    }

    /// Returns the own, stored properties of an entity in words: the kind, then the values that enter the hash.
    private static func properties(_ entity: EntityDescription) -> [String: [String]] {
        var properties: [String: [String]] = [:]
        for attribute in entity.definition.attributes where !attribute.isTransient {
            properties[attribute.name] = [
                "an attribute",
                "of type \(attribute.type.label)",
                attribute.isOptional ? "optional" : "required",
                attribute.allowsExternalBinaryDataStorage ? "stored externally" : "stored inline",
                attribute.preservesValueInHistoryOnDeletion ? "preserved after deletion" : "not preserved",
                attribute.derivationExpression.map { "derived by \($0)" } ?? "not derived",
                "with hash modifier \(quoted(attribute.versionHashModifier))",
                "with \(elements(of: attribute, in: entity))",
            ]
        }
        // Use the resolved relationships, whose counts are normalised.
        for resolved in entity.relationships where !resolved.isTransient && resolved.entity == entity {
            let relationship = resolved.definition
            properties[relationship.name] = [
                "a relationship",
                "a relationship to \(relationship.destinationEntityName)",
                relationship.inverseName.map { "with inverse \($0)" } ?? "without inverse",
                relationship.isOptional ? "optional" : "required",
                relationship.isToMany ? "to-many" : "to-one",
                relationship.isOrdered ? "ordered" : "unordered",
                "of at least \(relationship.minimumCount)",
                relationship.maximumCount == 0 ? "unbounded" : "of at most \(relationship.maximumCount)",
                "with hash modifier \(quoted(relationship.versionHashModifier))",
            ]
        }
        return properties
    }

    /// The elements that a composite attribute stands for, in words.
    private static func elements(of attribute: AttributeDefinition, in entity: EntityDescription) -> String {
        let elements = (entity.composite(named: attribute.name)?.attributes ?? []).compactMap(entity.attribute(named:))
        guard !elements.isEmpty else { return "no elements" }
        let words = elements.map { element in
            "\(element.elementName) \(element.attributeType.label)\(element.isRequired ? "" : " optional")"
                + (element.definition.allowsExternalBinaryDataStorage ? " stored externally" : "")
        }
        return "the elements " + words.sorted(by: ModelResolution.precedes).joined(separator: ", ")
    }

    private static func constraints(_ entity: EntityDescription) -> String {
        let joined = entity.definition.uniquenessConstraints.map { $0.joined(separator: "+") }
        return joined.isEmpty ? "empty" : joined.sorted(by: ModelResolution.precedes).joined(separator: " ")
    }

    private static func quoted(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "none" }
}

extension EntityDescription {
    /// True if only Core Data can compute the entity's hash: it has or inherits derived or composite attributes.
    fileprivate var hasUnknownHash: Bool {
        declaredAttributes.contains { !$0.isTransient && ($0.isDerived || $0.attributeType == .composite) }
    }
}
