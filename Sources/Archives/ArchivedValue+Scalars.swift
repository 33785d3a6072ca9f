import Diagnostics

import struct Foundation.Decimal
import struct Foundation.URL
import struct Foundation.UUID
import typealias Foundation.uuid_t

/// Foundation's value classes. Each function returns nil for a value of another kind, and throws for a damaged value of its
/// kind.
extension ArchivedValue {
    /// True for the archive's nil and for NSNull.
    package var isNull: Bool {
        switch self {
        case .null: true
        case .plain: false
        case .object(let object): object.isKind(of: "NSNull")
        }
    }

    package var object: ArchivedObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// A plain string, NSString or NSMutableString.
    package func string() throws(MigrationError) -> String? {
        if case .plain(.string(let text)) = self { return text }
        guard let object = instance(of: "NSString") else { return nil }
        if case .plain(.string(let text)) = try object.value("NS.string") { return text }
        if case .plain(.data(let bytes)) = try object.value("NS.bytes"),
            let text = String(validating: bytes, as: UTF8.self)
        {
            return text
        }
        throw object.damaged("a string without text")
    }

    /// The object, if its class or an ancestor has a name.
    private func instance(of name: String) -> ArchivedObject? { object.flatMap { $0.isKind(of: name) ? $0 : nil } }

    /// A boolean, or a number as a boolean: true if it is not zero.
    package func boolean() throws(MigrationError) -> Bool? {
        switch try number() {
        case .boolean(let flag): flag
        case .integer(let value): value != 0
        case .real(let value): value != 0
        default: nil
        }
    }

    /// An integer; a boolean as 0 or 1; a real if it is a whole number that fits.
    package func integer() throws(MigrationError) -> Int64? {
        switch try number() {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let value): value
        case .real(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// Any number as a double.
    package func real() throws(MigrationError) -> Double? {
        switch try number() {
        case .boolean(let flag): flag ? 1 : 0
        case .integer(let value): Double(value)
        case .real(let value): value
        case .largeInteger(let high, let low):
            Double(Int64(bitPattern: high)) * 18_446_744_073_709_551_616 + Double(low)
        default: nil
        }
    }

    /// A plain number, or the number in an NSNumber.
    package func number() throws(MigrationError) -> PropertyListValue? {
        switch self {
        case .null: return nil
        case .plain(let value):
            switch value {
            case .boolean, .integer, .largeInteger, .real: return value
            default: return nil
            }
        case .object(let object):
            guard object.isKind(of: "NSNumber"), !object.isKind(of: "NSDecimalNumber") else { return nil }
            for key in ["NS.boolval", "NS.intval", "NS.dblval"] {
                switch object.field(key) {
                case .boolean(let flag): return .boolean(flag)
                case .integer(let value): return key == "NS.boolval" ? .boolean(value != 0) : .integer(value)
                case .real(let value): return .real(value)
                default: continue
                }
            }
            throw object.damaged("a number without value")
        }
    }

    /// Plain data, NSData or NSMutableData.
    package func data() throws(MigrationError) -> [UInt8]? {
        if case .plain(.data(let bytes)) = self { return bytes }
        guard let object = instance(of: "NSData") else { return nil }
        for key in ["NS.data", "NS.bytes"] {
            if case .plain(.data(let bytes)) = try object.value(key) { return bytes }
        }
        throw object.damaged("data without bytes")
    }

    /// A date in seconds since 2001-01-01 00:00:00 UTC.
    package func date() throws(MigrationError) -> Double? {
        if case .plain(.date(let seconds)) = self { return seconds }
        guard let object = instance(of: "NSDate") else { return nil }
        if let seconds = try object.real("NS.time") { return seconds }
        throw object.damaged("a date without time")
    }

    /// The UUID of an NSUUID.
    package func uuid() throws(MigrationError) -> UUID? {
        guard let object = instance(of: "NSUUID") else { return nil }
        guard let bytes = try object.data("NS.uuidbytes"), bytes.count == 16 else {
            throw object.damaged("a UUID that is not 16 bytes")
        }
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// The number of an NSDecimalNumber or NSDecimalNumberPlaceholder; nil for other values.
    ///
    /// Fields: `NS.mantissa` of eight 16-bit words, the lowest first, in the byte order of `NS.mantissa.bo` (1 little, 2 big),
    /// `NS.length` words in use, `NS.exponent`, `NS.negative`, `NS.compact`. Not a number is negative with length 0.
    ///
    /// - Throws: `archive.type` if a field is missing or out of range.
    package func decimal() throws(MigrationError) -> Decimal? {
        guard let object = instance(of: "NSDecimalNumber") else { return nil }
        guard let bytes = try object.data("NS.mantissa"), bytes.count == 16,
            let exponent = try object.integer("NS.exponent"), (-128...127).contains(exponent),
            let length = try object.integer("NS.length"), (0...8).contains(length)
        else { throw object.damaged("a decimal number without mantissa, exponent or length") }
        let isBigEndian = try object.integer("NS.mantissa.bo") == 2
        let isNegative = try object.flag("NS.negative")
        var mantissa: UInt128 = 0
        for word in (0..<Int(length)).reversed() {
            let low = UInt128(bytes[word * 2 + (isBigEndian ? 1 : 0)])
            let high = UInt128(bytes[word * 2 + (isBigEndian ? 0 : 1)])
            mantissa = mantissa << 16 | high << 8 | low
        }
        guard !isNegative || length > 0, let digits = Decimal(string: String(mantissa)) else { return .nan }
        return Decimal(sign: isNegative ? .minus : .plus, exponent: Int(exponent), significand: digits)
    }

    /// The absolute string of an NSURL, after its base URLs are applied (at most 16 URLs in all).
    package func url() throws(MigrationError) -> String? {
        guard let object = instance(of: "NSURL") else { return nil }
        var relatives: [String] = []
        var current: ArchivedObject? = object
        while let url = current {
            guard relatives.count < 16, let relative = try url.string("NS.relative") else {
                throw object.damaged("a URL without text or with too many bases")
            }
            relatives.append(relative)
            current = try url.object("NS.base")
            guard current == nil && relatives.count == 1 || relative.utf8.count <= 64 << 10 else {
                throw object.damaged("a relative URL of more than 64 KiB")
            }
        }
        guard var absolute = relatives.popLast() else { return nil }
        while let relative = relatives.popLast() {
            absolute = URL(string: relative, relativeTo: URL(string: absolute))?.absoluteString ?? relative
        }
        return absolute
    }
}

extension ArchivedObject {
    /// The error that says what is wrong with this object.
    package func damaged(_ what: String) -> MigrationError {
        .archive("archive.type", "Object \(uid) of the archive (\(className)) is \(what)")
    }
}
