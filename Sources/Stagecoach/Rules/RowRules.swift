import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The model's own rules for the rows of one destination entity: required values, bounds, lengths, patterns.
struct RowRules {
    /// The part of a rule that is enough to pass most rows.
    private struct Glance {
        let column: Int
        let isRequired: Bool
        let hasBounds: Bool
        let hasLengths: Bool
        /// The places of the composite's columns in ``RowRules/compositeColumns``. Numbers instead of an array, so that a row
        /// costs no reference counting.
        let composite: Range<Int>

        init(_ rule: ColumnRule, composite: Range<Int>) {
            self.composite = composite
            column = rule.column
            isRequired = rule.isRequired
            hasBounds = rule.minimum != nil || rule.maximum != nil || !rule.predicates.isEmpty
            hasLengths =
                rule.minimumLength != nil || rule.maximumLength != nil || rule.pattern != nil
                || !rule.predicates.isEmpty
        }

        /// Tells whether a cell certainly keeps the rule.
        @inline(__always)
        func passes(_ kind: CellKind) -> Bool {
            switch kind {
            case .null, .absent, .rawRecord: !isRequired
            case .integer, .real: !hasBounds
            case .reference: true
            case .text, .blob, .huge: !hasLengths
            }
        }
    }

    /// The size of the largest value that an error holds, in bytes.
    private static let mostBytesInError = 64 << 10

    private var rules: [ColumnRule] = []
    /// The quick checks, one for each rule in the same order.
    private var glances: [Glance] = []
    /// Columns of the optional composites that hold required elements, one rule's after the other's.
    private var compositeColumns: [Int] = []
    private var types = TypeRules()
    private let entity: Int
    private let entityName: String
    private let table: Int
    /// True if rules of the source give only warnings.
    private let excuses: Bool

    /// Compiles the rules of an entity, inherited ones included.
    ///
    /// - Parameters:
    ///   - entity: the destination entity.
    ///   - mapping: the mapping that makes the rows, nil for rows that a policy made.
    ///   - copied: attributes copied unchanged, by destination column; rules that they have in the source are excused
    ///     if `excuses` is true.
    ///   - typed: the columns whose values may be of another type than their attribute's; nil: all.
    ///   - excuses: true if the mapping model takes broken rules of the source as warnings, and validation is not
    ///     strict.
    /// - Throws: `model.regularExpression` if a pattern does not compile.
    init(
        entity: EntityDescription, schema: StoreSchema, mapping: PlannedMapping?,
        copied: [Int: AttributeDescription], typed: Set<Int>? = nil, excuses: Bool
    ) throws(MigrationError) {
        self.entity = entity.index
        entityName = entity.definition.name
        table = schema.tableIndex(of: entity)
        self.excuses = excuses
        for attribute in entity.attributes {
            guard let column = schema.column(of: attribute), !attribute.isDerived else { continue }
            if typed?.contains(column) ?? true {
                types.add(attribute, column: column, isExcused: excuses && copied[column] != nil)
            }
            var rule = try ColumnRule(
                attribute, column: column,
                composite: entity.attributesRequiring(attribute).compactMap(schema.column(of:)))
            if let old = copied[column] { rule.ofSource = RowRules.rules(of: attribute, sharedWith: old) }
            if !rule.isEmpty { rules.append(rule) }
        }
        for relationship in entity.relationships where !relationship.isOptional {
            guard case .toOne(_, let column, _, _) = schema.storage(of: relationship) else { continue }
            var rule = ColumnRule(column: column, property: relationship.name)
            // If an object was left behind, the reference was not empty in the source.
            if let planned = mapping?.relationship(named: relationship.name), planned.keepsMembers,
                case .lookup(let argument, _)? = planned.value, argument.singleRelationship?.isOptional == false
            {
                rule.ofSource = [.required]
            }
            rules.append(rule)
        }
        for rule in rules {
            let first = compositeColumns.count
            compositeColumns += rule.composite
            glances.append(Glance(rule, composite: first..<compositeColumns.count))
        }
    }

    /// Returns the rules of an attribute that the attribute of the source has too.
    private static func rules(
        of description: AttributeDescription, sharedWith old: AttributeDescription
    ) -> Set<ValidationRule> {
        let (attribute, source) = (description.definition, old.definition)
        let isRequiredInBoth = old.requiringComposite != nil && description.requiringComposite != nil
        let formats = Set(source.validationPredicates.map(\.format))
        let shared: [(ValidationRule, Bool)] = [
            (.required, !old.isOptional || isRequiredInBoth), (.minimum, source.minimum == attribute.minimum),
            (.maximum, source.maximum == attribute.maximum),
            (.minimumLength, source.minimumLength == attribute.minimumLength),
            (.maximumLength, source.maximumLength == attribute.maximumLength),
            (.pattern, source.regularExpression == attribute.regularExpression),
            (.predicate, attribute.validationPredicates.allSatisfy { formats.contains($0.format) }),
        ]
        return Set(shared.filter(\.1).map(\.0))
    }

    var isEmpty: Bool { rules.isEmpty && types.isEmpty }

    /// The columns whose values rules look at, beside those of their types.
    var columns: Set<Int> { Set(rules.flatMap { [$0.column] + $0.composite }) }

    /// Returns the first row that a quick check does not pass. Almost all rows pass; ``check(_:row:found:)`` decides on
    /// the others.
    func firstToCheck(_ batch: borrowing RowBatch, _ rows: Range<Int>) -> Int? {
        for row in rows {
            for glance in glances where !glance.passes(batch[row, glance.column].kind) {
                if !isInNilComposite(glance, batch, row: row) { return row }
            }
            if types.isBroken(by: batch.cells(ofRow: row)) { return row }
        }
        return nil
    }

    /// Tells whether a value is missing together with the whole composite that it is required in.
    @inline(__always)
    private func isInNilComposite(_ glance: Glance, _ batch: borrowing RowBatch, row: Int) -> Bool {
        guard !glance.composite.isEmpty else { return false }
        for index in glance.composite {
            switch batch[row, compositeColumns[index]].kind {
            case .null, .absent: continue
            default: return false
            }
        }
        return true
    }

    /// Checks one row.
    ///
    /// - Parameter found: called for each rule that the row breaks, in the properties' order; true if it is excused.
    /// - Complexity: O(rules), and O(text × pattern) if there is a pattern. Nothing is allocated for a valid row.
    func check(_ batch: borrowing RowBatch, row: Int, found: (BrokenRule, Bool) throws -> Void) throws {
        try types.check(batch, row: row) { rule, value, bound in
            try found(
                BrokenRule(
                    table: table, key: batch.key(row), entity: entity, entityName: entityName, property: rule.property,
                    rule: .type, value: value, bound: bound, isRelationship: false),
                rule.isExcused)
        }
        for index in glances.indices {
            let glance = glances[index]
            let cell = batch[row, glance.column]
            if glance.passes(cell.kind) || isInNilComposite(glance, batch, row: row) { continue }
            // Not through a copy of the rule, whose references would be counted for each value.
            try rules[index].check(cell, in: batch, of: "\(entityName)/p\(batch.key(row))") { kind, bound in
                let rule = rules[index]
                let isOfSource = rule.ofSource.contains(kind)
                var broken = BrokenRule(
                    table: table, key: batch.key(row), entity: entity, entityName: entityName,
                    property: rule.property, rule: kind,
                    value: ShortValue.text(cell, batch, type: rule.type, markerBytes: rule.markerBytes),
                    bound: bound, isRelationship: rule.type == nil, isOfSource: isOfSource, attribute: rule.attribute)
                if let type = rule.type, cell.kind != .huge, cell.length <= Self.mostBytesInError {
                    let value = try ValueBridge.object(
                        cell, in: batch, type: type, isExternal: rule.markerBytes == 1)
                    broken.object = value is ExternalFileReference ? nil : value
                }
                try found(broken, excuses && isOfSource)
            }
        }
    }
}
