import CoreDataStore
import Foundation
import ManagedModel
import Mapping

/// The objects of a mapping with `forEach`, as their rows are verified: the members that made them, and those of their to-one links
/// that no other object decides.
///
/// Mutable state: the members of the source object that was asked for last, which make neighbouring rows. For use by one thread.
final class MemberRows {
    /// A to-one relationship whose links the objects' own lookups decide alone.
    struct Link {
        let relationship: RelationshipDescription
        /// The column in the destination's table.
        let column: Int
        let expression: ValueExpression
        let property: PropertyMapping
        /// The index of its pair.
        let pair: Int
    }

    /// The links of a pair as far as they were compared.
    struct Tally {
        var expected = VerificationChecksum()
        var found = VerificationChecksum()
        var differing = 0
        /// False if a link could not be worked out.
        var isKnown = true
    }

    let links: [Link]
    private let forEach: ValueExpression
    private let mapping: VerifiedMapping
    private var members: (source: Int64, values: [Any?])?

    init(_ forEach: ValueExpression, _ mapping: VerifiedMapping, _ plan: VerificationPlan) {
        self.forEach = forEach
        self.mapping = mapping
        links = (mapping.mapping.relationshipMappings ?? []).compactMap { property in
            guard let expression = property.valueExpression, let name = property.name,
                let relationship = mapping.destination?.relationship(named: name),
                case .toOne(_, let column, _, _) = plan.destination.schema.storage(of: relationship),
                let pair = plan.linkPairs.first(where: { $0.near == relationship }), plan.decidesAlone(pair)
            else { return nil }
            return Link(
                relationship: relationship, column: column, expression: expression, property: property, pair: pair.index
            )
        }
    }

    /// Returns an evaluation for the object that a member of a source object makes.
    ///
    /// - Throws: the errors of evaluating `forEach`; ``VerificationObstacle`` if the source object has no such member.
    func evaluation(
        of expression: ValueExpression, _ property: PropertyMapping?, for object: EvaluatedSource, member: Int,
        _ manager: LookupStub
    ) throws -> ExpressionEvaluation {
        var variables: [String: Any?] = [
            "source": object, "manager": manager, "entityMapping": mapping.mapping, "propertyMapping": property,
        ]
        if members?.source != object.key {
            let evaluation = ExpressionEvaluation(of: forEach, with: object, variables: variables)
            members = (object.key, try evaluation.members())
        }
        guard let values = members?.values, values.indices.contains(member) else {
            throw VerificationObstacle("its source object has no member \(member)")
        }
        variables[EntityMapping.memberVariable] = .some(values[member])
        variables[EntityMapping.indexVariable] = NSNumber(value: member)
        return ExpressionEvaluation(of: expression, with: object, variables: variables)
    }

    /// Returns the key of the object that a link leads to; nil for none. Of several the first mapping's counts.
    func target(
        of link: Link, for object: EvaluatedSource, member: Int, _ plan: VerificationPlan, _ manager: LookupStub
    ) throws -> Int64? {
        let value = try evaluation(of: link.expression, link.property, for: object, member: member, manager).value()
        let found = ValueBridge.items(of: value.object).compactMap { $0 as? VerifiedResult }.filter {
            plan.mappings[$0.mapping].destination?.isKindOf(entity: link.relationship.destination) ?? false
        }
        let first = found.map(\.mapping).min()
        return found.first { $0.mapping == first }?.key
    }
}

extension ExpressionEvaluation {
    /// Returns the members of the collection that the expression of a `forEach` gives.
    func members() throws -> [Any?] {
        try ForEachValue.members(of: value().object) { member in
            (member as? EvaluatedSource).map { ($0.table, $0.key) }
        }
    }
}

extension VerificationPlan {
    /// Tells whether the links of a pair follow from the lookups of objects that members make, one by one: all objects with the near
    /// relationship are made so, and nothing is looked up for the far one.
    func decidesAlone(_ pair: LinkPair) -> Bool {
        guard modelCount == 1, !options.appendsToExisting, options.onInvalid != .reject, !pair.near.isToMany,
            pair.far.map({ $0.isToMany && !$0.isOrdered }) ?? true, !mappings.contains(where: { $0.obstacle != nil })
        else { return false }
        let makers = mappings.filter { $0.destination?.isKindOf(entity: pair.near.entity) ?? false }
        let others = mappings.filter { mapping in
            guard let far = pair.far, mapping.destination?.isKindOf(entity: far.entity) ?? false else { return false }
            let node = mapping.mapping.relationshipMapping(named: far.name)?.valueExpression?.node
            return node != nil && node != .constant(.null)
        }
        return makers.allSatisfy { $0.forEach != nil } && others.isEmpty
    }
}

extension ExpressionNode {
    /// True for an attribute of `$member`, which a run copies as it is stored.
    var isMemberAttribute: Bool {
        if case .keyPath(.variable(EntityMapping.memberVariable)?, let path) = self { path.count == 1 } else { false }
    }
}
