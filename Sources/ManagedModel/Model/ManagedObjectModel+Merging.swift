import Diagnostics

extension ManagedObjectModel {
    /// Merges the entities, configurations and fetch request templates of several models, as an app's models are merged. What
    /// several of them define alike counts once.
    ///
    /// - Parameter models: the models, each with a name for errors.
    /// - Throws: `model.conflict` (78) if two of them define an entity or a template of the same name differently, with the
    ///   entity, both models and the first difference; the errors of ``init(_:)``.
    /// - Complexity: O(n log n) in properties, inherited ones included.
    package convenience init(
        merging models: [(name: String, model: ManagedObjectModel)]
    ) throws(MigrationError) {
        var merged = ModelDefinition()
        var hashes: [String: EntityVersionHash] = [:]
        var (origins, templates): ([String: Int], [String: Int]) = ([:], [:])
        for (number, one) in models.enumerated() {
            var definition = one.model.definition
            var own: [EntityDefinition] = []
            for entity in definition.entities {
                guard let origin = origins[entity.name] else {
                    own.append(entity)
                    continue
                }
                if let difference = EntityConflict.find(entity.name, models[origin].model, one.model) {
                    throw conflict("entity \(entity.name)", models[origin].name, one.name, difference, entity.name)
                }
            }
            definition.entities = own
            for request in definition.fetchRequests {
                guard let origin = templates[request.name] else {
                    templates[request.name] = number
                    merged.fetchRequests.append(request)
                    continue
                }
                guard models[origin].model.definition.fetchRequests.contains(request) else {
                    throw conflict(
                        "fetch request template \(request.name)", models[origin].name, one.name, nil, nil)
                }
            }
            for entity in definition.entities { origins[entity.name] = number }
            merged.xcode.add(definition.xcode)
            if definition.composites.contains(where: { merged.composites[$0.key] ?? $0.value != $0.value }) {
                definition.renameComposites { "\($0)_\(number)" }
            }
            merged.entities += definition.entities
            merged.versionIdentifiers += definition.versionIdentifiers.filter {
                !merged.versionIdentifiers.contains($0)
            }
            merged.configurations.merge(definition.configurations) { own, new in
                own + new.filter { !own.contains($0) }
            }
            merged.composites.merge(definition.composites) { first, _ in first }
            // Each model says itself how its hashes are computed, or has them from its compiler.
            hashes.merge(VersionHash.entityHashes(of: one.model)) { first, _ in first }
        }
        try self.init(merged, origin: nil, hashes: hashes)
    }
}

private func conflict(
    _ what: String, _ first: String, _ second: String, _ difference: String?, _ entity: String?
) -> MigrationError {
    MigrationError(
        "model.conflict", .configuration,
        "The models \(first) and \(second) define the \(what) differently\(difference.map { ": \($0)" } ?? "")",
        remedy: "Name versions of the models that agree on it, or rename it in one of them",
        context: .init(entity: entity))
}

/// The comparison of an entity that two models define.
private enum EntityConflict {
    /// Returns the first difference of an entity in two models, in words; nil if both define it alike.
    static func find(_ name: String, _ first: ManagedObjectModel, _ second: ManagedObjectModel) -> String? {
        guard let left = alone(name, in: first), let right = alone(name, in: second), left != right else { return nil }
        let whole = "entity \(name)"
        func part(_ difference: ModelComparison.Difference) -> String {
            let part = difference.part
            for prefix in [whole + ", ", whole + ": "] where part.hasPrefix(prefix) {
                return String(part.dropFirst(prefix.count))
            }
            return part
        }
        if let lost = ModelComparison.parts(of: left, missingIn: right).first {
            return "\(part(lost)) is \(lost.value) in the first only"
        }
        if let added = ModelComparison.parts(of: right, missingIn: left).first {
            return "\(part(added)) is \(added.value) in the second only"
        }
        return "the order of its parts"
    }

    /// Returns a definition of an entity and the composites that it uses.
    private static func alone(_ name: String, in model: ManagedObjectModel) -> ModelDefinition? {
        guard var entity = model.definition.entities.first(where: { $0.name == name }) else { return nil }
        entity.sortProperties()
        var definition = ModelDefinition()
        definition.entities = [entity]
        var pending = entity.attributes.compactMap(\.compositeName)
        while let name = pending.popLast() {
            guard definition.composites[name] == nil, let elements = model.definition.composites[name] else { continue }
            definition.composites[name] = elements
            pending += elements.compactMap(\.compositeName)
        }
        return definition
    }
}

extension EntityDefinition {
    /// Brings the properties into the order of their names, and leaves out what only Xcode reads: neither makes two entities
    /// different.
    fileprivate mutating func sortProperties() {
        attributes.sort { ModelResolution.precedes($0.name, $1.name) }
        relationships.sort { ModelResolution.precedes($0.name, $1.name) }
        fetchedProperties.sort { ModelResolution.precedes($0.name, $1.name) }
        xcode = XcodeAttributes()
        for index in attributes.indices { attributes[index].xcode = XcodeAttributes() }
        for index in relationships.indices { relationships[index].xcode = XcodeAttributes() }
        for index in fetchedProperties.indices { fetchedProperties[index].xcode = XcodeAttributes() }
        for index in indexes.indices { indexes[index].xcode = XcodeAttributes() }
    }
}

extension ModelDefinition {
    /// Gives the composites other names, which nothing but their uses knows.
    fileprivate mutating func renameComposites(_ rename: (String) -> String) {
        func renamed(_ attributes: [AttributeDefinition]) -> [AttributeDefinition] {
            attributes.map { attribute in
                var attribute = attribute
                attribute.compositeName = attribute.compositeName.map(rename)
                return attribute
            }
        }
        composites = Dictionary(uniqueKeysWithValues: composites.map { (rename($0.key), renamed($0.value)) })
        for index in entities.indices { entities[index].attributes = renamed(entities[index].attributes) }
    }
}
