/// A composite attribute of an entity, or a composite inside one: several attributes under one name.
///
/// Stores have a column for each attribute and none for the composite. So all code that reads, maps, checks and writes rows
/// uses the attributes only, under dotted names (`author.person`) in ``EntityDescription/attributes``. Composites matter where
/// a model is read, written and hashed, where an expression names a whole composite, and where policies see one as a
/// dictionary.
package struct CompositeDescription: Sendable, Equatable {
    /// The dotted path: `author`, or `author.address` for a composite in a composite.
    package let path: String
    /// The declaration of the composite attribute, in the entity or in the composite around it.
    package let definition: AttributeDefinition
    /// The elements in declared order.
    package let elements: [AttributeDefinition]
    /// The paths of all its attributes in declared order, including those of composites inside it.
    package let attributes: [String]
}

/// Lists the attributes of an entity's composite attributes.
struct CompositeExpansion {
    /// The model's composites. They are checked: none contains itself.
    let composites: [String: [AttributeDefinition]]
    let entity: Int
    let entityName: String
    /// The attributes, with those of a composite in its place.
    private(set) var attributes: [AttributeDescription] = []
    private(set) var found: [CompositeDescription] = []

    /// Adds an attribute, or the attributes of a composite attribute.
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
    /// The name without the names of the composites around the attribute; the column's name is made of it.
    package var elementName: Substring {
        name.lastIndex(of: ".").map { name[name.index(after: $0)...] } ?? name[...]
    }

    /// True if the attribute is required, or required within an optional composite: then it may be nil only with the whole
    /// composite.
    package var isRequired: Bool { !isOptional || requiringComposite != nil }
}

extension EntityDescription {
    /// Returns the attributes of the optional composite in which an attribute is required: it needs a value if any of them has
    /// one. Empty if there is no such composite.
    package func attributesRequiring(_ attribute: AttributeDescription) -> [AttributeDescription] {
        attribute.requiringComposite.flatMap(composite(named:))?.attributes.compactMap(self.attribute(named:)) ?? []
    }

    /// Returns a key path with the components of a composite's element joined: `author`, `person` become the attribute's name
    /// `author.person`. Components after an attribute, and operators, are unchanged.
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

    /// Tells whether the entity has a property with a name, own or inherited. Composite attributes and their elements count.
    package func hasProperty(named name: String) -> Bool {
        attribute(named: name) != nil || composite(named: name) != nil || relationship(named: name) != nil
    }

    /// Returns the key paths of the attributes of a composite at the end of a key path over to-one relationships; nil if the
    /// path ends elsewhere.
    package func elementPaths(ofCompositeAt path: [String]) -> [[String]]? {
        composite(at: path)?.composite.attributes.map { joiningElements(in: path).dropLast() + [$0] }
    }

    /// Returns the composite at the end of a key path over to-one relationships, and its entity; nil if there is none.
    package func composite(at path: [String]) -> (entity: EntityDescription, composite: CompositeDescription)? {
        var current = self
        let path = joiningElements(in: path)
        for name in path.dropLast() {
            guard let relationship = current.relationship(named: name), !relationship.isToMany else { return nil }
            current = relationship.destination
        }
        return path.last.flatMap(current.composite(named:)).map { (current, $0) }
    }

    /// The own and inherited attributes, by name in code point order. Each composite attribute is followed by the attributes inside
    /// it, in declared order and under dotted names.
    package var attributesAndComposites: [AttributeDescription] {
        declaredAttributes.flatMap { attribute in
            [attribute] + (composite(named: attribute.name)?.attributes.compactMap(self.attribute(named:)) ?? [])
        }
    }

    /// Tells whether the entity itself declares a composite attribute. False for inherited ones and for composites inside
    /// others.
    package func declares(_ composite: CompositeDescription) -> Bool {
        definition.attributes.contains { $0.name == composite.path }
    }

    /// Returns the names of the attributes that store a property: those of a composite, or the property itself.
    package func attributeNames(of property: String) -> [String] {
        composite(named: property)?.attributes ?? [property]
    }
}
