import ManagedModel

// Changes for which Core Data infers a mapping model (Semantics.md, "Inference").
extension RandomModel {
    /// Makes the next version of the model: up to eight changes, what cannot be done is passed over.
    mutating func change(_ generator: inout SeededGenerator) {
        // Names of earlier versions do not matter to this one.
        for _ in 0..<generator.below(9) {
            let entity = generator.below(definition.entities.count)
            switch generator.below(17) {
            case 0: renameEntity(entity, &generator)
            case 1, 2: renameAttribute(entity, &generator)
            case 3, 4: renameRelationship(entity, &generator)
            case 5, 6: addAttribute(to: entity, &generator, isNew: true)
            case 7:
                if let position = pick(definition.entities[entity].attributes, &generator) {
                    definition.entities[entity].attributes.remove(at: position)
                }
            case 8: addRelationship(&generator, isNew: true)
            case 9:
                if let position = pick(definition.entities[entity].relationships, &generator) {
                    removeRelationship(entity, definition.entities[entity].relationships[position].name)
                }
            case 10: addEntity(&generator)
            case 11: removeEntity(entity)
            case 12: changeOptionality(entity, &generator)
            case 13: makeToMany(entity, &generator)
            case 14: changeOrder(entity, &generator)
            case 15: widenAttribute(entity, &generator)
            default: moveAttribute(entity, &generator)
            }
        }
    }

    private func pick<T>(_ list: [T], _ generator: inout SeededGenerator) -> Int? {
        list.isEmpty ? nil : generator.below(list.count)
    }

    private mutating func renameEntity(_ entity: Int, _ generator: inout SeededGenerator) {
        let old = definition.entities[entity].name
        let name = freshName(&generator, isEntity: true)
        if definition.entities[entity].renamingIdentifier == nil, !old.contains("new") {
            definition.entities[entity].renamingIdentifier = old
        }
        definition.entities[entity].name = name
        for place in definition.entities.indices {
            if definition.entities[place].superentityName == old { definition.entities[place].superentityName = name }
            for position in definition.entities[place].relationships.indices
            where definition.entities[place].relationships[position].destinationEntityName == old {
                definition.entities[place].relationships[position].destinationEntityName = name
            }
        }
    }

    private mutating func renameAttribute(_ entity: Int, _ generator: inout SeededGenerator) {
        guard let position = pick(definition.entities[entity].attributes, &generator) else { return }
        let old = definition.entities[entity].attributes[position].name
        if definition.entities[entity].attributes[position].renamingIdentifier == nil, !old.contains("new") {
            definition.entities[entity].attributes[position].renamingIdentifier = old
        }
        definition.entities[entity].attributes[position].name = freshName(&generator, isEntity: false)
    }

    private mutating func renameRelationship(_ entity: Int, _ generator: inout SeededGenerator) {
        guard let position = pick(definition.entities[entity].relationships, &generator) else { return }
        let old = definition.entities[entity].relationships[position]
        let name = freshName(&generator, isEntity: false)
        let inverse = inverse(of: old)
        if old.renamingIdentifier == nil, !old.name.contains("new") {
            definition.entities[entity].relationships[position].renamingIdentifier = old.name
        }
        definition.entities[entity].relationships[position].name = name
        if let inverse { definition.entities[inverse.entity].relationships[inverse.position].inverseName = name }
    }

    private mutating func addEntity(_ generator: inout SeededGenerator) {
        var entity = EntityDefinition(name: freshName(&generator, isEntity: true))
        let place = generator.below(definition.entities.count)
        switch generator.below(3) {
        case 0: break
        case 1: if lineage(place).count < 4 { entity.superentityName = definition.entities[place].name }
        default:
            // A new parent of a root: its table gets the new root's name.
            if definition.entities[place].superentityName == nil {
                definition.entities[place].superentityName = entity.name
                entity.isAbstract = generator.chance(2)
            }
        }
        definition.entities.append(entity)
        addAttribute(to: definition.entities.count - 1, &generator, isNew: true)
    }

    /// Removes a leaf with all relationships from and to it.
    private mutating func removeEntity(_ entity: Int) {
        guard definition.entities.count > 1, descendants(entity).count == 1 else { return }
        let name = definition.entities[entity].name
        for place in definition.entities.indices {
            for relationship in definition.entities[place].relationships
            where place == entity || relationship.destinationEntityName == name {
                removeRelationship(place, relationship.name)
            }
        }
        // An entity to which an ancestor's required reference may point must not go.
        let ancestors = Set(lineage(entity).map { definition.entities[$0].name })
        let isNeeded = definition.entities.contains { owner in
            owner.relationships.contains { !$0.isOptional && ancestors.contains($0.destinationEntityName) }
        }
        if !isNeeded { definition.entities.remove(at: entity) }
    }

    private mutating func changeOptionality(_ entity: Int, _ generator: inout SeededGenerator) {
        guard let position = pick(definition.entities[entity].attributes, &generator) else { return }
        var attribute = definition.entities[entity].attributes[position]
        attribute.isOptional.toggle()
        if !attribute.isOptional, attribute.defaultValue == nil {
            attribute.defaultValue = RandomData.standard(attribute.type, &generator)
            if attribute.defaultValue == nil { return }
        }
        definition.entities[entity].attributes[position] = attribute
    }

    /// Makes a Boolean an integer, or an integer wider.
    private mutating func widenAttribute(_ entity: Int, _ generator: inout SeededGenerator) {
        let integers: [AttributeType] = [.boolean, .integer16, .integer32, .integer64]
        let attributes = definition.entities[entity].attributes
        let narrow = attributes.indices.filter { integers.dropLast().contains(attributes[$0].type) }
        guard let place = pick(narrow, &generator), let size = integers.firstIndex(of: attributes[narrow[place]].type)
        else { return }
        var attribute = attributes[narrow[place]]
        attribute.type = integers[size + 1 + generator.below(integers.count - size - 1)]
        if case .boolean(let flag)? = attribute.defaultValue { attribute.defaultValue = .integer(flag ? 1 : 0) }
        definition.entities[entity].attributes[narrow[place]] = attribute
    }

    private mutating func makeToMany(_ entity: Int, _ generator: inout SeededGenerator) {
        guard let position = pick(definition.entities[entity].relationships, &generator) else { return }
        var relationship = definition.entities[entity].relationships[position]
        guard !relationship.isToMany else { return }
        relationship.isToMany = true
        relationship.isOptional = true
        relationship.maximumCount = 0
        relationship.isOrdered = relationship.inverseName != relationship.name && generator.chance(3)
        definition.entities[entity].relationships[position] = relationship
    }

    private mutating func changeOrder(_ entity: Int, _ generator: inout SeededGenerator) {
        guard let position = pick(definition.entities[entity].relationships, &generator) else { return }
        let relationship = definition.entities[entity].relationships[position]
        guard relationship.isToMany, relationship.inverseName != relationship.name else { return }
        definition.entities[entity].relationships[position].isOrdered.toggle()
    }

    /// Up to the parent, or down to one child.
    private mutating func moveAttribute(_ entity: Int, _ generator: inout SeededGenerator) {
        guard let position = pick(definition.entities[entity].attributes, &generator) else { return }
        let attribute = definition.entities[entity].attributes[position]
        let name = definition.entities[entity].name
        let children = definition.entities.indices.filter { definition.entities[$0].superentityName == name }
        let parent = index(definition.entities[entity].superentityName)
        let target: Int
        if let parent, children.isEmpty || generator.chance(2) {
            guard attribute.isOptional || attribute.defaultValue != nil else { return }
            target = parent
        } else {
            guard let child = pick(children, &generator) else { return }
            target = children[child]
        }
        definition.entities[entity].attributes.remove(at: position)
        let isFree = isFree(attribute.name, target)
        definition.entities[isFree ? target : entity].attributes.append(attribute)
    }
}
