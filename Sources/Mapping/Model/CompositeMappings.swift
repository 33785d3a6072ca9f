import ManagedModel

/// A property mapping of a whole composite attribute, `"author": "$source.author"`, becomes one mapping for each of its
/// elements, `"author.person": "$source.author.person"`. After that no other code needs to know composites.
extension EntityDescription {
    /// Returns the attributes of the composite attributes among some names, each with the innermost of these composites.
    /// Attributes whose own names are given are left out.
    func elements(ofListed names: Set<String>) -> [(attribute: String, composite: String)] {
        var seen = names
        return composites.filter { names.contains($0.path) }
            .sorted { $0.path.utf8.count > $1.path.utf8.count }
            .flatMap { composite in
                composite.attributes.filter { seen.insert($0).inserted }.map { ($0, composite.path) }
            }
    }
}

extension ValueExpression {
    /// Returns the expression of one element, for an expression that gives the whole composite.
    ///
    /// - Parameters:
    ///   - attribute: the attribute's path.
    ///   - composite: the composite's path.
    ///   - source: the entity of `$source`. If a source composite lacks the element, the expression gives nil.
    func element(_ attribute: String, of composite: String, source: EntityDescription?) -> ValueExpression {
        let names = attribute.dropFirst(composite.count + 1).split(separator: ".").map(String.init)
        return ValueExpression(node: node.element(names, source))
    }
}

extension ExpressionNode {
    fileprivate func element(_ names: [String], _ source: EntityDescription?) -> ExpressionNode {
        if self == .constant(.null) { return self }
        if case .ternary(let condition, let yes, let no) = self {
            return .ternary(condition, yes.element(names, source), no.element(names, source))
        }
        if let path = sourceKeyPath, let (entity, composite) = source?.composite(at: path) {
            let name = ([composite.path] + names).joined(separator: ".")
            guard entity.attribute(named: name) != nil else { return .constant(.null) }
        }
        guard case .keyPath(let target, let components) = self else { return .keyPath(target: self, components: names) }
        return .keyPath(target: target, components: components + names)
    }
}

extension [PropertyMapping] {
    /// Returns the list with mappings of whole composite attributes replaced by mappings of their elements.
    func expandingComposites(source: EntityDescription?, destination: EntityDescription) -> [PropertyMapping] {
        let elements = destination.elements(ofListed: Set(compactMap(\.name)))
        return flatMap { whole -> [PropertyMapping] in
            guard destination.composite(named: whole.name ?? "") != nil else { return [whole] }
            return elements.filter { $0.composite == whole.name }.map { attribute, composite in
                let mapping = PropertyMapping(
                    name: attribute,
                    valueExpression: whole.valueExpression?.element(attribute, of: composite, source: source))
                (mapping.userInfo, mapping.place) = (whole.userInfo, whole.place)
                (mapping.openValue, mapping.unmapped) = (whole.openValue, whole.unmapped)
                return mapping
            }
        }
    }
}
