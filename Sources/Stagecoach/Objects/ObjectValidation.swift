import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Checks the model's rules for one object, as a policy sees it.
struct ObjectValidation {
    let object: ManagedObject

    /// Checks all rules.
    ///
    /// - Throws: `validation.…` (65) for the first rule that is broken; its `NSError` has those of all properties.
    func run() throws {
        var broken = BrokenRuleErrors()
        for attribute in object.entity.attributes where !attribute.isTransient {
            let value = object.primitiveValue(forKey: attribute.name)
            try broken.keep {
                if value == nil, attribute.requiringComposite.flatMap(object.value(forKey:)) != nil {
                    throw failure(
                        "validation.missing", "An element that its composite requires has no value", attribute.name)
                }
                try check(attribute.definition, value)
            }
        }
        for relationship in object.entity.relationships where !relationship.isTransient {
            let value = object.value(forKey: relationship.name)
            try broken.keep { try check(relationship, members: ValueBridge.items(of: value), value) }
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
            var error = failure(
                "validation.deniedDelete", "The relationship denies a deletion while it has objects",
                relationship.name, value)
            error.remedy = "Delete these objects first, or relax the delete rule in the model"
            denied.add(error)
        }
        try denied.end(of: object)
    }

    /// Checks the rules of one property for a value.
    ///
    /// - Throws: `object.unknownKey`, `validation.…` (65).
    func check(_ value: Any?, forKey key: String) throws {
        let value = ValueBridge.unwrapped(value)
        if let attribute = object.entity.attribute(named: key) {
            try check(attribute.definition, value)
        } else if let relationship = object.entity.relationship(named: key) {
            try check(relationship, members: ValueBridge.items(of: value), value)
        } else if object.entity.composite(named: key) == nil {
            throw ObjectFailure.unknownKey(key, object)
        }
    }

    private func failure(
        _ code: MigrationError.Code, _ message: String, _ property: String, _ value: Any? = nil,
        _ predicate: FormatPredicate? = nil, cocoa: Int? = nil
    ) -> MigrationError {
        var error = MigrationError(code, .data, message, context: object.errorContext(property: property))
        var info: [String: Any] = [NSValidationObjectErrorKey: object]
        info[NSValidationValueErrorKey] = value
        info[NSValidationPredicateErrorKey] = predicate
        error.cocoa = CocoaDetails(cocoa, info)
        return error
    }

    private func check(_ rule: AttributeDefinition, _ value: Any?) throws {
        guard let value else {
            if rule.isOptional { return }
            throw failure("validation.missing", "A required attribute has no value", rule.name)
        }
        for predicate in ValuePredicate.all(of: rule) where predicate.isBroken(by: value) {
            throw failure(
                "validation.predicate", "The value does not satisfy the validation predicate \(predicate.text)",
                rule.name, value, rule.predicate(of: .predicate, text: predicate.text))
        }
        if let number = (value as? Date)?.timeIntervalSinceReferenceDate ?? (value as? NSNumber)?.doubleValue {
            let isDate = value is Date
            if let least = rule.minimum.flatMap(NumberBound.init)?.real, number < least {
                throw failure(
                    "validation.tooSmall", "The value is below the least one the model allows", rule.name, value,
                    rule.predicate(of: .minimum),
                    cocoa: isDate ? NSValidationDateTooSoonError : nil)
            }
            if let most = rule.maximum.flatMap(NumberBound.init)?.real, number > most {
                throw failure(
                    "validation.tooLarge", "The value is above the greatest one the model allows", rule.name, value,
                    rule.predicate(of: .maximum),
                    cocoa: isDate ? NSValidationDateTooLateError : nil)
            }
        }
        guard let text = value as? String else { return }
        let length = text.utf16.count
        if let least = rule.minimumLength, length < least {
            throw failure(
                "validation.tooShort", "The text is shorter than the model allows", rule.name, value,
                rule.predicate(of: .minimumLength))
        }
        if let most = rule.maximumLength, length > most {
            throw failure(
                "validation.tooLong", "The text is longer than the model allows", rule.name, value,
                rule.predicate(of: .maximumLength))
        }
        guard let pattern = rule.regularExpression else { return }
        let isMatching: Bool
        do throws(ProgramFault) { isMatching = try TextPattern(regularExpression: pattern).matches(text) } catch {
            throw error.described(.data, in: .init())
        }
        guard isMatching else {
            throw failure(
                "validation.pattern", "The text does not match the model's regular expression", rule.name, value,
                rule.predicate(of: .pattern))
        }
    }

    private func check(_ relationship: RelationshipDescription, members: [Any], _ value: Any?) throws {
        let count = members.count
        if count == 0 {
            if CountBounds(relationship).least == 0 { return }
            throw failure("validation.missing", "A required relationship has no destination", relationship.name)
        }
        guard relationship.isToMany else { return }
        if count < relationship.minCount {
            throw failure(
                "validation.tooFew", "The relationship has fewer objects than the model asks for", relationship.name,
                value)
        }
        if relationship.maxCount > 0, count > relationship.maxCount {
            throw failure(
                "validation.tooMany", "The relationship has more objects than the model allows", relationship.name,
                value)
        }
    }
}
