import ManagedModel

/// A random model definition under construction, with the questions that keep it valid.
struct RandomModel {
    var definition = ModelDefinition()
    private var fresh = 0

    /// One to six entities in up to three levels, with all kinds of attributes and relationships.
    init(_ generator: inout SeededGenerator) {
        let names = ["Item", "Person", "order", "Photo", "Zebra", "apple", "Box", "Item2"]
        for _ in 0..<(1 + generator.below(6)) {
            let free = names.filter { name in !definition.entities.contains { $0.name == name } }
            var entity = EntityDefinition(name: free[generator.below(free.count)])
            if !definition.entities.isEmpty, generator.chance(2) {
                let parent = generator.below(definition.entities.count)
                if lineage(parent).count < 3 { entity.superentityName = definition.entities[parent].name }
            }
            definition.entities.append(entity)
        }
        for index in definition.entities.indices where descendants(index).count > 1 && generator.chance(2) {
            definition.entities[index].isAbstract = true
        }
        for index in definition.entities.indices {
            for _ in 0..<generator.below(6) { addAttribute(to: index, &generator) }
        }
        for _ in 0..<generator.below(2 * definition.entities.count + 1) { addRelationship(&generator) }
    }

    // MARK: Questions

    func index(_ name: String?) -> Int? { definition.entities.firstIndex { $0.name == name } }

    /// The entity and its ancestors, nearest first.
    func lineage(_ index: Int) -> [Int] {
        var result = [index]
        while let last = result.last, let parent = self.index(definition.entities[last].superentityName) {
            result.append(parent)
        }
        return result
    }

    /// The entity and all below it.
    func descendants(_ index: Int) -> [Int] { definition.entities.indices.filter { lineage($0).contains(index) } }

    /// Tells whether neither the entity, nor an ancestor, nor a descendant has a property of the name.
    func isFree(_ name: String, _ index: Int) -> Bool {
        !(lineage(index) + descendants(index)).contains { place in
            let entity = definition.entities[place]
            return entity.attributes.contains { $0.name == name } || entity.relationships.contains { $0.name == name }
        }
    }

    /// A name from a small pool, whose members collide in upper case and in sibling entities, else a new one.
    func name(for index: Int, _ generator: inout SeededGenerator) -> String {
        let pool = ["name", "NAME", "title", "value", "Value", "date", "note", "code", "data", "ref", "links", "kind"]
        for _ in 0..<8 {
            let name = pool[generator.below(pool.count)]
            if isFree(name, index) { return name }
        }
        var number = 0
        while !isFree("p\(number)", index) { number += 1 }
        return "p\(number)"
    }

    /// A name that no version had, with a first letter that puts it anywhere in the alphabet.
    mutating func freshName(_ generator: inout SeededGenerator, isEntity: Bool) -> String {
        fresh += 1
        let letters = isEntity ? ["A", "M", "Y", "b"] : ["a", "m", "y", "B"]
        return letters[generator.below(letters.count)] + "new\(fresh)"
    }

    // MARK: Additions

    /// - Parameter isNew: a name that no version had, and a default where it is required.
    mutating func addAttribute(to index: Int, _ generator: inout SeededGenerator, isNew: Bool = false) {
        let types = AttributeType.allCases.filter { ![.undefined, .objectID, .composite].contains($0) }
        let name = isNew ? freshName(&generator, isEntity: false) : name(for: index, &generator)
        var attribute = AttributeDefinition(name: name, type: types[generator.below(types.count)])
        attribute.isOptional = !generator.chance(4)
        if generator.chance(3) { attribute.defaultValue = RandomData.standard(attribute.type, &generator) }
        if isNew, attribute.defaultValue == nil { attribute.isOptional = true }
        if attribute.type == .binaryData, generator.chance(3) { attribute.allowsExternalBinaryDataStorage = true }
        definition.entities[index].attributes.append(attribute)
    }

    mutating func addRelationship(_ generator: inout SeededGenerator, isNew: Bool = false) {
        let owner = generator.below(definition.entities.count)
        let target = generator.below(definition.entities.count)
        let kind = generator.below(7)
        var first = relationship(on: owner, to: target, &generator, isNew)
        if kind >= 5 {
            // Without inverse: to-one, or to-many, ordered or not.
            first.isToMany = kind == 6
            first.maximumCount = first.isToMany ? 0 : 1
            first.isOrdered = first.isToMany && generator.chance(2)
            if !first.isToMany, !isNew, generator.chance(4) { first.isOptional = false }
            definition.entities[owner].relationships.append(first)
            return
        }
        if kind == 4 {
            // Its own inverse.
            first = relationship(on: owner, to: owner, &generator, isNew)
            first.isToMany = generator.chance(2)
            first.maximumCount = first.isToMany ? 0 : 1
            first.inverseName = first.name
            definition.entities[owner].relationships.append(first)
            return
        }
        definition.entities[owner].relationships.append(first)
        var second = relationship(on: target, to: owner, &generator, isNew)
        definition.entities[owner].relationships.removeLast()
        first.inverseName = second.name
        second.inverseName = first.name
        second.isToMany = kind != 3
        first.isToMany = kind == 2
        for side in [0, 1] {
            let isMany = side == 0 ? first.isToMany : second.isToMany
            let isOrdered = isMany && generator.chance(2)
            if side == 0 {
                first.isOrdered = isOrdered
                first.maximumCount = isMany ? 0 : 1
            } else {
                second.isOrdered = isOrdered
                second.maximumCount = isMany ? 0 : 1
            }
        }
        if kind < 2, !isNew, generator.chance(5) { first.isOptional = false }
        definition.entities[owner].relationships.append(first)
        definition.entities[target].relationships.append(second)
    }

    private mutating func relationship(
        on owner: Int, to target: Int, _ generator: inout SeededGenerator, _ isNew: Bool
    ) -> RelationshipDefinition {
        let name = isNew ? freshName(&generator, isEntity: false) : name(for: owner, &generator)
        var relationship = RelationshipDefinition(
            name: name, destinationEntityName: definition.entities[target].name)
        relationship.isOptional = true
        // The rule follows from the name, so that it is the same in all versions.
        if name.utf8.reduce(0, { $0 + Int($1) }) % 4 == 0 { relationship.deleteRule = .cascade }
        return relationship
    }

    /// Removes a relationship and its inverse.
    mutating func removeRelationship(_ entity: Int, _ name: String) {
        guard let relationship = definition.entities[entity].relationships.first(where: { $0.name == name }) else {
            return
        }
        definition.entities[entity].relationships.removeAll { $0.name == name }
        guard let inverse = relationship.inverseName, let target = index(relationship.destinationEntityName) else {
            return
        }
        for place in lineage(target) { definition.entities[place].relationships.removeAll { $0.name == inverse } }
    }

    /// Position of a relationship's inverse.
    func inverse(of relationship: RelationshipDefinition) -> (entity: Int, position: Int)? {
        guard let name = relationship.inverseName, let target = index(relationship.destinationEntityName) else {
            return nil
        }
        for place in lineage(target) {
            if let position = definition.entities[place].relationships.firstIndex(where: { $0.name == name }) {
                return (place, position)
            }
        }
        return nil
    }
}
