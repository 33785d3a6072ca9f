import Foundation
import ManagedModel

/// A value as SQLite keeps it. Texts are equal when their bytes are; 0.0 and -0.0 are equal.
package enum ReferenceValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package static func == (left: ReferenceValue, right: ReferenceValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.integer(let first), .integer(let second)): first == second
        case (.real(let first), .real(let second)): first == second
        // Swift's String compares canonically; a store holds bytes.
        case (.text(let first), .text(let second)): first.utf8.elementsEqual(second.utf8)
        case (.blob(let first), .blob(let second)): first == second
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value)
        case .text(let value): for byte in value.utf8 { hasher.combine(byte) }
        case .blob(let value): hasher.combine(value)
        }
    }

    package var isNull: Bool { self == .null }

    /// The integer, or nil for any other kind.
    package var integer: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// A key column's value: an integer or null.
    package init(key: Int64?) { self = key.map(ReferenceValue.integer) ?? .null }

    /// Returns the value as a column of a declared type gives it back, by SQLite's affinity rules for numbers.
    ///
    /// FLOAT keeps reals; INTEGER, TIMESTAMP and DECIMAL turn a real that is a whole number into an integer.
    package func stored(inColumnOfType type: String) -> ReferenceValue {
        switch (self, type) {
        case (.real(let value), _) where value.isNaN: .null
        case (.integer(let value), "FLOAT"): .real(Double(value))
        case (.real(let value), "INTEGER"), (.real(let value), "TIMESTAMP"), (.real(let value), "DECIMAL"):
            // The two ends of the range stay real, as in sqlite3VdbeIntegerAffinity.
            if let whole = Int64(exactly: value), whole != .min, whole != .max { .integer(whole) } else { self }
        default: self
        }
    }
}

extension ReferenceValue: CustomStringConvertible {
    package var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): "\(value)"
        case .real(let value): "\(value)"
        case .text(let value): "'\(value)'"
        case .blob(let value): "x'" + value.hexadecimal + "'"
        }
    }
}

extension ReferenceValue {
    /// A model's default or bound as it is stored for an attribute of a type. Numbers are converted to the type.
    package init(_ value: AttributeValue, type: AttributeType) {
        let plain: ReferenceValue =
            switch value {
            case .boolean(let value): .integer(value ? 1 : 0)
            case .integer(let value): .integer(value)
            case .double(let value), .date(let value): .real(value)
            case .decimal(let value): .real(ReferenceConversion.nearest(value))
            case .string(let value), .uri(let value): .text(value)
            case .data(let value): .blob(Array(value))
            case .uuid(let value): .blob(withUnsafeBytes(of: value.uuid) { Array($0) })
            }
        self = plain.stored(inColumnOfType: type.referenceColumnType)
    }
}

extension AttributeType {
    /// The declared type of the column (Formats.md, "Rows"), written down a second time on purpose.
    package var referenceColumnType: String {
        switch self {
        case .integer16, .integer32, .integer64, .boolean: "INTEGER"
        case .date: "TIMESTAMP"
        case .double, .float: "FLOAT"
        case .decimal: "DECIMAL"
        case .string, .uri: "VARCHAR"
        default: "BLOB"
        }
    }
}
