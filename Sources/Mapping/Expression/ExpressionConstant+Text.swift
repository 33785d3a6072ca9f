import Foundation
import ManagedModel

/// The text form of constants. A constant without a literal form is written as a cast, as NSPredicate prints dates:
/// `CAST(483291.0, 'NSDate')`, `CAST('12.5', 'NSDecimalNumber')`, `CAST('0aff', 'NSData')`, `CAST('inf', 'double')`.
extension ExpressionConstant {
    /// Makes the constant that a cast of a literal stands for; nil if it is an ordinary cast.
    init?(cast node: ExpressionNode, to type: String) {
        guard case .constant(let literal) = node else { return nil }
        switch (type, literal) {
        case ("NSDate", .integer(let seconds)): self = .date(Double(seconds))
        case ("NSDate", .double(let seconds)): self = .date(seconds)
        case ("NSDecimalNumber", .string(let text)):
            guard let decimal = Decimal(exactText: text) else { return nil }
            self = .decimal(decimal)
        case ("NSData", .string(let text)):
            guard let data = Data(hexadecimal: text) else { return nil }
            self = .data(data)
        case ("double", .string("inf")): self = .double(.infinity)
        case ("double", .string("-inf")): self = .double(-.infinity)
        case ("double", .string("nan")): self = .double(.nan)
        default: return nil
        }
    }

    /// The constant as canonical text.
    var format: String {
        switch self {
        case .null: "nil"
        case .boolean(let value): value ? "TRUE" : "FALSE"
        case .integer(let value): String(value)
        case .double(let value): value.isFinite ? value.description : "CAST('\(value)', 'double')"
        case .decimal(let value): "CAST('\(value)', 'NSDecimalNumber')"
        case .string(let value): Self.quoted(value)
        case .date(let seconds): "CAST(\(ExpressionConstant.double(seconds).format), 'NSDate')"
        case .data(let value): "CAST('\(value.hexadecimal)', 'NSData')"
        }
    }

    /// The constant as text in a style.
    func format(_ style: PrintStyle) -> String {
        guard style == .cocoa else { return format }
        switch self {
        case .boolean(let value): return value ? "1" : "0"
        case .string(let value): return Self.quoted(value, style.quote)
        case .double(let value) where value.isFinite: return FloatingText.text(value)
        case .decimal(let value): return "\(value)"
        case .date(let seconds): return "CAST(\(String(format: "%.6f", seconds)), \"NSDate\")"
        case .data(let value): return "CAST(\"\(value.hexadecimal)\", \"NSData\")"
        default: return format.replacing("'", with: "\"")
        }
    }

    /// True if the constant is written with a leading minus sign.
    var isNegativeNumber: Bool {
        switch self {
        case .integer(let value): value < 0
        case .double(let value): value.isFinite && value.sign == .minus
        default: false
        }
    }

    /// True if the constant is a number literal.
    var isNumber: Bool {
        switch self {
        case .integer: true
        case .double(let value): value.isFinite
        default: false
        }
    }

    /// Returns a string as a literal in quotes. The quote, the backslash and control characters are escaped.
    ///
    /// - Parameter escapesDelete: false to leave the character U+007F as it is.
    package static func quoted(_ value: String, _ quote: Character = "'", escapesDelete: Bool = true) -> String {
        let quoteByte = quote.asciiValue
        func isPlain(_ byte: UInt8) -> Bool {
            byte >= 0x20 && (byte != 0x7F || !escapesDelete) && byte != quoteByte && byte != UInt8(ascii: "\\")
        }
        if value.utf8.allSatisfy(isPlain) { return "\(quote)\(value)\(quote)" }
        var text = String(quote)
        for scalar in value.unicodeScalars {
            switch scalar {
            case quote.unicodeScalars.first: text += "\\\(quote)"
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F && escapesDelete:
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + String(quote)
    }
}

extension Decimal {
    /// Makes the number that a whole text states in the form `-12.5e3`; nil for anything else.
    init?(exactText text: String) {
        // Foundation's own parser takes a leading number and ignores the rest.
        guard Double(text) != nil, !text.utf8.contains(where: { $0 | 0x20 == UInt8(ascii: "x") }),
            let value = Decimal(string: text, locale: Locale(identifier: "en_US_POSIX")), value.isFinite
        else { return nil }
        self = value
    }
}

extension Data {
    /// Makes the bytes that pairs of hexadecimal digits state; nil for anything else.
    init?(hexadecimal text: String) {
        let digits = Array(text.utf8)
        guard digits.count % 2 == 0 else { return nil }
        var bytes = Data(capacity: digits.count / 2)
        var index = 0
        while index < digits.count {
            guard let high = Character(Unicode.Scalar(digits[index])).hexDigitValue,
                let low = Character(Unicode.Scalar(digits[index + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
            index += 2
        }
        self = bytes
    }
}
