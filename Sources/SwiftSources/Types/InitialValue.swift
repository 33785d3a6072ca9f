import Foundation
import ManagedModel
import SwiftTokens

/// The value that a property has in a new object.
enum InitialValue: Equatable {
    /// None, or `nil`.
    case none
    /// A literal, or a constant whose literal the sources show. A number with a point is a decimal.
    case literal(AttributeValue)
    /// An expression whose value no source shows, as text.
    case expression(String)
}

/// Reads initial values: literals, and the constants and raw values that they name.
struct InitialValueReader {
    /// The number of constants in a row that are followed.
    private static let greatestDepth = 8

    let resolver: TypeResolver

    func value(
        of tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, depth: Int = 0
    ) -> InitialValue {
        if tokens.isEmpty || tokens.count == 1 && tokens.first?.isWord("nil") == true { return .none }
        if let literal = Self.literal(tokens) { return .literal(literal) }
        let found = depth < Self.greatestDepth ? constant(tokens, in: scope, file: file, depth) : nil
        return found.map(InitialValue.literal) ?? .expression(tokens.text)
    }

    /// Returns the value of `Limits.most`, `Kind.book.rawValue` and `Self.most`.
    private func constant(
        _ tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String, _ depth: Int
    ) -> AttributeValue? {
        guard var names = tokens.names else { return nil }
        let isRaw = names.count > 2 && names.last == "rawValue"
        if isRaw { names.removeLast() }
        guard let name = names.popLast() else { return nil }
        let owner =
            names.isEmpty ? resolver.root : resolver.type(names, in: scope, file: file)
        guard let owner else { return nil }
        if isRaw { return rawValue(of: name, of: owner) }
        guard let constant = owner.constant(name), constant.isLet else { return nil }
        let value = value(of: constant.initial, in: owner, file: constant.place.file, depth: depth + 1)
        return if case .literal(let literal) = value { literal } else { nil }
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

    /// Returns the type that an initial value shows: that of a literal, or the one whose initializer, case or constant it names.
    func type(of tokens: ArraySlice<SwiftToken>, in scope: TypeScope, file: String) -> TypeSyntax? {
        switch Self.literal(tokens) {
        case .boolean?: return .named(["Bool"])
        case .integer?: return .named(["Int"])
        case .decimal?: return .named(["Double"])
        default: if tokens.first?.kind == .string { return .named(["String"]) }
        }
        if let type = calledType(tokens) { return type }
        // `Date.now`, `Kind.book`.
        guard let names = tokens.names, let last = names.last, names.count > 1 else { return nil }
        let owner = Array(names.dropLast())
        guard let type = resolver.type(owner, in: scope, file: file), type.declaration != nil else {
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

    /// Returns the value of a literal; nil for any other expression.
    static func literal(_ tokens: ArraySlice<SwiftToken>) -> AttributeValue? {
        guard let first = tokens.first else { return nil }
        if tokens.count == 1 {
            if first.isWord("true") { return .boolean(true) }
            if first.isWord("false") { return .boolean(false) }
            if first.kind == .string { return first.literalText.map { .string($0) } }
        }
        // `-1.5` is a sign, a number, a point and a number.
        let sign = first.isMark("-") ? "-" : ""
        let rest = tokens.dropFirst(sign.count)
        let isNumber = rest.enumerated().allSatisfy { $0 == 1 ? $1.isMark(".") : $1.kind == .number }
        guard isNumber, rest.count == 1 || rest.count == 3 else { return nil }
        let digits = rest.map(\.text).joined().replacing("_", with: "")
        let radix = ["0x": 16, "0b": 2, "0o": 8][digits.prefix(2)]
        if let integer = Int64(sign + (radix == nil ? digits : String(digits.dropFirst(2))), radix: radix ?? 10) {
            return .integer(integer)
        }
        guard digits.utf8.allSatisfy({ $0 < 0x3A || $0 | 0x20 == UInt8(ascii: "e") }) else { return nil }
        return Decimal(string: sign + digits).map { .decimal($0) }
    }
}

extension AttributeValue {
    /// A literal as the default of an attribute; nil if it does not fit the type.
    func asDefault(of type: AttributeType) -> AttributeValue? {
        switch (type, self) {
        case (.boolean, .boolean), (.string, .string), (.integer64, .integer), (.decimal, .decimal): self
        case (.integer16, .integer(let number)): Int16(exactly: number) == nil ? nil : self
        case (.integer32, .integer(let number)): Int32(exactly: number) == nil ? nil : self
        case (.double, .integer(let number)), (.float, .integer(let number)): .double(Double(number))
        case (.double, .decimal(let number)), (.float, .decimal(let number)):
            .double(NSDecimalNumber(decimal: number).doubleValue)
        case (.decimal, .integer(let number)): .decimal(Decimal(number))
        default: nil
        }
    }
}
