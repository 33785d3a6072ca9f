/// Reads the declarations of a source: types with their members, aliases, variables. The bodies of functions are passed over.
///
/// - Complexity: O(tokens) of time. Types that are nested deeper than ``greatestDepth`` are passed over.
struct DeclarationParser {
    private static let greatestDepth = 32

    private static let kinds: Set<String> = ["class", "struct", "enum", "actor", "protocol", "extension"]
    private static let modifiers: Set<String> = [
        "public", "private", "fileprivate", "internal", "open", "package", "final", "static", "class", "lazy", "weak",
        "unowned", "override", "mutating", "nonmutating", "indirect", "nonisolated", "dynamic", "required",
        "convenience", "optional", "distributed", "prefix", "postfix", "infix", "isolated", "consuming", "borrowing",
    ]
    /// The keywords that begin a declaration behind the modifiers.
    private static let keywords: Set<String> = kinds.union([
        "var", "let", "func", "init", "deinit", "subscript", "case", "typealias", "associatedtype", "import",
        "operator",
        "precedencegroup", "macro",
    ])

    private static let infixMarks: Set<String> = [".", "?", ":", "+", "-", "*", "/", "&", "|", "<", "="]

    let file: String
    let tokens: TokenTree
    private var position = 0
    private var end: Int

    /// The attributes and modifiers in front of a declaration.
    private struct Prefix {
        var attributes: [AttributeSyntax] = []
        var modifiers: Set<String> = []
    }

    private init(_ tokens: TokenTree, file: String) {
        self.file = file
        self.tokens = tokens
        end = tokens.count
    }

    /// Reads a source.
    ///
    /// - Returns: a declaration without a name that has the declarations of the file as members.
    static func read(_ tokens: [SwiftToken], file: String) -> TypeDeclaration {
        var parser = DeclarationParser(TokenTree(tokens), file: file)
        var root = TypeDeclaration(kind: .extension, name: [], place: SourcePlace(file: file, line: 1))
        parser.members(of: &root, depth: 0)
        return root
    }

    private func place(_ index: Int) -> SourcePlace { SourcePlace(file: file, line: tokens[index]?.line ?? 0) }

    private mutating func members(of type: inout TypeDeclaration, depth: Int) {
        while position < end {
            let start = position
            let prefix = self.prefix()
            if position < end { member(prefix, of: &type, depth) }
            // Statements and stray tokens are passed over.
            if position == start { position = min(tokens.end(position), end) }
        }
    }

    private mutating func member(_ prefix: Prefix, of type: inout TypeDeclaration, _ depth: Int) {
        guard let token = tokens[position] else { return }
        if token.kind == .directive, ["#Unique", "#Index"].contains(token.text) {
            return type.macros.append(attribute())
        }
        guard token.kind == .word, Self.keywords.contains(token.text), !tokens.isMark(position - 1, ".") else { return }
        switch token.text {
        case "var", "let": variables(prefix, of: &type)
        case "case" where type.kind == .enum: cases(of: &type)
        case "typealias":
            guard tokens.isWord(position + 1) else {
                position += 1
                return
            }
            let (name, place) = (tokens[position + 1]?.text ?? "", place(position))
            position += 2
            skipGenerics()
            guard tokens.isMark(position, "=") else { return }
            var reader = TypeReader(tokens, at: position + 1)
            if let target = reader.read() {
                type.aliases.append(AliasDeclaration(name: name, target: target, place: place))
            }
            position = min(max(reader.position, position + 1), end)
        case "func", "init", "deinit", "subscript": function(of: &type)
        case "import": position = min(position + 2, end)
        case let kind where Self.kinds.contains(kind):
            guard tokens.isWord(position + 1), let kind = TypeDeclaration.Kind(rawValue: kind) else {
                position += 1
                return
            }
            let member = self.type(kind, prefix, depth)
            if let member { type.types.append(member) }
        default: position += 1
        }
    }

    private mutating func prefix() -> Prefix {
        var prefix = Prefix()
        while position < end, let token = tokens[position] {
            if token.kind == .attribute {
                prefix.attributes.append(attribute())
            } else if token.kind == .word, Self.modifiers.contains(token.text), isModifier(position) {
                prefix.modifiers.insert(token.text)
                position += 1
                if tokens.isMark(position, "(") { position = min(tokens.end(position), end) }
            } else {
                break
            }
        }
        return prefix
    }

    /// Tells a modifier from a name and from the keyword `class`.
    private func isModifier(_ index: Int) -> Bool {
        var next = index + 1
        if tokens.isMark(next, "(") { next = tokens.end(next) }
        guard let token = tokens[next] else { return false }
        if token.kind == .attribute { return true }
        guard token.kind == .word else { return false }
        return Self.keywords.contains(token.text) || Self.modifiers.contains(token.text)
    }

    /// Reads an attribute or a macro with its arguments.
    private mutating func attribute() -> AttributeSyntax {
        let place = self.place(position)
        var name = String(tokens[position]?.text.dropFirst() ?? "")
        position += 1
        while tokens.isMark(position, "."), tokens.isWord(position + 1) {
            name = tokens[position + 1]?.text ?? name
            position += 2
        }
        skipGenerics()
        var arguments: [CallArgument] = []
        // Behind a space a parenthesis is one of the declaration: `@escaping (Int)`.
        let isAdjacent = tokens[position]?.range.lowerBound == tokens[position - 1]?.range.upperBound
        if position < end, tokens.isMark(position, "("), isAdjacent {
            let close = min(tokens.closing(position), end)
            if close > position { arguments = CallArgument.list(tokens[position + 1..<close]) }
            position = min(tokens.end(position), end)
        }
        return AttributeSyntax(name: name, arguments: arguments, place: place)
    }

    private mutating func skipGenerics() {
        guard tokens.isMark(position, "<") else { return }
        var depth = 0
        while position < end, let token = tokens[position], !token.isMark("{") {
            if token.isMark("<") { depth += 1 }
            if token.isMark(">"), !tokens.isMark(position - 1, "-") { depth -= 1 }
            position = min(tokens.end(position), end)
            if depth == 0 { return }
        }
    }

    private mutating func type(_ kind: TypeDeclaration.Kind, _ prefix: Prefix, _ depth: Int) -> TypeDeclaration? {
        let place = self.place(position)
        position += 1
        var name: [String] = []
        while tokens.isWord(position), position < end {
            name.append(tokens[position]?.text ?? "")
            position += 1
            guard kind == .extension, tokens.isMark(position, "."), tokens.isWord(position + 1) else { break }
            position += 1
        }
        var type = TypeDeclaration(kind: kind, name: name, place: place, attributes: prefix.attributes)
        type.isPrivate = !prefix.modifiers.isDisjoint(with: ["private", "fileprivate"])
        type.isGeneric = tokens.isMark(position, "<")
        skipGenerics()
        if tokens.isMark(position, ":") {
            repeat {
                var reader = TypeReader(tokens, at: position + 1)
                if let inherited = reader.read() { type.inherited.append(inherited) }
                position = min(max(reader.position, position + 1), end)
            } while tokens.isMark(position, ",")
        }
        while position < end, !tokens.isMark(position, "{"), !tokens.isMark(position, "}") { position += 1 }
        guard position < end, tokens.isMark(position, "{") else { return type }
        let (close, outer) = (min(tokens.closing(position), end), end)
        if depth < Self.greatestDepth, close > position {
            position += 1
            end = close
            members(of: &type, depth: depth + 1)
            end = outer
        }
        position = min(close + 1, end)
        return type
    }

    /// Passes over a function, and notes its name.
    private mutating func function(of type: inout TypeDeclaration) {
        let isInitializer = tokens.isWord(position, "init")
        var name = tokens[isInitializer ? position : position + 1]?.text ?? ""
        let line = tokens[position]?.line
        position += 1
        while position < end, let token = tokens[position] {
            if token.isMark("{") || token.isMark("}") || token.isMark(";") { break }
            // A requirement of a protocol has no body: the next declaration follows.
            if token.isFirstOnLine, token.line != line, token.kind != .mark,
                token.kind != .word || Self.keywords.contains(token.text) || Self.modifiers.contains(token.text)
            {
                break
            }
            if token.isMark("("), isInitializer, name == "init" {
                name += " " + (tokens[position + 1]?.text ?? "")
            }
            position = min(tokens.end(position), end)
        }
        if tokens.isMark(position, "{"), position < end { position = min(tokens.end(position), end) }
        type.methods.insert(name)
    }

    private mutating func cases(of type: inout TypeDeclaration) {
        repeat {
            position += 1
            guard tokens.isWord(position), position < end else { return }
            var found = EnumCase(name: tokens[position]?.text ?? "")
            position += 1
            if tokens.isMark(position, "("), position < end {
                found.hasPayload = true
                position = min(tokens.end(position), end)
            }
            if tokens.isMark(position, "="), position < end {
                let start = position + 1
                position = min(expressionEnd(start), end)
                found.rawValue = tokens[start..<max(start, position)]
            }
            type.cases.append(found)
        } while tokens.isMark(position, ",") && position < end
    }

    private mutating func variables(_ prefix: Prefix, of type: inout TypeDeclaration) {
        let isLet = tokens.isWord(position, "let")
        var found: [VariableDeclaration] = []
        repeat {
            position += 1
            var variable = VariableDeclaration(place: place(position))
            if tokens.isWord(position) { variable.name = tokens[position]?.text }
            position = min(max(position, position < end ? tokens.end(position) : end), end)
            if tokens.isMark(position, ":"), position < end {
                var reader = TypeReader(tokens, at: position + 1)
                variable.type = reader.read()
                position = min(max(reader.position, position + 1), end)
            }
            if tokens.isMark(position, "="), position < end {
                let start = position + 1
                position = min(expressionEnd(start), end)
                variable.initial = tokens[start..<max(start, position)]
            }
            if tokens.isMark(position, "{"), position < end {
                let close = min(tokens.closing(position), end)
                if close > position { variable.body = tokens[position + 1..<close] }
                variable.isComputed = !isObserved(position + 1)
                position = min(tokens.end(position), end)
            }
            (variable.isLet, variable.attributes) = (isLet, prefix.attributes)
            variable.isStatic = !prefix.modifiers.isDisjoint(with: ["static", "class"])
            variable.isLazy = prefix.modifiers.contains("lazy")
            found.append(variable)
        } while tokens.isMark(position, ",") && position < end
        // `var a, b: Int`: a type belongs to the names before it.
        for index in found.indices.reversed().dropFirst()
        where found[index].type == nil && found[index].initial.isEmpty && index + 1 < found.count {
            found[index].type = found[index + 1].type
        }
        type.variables += found
    }

    /// True at the first token of a block that only observes a stored variable.
    private func isObserved(_ index: Int) -> Bool {
        tokens.isWord(index, "willSet") || tokens.isWord(index, "didSet")
    }

    /// Returns the end of an expression: a comma, a semicolon, a block of observers, a bracket that closes, or a line that
    /// does not continue it.
    private func expressionEnd(_ start: Int) -> Int {
        var index = start
        while index < end, let token = tokens[index] {
            if token.isMark(",") || token.isMark(";") || token.bracket == -1 { return index }
            if token.isMark("{"), index > start, isObserved(index + 1) { return index }
            if index > start, token.isFirstOnLine, !continues(token, after: tokens[index - 1]) { return index }
            index = tokens.end(index)
        }
        return min(index, end)
    }

    private func continues(_ token: SwiftToken, after last: SwiftToken?) -> Bool {
        if token.kind == .mark, Self.infixMarks.contains(token.text) || token.isMark(">") || token.isMark("!") {
            return true
        }
        if token.kind == .word, ["as", "is"].contains(token.text) { return true }
        guard let last else { return false }
        return last.kind == .mark && Self.infixMarks.contains(last.text) && !last.isMark("?")
            || last.kind == .word && ["try", "await", "as", "is"].contains(last.text)
    }
}
