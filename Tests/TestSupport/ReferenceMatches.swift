import ManagedModel
import Mapping

// The rules of Semantics.md, "Rows that were there before".
extension ReferenceMigrator {
    /// Returns the existing objects that source objects of a mapping become, by source object.
    func matches(
        of objects: [ReferenceObject], _ mapping: EntityMapping, _ matching: ObjectMatching
    ) throws(ReferenceFailure) -> [ObjectIdentifier: ReferenceObject] {
        guard let entity = destinationModel.entity(named: mapping.destinationEntityName ?? "") else { return [:] }
        var rows: [[ReferenceGroupValue]: ReferenceObject] = [:]
        for object in existing where object.entity.isKindOf(entity: entity) {
            let keys = matching.keys.map { ReferenceGroupValue(object[$0.name], matching.comparison) }
            guard !keys.contains(.null) else { continue }
            guard rows.updateValue(object, forKey: keys) == nil else {
                throw .unsupported("two rows with the same keys")
            }
        }
        var found: [ObjectIdentifier: ReferenceObject] = [:]
        for object in objects {
            let evaluator = ReferenceEvaluator(migrator: self, source: object, destination: nil)
            var keys: [ReferenceGroupValue] = []
            for key in matching.keys {
                let expression = mapping.attributeMappings?.first { $0.name == key.name }?.valueExpression
                guard let expression, case .value(let value, _, _) = try evaluator.evaluate(expression.node) else {
                    break
                }
                keys.append(ReferenceGroupValue(value, matching.comparison))
            }
            guard keys.count == matching.keys.count, !keys.contains(.null) else { continue }
            found[ObjectIdentifier(object)] = rows[keys]
        }
        return found
    }

    /// Tells whether a link changes no row that was there before and that a source object became: one that holds it in its own
    /// column, or both ends of a row in a join table.
    func mayLink(_ owner: ReferenceObject, _ relationship: RelationshipDescription, _ target: ReferenceObject) -> Bool {
        guard hasMatches else { return true }
        switch (relationship.isToMany, Self.inverse(of: relationship)?.isToMany) {
        case (true, true?): return !owner.isExisting || !target.isExisting
        case (false, false?): return !owner.isExisting && !target.isExisting
        case (false, _): return !owner.isExisting
        case (true, _): return !target.isExisting
        }
    }

    /// Adds what a source object claims for the to-many relationships of the row that it became.
    ///
    /// - Parameter claims: those of all objects; of several source objects of a row the least place of a member counts.
    func add(
        _ values: [(RelationshipDescription, ReferenceClaim)], of object: ReferenceObject,
        to claims: inout [ObjectIdentifier: [String: ReferenceClaim]]
    ) {
        for (relationship, claim) in values where relationship.isToMany {
            var known =
                claims[ObjectIdentifier(object)]?[relationship.name] ?? ReferenceClaim(members: [], ordering: .none)
            for (place, member) in claim.members.enumerated() {
                var member = member
                switch claim.ordering {
                case .none: member.order = nil
                case .copied: break
                case .list: member.order = Int64(place)
                }
                guard let same = known.members.firstIndex(where: { $0.object === member.object }) else {
                    known.members.append(member)
                    continue
                }
                known.members[same].order = [known.members[same].order, member.order].compactMap(\.self).min()
            }
            claims[ObjectIdentifier(object), default: [:]][relationship.name] = known
        }
    }
}
