import Foundation
import ManagedModel

/// The reason why the reference migration stops: the engine has to fail on the same input, with a code of its own.
package enum ReferenceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// A value of one type for an attribute of another, that does not convert.
    case mismatch(String)
    case outOfRange(String)
    case divisionByZero(String)
    /// Kept keys were demanded where they cannot be.
    case keysCannotBeKept(String)
    /// An abstract destination entity whose source entity has rows.
    case abstractDestination(String)
    case unknownMapping(String)
    /// An expression or model outside what the reference knows.
    case unsupported(String)
    /// The model's rules refuse values; all violations.
    case invalid([ReferenceViolation])
    /// A policy threw an error.
    case policy(String)

    package var description: String {
        switch self {
        case .mismatch(let text): "mismatch: \(text)"
        case .outOfRange(let text): "out of range: \(text)"
        case .divisionByZero(let text): "division by zero: \(text)"
        case .keysCannotBeKept(let text): "keys cannot be kept: \(text)"
        case .abstractDestination(let text): "abstract destination: \(text)"
        case .unknownMapping(let text): "unknown mapping: \(text)"
        case .unsupported(let text): "not known to the reference: \(text)"
        case .invalid(let violations): "invalid: " + violations.map(\.description).joined(separator: "; ")
        case .policy(let text): "policy: \(text)"
        }
    }
}

/// One broken rule of the destination model.
package struct ReferenceViolation: Hashable, Sendable, CustomStringConvertible {
    package enum Rule: String, Sendable {
        case missing, tooSmall, tooLarge, tooShort, tooLong, pattern, predicate, tooFew, tooMany, unique, abstract,
            reference,
            value, otherType
    }
    package var entity: String
    package var key: Int64
    package var property: String
    package var rule: Rule

    package init(entity: String, key: Int64, property: String, rule: Rule) {
        self.entity = entity
        self.key = key
        self.property = property
        self.rule = rule
    }

    package var description: String { "\(entity)/p\(key).\(property) \(rule.rawValue)" }
}

/// The conversions of numbers (Semantics.md, "Values").
enum ReferenceConversion {
    /// The floating number nearest to a decimal: through its digits, as Foundation's own conversion loses the last bits.
    static func nearest(_ number: Decimal) -> Double {
        Double(number.description) ?? NSDecimalNumber(decimal: number).doubleValue
    }

    /// A value of one attribute type as it is stored for an attribute.
    ///
    /// A value of the same type is taken as it is, in range or not. Float rounds, a finite number that becomes infinite
    /// is out of range; Boolean is the whole numbers 0 and 1.
    static func convert(
        _ value: ReferenceValue, from type: AttributeType, to attribute: AttributeDescription
    ) throws(ReferenceFailure) -> ReferenceValue {
        let target = attribute.attributeType
        guard value != .null, type != target else { return value }
        guard type.isNumeric, target.isNumeric else {
            throw .mismatch("\(type.label) for \(attribute.entityName).\(attribute.name), \(target.label)")
        }
        func whole(_ range: ClosedRange<Int64>) throws(ReferenceFailure) -> ReferenceValue {
            guard let number = wholeNumber(value), range.contains(number) else {
                throw .outOfRange("\(value) for \(attribute.entityName).\(attribute.name), \(target.label)")
            }
            return .integer(number)
        }
        switch target {
        case .integer16: return try whole(Int64(Int16.min)...Int64(Int16.max))
        case .integer32: return try whole(Int64(Int32.min)...Int64(Int32.max))
        case .integer64: return try whole(.min ... .max)
        case .boolean: return try whole(0...1)
        case .float:
            let number = double(value)
            let rounded = Float(number)
            guard rounded.isFinite || !number.isFinite else {
                throw .outOfRange("\(value) for \(attribute.entityName).\(attribute.name), \(target.label)")
            }
            return .real(Double(rounded))
        case .double: return .real(double(value))
        // A Float's digits are those that it prints.
        case .decimal where type == .float:
            let digits = Decimal(string: "\(Float(double(value)))") ?? .nan
            return ReferenceValue.real(nearest(digits)).stored(inColumnOfType: "DECIMAL")
        default: return value.stored(inColumnOfType: "DECIMAL")
        }
    }

    /// A stored value as expressions read it: a Float has 32 bits, whatever its column holds.
    static func reading(_ value: ReferenceValue, _ type: AttributeType) -> ReferenceValue {
        guard type == .float, !value.isNull else { return value }
        return .real(Double(Float(double(value))))
    }

    static func double(_ value: ReferenceValue) -> Double {
        switch value {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: .nan
        }
    }

    /// Toward zero; nil beyond Int64.
    private static func wholeNumber(_ value: ReferenceValue) -> Int64? {
        switch value {
        case .integer(let number): number
        case .real(let number): Int64(exactly: number.rounded(.towardZero))
        default: nil
        }
    }

    /// Adds or removes the external storage marker of a Binary value, the byte 1 before inline data (Files.md).
    static func withMarker(
        _ value: ReferenceValue, from wasExternal: Bool, to isExternal: Bool
    ) throws(ReferenceFailure) -> ReferenceValue {
        guard case .blob(let bytes) = value, wasExternal != isExternal else { return value }
        if isExternal { return .blob([1] + bytes) }
        guard bytes.first == 1 else { throw .unsupported("a value in an external file") }
        return .blob(Array(bytes.dropFirst()))
    }
}
