import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// Checks the model's rules for one object, as a policy sees it.
struct ObjectValidation {
    let object: ManagedObject

    /// Checks all rules.
    ///
    /// - Throws: `validation.…` (65) for the first rule that is broken.
    func run() throws {
        for attribute in object.entity.attributes where !attribute.isTransient {
            let value = object.value(forKey: attribute.name)
            if value == nil, attribute.requiringComposite.flatMap(object.value(forKey:)) != nil {
                throw failure(
                    "validation.missing", "An element that its composite requires has no value", attribute.name)
            }
            try check(attribute.definition, value)
        }
        for relationship in object.entity.relationships where !relationship.isTransient {
            try check(relationship)
        }
    }

    private func failure(_ code: MigrationError.Code, _ message: String, _ property: String) -> MigrationError {
        MigrationError(
            code, .data, message,
            context: .init(
                entity: object.entity.definition.name, objectID: object.objectID.shortName, property: property))
    }

    private func check(_ rule: AttributeDefinition, _ value: Any?) throws {
        guard let value else {
            if rule.isOptional { return }
            throw failure("validation.missing", "A required attribute has no value", rule.name)
        }
        for predicate in ValuePredicate.all(of: rule) where predicate.isBroken(by: value) {
            throw failure(
                "validation.predicate", "The value does not satisfy the validation predicate \(predicate.text)",
                rule.name)
        }
        if let number = (value as? Date)?.timeIntervalSinceReferenceDate ?? (value as? NSNumber)?.doubleValue {
            if let least = rule.minimum?.numberForRule, number < least {
                throw failure("validation.tooSmall", "The value is below the least one the model allows", rule.name)
            }
            if let most = rule.maximum?.numberForRule, number > most {
                throw failure("validation.tooLarge", "The value is above the greatest one the model allows", rule.name)
            }
        }
        guard let text = value as? String else { return }
        let length = text.utf16.count
        if let least = rule.minimumLength, length < least {
            throw failure("validation.tooShort", "The text is shorter than the model allows", rule.name)
        }
        if let most = rule.maximumLength, length > most {
            throw failure("validation.tooLong", "The text is longer than the model allows", rule.name)
        }
        guard let pattern = rule.regularExpression else { return }
        guard try WholeTextPattern(pattern).matches(text) else {
            throw failure(
                "validation.pattern", "The text does not match the model's regular expression", rule.name)
        }
    }

    private func check(_ relationship: RelationshipDescription) throws {
        let count = object.objectIDs(forRelationshipNamed: relationship.name).count
        if count == 0 {
            if CountBounds(relationship).least == 0 { return }
            throw failure("validation.missing", "A required relationship has no destination", relationship.name)
        }
        guard relationship.isToMany else { return }
        if count < relationship.minCount {
            throw failure(
                "validation.tooFew", "The relationship has fewer objects than the model asks for", relationship.name)
        }
        if relationship.maxCount > 0, count > relationship.maxCount {
            throw failure(
                "validation.tooMany", "The relationship has more objects than the model allows", relationship.name)
        }
    }
}

extension AttributeValue {
    /// The number of a bound; nil for values without an order.
    fileprivate var numberForRule: Double? {
        switch self {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): Double(number)
        case .double(let number): number
        case .decimal(let number): number.nearestReal
        case .date(let seconds): seconds
        case .string, .data, .uuid, .uri: nil
        }
    }
}
