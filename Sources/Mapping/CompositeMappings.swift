import ManagedModel

/// A property mapping of a composite attribute as a whole, `"author": "$source.author"`, becomes one mapping for each of its
/// elements, `"author.person": "$source.author.person"`: from there on nobody needs to know composites.
extension EntityDescription {
    /// The attributes that listed composite attributes stand for, each with the innermost composite that is listed. An
    /// attribute that is listed itself is left out.
    func elements(ofListed names: Set<String>) -> [(attribute: String, composite: String)] {
        var seen = names
        return composites.filter { names.contains($0.path) }
            .sorted { $0.path.utf8.count > $1.path.utf8.count }
            .flatMap { composite in
                composite.attributes.filter { seen.insert($0).inserted }.map { ($0, composite.path) }
            }
    }

    /// The composite at the end of a key path over to-one relationships, and its entity; nil where there is none.
    fileprivate func composite(at path: [String]) -> (entity: EntityDescription, composite: CompositeDescription)? {
        var current = self
        let path = joiningElements(in: path)
        for name in path.dropLast() {
            guard let relationship = current.relationship(named: name), !relationship.isToMany else { return nil }
            current = relationship.destination
        }
        return path.last.flatMap { current.composite(named: $0) }.map { (current, $0) }
    }
}

extension ValueExpression {
    /// The expression of one attribute of a composite that this expression gives as a whole.
    ///
    /// - Parameters:
    ///   - attribute: the attribute's path.
    ///   - composite: the composite's.
    ///   - source: what `$source` is. A source composite that lacks the element gives nil for it.
    func element(_ attribute: String, of composite: String, source: EntityDescription?) -> ValueExpression {
        let names = attribute.dropFirst(composite.count + 1).split(separator: ".").map(String.init)
        return ValueExpression(node: node.element(names, source))
    }
}

extension ExpressionNode {
    fileprivate func element(_ names: [String], _ source: EntityDescription?) -> ExpressionNode {
        switch self {
        case .constant(.null): return self
        case .ternary(let condition, let yes, let no):
            return .ternary(condition, yes.element(names, source), no.element(names, source))
        default: break
        }
        if let path = sourceKeyPath, let (entity, composite) = source?.composite(at: path) {
            let name = ([composite.path] + names).joined(separator: ".")
            guard entity.attribute(named: name) != nil else { return .constant(.null) }
        }
        guard case .keyPath(let target, let components) = self else { return .keyPath(target: self, components: names) }
        return .keyPath(target: target, components: components + names)
    }
}

extension EntityMapping {
    /// Puts mappings of the elements in the place of mappings of composite attributes that were made in code.
    func expandComposites(source: ManagedObjectModel, destination: ManagedObjectModel) {
        guard let mappings = attributeMappings, !destination.definition.composites.isEmpty,
            let target = destinationEntityName.flatMap(destination.entity(named:))
        else { return }
        let byName = Dictionary(mappings.map { ($0.name ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        let elements = target.elements(ofListed: Set(byName.keys))
        let isWhole = byName.keys.contains { target.composite(named: $0) != nil }
        guard isWhole else { return }
        let origin = sourceEntityName.flatMap(source.entity(named:))
        attributeMappings =
            mappings.filter { target.composite(named: $0.name ?? "") == nil }
            + elements.compactMap { attribute, composite in
                guard let whole = byName[composite] else { return nil }
                let mapping = PropertyMapping(
                    name: attribute,
                    valueExpression: whole.valueExpression?.element(attribute, of: composite, source: origin))
                mapping.userInfo = whole.userInfo
                mapping.line = whole.line
                mapping.column = whole.column
                return mapping
            }
    }
}
