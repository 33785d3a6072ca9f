import Foundation
import ManagedModel

/// The value that a property has in a new object.
enum InitialValue: Equatable {
    /// None, or `nil`.
    case none
    /// A literal, or a constant whose literal the sources show.
    case literal(Literal)
    /// An expression whose value no source shows, as text.
    case expression(String)

    enum Literal: Equatable {
        case boolean(Bool)
        case integer(Int64)
        case number(Decimal)
        case text(String)
    }
}

/// Reads initial values: literals, and the constants and raw values that they name.
struct InitialValueReader {
    /// The number of constants in a row that are followed.
    private static let greatestDepth = 8

    let resolver: TypeResolver

    /// Reads the value of an expression.
    func value(
        of tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, depth: Int = 0
    ) -> InitialValue {
        guard let first = tokens.first else { return .none }
        if let literal = Self.literal(tokens) { return .literal(literal) }
        if tokens.count == 1, first.isWord("nil") { return .none }
        let found = depth < Self.greatestDepth ? constant(tokens, in: scope, file: file, depth) : nil
        return found.map(InitialValue.literal) ?? .expression(tokens.text)
    }

    /// Returns the value of `Limits.most`, `Kind.book.rawValue` and `Self.most`.
    private func constant(
        _ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, _ depth: Int
    ) -> InitialValue.Literal? {
        var names = tokens.parts(at: ".").map { $0.count == 1 ? $0.first : nil }.compactMap { $0 }.filter {
            $0.kind == .word
        }
        .map(\.text)
        guard names.count * 2 - 1 == tokens.count else { return nil }
        let isRaw = names.count > 2 && names.last == "rawValue"
        if isRaw { names.removeLast() }
        guard let name = names.popLast() else { return nil }
        guard names != ["Self"] else { return literal(of: name, of: scope, depth) }
        guard !names.isEmpty else {
            return resolver.tree.files.lazy.compactMap { $0.variables.first { $0.name == name && $0.isLet } }.first
                .flatMap { literal($0, scope: resolver.tree.root, depth) }
        }
        guard let type = resolver.type(names, in: scope, file: file) else { return nil }
        return isRaw ? rawValue(of: name, of: type) : literal(of: name, of: type, depth)
    }

    private func literal(of name: String, of type: TypeScope, _ depth: Int) -> InitialValue.Literal? {
        type.constant(name).flatMap { literal($0, scope: type, depth) }
    }

    private func literal(_ variable: VariableDeclaration, scope: TypeScope, _ depth: Int) -> InitialValue.Literal? {
        guard variable.isLet else { return nil }
        let value = value(of: variable.initial, in: scope, file: variable.place.file, depth: depth + 1)
        return if case .literal(let literal) = value { literal } else { nil }
    }

    /// Returns the raw value of a case: a literal, else the case's name or the number after the last.
    private func rawValue(of name: String, of type: TypeScope) -> InitialValue.Literal? {
        guard let declaration = type.declaration, declaration.kind == .enum,
            case .primitive(let raw)? = EnumForm.rawType(of: type, resolver)
        else { return nil }
        var next: Int64 = 0
        for found in declaration.cases {
            let literal = Self.literal(found.rawValue)
            if case .integer(let number)? = literal { next = number }
            if found.name == name {
                return literal ?? (found.rawValue.isEmpty ? raw == .string ? .text(name) : .integer(next) : nil)
            }
            (next, _) = next.addingReportingOverflow(1)
        }
        return nil
    }

    /// Returns the value of a literal; nil for any other expression.
    static func literal(_ tokens: ArraySlice<SwiftToken>) -> InitialValue.Literal? {
        guard let first = tokens.first else { return nil }
        if tokens.count == 1 {
            if first.isWord("true") { return .boolean(true) }
            if first.isWord("false") { return .boolean(false) }
            if first.kind == .string { return text(first).map { .text($0) } }
        }
        var rest = tokens
        let isNegative = first.isMark("-")
        if isNegative { rest = rest.dropFirst() }
        // `1.5` is a number, a point and a number.
        let words = rest.map(\.text)
        guard rest.first?.kind == .number,
            words.count == 1 || words.count == 3 && words[1] == "." && rest.last?.kind == .number
        else { return nil }
        let digits = words.joined().replacing("_", with: "")
        if let integer = integer(digits, isNegative) { return .integer(integer) }
        guard digits.utf8.allSatisfy({ $0 < 0x3A || $0 | 0x20 == UInt8(ascii: "e") }),
            let number = Decimal(string: digits)
        else { return nil }
        return .number(isNegative ? -number : number)
    }

    private static func integer(_ digits: String, _ isNegative: Bool) -> Int64? {
        let forms = [("0x", 16), ("0b", 2), ("0o", 8)]
        let form = forms.first { digits.hasPrefix($0.0) }
        let plain = form.map { String(digits.dropFirst($0.0.count)) } ?? digits
        return Int64((isNegative ? "-" : "") + plain, radix: form?.1 ?? 10)
    }

    /// Returns the text of a string literal; nil if it has interpolations.
    static func text(_ token: SwiftToken) -> String? {
        var body = Substring(token.text)
        let hashes = body.prefix { $0 == "#" }
        body = body.dropFirst(hashes.count).dropLast(hashes.count)
        guard body.first == "\"", body.last == "\"", body.count > 1 else { return nil }
        guard !body.hasPrefix("\"\"\"") else { return multiline(body, hashes) }
        return unescaped(body.dropFirst().dropLast(), escape: "\\" + hashes)
    }

    private static func multiline(_ body: Substring, _ hashes: Substring) -> String? {
        guard body.count > 6, body.hasSuffix("\"\"\"") else { return nil }
        var lines = body.dropFirst(3).dropLast(3).split(separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 1, let indent = lines.popLast() else { return nil }
        let texts = lines.dropFirst().map { $0.hasPrefix(indent) ? $0.dropFirst(indent.count) : $0 }
        return unescaped(texts.joined(separator: "\n")[...], escape: "\\" + hashes)
    }

    private static func unescaped(_ text: Substring, escape: String) -> String? {
        var rest = text
        var result = ""
        while let range = rest.firstRange(of: escape) {
            result += rest[..<range.lowerBound]
            rest = rest[range.upperBound...]
            guard let next = rest.popFirst() else { return nil }
            switch next {
            case "n": result += "\n"
            case "t": result += "\t"
            case "r": result += "\r"
            case "0": result += "\0"
            case "\\", "\"", "'": result.append(next)
            case "u":
                let digits = rest.dropFirst().prefix { $0 != "}" }
                guard let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else { return nil }
                result.unicodeScalars.append(scalar)
                rest = rest.dropFirst(digits.count + 2)
            default: return nil
            }
        }
        return result + rest
    }
}

extension InitialValue.Literal {
    /// The value as the default of an attribute; nil if it does not fit the type.
    func defaultValue(of type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.boolean, .boolean(let flag)): .boolean(flag)
        case (.string, .text(let text)): .string(text)
        case (.integer16, .integer(let number)): Int16(exactly: number).map { .integer(Int64($0)) }
        case (.integer32, .integer(let number)): Int32(exactly: number).map { .integer(Int64($0)) }
        case (.integer64, .integer(let number)): .integer(number)
        case (.double, .integer(let number)), (.float, .integer(let number)): .double(Double(number))
        case (.double, .number(let number)), (.float, .number(let number)):
            .double(NSDecimalNumber(decimal: number).doubleValue)
        case (.decimal, .integer(let number)): .decimal(Decimal(number))
        case (.decimal, .number(let number)): .decimal(number)
        default: nil
        }
    }
}
