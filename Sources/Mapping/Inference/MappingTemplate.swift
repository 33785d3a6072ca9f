import Diagnostics
import ManagedModel

extension MappingModel {
    /// Infers a mapping model in which everything that can be mapped is mapped. Each other place has no expression and says what
    /// its user must decide: properties that ``inferred(from:to:unmappable:mergesDuplicates:)`` refuses, and new ones that need a value where
    /// objects exist.
    ///
    /// - Parameter changes: changes that decide some of them.
    /// - Throws: `inference.hierarchies` (78), because objects whose keys would collide have no place at all; the errors of the
    ///   changes.
    /// - Complexity: as ``inferred(from:to:unmappable:mergesDuplicates:)``.
    package static func template(
        from source: ManagedObjectModel, to destination: ManagedObjectModel, changes: [MappingChange] = []
    ) throws(MigrationError) -> MappingModel {
        let model = try inferred(from: source, to: destination, unmappable: .leave, changes: changes)
        let automatic = AutomaticMapping(
            entityMappings: model.entityMappings, source: source, destination: destination, requiresTarget: true)
        for mapping in model.entityMappings {
            guard let target = mapping.destinationEntityName.flatMap(destination.entity(named:)),
                let origin = mapping.sourceEntityName.flatMap(source.entity(named:))
            else { continue }
            for property in automatic.properties(from: origin, to: target) {
                let own =
                    property.isRelationship
                    ? mapping.relationshipMapping(named: property.name) : mapping.attributeMapping(named: property.name)
                guard let own, !model.isFilledByInverse(property.name, of: target),
                    let question = property.question(own, of: target)
                else { continue }
                own.valueExpression = nil
                own.unmapped = UnmappedProperty(
                    source: property.problem?.source, reason: question.reason, question: question.text)
            }
        }
        return model
    }

    /// Tells whether an entity mapping relates the objects of a relationship from their side.
    private func isFilledByInverse(_ name: String, of entity: EntityDescription) -> Bool {
        guard let inverse = entity.relationship(named: name)?.inverseRelationship else { return false }
        return entityMappings.contains { mapping in
            guard let target = mapping.destinationEntityName.flatMap(entity.managedObjectModel.entity(named:)),
                target.isKindOf(entity: inverse.entity)
            else { return false }
            return mapping.relationshipMapping(named: inverse.name)?.valueExpression != nil
        }
    }
}

extension AutomaticMapping.Property {
    /// Returns what is to be decided of the property; nil if it is mapped, or left by a change.
    fileprivate func question(
        _ own: PropertyMapping, of entity: EntityDescription
    ) -> (reason: String, text: String)? {
        if let (problem, origin) = problem {
            guard own.unmapped != nil || shortage != nil && own.valueExpression == expression else { return nil }
            let reason = problem.reason(of: matchedName, from: origin)
            let line = convertingLine(of: entity.definition.name)?.text
            return (
                reason,
                "\(reason). Write " + (line.map { "\($0), or " } ?? "an expression that gives its value, or ")
                    + "\"\(name)\": null to leave what \(origin) holds behind"
            )
        }
        guard case .new = outcome, own.valueExpression == nil, !entity.isAbstract, let need = need(in: entity) else {
            return nil
        }
        return (
            need,
            "\(need). Write an expression that gives the objects that exist their value, or a default into the model"
        )
    }

    /// Returns the reason why a new property needs a value, if the model gives none; else nil.
    private func need(in entity: EntityDescription) -> String? {
        if let attribute = entity.attribute(named: name) {
            guard !attribute.isOptional, !attribute.isDerived, attribute.definition.defaultValue == nil,
                attribute.requiringComposite == nil
            else { return nil }
            return "The attribute is new and required, and has no default"
        }
        guard let relationship = entity.relationship(named: name), !relationship.isOptional else { return nil }
        return "The relationship is new and required"
    }
}
