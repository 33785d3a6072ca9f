import CoreDataStore
import Diagnostics
import ManagedModel
import Rows

/// The model's own rules for the values of one column: an attribute's, or that of a required to-one relationship.
struct ColumnRule {
    let column: Int
    let property: String
    /// The attribute; nil for a relationship.
    var attribute: AttributeDefinition?
    var isRequired = true
    /// The columns of the optional composite in which the value is required. If all are NULL, the composite is nil.
    var composite: [Int] = []
    var minimum: NumberBound?
    var maximum: NumberBound?
    var minimumLength: Int?
    var maximumLength: Int?
    var pattern: TextRule?
    var predicates: [ValuePredicate] = []
    /// Bytes before a binary value that are not part of it.
    var markerBytes = 0
    /// Rules that the source model has too, for a value copied unchanged.
    var ofSource: Set<ValidationRule> = []

    var type: AttributeType? { attribute?.type }

    /// True if no value can break it.
    var isEmpty: Bool {
        !isRequired && minimum == nil && maximum == nil && minimumLength == nil && maximumLength == nil
            && pattern == nil && predicates.isEmpty
    }
}

extension ColumnRule {
    /// Compiles the rules of an attribute.
    ///
    /// - Parameters:
    ///   - column: the column of its values.
    ///   - composite: the columns of the optional composite that requires a value.
    /// - Throws: `model.regularExpression` (78) for a pattern that does not compile.
    init(_ attribute: AttributeDescription, column: Int, composite: [Int] = []) throws(MigrationError) {
        let definition = attribute.definition
        self.init(column: column, property: attribute.name, attribute: definition, isRequired: attribute.isRequired)
        self.composite = composite
        minimum = definition.minimum.flatMap(NumberBound.init)
        maximum = definition.maximum.flatMap(NumberBound.init)
        minimumLength = definition.minimumLength
        maximumLength = definition.maximumLength
        markerBytes = definition.allowsExternalBinaryDataStorage ? 1 : 0
        predicates = ValuePredicate.all(of: definition)
        if let text = definition.regularExpression {
            pattern = try TextRule(text, entity: attribute.entityName, property: attribute.name)
        }
    }

    private var hasLengths: Bool { minimumLength != nil || maximumLength != nil }

    /// Checks one value in its stored form. Rows and objects are checked here, so that a rule is stated once.
    ///
    /// - Parameters:
    ///   - object: the id of the value's object, for errors.
    ///   - broken: called for each rule that the value breaks, with the rule's bound in words.
    /// - Throws: `expression.patternLimit` (65) for a pattern that takes too many steps; the refusal of a value that is too
    ///   large to be matched.
    /// - Complexity: O(text), and the steps of the pattern. Nothing is allocated for a valid value without pattern and
    ///   predicate.
    func check(
        _ cell: Cell, in batch: borrowing RowBatch, of object: @autoclosure () -> String,
        broken: (ValidationRule, String?) throws -> Void
    ) throws {
        switch cell.kind {
        case .null, .absent, .rawRecord: if isRequired { try broken(.required, nil) }
        case .integer, .real:
            if let minimum, minimum.isAbove(cell) { try broken(.minimum, minimum.text(type)) }
            if let maximum, maximum.isBelow(cell) { try broken(.maximum, maximum.text(type)) }
        case .reference: break
        case .text:
            let bytes = batch.bytes(cell)
            if hasLengths { try check(length: ColumnRule.length(bytes), of: "character", broken) }
            guard let pattern else { break }
            let isMatching: Bool
            do { isMatching = try pattern.matches(bytes) } catch { throw error.inside(.init(objectID: object())) }
            if !isMatching { try broken(.pattern, pattern.text) }
        case .blob:
            // A marker other than 1 refers to a file, whose length is not known here.
            guard hasLengths, markerBytes == 0 || batch.bytes(cell).first == 1 else { break }
            try check(length: Int(cell.length) - markerBytes, of: "byte", broken)
        case .huge:
            let value = batch.huge(cell)
            if value.isText, pattern != nil { throw value.source.refusal(value, for: "a regular expression") }
            guard hasLengths else { break }
            // A reference to a file is never this long, so the value itself is here, behind its marker.
            let length = value.isText ? try ColumnRule.length(value) : value.count - markerBytes
            try check(length: length, of: value.isText ? "character" : "byte", broken)
        }
        guard !predicates.isEmpty, let type else { return }
        let value = try ValueBridge.object(cell, in: batch, type: type, isExternal: markerBytes == 1)
        for predicate in predicates where predicate.isBroken(by: value) { try broken(.predicate, predicate.text) }
    }

    private func check(length: Int, of unit: String, _ broken: (ValidationRule, String?) throws -> Void) throws {
        if let minimumLength, length < minimumLength { try broken(.minimumLength, minimumLength.counted(unit)) }
        if let maximumLength, length > maximumLength { try broken(.maximumLength, maximumLength.counted(unit)) }
    }

    /// Returns the length of a huge text. Its bytes are read once.
    private static func length(_ value: HugeValue) throws(MigrationError) -> Int {
        var units = 0
        try value.source.read(value) { part throws(MigrationError) in units += length(part) }
        return units
    }

    /// Returns the length of UTF-8 text as NSString counts it: in UTF-16 units.
    static func length(_ bytes: UnsafeRawBufferPointer) -> Int {
        var units = 0
        for byte in bytes {
            if byte & 0xC0 != 0x80 { units += 1 }
            if byte >= 0xF0 { units += 1 }
        }
        return units
    }
}
