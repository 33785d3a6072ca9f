import Foundation

/// A decimal number that sets and dictionaries can hold. On Linux the hash of Foundation's own class never ends.
package final class HashableDecimal: NSDecimalNumber, @unchecked Sendable {
    package override var hash: Int { NSNumber(value: doubleValue).hash }

    package override init(decimal: Decimal) { super.init(decimal: decimal) }

    /// Reads a number as `NSDecimalNumber(string:)` does.
    package convenience init(text: String) { self.init(decimal: NSDecimalNumber(string: text).decimalValue) }

    package required init?(coder: NSCoder) { super.init(coder: coder) }

    package required init(bytes: UnsafeRawPointer, objCType type: UnsafePointer<Int8>) {
        super.init(decimal: NSNumber(bytes: bytes, objCType: type).decimalValue)
    }

    package required convenience init(floatLiteral value: Double) { self.init(decimal: Decimal(value)) }
    package required convenience init(integerLiteral value: Int) { self.init(decimal: Decimal(value)) }
    package required convenience init(booleanLiteral value: Bool) { self.init(decimal: value ? 1 : 0) }
}
