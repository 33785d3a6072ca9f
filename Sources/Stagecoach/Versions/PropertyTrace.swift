import ManagedModel
import Mapping

/// Follows properties and entities from version to version, through the mapping models of the steps.
struct PropertyTrace {
    /// The mapping models of each step.
    let steps: [[MappingModel]]

    /// A property or an entity of one version.
    struct Place: Hashable {
        let entity: String
        /// The property; nil for the entity as a whole.
        let property: String?
    }

    /// Returns the first step that leaves the data of a line behind: an entity's objects, or a property's values in the entity
    /// and those that inherit from it, or in its inverse. Returns nil if each step carries them over.
    ///
    /// - Parameter model: the model of the trace's first version.
    /// - Complexity: O(steps × property mappings).
    func end(of line: LeftBehind.Line, _ model: ManagedObjectModel) -> Int? {
        guard let entity = model.entity(named: line.entity) else { return nil }
        var places: Set = [Place(entity: line.entity, property: nil)]
        if let property = line.property {
            func all(_ property: String, of entity: EntityDescription) -> [Place] {
                entity.withDescendants.map { Place(entity: $0.definition.name, property: property) }
            }
            let inverse = entity.relationship(named: property)?.inverseRelationship
            places = Set(all(property, of: entity) + (inverse.map { all($0.name, of: $0.entity) } ?? []))
        }
        for (index, models) in steps.enumerated() {
            places = next(places, models.flatMap { $0.entityMappings ?? [] })
            if places.isEmpty { return index }
        }
        return nil
    }

    /// Returns the first step that leaves data of an entity's own objects behind, with its places in the version that the step
    /// begins with; nil if each step carries it over.
    func end(entity: EntityDescription, property: String?) -> (step: Int, places: Set<Place>)? {
        var places: Set = [Place(entity: entity.definition.name, property: property)]
        if let inverse = property.flatMap({ entity.relationship(named: $0) })?.inverseRelationship {
            places.insert(Place(entity: inverse.entity.definition.name, property: inverse.name))
        }
        for (index, models) in steps.enumerated() {
            let next = next(places, models.flatMap { $0.entityMappings ?? [] })
            if next.isEmpty { return (index, places) }
            places = next
        }
        return nil
    }

    /// Returns the names that an entity, or a property of it and its subentities, has behind the last step.
    func names(ofEntity entity: EntityDescription, property: String?) -> [String] {
        let places = Set(entity.withDescendants.map { Place(entity: $0.definition.name, property: property) })
        return steps.reduce(places) { next($0, $1.flatMap { $0.entityMappings ?? [] }) }.map {
            [$0.entity, $0.property].compactMap(\.self).joined(separator: ".")
        }
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
