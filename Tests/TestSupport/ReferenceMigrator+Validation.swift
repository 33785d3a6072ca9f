import Foundation
import ManagedModel
import Mapping

extension ReferenceMigrator {
    /// Checks all objects against the destination model, in order of creation. Rules that the source model had too, of
    /// values copied unchanged by an inferred mapping, become warnings.
    func validate() -> [ReferenceViolation] {
        var violations: [ReferenceViolation] = []
        for object in objects where !object.isDeleted {
            if object.entity.isAbstract { violations.append(Self.violation(object, "", .abstract)) }
            for attribute in object.entity.attributes where attribute.isStored {
                let composite = object.entity.attributesRequiring(attribute)
                let isMissing =
                    object[attribute.name].isNull && composite.contains { !object[$0.name].isNull }
                for rule in Self.broken(by: object[attribute.name], attribute) + (isMissing ? [.missing] : []) {
                    let violation = Self.violation(object, attribute.name, rule)
                    if isOldRule(rule, object, attribute) {
                        report.warnings.append(violation)
                    } else {
                        violations.append(violation)
                    }
                }
            }
            for relationship in object.entity.relationships where !relationship.isTransient {
                guard let rule = Self.broken(by: object.related(relationship.name).count, relationship) else {
                    continue
                }
                let violation = Self.violation(object, relationship.name, rule)
                if isOldRule(rule, object, relationship) {
                    report.warnings.append(violation)
                } else {
                    violations.append(violation)
                }
            }
        }
        return violations + duplicates()
    }

    /// The rules of an attribute that a stored value breaks.
    ///
    /// Decision: lengths count UTF-16 units, as NSString's length in Core Data's own predicates; a pattern has to match
    /// the whole text.
    static func broken(by value: ReferenceValue, _ attribute: AttributeDescription) -> [ReferenceViolation.Rule] {
        let definition = attribute.definition
        if !fits(value, attribute.attributeType) { return [.otherType] }
        if value == .null { return definition.isOptional ? [] : [.missing] }
        var rules: [ReferenceViolation.Rule] = []
        switch value {
        case .null: break
        case .integer, .real:
            let number = ReferenceConversion.double(value)
            if let bound = definition.minimum, number < Self.number(bound) { rules.append(.tooSmall) }
            if let bound = definition.maximum, number > Self.number(bound) { rules.append(.tooLarge) }
        case .text(let text):
            if let bound = definition.minimumLength, text.utf16.count < bound { rules.append(.tooShort) }
            if let bound = definition.maximumLength, text.utf16.count > bound { rules.append(.tooLong) }
            if let pattern = definition.regularExpression,
                let expression = try? NSRegularExpression(pattern: "^(?:\(pattern))$", options: [])
            {
                let all = NSRange(location: 0, length: text.utf16.count)
                if expression.firstMatch(in: text, range: all)?.range != all { rules.append(.pattern) }
            }
        case .blob(let bytes):
            // The marker of inline data does not count; the length of a value in a file is not known.
            let marker = definition.allowsExternalBinaryDataStorage ? 1 : 0
            if marker == 1, bytes.first != 1 { break }
            if let bound = definition.minimumLength, bytes.count - marker < bound { rules.append(.tooShort) }
            if let bound = definition.maximumLength, bytes.count - marker > bound { rules.append(.tooLong) }
        }
        // Decision: only texts are compared with predicates of other forms.
        if case .text(let text) = value {
            for predicate in definition.validationPredicates {
                guard let parsed = predicate.format.flatMap({ try? SourcePredicate(format: $0) }) else { continue }
                if (try? parsed.evaluate(with: text)) != true { rules.append(.predicate) }
            }
        }
        return rules
    }

    /// Tells whether an attribute of a type can have a value. SQLite allows any value in any column.
    private static func fits(_ value: ReferenceValue, _ type: AttributeType) -> Bool {
        switch (type, value) {
        case (_, .null): true
        case (.integer16, _), (.integer32, _), (.integer64, _), (.boolean, _):
            if case .integer = value { true } else { false }
        case (.decimal, .text(let text)): text == "NaN"
        case (.decimal, _), (.double, _), (.float, _), (.date, _):
            switch value {
            case .integer, .real: true
            default: false
            }
        case (.string, _), (.uri, _): if case .text = value { true } else { false }
        case (.binaryData, _), (.uuid, _), (.transformable, _): if case .blob = value { true } else { false }
        default: true
        }
    }

    /// Decision: an empty relationship is missing where it is required and fine where it is optional, whatever its
    /// minimum, and where it is a to-many without minimum; the bounds speak of relationships that have members.
    static func broken(by count: Int, _ relationship: RelationshipDescription) -> ReferenceViolation.Rule? {
        if count == 0 { return mayBeEmpty(relationship) ? nil : .missing }
        guard relationship.isToMany else { return nil }
        if count < relationship.minCount { return .tooFew }
        if relationship.maxCount > 0, count > relationship.maxCount { return .tooMany }
        return nil
    }

    private static func mayBeEmpty(_ relationship: RelationshipDescription) -> Bool {
        relationship.isOptional || (relationship.isToMany && relationship.minCount == 0)
    }

    /// Objects that share all values of a uniqueness constraint with one of a lower key; NULL never conflicts.
    private func duplicates() -> [ReferenceViolation] {
        var violations: [ReferenceViolation] = []
        for entity in destinationModel.entities {
            for constraint in entity.definition.uniquenessConstraints {
                var seen: Set<[ReferenceValue]> = []
                let members = objects.filter { !$0.isDeleted && $0.entity.isKindOf(entity: entity) }
                for object in members.sorted(by: { $0.key < $1.key }) {
                    let values = constraint.map { object[$0] }
                    guard !values.contains(.null), !seen.insert(values).inserted else { continue }
                    violations.append(Self.violation(object, constraint.joined(separator: ","), .unique))
                }
            }
        }
        return violations
    }

    // MARK: Rules the source had

    func isOldRule(
        _ rule: ReferenceViolation.Rule, _ object: ReferenceObject, _ attribute: AttributeDescription
    ) -> Bool {
        guard mappingModel.rulesOfTheSource == .warn, let origin = origins[ObjectIdentifier(object)],
            let property = mappings[origin.mapping].attributeMapping(named: attribute.name), property.isAutomatic,
            case .keyPath(.variable("source"), let path) = property.valueExpression?.node,
            let old = origin.source.entity.attribute(named: path.joined(separator: ".")),
            origin.source[old.name] == object[attribute.name]
        else { return false }
        let (was, now) = (old.definition, attribute.definition)
        return switch rule {
        case .missing: !was.isOptional || (old.requiringComposite != nil && attribute.requiringComposite != nil)
        case .tooSmall: was.minimum == now.minimum
        case .tooLarge: was.maximum == now.maximum
        case .tooShort: was.minimumLength == now.minimumLength
        case .tooLong: was.maximumLength == now.maximumLength
        case .pattern: was.regularExpression == now.regularExpression
        case .predicate: was.validationPredicates == now.validationPredicates
        case .otherType: true
        default: false
        }
    }

    /// Tells whether a relationship breaks a rule that an inferred mapping cannot help: the source model had the rule, and the
    /// source object broke it.
    ///
    /// Decision: a reference to a row that does not exist is no member, so a relationship that is empty without it was empty.
    /// If a member may have one owner now and could have several before, nothing is excused.
    func isOldRule(
        _ rule: ReferenceViolation.Rule, _ object: ReferenceObject, _ relationship: RelationshipDescription
    ) -> Bool {
        guard mappingModel.rulesOfTheSource == .warn, let origin = origins[ObjectIdentifier(object)],
            let property = mappings[origin.mapping].relationshipMapping(named: relationship.name), property.isAutomatic
        else { return false }
        guard case .function(_, _, let arguments)? = property.valueExpression?.node,
            case .keyPath(.variable("source"), let path)? = arguments.last, path.count == 1,
            let old = origin.source.entity.relationship(named: path[0]),
            !Self.sharesMembers(old) || Self.sharesMembers(relationship),
            origin.source.related(path[0]).count == object.related(relationship.name).count
        else { return false }
        return switch rule {
        case .missing: !Self.mayBeEmpty(old)
        case .tooFew: old.minCount >= relationship.minCount
        case .tooMany: old.maxCount > 0 && old.maxCount <= relationship.maxCount
        default: false
        }
    }

    private static func sharesMembers(_ relationship: RelationshipDescription) -> Bool {
        guard let inverse = relationship.inverseRelationship else { return !relationship.isToMany }
        return inverse.isToMany
    }

    private static func violation(
        _ object: ReferenceObject, _ property: String, _ rule: ReferenceViolation.Rule
    ) -> ReferenceViolation {
        ReferenceViolation(entity: object.entity.definition.name, key: object.key, property: property, rule: rule)
    }

    private static func number(_ bound: AttributeValue) -> Double {
        ReferenceConversion.double(ReferenceValue(bound, type: .double))
    }
}
