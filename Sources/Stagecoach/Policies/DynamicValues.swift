import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// The evaluator of expressions that no compiled program can evaluate: calls of user code, sets and lists as values, messages.
///
/// Each object needs one evaluation, over objects that the contexts keep once. The other rows that they read are read for the
/// whole window of source rows, not for each object.
final class DynamicValues {
    private unowned let runtime: PolicyRuntime
    private let manager: MigrationManager
    private let policies: Policies

    init(runtime: PolicyRuntime, manager: MigrationManager, policies: Policies) {
        self.runtime = runtime
        self.manager = manager
        self.policies = policies
    }

    /// Returns the value of a property's expression.
    ///
    /// - Throws: the error of the evaluation or of user code, with mapping, object and property.
    func value(
        of expression: ValueExpression, property: PropertyMapping?, in mapping: PlannedMapping,
        source: ManagedObject?, destination: ManagedObject
    ) throws -> Any? {
        var variables: [String: Any?] = [
            "source": source, "destination": destination, "manager": manager, "entityMapping": mapping.mapping,
            "propertyMapping": property, "entityPolicy": policies[mapping],
        ]
        if mapping.forEach != nil {
            if let member = runtime.creation.memberAtWork {
                variables[EntityMapping.memberVariable] = .some(member.value)
                variables[EntityMapping.indexVariable] = NSNumber(value: member.index)
            } else {
                variables[EntityMapping.memberVariable] = .some(try runtime.pairs.member(of: destination, in: mapping))
            }
        }
        let before = manager.mappingAtWork
        manager.enter(mapping.mapping)
        let isOuter = !runtime.userCode.isInside
        if isOuter {
            let object = source ?? destination
            runtime.userCode.begin(
                "the expression of \(property?.name ?? "a property")", in: mapping, entity: object.entity)
            UserCodeNotes.enter(key: object.key)
        }
        defer {
            manager.enter(before)
            if isOuter { runtime.userCode.end() }
        }
        do {
            let value = try expression.evaluate(with: source, variables: variables, asStored: true)
            try runtime.endUserCode()
            return value
        } catch {
            throw MigrationError.ofUserCode(
                error, "User code that a value expression calls failed",
                in: context(mapping, property, expression, source))
        }
    }

    /// Returns the members that a mapping's `forEach` gives for a source object.
    ///
    /// - Throws: `value.type` (65) if the value is no list; the error of the evaluation. Both name mapping and object.
    func members(of forEach: ValueExpression, of source: ManagedObject, in mapping: PlannedMapping) throws -> [Any?] {
        let variables: [String: Any?] = ["source": source, "manager": manager, "entityMapping": mapping.mapping]
        do { return try ForEachValue.members(of: forEach.evaluate(with: source, variables: variables)) } catch {
            throw MigrationError.ofUserCode(
                error, "The expression of \"forEach\" failed", in: context(mapping, nil, forEach, source))
        }
    }

    private func context(
        _ mapping: PlannedMapping, _ property: PropertyMapping?, _ expression: ValueExpression,
        _ source: ManagedObject?
    ) -> MigrationError.Context {
        var context = mapping.context
        context.objectID = source?.objectID.shortName
        context.property = property?.name
        context.expression = expression.format
        return context
    }

    /// Computes the attributes of a destination object that need objects, and stores them in its row.
    func setAttributes(
        _ attributes: [PlannedAttribute], in mapping: PlannedMapping, source: ManagedObject,
        destination: ManagedObject
    ) throws {
        for planned in attributes {
            guard let expression = planned.expression,
                try !runtime.creation.copyMember(expression.node, planned, to: destination.place)
            else { continue }
            let property = mapping.mapping.attributeMapping(named: planned.attribute.name)
            let value = try value(
                of: expression, property: property, in: mapping, source: source, destination: destination)
            do {
                let value = try TransformableBridge.columnValue(
                    value, planned.attribute, transforms: runtime.modelRun.inputs.options.transformsValues)
                note(value, of: planned.attribute, source)
                try runtime.objects.rows[destination.place.table].write(destination.place.key) {
                    batch, row throws(MigrationError) in
                    try ValueBridge.store(
                        value, type: planned.attribute.attributeType,
                        isExternal: planned.attribute.definition.allowsExternalBinaryDataStorage, in: &batch, row: row,
                        slot: planned.column)
                }
            } catch {
                throw (planned.refusal?.ofRow ?? error).inside(context(mapping, property, expression, source))
            }
        }
    }

    /// Counts a number that the attribute's type cuts.
    private func note(_ value: Any?, of attribute: AttributeDescription, _ source: ManagedObject) {
        let tally = runtime.modelRun.tally
        guard let cut = ValueBridge.cut(value, type: attribute.attributeType),
            let line = tally.add(cut.part, of: attribute.label)
        else { return }
        tally.name(.init(object: source.objectID.shortName, value: cut.number), inLine: line)
    }

    /// Shows the keys of a mapping's source rows, with a window of them open.
    func forEachSource(of mapping: PlannedMapping, _ body: (Int64) throws -> Void) throws {
        guard let entity = mapping.source, let table = mapping.sourceTable else { return }
        let own = runtime.modelRun.inputs.layout.schema.tables[table].columns.count
        let slots = SourceColumns(
            entity: entity, schema: runtime.modelRun.inputs.layout.schema, columns: (0..<own).map { .own($0) })
        try runtime.scan(mapping, slots) { key, _ in try body(key) }
    }

    /// Returns the destination objects that a relationship's expression gives, if they fit the relationship.
    func members(
        of expression: ValueExpression, _ relationship: PlannedRelationship, in mapping: PlannedMapping,
        source: ManagedObject?, destination: ManagedObject
    ) throws -> [LinkMember] {
        let property = mapping.mapping.relationshipMapping(named: relationship.name)
        let value = try value(
            of: expression, property: property, in: mapping, source: source, destination: destination)
        do {
            let members = try runtime.objects.members(fitting: relationship.relationship, of: value)
            if let refusal = relationship.refusal, members.isEmpty, !Self.isEmpty(value) { throw refusal }
            return members
        } catch let error as MigrationError {
            throw (relationship.refusal?.ofRow ?? error).inside(context(mapping, property, expression, source))
        }
    }

    private static func isEmpty(_ value: Any?) -> Bool {
        switch ValueBridge.unwrapped(value) {
        case nil: true
        case let set as NSSet: set.count == 0
        case let set as NSOrderedSet: set.count == 0
        case let array as [Any]: array.isEmpty
        default: false
        }
    }
}

extension MigrationError {
    /// The type error of an expression, as an error of the row that evaluates it.
    var ofRow: MigrationError {
        MigrationError(
            "value.type", .data, message,
            remedy: "Give the property no expression (null in JSON) where the policy sets it, or one that fits"
                + (remedy.map { ". " + $0 } ?? ""), context: context)
    }
}
