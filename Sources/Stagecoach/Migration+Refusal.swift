import Diagnostics
import ManagedModel

extension Migration {
    /// Returns the error that certainly ends a run because of the source's objects; nil if only the run shows it.
    ///
    /// - Complexity: O(rows), if filters leave out all.
    func foreseenRefusal(_ prepared: Prepared) -> MigrationPlan.Refusal? {
        let search = FirstSourceRow(
            source: prepared.source, layout: prepared.layout, census: prepared.census,
            isExpected: link?.expected != nil)
        do throws(MigrationError) {
            try refuseEmptiness(prepared, search)
            try refuseMissingValues(prepared, search)
            return nil
        } catch {
            return MigrationPlan.Refusal(error)
        }
    }

    /// - Throws: `migration.empty` (65).
    private func refuseEmptiness(_ prepared: Prepared, _ search: FirstSourceRow) throws(MigrationError) {
        for planned in prepared.models {
            for mapping in planned.mappings.dropFirst(planned.previousCount) {
                guard case .none = search.first(of: mapping) else { return }
            }
        }
        try LossRefusal.check(made: 0, of: prepared.census.total, hasPolicies: false, options)
    }

    /// Refuses rows for which a required attribute has neither a value nor a default, or which nothing gives a required
    /// relationship, whatever the row holds.
    ///
    /// - Throws: `validation.missing` (65) as the run does.
    private func refuseMissingValues(_ prepared: Prepared, _ search: FirstSourceRow) throws(MigrationError) {
        guard options.onInvalid.endsRun else { return }
        for planned in prepared.models {
            for mapping in planned.mappings.dropFirst(planned.previousCount) where mapping.isDeclarative {
                guard let missing = missingProperty(of: mapping, prepared), let entity = mapping.destination,
                    let table = mapping.destinationTable, case .row(let key) = search.first(of: mapping)
                else { continue }
                let source = key.map { "\(mapping.source?.definition.name ?? "")/p\($0)" }
                var error = BrokenRule(
                    table: table, key: key ?? 0, entity: entity.index, entityName: entity.definition.name,
                    property: missing.name, rule: .required, value: nil, bound: nil,
                    isRelationship: missing.attribute == nil, attribute: missing.attribute
                ).error(
                    ObjectOrigin(
                        mapping: mapping.index, mappingName: mapping.name, sources: [source].compactMap(\.self)))
                if key == nil || !planned.work.keepsKeys(ofTable: table) { error.context.objectID = nil }
                throw error
            }
        }
    }

    /// Returns the first required property that has no value in any object of a mapping; nil if there is none.
    private func missingProperty(
        of mapping: PlannedMapping, _ prepared: Prepared
    ) -> (name: String, attribute: AttributeDefinition?)? {
        if let attribute = mapping.attributes.first(where: \.isCertainlyMissing)?.attribute {
            return (attribute.name, attribute.definition)
        }
        let all = prepared.models.flatMap(\.mappings)
        guard all.allSatisfy(\.isDeclarative) else { return nil }
        let missing = mapping.relationships.first { planned in
            let relationship = planned.relationship
            guard !relationship.isOptional, !relationship.isToMany, planned.refusal == nil, !planned.findsMembers
            else { return false }
            let ends = [relationship, relationship.inverseRelationship]
            return !all.contains { other in
                other.relationships.contains { ends.contains($0.relationship) && $0.findsMembers }
            }
        }
        return missing.map { ($0.name, nil) }
    }
}
