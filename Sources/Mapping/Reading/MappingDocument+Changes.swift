import Diagnostics
import ManagedModel

extension MappingDocument {
    /// A document that leaves everything to inference.
    static let inferringAll = """
        {"formatVersion": \(formatVersion), "unlisted": "infer", "entityMappings": []}
        """

    /// Returns the document with changes to it.
    ///
    /// - Throws: `mapping.unknownEntity`, `mapping.unlistedEntity`, `mapping.valueType` (78).
    func changed(
        by changes: [MappingChange], source: ManagedObjectModel, destination: ManagedObjectModel
    ) throws(MigrationError) -> MappingDocument {
        var document = self
        for change in changes {
            do throws(MigrationError) {
                document = try document.changed(by: change, source, destination)
            } catch {
                var error = error
                error.message = "\(change.option): \(error.message)"
                throw error
            }
        }
        return document
    }

    private func changed(
        by change: MappingChange, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
    ) throws(MigrationError) -> MappingDocument {
        guard let entity = destination.entity(named: change.entity) else {
            guard change.value == nil else {
                throw failure(
                    "mapping.unknownEntity", "The destination model has no entity \(change.entity)", at: root.position,
                    remedy: EditDistance.remedy(
                        for: change.entity, among: destination.entities.map(\.definition.name)),
                    context: .init(entity: change.entity))
            }
            return losing(change)
        }
        guard let property = change.property else {
            let mapping = change.value.map { [("sourceEntity", JSONValue.string($0))] } ?? []
            let removed = change.value == nil ? losing(change) : self
            return try removed.replacingMapping(of: entity) { old in
                old.setting(mapping, removing: ["sourceEntity"])
            }
        }
        let known = entity.relationship(named: property) != nil || entity.attribute(named: property) != nil
        let isComposite = entity.composite(named: property) != nil
        guard change.value != nil || known || isComposite else { return losing(change) }
        let kind = entity.relationship(named: property) == nil ? "attributes" : "relationships"
        let value = change.value.map(JSONValue.string) ?? .null
        if let text = change.value { _ = try parsed(root, text, ValueExpression.init(parsing:)) }
        let entities = InferredEntities(source, destination)
        let infers = try head().inference != nil
        var document = self
        for entity in entity.withDescendants {
            let inferred = entities.counterpart(of: entity)?.definition.name
            // Subentities have entity mappings of their own, which set inherited properties too.
            let isNamed = entity.definition.name == change.entity
            guard isNamed || document.makes(entity) || infers && inferred != nil else { continue }
            document = try document.replacingMapping(of: entity, source: inferred) { old in
                old.setting([(kind, old.member(kind).setting([(property, value)]).value)])
            }
        }
        return document
    }

    /// Tells whether an entity mapping that is listed makes an entity.
    private func makes(_ entity: EntityDescription) -> Bool {
        guard case .array(let listed) = root.member("entityMappings").value else { return false }
        return listed.contains { mapping in
            if case .string(entity.definition.name) = mapping.member("destinationEntity").value { true } else { false }
        }
    }

    /// Returns the document with one more loss that is meant.
    private func losing(_ change: MappingChange) -> MappingDocument {
        var losses: [JSONNode] = []
        if case .array(let known) = root.member("losses").value { losses = known }
        let name = change.entity + (change.property.map { "." + $0 } ?? "")
        losses.append(JSONNode(value: .string(name), position: root.position))
        return MappingDocument(root: root.setting([("losses", .array(losses))]), path: path)
    }

    /// Changes the entity mappings that make an entity, or adds one if inference makes what is not listed.
    ///
    /// - Parameter source: the source entity of one that is added.
    private func replacingMapping(
        of entity: EntityDescription, source: String? = nil, _ change: (JSONNode) -> JSONNode
    ) throws(MigrationError) -> MappingDocument {
        var mappings: [JSONNode] = []
        if case .array(let listed) = root.member("entityMappings").value { mappings = listed }
        let name = entity.definition.name
        var isListed = false
        for (index, mapping) in mappings.enumerated() {
            guard case .string(name) = mapping.member("destinationEntity").value else { continue }
            isListed = true
            mappings[index] = change(mapping)
        }
        if !isListed {
            guard try head().inference != nil else {
                throw failure(
                    "mapping.unlistedEntity", "The mapping model has no entity mapping that makes \(name)",
                    at: root.position, remedy: "List it, or write \"unlisted\": \"infer\" into the file",
                    context: .init(entity: name))
            }
            let new = JSONNode(value: .object([]), position: root.position).setting(
                [("destinationEntity", .string(name))]
                    + (source.map { [("sourceEntity", .string($0)), ("name", .string("IEM_Transform_" + name))] } ?? [])
            )
            mappings.append(change(new))
        }
        return MappingDocument(root: root.setting([("entityMappings", .array(mappings))]), path: path)
    }
}

extension JSONNode {
    /// Returns the value of a member; an empty object at this place if there is none.
    fileprivate func member(_ key: String) -> JSONNode {
        if case .object(let members) = value, let member = members.first(where: { $0.key == key }) {
            return member.value
        }
        return JSONNode(value: .object([]), position: position)
    }

    /// Returns the object with members set, and others removed.
    fileprivate func setting(_ values: [(String, JSONValue)], removing keys: [String] = []) -> JSONNode {
        guard case .object(var members) = value else { return self }
        members.removeAll { keys.contains($0.key) }
        for (key, value) in values {
            let member = JSONMember(
                key: key, keyPosition: position, value: JSONNode(value: value, position: position))
            if let index = members.firstIndex(where: { $0.key == key }) {
                members[index] = member
            } else {
                members.append(member)
            }
        }
        return JSONNode(value: .object(members), position: position)
    }
}

extension MappingModel {
    /// Drops the places in the text of a mapping model that was made of changes alone: nobody sees that text.
    package func forgetPlaces() {
        for mapping in entityMappings ?? [] {
            (mapping.place, mapping.sourceFilterPlace, mapping.sourceExpressionPlace) = (nil, nil, nil)
            mapping.forEachPlace = nil
            for property in mapping.propertyMappings {
                property.place = nil
                property.refusal = property.refusal?.withoutPlace
            }
        }
    }
}

extension MigrationError {
    /// The error without its line and column.
    package var withoutPlace: MigrationError {
        var error = self
        (error.context.line, error.context.column) = (nil, nil)
        return error
    }
}
