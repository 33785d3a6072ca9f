import CoreDataStore
import Diagnostics
import ManagedModel
import Mapping

/// The policy of an entity mapping with `forEach`: makes an object for each member of a collection, and associates it with the
/// source object and, if the member is an object, with the member.
final class MemberPolicy: EntityMigrationPolicy {
    override func createDestinationInstances(
        forSource sInstance: ManagedObject, in mapping: EntityMapping, manager: MigrationManager
    ) throws {
        try manager.runtime().creation.createForEachMember(of: sInstance, in: mapping)
    }
}

extension DefaultCreation {
    /// Makes an object for each member of the collection that a mapping's `forEach` gives for a source object.
    ///
    /// - Throws: `value.type` (65) if the value is no collection; the errors of evaluation and creation.
    /// - Complexity: O(members). The members of a relationship are read one by one; those of any other expression are held.
    func createForEachMember(of source: ManagedObject, in mapping: EntityMapping) throws {
        guard let creation = try creation(of: mapping), let forEach = mapping.forEach else { return }
        var index = 0
        defer { memberAtWork = nil }
        try forEachMember(of: forEach, of: source, creation.planned) { member in
            memberAtWork = (member, index)
            index += 1
            let made = try create(by: creation, for: source)
            guard let object = member as? ManagedObject, object.objectID != source.objectID else { return }
            try associate(object, with: made, by: creation)
        }
    }

    /// Shows the members of a collection in its order. The members of a set of objects come by entity and key.
    private func forEachMember(
        of expression: ValueExpression, of source: ManagedObject, _ mapping: PlannedMapping,
        _ body: (Any?) throws -> Void
    ) throws {
        if sources.changes == nil, let path = expression.node.sourceKeyPath, path.count == 1,
            let relationship = source.entity.relationship(named: path[0]), relationship.isToMany
        {
            var held: ManagedObject?
            return try sources.forEachMember(of: source.place.key, relationship) { key, _, entity in
                guard let entity else { return }
                let model = modelRun.inputs.layout.schema.model
                sourceContext.renew(
                    &held, entity: model.entity(at: entity),
                    table: modelRun.inputs.layout.schema.tableIndex(of: relationship.destination), key: key)
                try body(held)
            }
        }
        for member in try dynamicValues?.members(of: expression, of: source, in: mapping) ?? [] { try body(member) }
    }

    /// Copies an attribute of the member at work, `$member.name`, as it is stored. As an object it would be a value of Foundation's,
    /// whose text may differ from the stored one: that of a URL does.
    ///
    /// - Returns: false for any other expression, and where the two attributes are stored in two ways.
    func copyMember(
        _ node: ExpressionNode, _ planned: PlannedAttribute, to destination: ObjectPlace
    ) throws(MigrationError) -> Bool {
        guard let member = memberAtWork?.value as? ManagedObject, !planned.replacesNil, planned.refusal == nil,
            case .keyPath(.variable(EntityMapping.memberVariable)?, let path) = node, path.count == 1,
            let old = member.entity.attribute(named: path[0]), old.attributeType == planned.attribute.attributeType,
            !old.definition.allowsExternalBinaryDataStorage,
            !planned.attribute.definition.allowsExternalBinaryDataStorage, let column = sources.schema.column(of: old)
        else { return false }
        let (place, rows) = (member.place, objects.rows[destination.table])
        let isRead: Void? = try sources.read(table: place.table, key: place.key) {
            batch, row throws(MigrationError) in
            try rows.write(destination.key) { target, targetRow throws(MigrationError) in
                target.copy(batch[row, column], from: batch, row: targetRow, slot: planned.column)
            }
        }
        return isRead != nil
    }
}
