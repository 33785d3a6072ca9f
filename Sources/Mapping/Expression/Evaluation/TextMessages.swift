import Foundation

/// The messages of NSString. Indices and lengths count UTF-16 units.
enum TextMessages {
    static func answer(
        _ selector: String, _ text: String, _ arguments: [EvaluatedValue]
    ) throws -> EvaluatedValue? {
        if arguments.isEmpty { return plain(selector, text) }
        switch selector {
        case "substringFromIndex:", "substringToIndex:", "characterAtIndex:":
            return try part(selector, text, arguments[0])
        case "stringByTrimmingCharactersInSet:": return try trimmed(text, arguments[0], selector)
        case "isEqual:": return .boolean(.text(text) == arguments[0])
        default: break
        }
        var texts: [String] = []
        for argument in arguments {
            guard let text = try textArgument(selector, argument) else { return .null }
            texts.append(text)
        }
        return try answer(selector, text, texts)
    }

    /// Returns the text of an argument; nil for nil. Selectors without a text argument give an empty text, so that nothing is
    /// thrown for them.
    private static func textArgument(_ selector: String, _ value: EvaluatedValue) throws -> String? {
        guard withTexts.contains(selector) else { return "" }
        return try value.argumentText(selector)
    }

    private static let withTexts: Set<String> = [
        "stringByAppendingString:", "stringByReplacingOccurrencesOfString:withString:", "componentsSeparatedByString:",
        "hasPrefix:", "hasSuffix:", "containsString:", "isEqualToString:", "caseInsensitiveCompare:", "compare:",
        "stringByAppendingPathComponent:", "stringByAppendingPathExtension:",
    ]

    private static func answer(_ selector: String, _ text: String, _ texts: [String]) throws -> EvaluatedValue? {
        guard withTexts.contains(selector), let first = texts.first else { return nil }
        let exact = TextFolding([])
        switch selector {
        case "stringByAppendingString:": return .text(try joined([text, first], ""))
        case "stringByReplacingOccurrencesOfString:withString:":
            return .text(first.isEmpty ? text : try joined(text.components(separatedBy: first), texts[1]))
        case "componentsSeparatedByString:":
            let parts = first.isEmpty ? [text] : text.components(separatedBy: first)
            return .collection(try EvaluatedCollection(parts.map { .text($0) }, .array))
        case "hasPrefix:": return .boolean(!first.isEmpty && TextSearch.finds(text, .beginsWith, first, exact))
        case "hasSuffix:": return .boolean(!first.isEmpty && TextSearch.finds(text, .endsWith, first, exact))
        case "containsString:": return .boolean(TextSearch.finds(text, .contains, first, exact))
        case "isEqualToString:": return .boolean(TextSearch.order(text, first, exact) == 0)
        case "compare:": return .integer(Int64(TextSearch.order(text, first, exact)))
        case "caseInsensitiveCompare:":
            return .integer(Int64(TextSearch.order(text, first, TextFolding([.caseInsensitive]))))
        case "stringByAppendingPathComponent:":
            return .text(
                try joined([text, first], text.isEmpty || text.hasSuffix("/") || first.hasPrefix("/") ? "" : "/"))
        default: return .text(try joined([text, first], "."))
        }
    }

    /// Returns texts concatenated with a separator.
    ///
    /// - Throws: `expression.limit` for more than ``ExpressionEvaluator/maximumTextLength`` bytes.
    static func joined(_ parts: [String], _ separator: String) throws(ProgramFault) -> String {
        var length = 0
        for part in parts {
            length += part.utf8.count + separator.utf8.count
            guard length <= ExpressionEvaluator.maximumTextLength else {
                throw ProgramFault(
                    "expression.limit",
                    "a text of an expression has more than \(ExpressionEvaluator.maximumTextLength) bytes")
            }
        }
        return parts.joined(separator: separator)
    }

    private static func plain(_ selector: String, _ text: String) -> EvaluatedValue? {
        switch selector {
        case "length": return .integer(Int64(text.utf16.count))
        case "uppercaseString", "localizedUppercaseString": return .text(text.uppercased())
        case "lowercaseString", "localizedLowercaseString": return .text(text.lowercased())
        case "capitalizedString", "localizedCapitalizedString": return .text(text.capitalized)
        case "description", "copy", "mutableCopy", "self": return .text(text)
        case "intValue": return .integer(Int64(Int32(clamping: whole(text))))
        case "integerValue", "longLongValue": return .integer(whole(text))
        case "doubleValue": return .real(number(text))
        case "floatValue": return .float(Float(number(text)))
        case "boolValue":
            // As in NSString: skip blanks, a sign and zeros, then test the next character.
            var rest = text[...]
            while let next = rest.first, next.isWhitespace { rest.removeFirst() }
            if let sign = rest.first, sign == "-" || sign == "+" { rest.removeFirst() }
            while rest.first == "0" { rest.removeFirst() }
            return .boolean(rest.first.map { "YyTt123456789".contains($0) } ?? false)
        case "lastPathComponent": return .text((text as NSString).lastPathComponent)
        case "pathExtension": return .text((text as NSString).pathExtension)
        case "stringByDeletingPathExtension": return .text((text as NSString).deletingPathExtension)
        case "stringByDeletingLastPathComponent": return .text((text as NSString).deletingLastPathComponent)
        case "decomposedStringWithCanonicalMapping": return .text(text.decomposedStringWithCanonicalMapping)
        case "precomposedStringWithCanonicalMapping": return .text(text.precomposedStringWithCanonicalMapping)
        case "stringByRemovingPercentEncoding": return EvaluatedValue(text.removingPercentEncoding)
        default: return nil
        }
    }

    /// Returns the integer at the start of a text, as NSString reads it: 0 if there is none, the nearest limit if it is too
    /// large.
    private static func whole(_ text: String) -> Int64 {
        var rest = text.drop(while: { $0.isWhitespace })
        let isNegative = rest.first == "-"
        if isNegative || rest.first == "+" { rest = rest.dropFirst() }
        var value: Int64 = 0
        for byte in rest.utf8 {
            guard byte >= 0x30, byte <= 0x39 else { break }
            let digit = Int64(byte - 0x30)
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflow) =
                isNegative
                ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if tooLarge || overflow { return isNegative ? .min : .max }
            value = sum
        }
        return value
    }

    /// Returns the floating-point number at the start of a text; 0 if there is none.
    private static func number(_ text: String) -> Double {
        var accepted: [UInt8] = []
        var (hasPoint, hasExponent, hasDigit) = (false, false, false)
        for byte in text.drop(while: { $0.isWhitespace }).utf8 {
            switch byte {
            case 0x30...0x39: hasDigit = true
            case UInt8(ascii: "+"), UInt8(ascii: "-"):
                guard accepted.isEmpty || accepted.last.map({ $0 | 0x20 }) == UInt8(ascii: "e") else {
                    return value(accepted)
                }
            case UInt8(ascii: ".") where !hasPoint && !hasExponent: hasPoint = true
            case UInt8(ascii: "e") where hasDigit && !hasExponent, UInt8(ascii: "E") where hasDigit && !hasExponent:
                hasExponent = true
            default: return value(accepted)
            }
            accepted.append(byte)
        }
        return value(accepted)
    }

    private static func value(_ bytes: [UInt8]) -> Double {
        var bytes = bytes
        // An exponent without digits is not part of the number.
        while let last = bytes.last, !(last >= 0x30 && last <= 0x39), last != UInt8(ascii: ".") { bytes.removeLast() }
        var text = String(decoding: bytes, as: UTF8.self)
        if text.hasSuffix(".") { text.removeLast() }
        return Double(text) ?? 0
    }

    private static func part(_ selector: String, _ text: String, _ index: EvaluatedValue) throws -> EvaluatedValue {
        if index.isNull { return .null }
        guard case .integer(let place) = index else { throw ExpressionEvaluator.misfit(selector, index) }
        let units = Array(text.utf16)
        guard place >= 0, place < units.count || (place == units.count && selector != "characterAtIndex:") else {
            throw ProgramFault(
                "value.outOfRange",
                "the index \(place) of '\(selector)' is out of the range of \(units.count) characters")
        }
        switch selector {
        case "substringFromIndex:": return .text(String(decoding: units[Int(place)...], as: UTF16.self))
        case "substringToIndex:": return .text(String(decoding: units[..<Int(place)], as: UTF16.self))
        default: return .integer(Int64(units[Int(place)]))
        }
    }

    /// Returns a text without the characters of a set at its ends. The set is a CharacterSet given by code, or a text of its
    /// characters.
    private static func trimmed(_ text: String, _ set: EvaluatedValue, _ selector: String) throws -> EvaluatedValue {
        switch set {
        case .null: return .text(text.trimmingCharacters(in: .whitespacesAndNewlines))
        case .text(let characters): return .text(text.trimmingCharacters(in: CharacterSet(charactersIn: characters)))
        case .object(let object):
            if let set = object as? CharacterSet { return .text(text.trimmingCharacters(in: set)) }
            if let set = object as? NSCharacterSet { return .text(text.trimmingCharacters(in: set as CharacterSet)) }
            throw ExpressionEvaluator.misfit(selector, set)
        default: throw ExpressionEvaluator.misfit(selector, set)
        }
    }
}

/// The messages of NSNumber and NSDecimalNumber.
enum NumberMessages {
    static func answer(
        _ selector: String, _ number: EvaluatedValue, _ arguments: [EvaluatedValue]
    ) throws -> EvaluatedValue? {
        switch selector {
        case "intValue", "integerValue", "longLongValue", "longValue", "shortValue", "unsignedIntegerValue",
            "unsignedIntValue":
            return try number.cast(to: selector == "intValue" ? "int32" : "integer")
        case "doubleValue": return .real(try number.finiteReal())
        case "floatValue": return .float(Float(try number.finiteReal()))
        case "boolValue": return .boolean(number.real != 0)
        case "decimalValue": return try number.cast(to: "NSDecimalNumber")
        case "stringValue", "description": return try number.cast(to: "NSString")
        case "isEqualToNumber:", "isEqual:": return .boolean(number == arguments[0])
        case "compare:":
            if arguments[0].isNull { return .null }
            guard arguments[0].isNumber else { throw ExpressionEvaluator.misfit(selector, arguments[0]) }
            return .integer(Int64(ValueOrder.order(number, arguments[0]) ?? 0))
        case "decimalNumberByAdding:": return try EvaluatedNumbers.apply(.add, number, arguments[0])
        case "decimalNumberBySubtracting:": return try EvaluatedNumbers.apply(.subtract, number, arguments[0])
        case "decimalNumberByMultiplyingBy:": return try EvaluatedNumbers.apply(.multiply, number, arguments[0])
        case "decimalNumberByDividingBy:": return try EvaluatedNumbers.apply(.divide, number, arguments[0])
        default: return nil
        }
    }
}
