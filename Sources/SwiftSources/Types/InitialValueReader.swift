import Foundation
import ManagedModel
import SwiftTokens

/// Reads initial values: literals, and the constants and raw values that they name.
struct InitialValueReader {
    /// The number of constants in a row that are followed.
    private static let greatestDepth = 8

    let resolver: TypeResolver

    /// Returns the literal that a variable begins with, or that of the constant which it names; nil for none, `nil`, and an
    /// expression whose value no source shows.
    func value(of variable: VariableDeclaration, in scope: TypeScope, depth: Int = 0) -> AttributeValue? {
        if let literal = Self.literal(variable.initial) { return literal }
        guard depth < Self.greatestDepth else { return nil }
        return constant(variable.initial, in: scope, file: variable.place.file, depth)
    }

    /// Returns the value of `Limits.most`, `Kind.book.rawValue` and `Self.most`.
    private func constant(
        _ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, _ depth: Int
    ) -> AttributeValue? {
        guard var names = tokens.names else { return nil }
        let isRaw = names.count > 2 && names.last == "rawValue"
        if isRaw { names.removeLast() }
        guard let name = names.popLast() else { return nil }
        guard let owner = names.isEmpty ? resolver.root : resolver.type(names, in: scope, file: file) else {
            return nil
        }
        if isRaw { return rawValue(of: name, of: owner) }
        guard let constant = owner.constant(name), constant.isLet else { return nil }
        return value(of: constant, in: owner, depth: depth + 1)
    }

    /// Returns the raw value of the case that a variable begins with, `Kind.book` or `.book`; nil if it is none of the type.
    func rawValue(of variable: VariableDeclaration, of type: TypeScope, in scope: TypeScope) -> AttributeValue? {
        // Of an optional, `.none` is nil.
        guard let name = variable.initial.last?.text, name != "none" || variable.type?.isOptional == false else {
            return nil
        }
        let owner = variable.initial.dropLast(2)
        let isImplied = owner.isEmpty && variable.initial.first?.isMark(".") == true
        let isOwn = owner.names.map { resolver.type($0, in: scope, file: variable.place.file) === type } == true
        return isImplied || isOwn ? rawValue(of: name, of: type) : nil
    }

    /// Returns the raw value of a case: a literal, else the case's name or the number after the last.
    private func rawValue(of name: String, of type: TypeScope) -> AttributeValue? {
        guard type.declaration?.kind == .enum, let raw = resolver.rawType(of: type) else { return nil }
        var next: Int64 = 0
        for found in type.declaration?.cases ?? [] {
            let literal = Self.literal(found.rawValue)
            if case .integer(let number)? = literal { next = number }
            if found.name == name {
                return literal ?? (found.rawValue.isEmpty ? raw == .string ? .string(name) : .integer(next) : nil)
            }
            (next, _) = next.addingReportingOverflow(1)
        }
        return nil
    }

    /// Returns the type of a variable: the one that is written, else that of the literal that it begins with, or the one whose
    /// initializer, case or constant it begins with; nil for other expressions.
    func type(of variable: VariableDeclaration, in scope: TypeScope) -> TypeSyntax? {
        if let type = variable.type { return type }
        let tokens = variable.initial
        switch Self.literal(tokens) {
        case .boolean?: return .named(["Bool"])
        case .integer?: return .named(["Int"])
        case .decimal?, .double?: return .named(["Double"])
        default: if tokens.first?.kind == .string { return .named(["String"]) }
        }
        if let type = calledType(tokens) { return type }
        // `Date.now`, `Kind.book`.
        guard let names = tokens.names, let last = names.last, names.count > 1 else { return nil }
        let owner = Array(names.dropLast())
        guard let type = resolver.type(owner, in: scope, file: variable.place.file), type.declaration != nil else {
            return owner == ["Date"] && ["now", "distantPast", "distantFuture"].contains(last) ? .named(owner) : nil
        }
        if let constant = type.constant(last) { return constant.type }
        return type.declaration?.cases.contains { $0.name == last } == true ? .named(owner) : nil
    }

    /// Returns the type whose initializer is called: `UUID()`, `UUID.init()`, `[String]()`.
    private func calledType(_ tokens: ArraySlice<SwiftToken>) -> TypeSyntax? {
        var cursor = TokenCursor(TokenTree(Array(tokens)))
        guard var type = cursor.type(), cursor.isMark("(") else { return nil }
        cursor.pass()
        guard cursor.token == nil else { return nil }
        if case .named(var names, let arguments) = type {
            if names.last == "init" { names.removeLast() }
            guard names.last?.first?.isUppercase == true else { return nil }
            type = .named(names, arguments: arguments)
        }
        return type.isOptional ? nil : type
    }

    /// Returns the value of a Boolean, string or number literal, which may have a sign; nil for any other expression.
    static func literal(_ tokens: ArraySlice<SwiftToken>) -> AttributeValue? {
        guard let first = tokens.first else { return nil }
        if tokens.count == 1 {
            if first.isWord("true") { return .boolean(true) }
            if first.isWord("false") { return .boolean(false) }
            if first.kind == .string { return first.literalText.map { .string($0) } }
        }
        let isSigned = tokens.count == 2 && (first.isMark("-") || first.isMark("+"))
        guard let last = tokens.last, last.kind == .number, tokens.count == 1 || isSigned,
            !isSigned || first.range.upperBound == last.range.lowerBound
        else { return nil }
        return number(last.text, sign: isSigned ? first.text : "")
    }

    /// Returns a number: a decimal if it has a fraction or an exponent, a double if no decimal has its value.
    private static func number(_ text: String, sign: String) -> AttributeValue? {
        let digits = text.replacing("_", with: "")
        let radix = ["0x": 16, "0b": 2, "0o": 8][digits.prefix(2)]
        if let integer = Int64(sign + digits.dropFirst(radix == nil ? 0 : 2), radix: radix ?? 10) {
            return .integer(integer)
        }
        guard let double = Double(sign + digits), double.isFinite else { return nil }
        guard let decimal = Decimal(string: sign + digits), Double(decimal.description) == double else {
            return .double(double)
        }
        return .decimal(decimal)
    }
}

extension AttributeValue {
    /// A literal as the default of an attribute; nil if it does not fit the type.
    func asDefault(of type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.boolean, .boolean), (.string, .string), (.integer64, .integer), (.decimal, .decimal): self
        case (.double, .double), (.float, .double): self
        case (.integer16, .integer(let number)): Int16(exactly: number) == nil ? nil : self
        case (.integer32, .integer(let number)): Int32(exactly: number) == nil ? nil : self
        case (.double, .integer(let number)), (.float, .integer(let number)): .double(Double(number))
        case (.double, .decimal(let number)), (.float, .decimal(let number)):
            // NSDecimalNumber's own conversion may miss the nearest value.
            Double(number.description).map { .double($0) }
        case (.decimal, .integer(let number)): .decimal(Decimal(number))
        default: nil
        }
    }
}
