import ManagedModel
import Mapping

/// Follows properties and entities from version to version, through the mapping models of the steps.
struct PropertyTrace {
    /// The mapping models of each step.
    let steps: [[MappingModel]]

    private struct Place: Hashable {
        let entity: String
        /// The property; nil for the entity as a whole.
        let property: String?
    }

    /// Returns the first step that does not carry over a property's values, or an entity's objects.
    ///
    /// - Parameters:
    ///   - entities: the entity by name, and those that inherit from it.
    ///   - properties: the property, and for a relationship its inverse too, each with its own entities; empty for the
    ///     objects.
    /// - Returns: nil if they reach the end.
    /// - Complexity: O(steps × property mappings).
    func end(of entities: [String], _ properties: [(entities: [String], name: String)]) -> Int? {
        var places = Set(entities.map { Place(entity: $0, property: nil) })
        if !properties.isEmpty {
            places = Set(
                properties.flatMap { property in
                    property.entities.map { Place(entity: $0, property: property.name) }
                })
        }
        for (index, models) in steps.enumerated() {
            places = next(places, models.flatMap { $0.entityMappings ?? [] })
            if places.isEmpty { return index }
        }
        return nil
    }

    /// Returns the step that leaves the data of a line behind; nil if each step carries it over.
    ///
    /// - Parameter model: the model of the trace's first version.
    func end(of line: LeftBehind.Line, _ model: ManagedObjectModel) -> Int? {
        guard let entity = model.entity(named: line.entity) else { return nil }
        func names(_ entity: EntityDescription) -> [String] { entity.withDescendants.map(\.definition.name) }
        guard let property = line.property else { return end(of: [line.entity], []) }
        var properties = [(names(entity), property)]
        if let inverse = entity.relationship(named: property)?.inverseRelationship {
            properties.append((names(inverse.entity), inverse.name))
        }
        return end(of: names(entity), properties)
    }

    private func next(_ places: Set<Place>, _ mappings: [EntityMapping]) -> Set<Place> {
        var found: Set<Place> = []
        for mapping in mappings {
            guard let source = mapping.sourceEntityName, let destination = mapping.destinationEntityName else {
                continue
            }
            for place in places where place.entity == source {
                guard let property = place.property else {
                    found.insert(Place(entity: destination, property: nil))
                    continue
                }
                for line in mapping.propertyMappings {
                    guard let name = line.name, line.valueExpression?.names(property) ?? false else { continue }
                    found.insert(Place(entity: destination, property: name))
                }
            }
        }
        return found
    }
}

extension ValueExpression {
    /// Tells whether a key path in the expression begins with a property of `$source`.
    fileprivate func names(_ property: String) -> Bool {
        let text = format
        for prefix in ["$source.", "$source.#"] {
            for range in text.ranges(of: prefix + property) {
                guard let next = text[range.upperBound...].first, next.isLetter || next.isNumber || next == "_" else {
                    return true
                }
            }
        }
        return false
    }
}
