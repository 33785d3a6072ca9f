/// A type as it is written.
package indirect enum TypeSyntax: Equatable, Sendable {
    /// A name with its enclosing names: `SchemaV1.Tag`. The arguments are those of the last name.
    case named([String], arguments: [TypeSyntax] = [])
    /// `T?`, `T!`, `Optional<T>`.
    case optional(TypeSyntax)
    /// `[T]`, `Array<T>`.
    case array(TypeSyntax)
    /// `Set<T>`.
    case set(TypeSyntax)
    /// `[K: V]`, `Dictionary<K, V>`.
    case dictionary(TypeSyntax, TypeSyntax)
    /// A type of another form, such as a tuple or a function.
    case other(String)

    /// The type as text.
    package var text: String {
        switch self {
        case .named(let names, let arguments):
            let list = arguments.isEmpty ? "" : "<\(arguments.map(\.text).joined(separator: ", "))>"
            return names.joined(separator: ".") + list
        case .optional(let type): return "\(type.text)?"
        case .array(let type): return "[\(type.text)]"
        case .set(let type): return "Set<\(type.text)>"
        case .dictionary(let key, let value): return "[\(key.text): \(value.text)]"
        case .other(let text): return text
        }
    }

    /// The type without optionals around it.
    package var unwrapped: TypeSyntax {
        var type = self
        while case .optional(let inner) = type { type = inner }
        return type
    }

    package var isOptional: Bool { if case .optional = self { true } else { false } }

    /// A name in the form that the language has for it: `Array<T>` is `[T]`.
    fileprivate static func name(_ names: [String], _ arguments: [TypeSyntax]) -> TypeSyntax {
        let isOfSwift = names.count == 1 || names.count == 2 && ["Swift", "Foundation"].contains(names[0])
        switch (isOfSwift ? names.last : nil, arguments.count) {
        case ("Optional", 1): return .optional(arguments[0])
        case ("Array", 1): return .array(arguments[0])
        case ("Set", 1): return .set(arguments[0])
        case ("Dictionary", 2): return .dictionary(arguments[0], arguments[1])
        default: return .named(names, arguments: arguments)
        }
    }
}

extension TokenCursor {
    /// The number of types inside each other that are read.
    private static let greatestTypeDepth = 24

    /// Reads a type and moves behind it; nil if there is none.
    package mutating func type(depth: Int = 0) -> TypeSyntax? {
        guard depth < Self.greatestTypeDepth else { return nil }
        while let token, token.kind == .attribute || Self.typeModifiers.contains(token.text) { position += 1 }
        let start = position
        guard var type = primaryType(depth) else { return nil }
        while true {
            if take("?") || take("!") {
                type = .optional(type)
            } else if take("&") {
                _ = primaryType(depth)
                type = .other(tree.tokens[start..<position].text)
            } else if isMark("-"), isMark(">", 1) {
                position += 2
                _ = self.type(depth: depth + 1)
                type = .other(tree.tokens[start..<position].text)
            } else if isWord("async") || isWord("throws"), isMark("-", 1) {
                position += 1
            } else {
                return type
            }
        }
    }

    private static let typeModifiers: Set<String> = ["any", "some", "inout", "sending", "borrowing"]

    private mutating func primaryType(_ depth: Int) -> TypeSyntax? {
        guard let token else { return nil }
        if token.kind == .word { return typeName(depth) }
        guard token.isMark("[") || token.isMark("(") else { return nil }
        let start = position
        let close = tree.closing(position)
        position += 1
        var type = self.type(depth: depth + 1)
        if token.isMark("("), type == nil { type = .other("()") }
        if token.isMark("["), let first = type {
            type = take(":") ? self.type(depth: depth + 1).map { .dictionary(first, $0) } : .array(first)
        }
        let isWhole = position == close
        position = min(close + 1, end)
        return isWhole ? type : .other(tree.tokens[start..<position].text)
    }

    private mutating func typeName(_ depth: Int) -> TypeSyntax? {
        var names: [String] = []
        var arguments: [TypeSyntax] = []
        while let word = takeWord() {
            names.append(word)
            if take("<") {
                arguments = []
                while let argument = type(depth: depth + 1) {
                    arguments.append(argument)
                    guard take(",") else { break }
                }
                guard take(">") else { return .other(names.joined(separator: ".")) }
            }
            guard isMark("."), token(1)?.kind == .word else { break }
            position += 1
        }
        return .name(names, arguments)
    }
}
