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

    private var rules: [ColumnRule] = []

    /// True if no row can break a rule.
    var isEmpty: Bool { rules.isEmpty }

    /// Compiles the rules of an entity. Throws `model.regularExpression` (78) for a pattern that does not compile.
    init(entity: EntityDescription, schema: StoreSchema) throws(MigrationError) {
        for attribute in entity.attributes where !attribute.isDerived {
            guard let column = schema.column(of: attribute) else { continue }
            let composite = entity.attributesRequiring(attribute).compactMap(schema.column(of:))
            rules.append(try ColumnRule(attribute, column: column, composite: composite))
        }
        rules.removeAll(where: \.isEmpty)
        for relationship in entity.relationships where !relationship.isOptional {
            guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else { continue }
            rules.append(ColumnRule(column: column, property: relationship.name))
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
                let isInNilComposite = !rule.composite.isEmpty && rule.composite.allSatisfy { row.cell($0).isNull }
                if rule.isRequired, !isInNilComposite { note("a value") }
            case .integer, .real:
                guard rule.type != nil else { break }
                let number = cell.number
                if let least = rule.minimum, least.isAbove(number) { note("\(least.text(rule.type)) or more") }
                if let most = rule.maximum, most.isBelow(number) { note("\(most.text(rule.type)) or less") }
            case .text(let bytes):
                let units = ColumnRule.length(bytes)
                if let least = rule.minimumLength, units < least { note(least.counted("character") + " or more") }
                if let most = rule.maximumLength, units > most { note(most.counted("character") + " or less") }
                if let pattern = rule.pattern, try !pattern.matches(bytes) { note("a text like \(pattern.text)") }
            case .blob(let bytes):
                if rule.markerBytes == 1, bytes.first != ExternalReference.inlineMarker { break }
                let count = bytes.count - rule.markerBytes
                if let least = rule.minimumLength, count < least { note(least.counted("byte") + " or more") }
                if let most = rule.maximumLength, count > most { note(most.counted("byte") + " or less") }
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
