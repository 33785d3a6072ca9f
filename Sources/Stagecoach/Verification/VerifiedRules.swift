import CoreDataStore
import Diagnostics
import ManagedModel

/// The model's rules for the objects of one entity, checked on its rows: required values, bounds, lengths, patterns.
struct VerifiedRules {
    /// A rule that a row breaks.
    struct Broken {
        let property: String
        let expected: String
        let found: String?
    }

    private struct Rule {
        let column: Int
        let property: String
        let isRequired: Bool
        /// Columns of the optional composite in which the value is required.
        var composite: [Int] = []
        let type: AttributeType?
        let minimum: NumberBound?
        let maximum: NumberBound?
        let minimumLength: Int?
        let maximumLength: Int?
        let pattern: TextRule?
        var predicates: [ValuePredicate] = []
        let isExternal: Bool

        /// True if no value can break it.
        var isEmpty: Bool {
            !isRequired && minimum == nil && maximum == nil && minimumLength == nil && maximumLength == nil
                && pattern == nil && predicates.isEmpty
        }
    }

    private var rules: [Rule] = []

    /// True if no row can break a rule.
    var isEmpty: Bool { rules.isEmpty }

    /// Compiles the rules of an entity. Throws `model.regularExpression` (78) for a pattern that does not compile.
    init(entity: EntityDescription, schema: StoreSchema) throws(MigrationError) {
        for attribute in entity.attributes where !attribute.isDerived {
            guard let column = schema.column(of: attribute) else { continue }
            let definition = attribute.definition
            var pattern: TextRule?
            if let text = definition.regularExpression {
                pattern = try TextRule(text, entity: entity.definition.name, property: attribute.name)
            }
            rules.append(
                Rule(
                    column: column, property: attribute.name, isRequired: attribute.isRequired,
                    composite: entity.attributesRequiring(attribute).compactMap(schema.column(of:)),
                    type: attribute.attributeType, minimum: definition.minimum.flatMap(NumberBound.init),
                    maximum: definition.maximum.flatMap(NumberBound.init), minimumLength: definition.minimumLength,
                    maximumLength: definition.maximumLength, pattern: pattern,
                    predicates: ValuePredicate.all(of: definition),
                    isExternal: definition.allowsExternalBinaryDataStorage))
        }
        rules.removeAll(where: \.isEmpty)
        for relationship in entity.relationships where !relationship.isOptional {
            guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else { continue }
            rules.append(
                Rule(
                    column: column, property: relationship.name, isRequired: true, type: nil, minimum: nil,
                    maximum: nil, minimumLength: nil, maximumLength: nil, pattern: nil, isExternal: false))
        }
    }

    /// Returns the rules that a row breaks, whose slots are the table's columns.
    func broken(_ row: SequentialRows) throws(MigrationError) -> [Broken] {
        var found: [Broken] = []
        for rule in rules {
            let cell = row.cell(rule.column)
            func note(_ expected: String) {
                found.append(Broken(property: rule.property, expected: expected, found: cell.shown))
            }
            switch cell {
            case .null:
                let isInNilComposite =
                    !rule.composite.isEmpty
                    && rule.composite.allSatisfy { row.cell($0).isNull }
                if rule.isRequired, !isInNilComposite { note("a value") }
            case .integer, .real:
                guard rule.type != nil else { break }
                let number = cell.number
                if let least = rule.minimum, least.isAbove(number) { note("\(least.text(rule.type)) or more") }
                if let most = rule.maximum, most.isBelow(number) { note("\(most.text(rule.type)) or less") }
            case .text(let bytes):
                var units = 0
                for byte in bytes { units += byte & 0xC0 != 0x80 ? (byte >= 0xF0 ? 2 : 1) : 0 }
                if let least = rule.minimumLength, units < least { note("\(least) characters or more") }
                if let most = rule.maximumLength, units > most { note("\(most) characters or less") }
                if let pattern = rule.pattern, try !pattern.matches(bytes) { note("a text like \(pattern.text)") }
            case .blob(let bytes):
                if rule.isExternal, bytes.first != ExternalReference.inlineMarker { break }
                let count = bytes.count - (rule.isExternal ? 1 : 0)
                if let least = rule.minimumLength, count < least { note("\(least) bytes or more") }
                if let most = rule.maximumLength, count > most { note("\(most) bytes or less") }
            }
            guard !rule.predicates.isEmpty, let type = rule.type else { continue }
            let value = cell.value(of: type)
            for predicate in rule.predicates where predicate.isBroken(by: value) {
                note("a value that satisfies \(predicate.text)")
            }
        }
        return found
    }
}

extension VerifiedCell {
    /// The value as an expression reads it. Attributes whose values may be in files have no predicates that are evaluated.
    fileprivate func value(of type: AttributeType) -> Any? {
        switch self {
        case .null: nil
        case .integer(let number): ValueBridge.number(integer: number, type)
        case .real(let number): ValueBridge.number(real: number, type)
        case .text(let bytes): ValueBridge.text(bytes, type)
        case .blob(let bytes): ValueBridge.data(bytes, type, false)
        }
    }
}
