import Diagnostics
import Foundation
import ManagedModel
import Rows

/// The compiled rules of the attributes of one entity, for the values of its objects.
struct ObjectRules {
    struct Rule {
        let attribute: AttributeDescription
        let column: ColumnRule
        /// The attributes of the optional composite that requires a value. If none has one, the composite is nil.
        let composite: [String]
    }

    /// The rules in the order of the attributes.
    let all: [Rule]

    /// - Throws: `model.regularExpression` (78) for a pattern that does not compile.
    init(_ entity: EntityDescription) throws(MigrationError) {
        all = try entity.attributes.map { attribute throws(MigrationError) in
            Rule(
                attribute: attribute, column: try ColumnRule(attribute, column: 0),
                composite: entity.attributesRequiring(attribute).map(\.name))
        }
    }

    subscript(name: String) -> Rule? { all.first { $0.attribute.name == name } }
}

/// Checks the model's rules for one object, as a policy sees it. Its values are checked in the form in which a row stores
/// them, by the rules of rows: ``ColumnRule`` and ``CountBounds``.
struct ObjectValidation {
    let object: ManagedObject

    /// Checks all rules. Nothing is checked that the store computes or does not hold: derived and transient properties.
    ///
    /// - Throws: `validation.…` (65) for the first rule that is broken; its `NSError` has those of all properties.
    func run() throws {
        var broken = BrokenRuleErrors()
        for rule in try object.rules().all where rule.attribute.isStored && !rule.attribute.isDerived {
            try check(rule, object.primitiveValue(forKey: rule.attribute.name), &broken)
        }
        for relationship in object.entity.relationships where !relationship.isTransient {
            try check(relationship, object.value(forKey: relationship.name), &broken)
        }
        try broken.end(of: object)
    }

    /// Checks the rules that deny a deletion.
    ///
    /// - Throws: `validation.deniedDelete` (65), as ``run()``.
    func checkDeletion() throws {
        var denied = BrokenRuleErrors()
        for relationship in object.entity.relationships
        where relationship.deleteRule == .deny && !relationship.isTransient {
            let value = object.value(forKey: relationship.name)
            if ValueBridge.items(of: value).isEmpty { continue }
            var error = MigrationError(
                "validation.deniedDelete", .data, "The relationship denies a deletion while it has objects",
                remedy: "Delete these objects first, or relax the delete rule in the model")
            error.cocoa = CocoaDetails(nil, value.map { [NSValidationValueErrorKey: $0] } ?? [:])
            denied.add(named(error, relationship.name))
        }
        try denied.end(of: object)
    }

    /// Checks the rules of one property for a value.
    ///
    /// - Throws: `object.unknownKey`, `validation.…`, `value.type` and `value.outOfRange` (65).
    func check(_ value: Any?, forKey key: String) throws {
        let value = ValueBridge.unwrapped(value)
        var broken = BrokenRuleErrors()
        if let rule = try object.rules()[key] {
            try check(rule, value, &broken)
        } else if let relationship = object.entity.relationship(named: key) {
            try check(relationship, value, &broken)
        } else if object.entity.composite(named: key) == nil {
            throw ObjectFailure.unknownKey(key, object)
        }
        try broken.end(of: object)
    }

    private func check(_ rule: ObjectRules.Rule, _ value: Any?, _ errors: inout BrokenRuleErrors) throws {
        let (attribute, column) = (rule.attribute, rule.column)
        if value == nil, !rule.composite.isEmpty,
            rule.composite.allSatisfy({ object.primitiveValue(forKey: $0) == nil })
        {
            return
        }
        var batch = RowBatch(slots: 1, rowCapacity: 1, byteTarget: 256)
        let row = batch.appendRow(key: object.key)
        batch[row, 0] = .null
        let isStorable =
            switch attribute.attributeType {
            case .undefined, .objectID, .composite: false
            case .transformable: value is Data
            default: true
            }
        if isStorable {
            do {
                try ValueBridge.store(
                    value, type: attribute.attributeType, isExternal: column.markerBytes == 1, in: &batch, row: row,
                    slot: 0)
            } catch { throw error.inside(object.errorContext(property: attribute.name)) }
        } else if value != nil {
            // No column holds the value as it is, so that it can only be missing.
            batch[row, 0] = .reference(key: 0, entity: 0)
        }
        let cell = batch[row, 0]
        try column.check(cell, in: batch, of: object.objectID.shortName) { kind, bound in
            let shown = ShortValue.text(cell, batch, type: column.type, markerBytes: column.markerBytes)
            errors.add(failure(kind, attribute.name, attribute.definition, shown, bound, value))
        }
    }

    private func check(
        _ relationship: RelationshipDescription, _ value: Any?, _ errors: inout BrokenRuleErrors
    ) throws {
        let bounds = CountBounds(relationship)
        let count = ValueBridge.items(of: value).count
        guard let kind = bounds.broken(by: count) else { return }
        let (shown, bound) = (count == 0 ? nil : String(count), relationship.isToMany ? bounds.text : nil)
        errors.add(failure(kind, relationship.name, nil, shown, bound, value))
    }

    /// Returns the error of a broken rule: that of a row, with the object.
    private func failure(
        _ rule: ValidationRule, _ property: String, _ attribute: AttributeDefinition?, _ shown: String?,
        _ bound: String?, _ value: Any?
    ) -> MigrationError {
        var broken = BrokenRule(
            table: object.place.table, key: object.key, entity: object.entity.index,
            entityName: object.entity.definition.name, property: property, rule: rule, value: shown, bound: bound,
            isRelationship: attribute == nil, attribute: attribute)
        broken.object = value
        var error = broken.error(nil)
        error.remedy = "Give the property another value, or relax the rule in the model"
        return named(error, property)
    }

    private func named(_ error: MigrationError, _ property: String) -> MigrationError {
        var error = error
        error.context = object.errorContext(property: property)
        var info = error.cocoa?.userInfo ?? [:]
        info[NSValidationObjectErrorKey] = object
        error.cocoa = CocoaDetails(error.cocoa?.code, info)
        return error
    }
}
