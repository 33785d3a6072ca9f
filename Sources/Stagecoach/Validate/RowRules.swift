import Diagnostics
import Foundation
import ManagedModel
import PersistentStore
import Rows

/// The model's own rules for the rows of one destination entity: required values, bounds, lengths, patterns.
struct RowRules {
    /// One column's rules.
    private struct Rule {
        let column: Int
        let property: String
        let isRequired: Bool
        let isRelationship: Bool
        let minimum: Double?
        let maximum: Double?
        let minimumLength: Int?
        let maximumLength: Int?
        let pattern: NSRegularExpression?
        /// Rules that the source model already had for a value copied unchanged: a warning, not an error.
        let excused: Excuses
    }

    private struct Excuses: OptionSet {
        let rawValue: Int
        static let required = Excuses(rawValue: 1)
        static let bounds = Excuses(rawValue: 2)
        static let length = Excuses(rawValue: 4)
        static let pattern = Excuses(rawValue: 8)
    }

    private var rules: [Rule] = []
    private let entityName: String
    private let mappingName: String?

    /// Compiles the rules of an entity.
    ///
    /// - Parameters:
    ///   - entity: the destination entity.
    ///   - mapping: the mapping that makes the rows, nil for rows that a policy made.
    ///   - copied: attributes copied unchanged, by destination column; their old rules are excused where `excuses`.
    ///   - excuses: whether the mapping model was inferred and validation is not strict.
    /// - Throws: `model.regularExpression` where a pattern does not compile.
    init(
        entity: EntityDescription, schema: StoreSchema, mapping: PlannedMapping?,
        copied: [Int: AttributeDescription], excuses: Bool
    ) throws(MigrationError) {
        entityName = entity.definition.name
        mappingName = mapping?.name
        for attribute in entity.attributes {
            guard let column = schema.column(of: attribute), !attribute.isDerived else { continue }
            let old = excuses ? copied[column]?.definition : nil
            if let rule = try RowRules.rule(attribute.definition, column: column, old: old, entity: entityName) {
                rules.append(rule)
            }
        }
        for relationship in entity.relationships where !relationship.isOptional {
            guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else { continue }
            let planned = mapping?.relationship(named: relationship.name)
            let isOld: Bool
            switch planned?.value {
            // A reference to an object that was left behind was not empty in the source.
            case .lookup(let argument, _):
                isOld = planned?.keepsMembers == true && argument.singleRelationship?.isOptional == false
            case .some(.none), .dynamic: isOld = false
            // A new relationship: no inferred mapping could fill it.
            case nil: isOld = true
            }
            rules.append(
                Rule(
                    column: column, property: relationship.name, isRequired: true, isRelationship: true, minimum: nil,
                    maximum: nil, minimumLength: nil, maximumLength: nil, pattern: nil,
                    excused: excuses && isOld ? .required : []))
        }
    }

    private static func rule(
        _ attribute: AttributeDefinition, column: Int, old: AttributeDefinition?, entity: String
    ) throws(MigrationError) -> Rule? {
        var pattern: NSRegularExpression?
        if let text = attribute.regularExpression {
            do {
                pattern = try NSRegularExpression(pattern: text)
            } catch {
                throw MigrationError(
                    "model.regularExpression", .configuration, "The pattern does not compile: \(text)",
                    context: .init(entity: entity, property: attribute.name), cause: error)
            }
        }
        var excused: Excuses = []
        if let old {
            if !old.isOptional { excused.insert(.required) }
            if old.minimum == attribute.minimum, old.maximum == attribute.maximum { excused.insert(.bounds) }
            if old.minimumLength == attribute.minimumLength, old.maximumLength == attribute.maximumLength {
                excused.insert(.length)
            }
            if old.regularExpression == attribute.regularExpression { excused.insert(.pattern) }
        }
        let rule = Rule(
            column: column, property: attribute.name, isRequired: !attribute.isOptional, isRelationship: false,
            minimum: attribute.minimum.flatMap(number), maximum: attribute.maximum.flatMap(number),
            minimumLength: attribute.minimumLength, maximumLength: attribute.maximumLength, pattern: pattern,
            excused: excused)
        let isEmpty =
            !rule.isRequired && rule.minimum == nil && rule.maximum == nil && rule.minimumLength == nil
            && rule.maximumLength == nil && pattern == nil
        return isEmpty ? nil : rule
    }

    private static func number(_ value: AttributeValue) -> Double? {
        switch value {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let number): Double(number)
        case .double(let number): number
        case .decimal(let number): NSDecimalNumber(decimal: number).doubleValue
        case .date(let seconds): seconds
        case .string, .data, .uuid, .uri: nil
        }
    }

    var isEmpty: Bool { rules.isEmpty }

    /// Checks one row.
    ///
    /// - Parameter warn: called with `Entity.property: rule` for what is excused.
    /// - Throws: `validation.missing`, `validation.tooSmall`, `validation.tooLarge`, `validation.tooShort`,
    ///   `validation.tooLong`, `validation.pattern`.
    func check(_ batch: borrowing RowBatch, row: Int, warn: (String) -> Void) throws(MigrationError) {
        for rule in rules {
            guard let (broken, excuse) = violation(of: rule, by: batch, row: row) else { continue }
            if rule.excused.contains(excuse) {
                warn("\(entityName).\(rule.property): \(broken.label)")
                continue
            }
            throw MigrationError(
                broken.code, .data, broken.message(isRelationship: rule.isRelationship),
                remedy: "Give the property a value in the mapping model, or relax the rule in the destination model",
                context: .init(
                    entity: entityName, objectID: "\(entityName)/p\(batch.key(row))", property: rule.property,
                    entityMapping: mappingName))
        }
    }

    private enum Broken {
        case missing
        case tooSmall
        case tooLarge
        case tooShort
        case tooLong
        case pattern

        var label: String {
            switch self {
            case .missing: "missing value"
            case .tooSmall: "too small"
            case .tooLarge: "too large"
            case .tooShort: "too short"
            case .tooLong: "too long"
            case .pattern: "does not match the pattern"
            }
        }

        var code: MigrationError.Code {
            switch self {
            case .missing: "validation.missing"
            case .tooSmall: "validation.tooSmall"
            case .tooLarge: "validation.tooLarge"
            case .tooShort: "validation.tooShort"
            case .tooLong: "validation.tooLong"
            case .pattern: "validation.pattern"
            }
        }

        func message(isRelationship: Bool) -> String {
            switch self {
            case .missing:
                isRelationship
                    ? "A required relationship has no destination" : "A required attribute has no value"
            case .tooSmall: "The value is below the least one the model allows"
            case .tooLarge: "The value is above the greatest one the model allows"
            case .tooShort: "The text is shorter than the model allows"
            case .tooLong: "The text is longer than the model allows"
            case .pattern: "The text does not match the model's regular expression"
            }
        }
    }

    private func violation(of rule: Rule, by batch: borrowing RowBatch, row: Int) -> (Broken, Excuses)? {
        let cell = batch[row, rule.column]
        switch cell.kind {
        case .null, .absent: return rule.isRequired ? (.missing, .required) : nil
        case .integer: return bounds(rule, Double(cell.integerValue))
        case .real: return bounds(rule, cell.realValue)
        case .blob, .reference: return nil
        case .text:
            guard rule.minimumLength != nil || rule.maximumLength != nil || rule.pattern != nil else { return nil }
            let bytes = batch.bytes(cell)
            let length = RowRules.length(bytes)
            if let least = rule.minimumLength, length < least { return (.tooShort, .length) }
            if let most = rule.maximumLength, length > most { return (.tooLong, .length) }
            guard let pattern = rule.pattern else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            let whole = NSRange(location: 0, length: length)
            let match = pattern.firstMatch(in: text, options: [.anchored], range: whole)
            return match?.range == whole ? nil : (.pattern, .pattern)
        }
    }

    private func bounds(_ rule: Rule, _ value: Double) -> (Broken, Excuses)? {
        if let least = rule.minimum, value < least { return (.tooSmall, .bounds) }
        if let most = rule.maximum, value > most { return (.tooLarge, .bounds) }
        return nil
    }

    /// The length of UTF-8 text as NSString counts it: in UTF-16 units.
    private static func length(_ bytes: UnsafeRawBufferPointer) -> Int {
        var units = 0
        for byte in bytes {
            if byte & 0xC0 != 0x80 { units += 1 }
            if byte >= 0xF0 { units += 1 }
        }
        return units
    }
}
