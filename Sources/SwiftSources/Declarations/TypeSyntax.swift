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
    var unwrapped: TypeSyntax {
        var type = self
        while case .optional(let inner) = type { type = inner }
        return type
    }

    var isOptional: Bool { if case .optional = self { true } else { false } }

    /// A name in the form that the language has for it: `Array<T>` is `[T]`.
    static func name(_ names: [String], _ arguments: [TypeSyntax]) -> TypeSyntax {
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

/// Reads a type from tokens.
struct TypeReader {
    /// The number of types inside each other that are read.
    private static let greatestDepth = 24

    let tokens: TokenTree
    private(set) var position: Int

    init(_ tokens: TokenTree, at position: Int) {
        self.tokens = tokens
        self.position = position
    }

    /// Reads a type and moves behind it; nil if there is none.
    mutating func read(depth: Int = 0) -> TypeSyntax? {
        guard depth < Self.greatestDepth else { return nil }
        while let token = tokens[position],
            token.kind == .attribute || ["any", "some", "inout", "sending", "borrowing"].contains(token.text)
        {
            position += 1
        }
        let start = position
        guard var type = primary(depth) else { return nil }
        while true {
            if tokens.isMark(position, "?") || tokens.isMark(position, "!") {
                type = .optional(type)
                position += 1
            } else if tokens.isMark(position, "&") {
                position += 1
                _ = primary(depth)
                type = .other(tokens.text(start..<position))
            } else if tokens.isMark(position, "-"), tokens.isMark(position + 1, ">") {
                position += 2
                _ = read(depth: depth + 1)
                type = .other(tokens.text(start..<position))
            } else if ["async", "throws"].contains(tokens[position]?.text ?? ""), tokens.isMark(position + 1, "-") {
                position += 1
            } else {
                return type
            }
        }
    }

    private mutating func primary(_ depth: Int) -> TypeSyntax? {
        guard let token = tokens[position] else { return nil }
        if token.kind == .word { return name(depth) }
        let start = position
        let end = tokens.closing(position)
        if token.isMark("[") {
            position += 1
            let first = read(depth: depth + 1)
            var type = first.map(TypeSyntax.array)
            if tokens.isMark(position, ":"), let first {
                position += 1
                type = read(depth: depth + 1).map { .dictionary(first, $0) }
            }
            let isWhole = position == end
            position = min(end + 1, tokens.count)
            return isWhole ? type : .other(tokens.text(start..<position))
        }
        guard token.isMark("(") else { return nil }
        position += 1
        let inner = read(depth: depth + 1)
        let isWhole = position == end
        position = min(end + 1, tokens.count)
        return isWhole ? inner ?? .other("()") : .other(tokens.text(start..<position))
    }

    private mutating func name(_ depth: Int) -> TypeSyntax? {
        var names: [String] = []
        var arguments: [TypeSyntax] = []
        while let token = tokens[position], token.kind == .word {
            names.append(token.text)
            position += 1
            if tokens.isMark(position, "<") {
                position += 1
                arguments = []
                while let argument = read(depth: depth + 1) {
                    arguments.append(argument)
                    guard tokens.isMark(position, ",") else { break }
                    position += 1
                }
                guard tokens.isMark(position, ">") else { return .other(names.joined(separator: ".")) }
                position += 1
            }
            guard tokens.isMark(position, "."), tokens.isWord(position + 1) else { break }
            position += 1
        }
        return names.isEmpty ? nil : .name(names, arguments)
    }
}
