import Diagnostics
import ManagedModel

extension MappingModel {
    /// Lets the entity mappings of an inferred mapping model merge the source objects that would break a uniqueness constraint
    /// which only the destination has, as `mergeBy` does: of those with the same values the first is kept.
    ///
    /// Objects of one entity are merged, as a mapping makes the objects of one. A constraint that the source has too is left
    /// alone: its objects are unique already. So is one whose values include nil for all objects.
    ///
    /// - Throws: `inference.merge` (78) for a constraint by which objects cannot be merged, with the reason.
    package func mergeDuplicates(
        from source: ManagedObjectModel, to destination: ManagedObjectModel
    ) throws(MigrationError) {
        for mapping in entityMappings ?? [] {
            guard let old = mapping.sourceEntityName.flatMap(source.entity(named:)),
                let new = mapping.destinationEntityName.flatMap(destination.entity(named:)), !new.isAbstract
            else { continue }
            let constraints = try NewConstraints(old, new, mapping).needed()
            guard let only = constraints.first else { continue }
            guard constraints.count == 1 else {
                let names = constraints.map { $0.attributes.joined(separator: ", ") }
                throw NewConstraints.refusal(
                    new,
                    "it has several new uniqueness constraints (\(names.joined(separator: "; "))), "
                        + "and objects are merged by one")
            }
            var grouping = ObjectGrouping(expressions: only.values.map { GroupingExpression($0) })
            grouping.merge = MergeRule()
            mapping.grouping = grouping
        }
    }
}

/// The uniqueness constraints of a destination entity that its source objects may break.
private struct NewConstraints {
    /// A constraint with the expressions of its values.
    struct Constraint {
        let attributes: [String]
        let values: [ValueExpression]
    }

    private let old: EntityDescription
    private let new: EntityDescription
    private let mapping: EntityMapping

    init(_ old: EntityDescription, _ new: EntityDescription, _ mapping: EntityMapping) {
        (self.old, self.new, self.mapping) = (old, new, mapping)
    }

    static func refusal(_ entity: EntityDescription, _ reason: String) -> MigrationError {
        MigrationError(
            "inference.merge", .configuration,
            "Objects of \(entity.definition.name) cannot be merged without a mapping model: \(reason)",
            remedy:
                "Write \"mergeBy\" in a mapping model (infer -o FILE writes the inferred one), or leave objects out with "
                + "--on-invalid reject", context: .init(entity: entity.definition.name))
    }

    /// Returns the constraints that are needed: one whose attributes are among those of another makes that one hold too.
    func needed() throws(MigrationError) -> [Constraint] {
        var found: [Constraint] = []
        for constraint in new.allUniquenessConstraints where !constraint.attributes.isEmpty {
            if let one = try self.constraint(constraint.attributes) { found.append(one) }
        }
        return found.enumerated().filter { place, one in
            let own = Set(one.attributes)
            return !found.enumerated().contains { other, item in
                let names = Set(item.attributes)
                return names.isStrictSubset(of: own) || names == own && other < place
            }
        }.map(\.element)
    }

    /// Returns a constraint with its values; nil if the source objects cannot break it.
    private func constraint(_ attributes: [String]) throws(MigrationError) -> Constraint? {
        let name = attributes.joined(separator: ", ")
        var values: [ValueExpression] = []
        var read: Set<String> = []
        // A constraint that the source has too is not new, whatever it compares.
        let isUnchanged = old.allUniquenessConstraints.contains { Set($0.attributes) == Set(attributes) }
        for attribute in attributes {
            guard let described = new.attribute(named: attribute) else {
                if isUnchanged { return nil }
                throw Self.refusal(new, "the constraint \(name) has the relationship \(attribute)")
            }
            guard !described.isDerived else {
                if isUnchanged { return nil }
                throw Self.refusal(new, "\(attribute) of the constraint \(name) is derived")
            }
            let property = mapping.attributeMapping(named: attribute)
            guard let expression = property?.valueExpression, expression.node != .constant(.null) else {
                // Every object has the model's default. A nil among its values breaks no constraint.
                if described.definition.defaultValue == nil { return nil }
                continue
            }
            guard property?.fillsNil != true else {
                throw Self.refusal(
                    new,
                    "nil of \(attribute), which the constraint \(name) has, becomes the default of all such objects")
            }
            if let path = expression.node.sourceKeyPath { read.insert(path.joined(separator: ".")) }
            values.append(expression)
        }
        guard !values.isEmpty else {
            throw Self.refusal(new, "all of them have the same \(name), which is new")
        }
        let isOfSource = old.allUniquenessConstraints.contains {
            !$0.attributes.isEmpty && read.isSuperset(of: $0.attributes)
        }
        return isOfSource ? nil : Constraint(attributes: attributes, values: values)
    }
}
