import Foundation

/// The messages of NSString. Indices and lengths count UTF-16 units.
enum TextMessages {
    static let table = MessageTable<String> { table in
        addConversions(to: &table)
        table.add("length", gives: .integer) { .integer(Int64($0.utf16.count)) }
        table.add("substringFromIndex:", takes: [.place], gives: .text) { text, arguments, selector in
            try part(selector, text, arguments[0]) { .text(String(decoding: $0[$1...], as: UTF16.self)) }
        }
        table.add("substringToIndex:", takes: [.place], gives: .text) { text, arguments, selector in
            try part(selector, text, arguments[0]) { .text(String(decoding: $0[..<$1], as: UTF16.self)) }
        }
        table.add("characterAtIndex:", takes: [.place], gives: .integer) { text, arguments, selector in
            try part(selector, text, arguments[0]) { .integer(Int64($0[$1])) }
        }
        table.add("stringByTrimmingCharactersInSet:", takes: [nil], gives: .text) { text, arguments, selector in
            .text(text.trimmingCharacters(in: try characters(arguments[0], selector)))
        }
        add(&table, "stringByAppendingString:", gives: .text) { .text(try joined([$0, $1], "")) }
        add(&table, "stringByAppendingPathExtension:", gives: .text) { .text(try joined([$0, $1], ".")) }
        add(&table, "stringByAppendingPathComponent:", gives: .text) { text, part in
            .text(try joined([text, part], text.isEmpty || text.hasSuffix("/") || part.hasPrefix("/") ? "" : "/"))
        }
        table.add("stringByReplacingOccurrencesOfString:withString:", takes: [.text, .text], gives: .text) {
            text, arguments, selector in
            guard let old = try arguments[0].argumentText(selector), let new = try arguments[1].argumentText(selector)
            else { return .null }
            return .text(old.isEmpty ? text : try joined(text.components(separatedBy: old), new))
        }
        table.add("componentsSeparatedByString:", takes: [.text], gives: .text, isList: true) {
            text, arguments, selector in
            guard let separator = try arguments[0].argumentText(selector) else { return .null }
            let parts = separator.isEmpty ? [text] : text.components(separatedBy: separator)
            return .collection(try EvaluatedCollection(parts.map { .text($0) }, .array))
        }
        let exact = TextFolding([])
        add(&table, "hasPrefix:", gives: .boolean) {
            .boolean(!$1.isEmpty && TextSearch.finds($0, .beginsWith, $1, exact))
        }
        add(&table, "hasSuffix:", gives: .boolean) {
            .boolean(!$1.isEmpty && TextSearch.finds($0, .endsWith, $1, exact))
        }
        add(&table, "containsString:", gives: .boolean) { .boolean(TextSearch.finds($0, .contains, $1, exact)) }
        add(&table, "isEqualToString:", gives: .boolean) { .boolean(TextSearch.order($0, $1, exact) == 0) }
        add(&table, "compare:", gives: .integer) { .integer(Int64(TextSearch.order($0, $1, exact))) }
        add(&table, "caseInsensitiveCompare:", gives: .integer) {
            .integer(Int64(TextSearch.order($0, $1, TextFolding([.caseInsensitive]))))
        }
    }

    private static func addConversions(to table: inout MessageTable<String>) {
        table.add("intValue", gives: .integer) { .integer(Int64(Int32(clamping: whole($0)))) }
        table.add("integerValue", "longLongValue", gives: .integer) { .integer(whole($0)) }
        table.add("doubleValue", gives: .real) { .real(number($0)) }
        table.add("floatValue", gives: .float) { .float(Float(number($0))) }
        table.add("boolValue", gives: .boolean) { .boolean(truth($0)) }
        table.add("description", "copy", "mutableCopy", "self", gives: .text) { .text($0) }
        table.add("uppercaseString", "localizedUppercaseString", gives: .text) { .text($0.uppercased()) }
        table.add("lowercaseString", "localizedLowercaseString", gives: .text) { .text($0.lowercased()) }
        table.add("capitalizedString", "localizedCapitalizedString", gives: .text) { .text($0.capitalized) }
        table.add("lastPathComponent", gives: .text) { .text(($0 as NSString).lastPathComponent) }
        table.add("pathExtension", gives: .text) { .text(($0 as NSString).pathExtension) }
        table.add("stringByDeletingPathExtension", gives: .text) { .text(($0 as NSString).deletingPathExtension) }
        table.add("stringByDeletingLastPathComponent", gives: .text) {
            .text(($0 as NSString).deletingLastPathComponent)
        }
        table.add("decomposedStringWithCanonicalMapping", gives: .text) {
            .text($0.decomposedStringWithCanonicalMapping)
        }
        table.add("precomposedStringWithCanonicalMapping", gives: .text) {
            .text($0.precomposedStringWithCanonicalMapping)
        }
        table.add("stringByRemovingPercentEncoding", gives: .text) { EvaluatedValue($0.removingPercentEncoding) }
    }

    /// Adds a message that takes a text; with nil for it the answer is nil.
    private static func add(
        _ table: inout MessageTable<String>, _ selector: String, gives type: ExpressionType,
        _ answer: @escaping @Sendable (_ text: String, _ argument: String) throws -> EvaluatedValue
    ) {
        table.add(selector, takes: [.text], gives: type) { text, arguments, selector in
            guard let argument = try arguments[0].argumentText(selector) else { return .null }
            return try answer(text, argument)
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

    /// Returns the Boolean at the start of a text, as NSString reads it: it skips blanks, a sign and zeros, then tests the next
    /// character.
    private static func truth(_ text: String) -> Bool {
        var rest = text.drop { $0.isWhitespace }
        if let sign = rest.first, sign == "-" || sign == "+" { rest.removeFirst() }
        return rest.first { $0 != "0" }.map { "YyTt123456789".contains($0) } ?? false
    }

    /// Returns the integer at the start of a text, as NSString reads it: 0 if there is none, the nearest limit if it is too
    /// large.
    private static func whole(_ text: String) -> Int64 {
        Int64(strtoll(String(text.drop { $0.isWhitespace }), nil, 10))
    }

    /// Returns the floating-point number at the start of a text; 0 if there is none.
    private static func number(_ text: String) -> Double {
        // strtod also reads words and hexadecimal digits, which NSString does not.
        let scalars = text.drop { $0.isWhitespace }.unicodeScalars
        return strtod(String(scalars.prefix(while: "0123456789+-.eE".unicodeScalars.contains)), nil)
    }

    /// Returns what a function makes of the UTF-16 units of a text and a place among them; nil for nil.
    private static func part(
        _ selector: String, _ text: String, _ index: EvaluatedValue, _ make: ([UInt16], Int) -> EvaluatedValue
    ) throws -> EvaluatedValue {
        if index.isNull { return .null }
        guard case .integer(let place) = index else { throw ExpressionEvaluator.misfit(selector, index) }
        let units = Array(text.utf16)
        guard place >= 0, place < units.count || (place == units.count && selector != "characterAtIndex:") else {
            throw ProgramFault(
                "value.outOfRange",
                "the index \(place) of '\(selector)' is out of the range of \(units.count) characters")
        }
        return make(units, Int(place))
    }

    /// Returns a set of characters: blanks for nil, a CharacterSet given by code, or a text of its characters.
    private static func characters(_ set: EvaluatedValue, _ selector: String) throws -> CharacterSet {
        switch set {
        case .null: return .whitespacesAndNewlines
        case .text(let characters): return CharacterSet(charactersIn: characters)
        case .object(let set as CharacterSet): return set
        case .object(let set as NSCharacterSet): return set as CharacterSet
        default: throw ExpressionEvaluator.misfit(selector, set)
        }
    }
}
