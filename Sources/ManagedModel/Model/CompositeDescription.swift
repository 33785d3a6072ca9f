/// A composite attribute of an entity, or a composite inside one: several attributes under one name.
///
/// Stores have a column for each attribute and none for the composite. So everything that reads, maps, checks and writes rows
/// knows the attributes only, as ``EntityDescription/attributes`` lists them under dotted names (`author.person`). Composites
/// show where a model is read, written and hashed, where an expression names one as a whole, and where policies see one as a
/// dictionary.
package struct CompositeDescription: Sendable, Equatable {
    /// `author`, or `author.address` for a composite in a composite.
    package let path: String
    /// The composite attribute as the entity, or the composite around it, declares it.
    package let definition: AttributeDefinition
    /// Its elements as the composite declares them, in that order.
    package let elements: [AttributeDefinition]
    /// The paths of its attributes, those of composites inside it included, in declared order.
    package let attributes: [String]
}

/// Lists the attributes that composite attributes of one entity stand for.
struct CompositeExpansion {
    /// The model's composites, which are known to end.
    let composites: [String: [AttributeDefinition]]
    let entity: Int
    let entityName: String
    /// A composite's attributes stand in its place.
    private(set) var attributes: [AttributeDescription] = []
    private(set) var found: [CompositeDescription] = []

    init(composites: [String: [AttributeDefinition]], entity: Int, entityName: String) {
        self.composites = composites
        self.entity = entity
        self.entityName = entityName
    }

    /// Adds an attribute, or what a composite attribute stands for.
    mutating func add(_ attribute: AttributeDefinition) {
        guard attribute.type == .composite else {
            attributes.append(
                AttributeDescription(definition: attribute, declaringEntityIndex: entity, entityName: entityName))
            return
        }
        expand(
            attribute, path: attribute.name, renamingPath: attribute.renamingIdentifier ?? attribute.name,
            isTransient: attribute.isTransient, optionalComposite: attribute.isOptional ? attribute.name : nil)
    }

    /// - Parameter optionalComposite: the path of the nearest composite around the elements that may be nil as a whole.
    private mutating func expand(
        _ composite: AttributeDefinition, path: String, renamingPath: String, isTransient: Bool,
        optionalComposite: String?
    ) {
        let first = attributes.count
        let elements = composite.compositeName.flatMap { composites[$0] } ?? []
        for element in elements {
            let elementPath = "\(path).\(element.name)"
            let elementRenaming = "\(renamingPath).\(element.renamingIdentifier ?? element.name)"
            let isTransient = isTransient || element.isTransient
            guard element.type != .composite else {
                expand(
                    element, path: elementPath, renamingPath: elementRenaming, isTransient: isTransient,
                    optionalComposite: element.isOptional ? elementPath : optionalComposite)
                continue
            }
            var definition = element
            definition.name = elementPath
            definition.renamingIdentifier = elementRenaming == elementPath ? nil : elementRenaming
            definition.isTransient = isTransient
            definition.isOptional = element.isOptional || optionalComposite != nil
            attributes.append(
                AttributeDescription(
                    definition: definition, declaringEntityIndex: entity, entityName: entityName,
                    requiringComposite: element.isOptional ? nil : optionalComposite))
        }
        found.append(
            CompositeDescription(
                path: path, definition: composite, elements: elements,
                attributes: attributes[first...].map(\.name)))
    }
}

extension AttributeDescription {
    /// The name without those of the composites that the attribute is in; columns are called by it.
    package var elementName: Substring {
        name.lastIndex(of: ".").map { name[name.index(after: $0)...] } ?? name[...]
    }

    /// Tells where an object may lack a value: only where it lacks the whole composite around it, or never.
    package var isRequired: Bool { !isOptional || requiringComposite != nil }

    /// The composite attribute's elements in declared order, as the model declares them; empty for other attributes.
    public var elements: [AttributeDescription] {
        elementDefinitions.map {
            AttributeDescription(
                definition: $0, declaringEntityIndex: declaringEntityIndex, entityName: entityName,
                composites: composites)
        }
    }

    private var elementDefinitions: [AttributeDefinition] {
        definition.compositeName.flatMap { composites[$0] } ?? []
    }
}

extension EntityDescription {
    /// The attributes of the optional composite in which an attribute is required: it has a value where one of them has. Empty
    /// where the attribute is in none.
    package func attributesRequiring(_ attribute: AttributeDescription) -> [AttributeDescription] {
        attribute.requiringComposite.flatMap(composite(named:))?.attributes.compactMap(self.attribute(named:)) ?? []
    }

    /// A key path from an object of the entity, with the names that lead to a composite's element joined: `author`, `person`
    /// become the name of the attribute `author.person`. What follows an attribute, and operators, are left as they are.
    package func joiningElements(in path: [String]) -> [String] {
        guard path.count > 1, !managedObjectModel.definition.composites.isEmpty else { return path }
        var current = self
        var joined: [String] = []
        var rest = path[...]
        while let name = rest.popFirst() {
            joined.append(name)
            if name.hasPrefix("@") || name == "self" { continue }
            if let relationship = current.relationship(named: name) {
                current = relationship.destination
                continue
            }
            var element = name
            while current.composite(named: element) != nil, let next = rest.first {
                let longer = "\(element).\(next)"
                guard current.composite(named: longer) != nil || current.attribute(named: longer) != nil else { break }
                element = longer
                rest.removeFirst()
            }
            joined[joined.count - 1] = element
            return joined + rest
        }
        return joined
    }

    /// Tells whether the entity has a property of a name, inherited or own. A composite attribute and its elements count too.
    package func hasProperty(named name: String) -> Bool {
        attribute(named: name) != nil || composite(named: name) != nil || relationship(named: name) != nil
    }

    /// The key paths of the attributes of a composite that a key path over to-one relationships ends at; nil where it ends at
    /// something else.
    package func elementPaths(ofCompositeAt path: [String]) -> [[String]]? {
        var current = self
        let path = joiningElements(in: path)
        for name in path.dropLast() {
            guard let relationship = current.relationship(named: name), !relationship.isToMany else { return nil }
            current = relationship.destination
        }
        return path.last.flatMap(current.composite(named:))?.attributes.map { path.dropLast() + [$0] }
    }

    /// Own and inherited attributes as models declare them, each composite one followed by the attributes it stands for.
    package var attributesAndComposites: [AttributeDescription] {
        declaredAttributes.flatMap { attribute in
            [attribute] + (composite(named: attribute.name)?.attributes.compactMap(self.attribute(named:)) ?? [])
        }
    }

    /// Tells whether the entity itself declares a composite attribute: neither an ancestor does, nor is it inside another.
    package func declares(_ composite: CompositeDescription) -> Bool {
        definition.attributes.contains { $0.name == composite.path }
    }

    /// The attributes that a property is stored in: a composite's, or the property itself.
    package func attributeNames(of property: String) -> [String] {
        composite(named: property)?.attributes ?? [property]
    }
}
