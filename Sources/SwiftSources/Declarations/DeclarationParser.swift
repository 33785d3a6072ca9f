import SwiftTokens

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
        "operator", "precedencegroup", "macro",
    ])

    private let file: String
    private var cursor: TokenCursor

    /// The attributes and modifiers in front of a declaration.
    private struct Prefix {
        var attributes: [AttributeSyntax] = []
        var modifiers: Set<String> = []
    }

    /// Reads a source.
    ///
    /// - Returns: a declaration without a name that has the declarations of the file as members.
    static func read(_ tokens: [SwiftToken], file: String) -> TypeDeclaration {
        var parser = DeclarationParser(file: file, cursor: TokenCursor(TokenTree(tokens)))
        var root = TypeDeclaration(kind: .extension, name: [], place: SourcePlace(file: file, line: 1))
        parser.readMembers(of: &root, depth: 0)
        return root
    }

    private mutating func readMembers(of type: inout TypeDeclaration, depth: Int) {
        while cursor.token != nil {
            let start = cursor.position
            readMember(readPrefix(), of: &type, depth)
            // Statements and stray tokens are passed over.
            if cursor.position == start { cursor.pass() }
        }
    }

    private mutating func readMember(_ prefix: Prefix, of type: inout TypeDeclaration, _ depth: Int) {
        guard let token = cursor.token else { return }
        if token.kind == .directive, ["#Unique", "#Index"].contains(token.text) {
            return type.macros.append(cursor.takeAttribute(file: file))
        }
        guard token.kind == .word, Self.keywords.contains(token.text), !cursor.isMark(".", -1) else { return }
        switch token.text {
        case "var", "let": readVariables(prefix, of: &type)
        case "case" where type.kind == .enum: readCases(of: &type)
        case "typealias":
            cursor.position += 1
            guard let name = cursor.takeWord() else { return }
            cursor.passGenerics()
            if cursor.take("="), let target = cursor.type() {
                type.aliases.append((name, target, file))
            }
        case "func", "init", "deinit", "subscript": readFunction(of: &type)
        case "import": cursor.position += 2
        default:
            cursor.position += 1
            guard let kind = TypeDeclaration.Kind(rawValue: token.text), cursor.token?.kind == .word else { return }
            type.types.append(readType(kind, prefix, line: token.line, depth))
        }
    }

    private mutating func readPrefix() -> Prefix {
        var prefix = Prefix()
        while let token = cursor.token {
            if token.kind == .attribute {
                prefix.attributes.append(cursor.takeAttribute(file: file))
            } else if token.kind == .word, Self.modifiers.contains(token.text), isModifier {
                prefix.modifiers.insert(token.text)
                cursor.position += 1
                if cursor.isMark("(") { cursor.pass() }
            } else {
                break
            }
        }
        return prefix
    }

    /// Tells a modifier from a name and from the keyword `class`.
    private var isModifier: Bool {
        var next = cursor
        next.position += 1
        if next.isMark("(") { next.pass() }
        guard let token = next.token, token.kind == .word else { return next.token?.kind == .attribute }
        return Self.keywords.contains(token.text) || Self.modifiers.contains(token.text)
    }

    private mutating func readType(
        _ kind: TypeDeclaration.Kind, _ prefix: Prefix, line: Int, _ depth: Int
    ) -> TypeDeclaration {
        var name: [String] = []
        repeat { name += cursor.takeWord().map { [$0] } ?? [] } while kind == .extension && cursor.take(".")
        var type = TypeDeclaration(
            kind: kind, name: name, place: SourcePlace(file: file, line: line), attributes: prefix.attributes)
        type.isPrivate = !prefix.modifiers.isDisjoint(with: ["private", "fileprivate"])
        type.isGeneric = cursor.isMark("<")
        cursor.passGenerics()
        if cursor.isMark(":") {
            repeat {
                cursor.position += 1
                type.inherited += cursor.type().map { [$0] } ?? []
            } while cursor.isMark(",")
        }
        while let token = cursor.token, !token.isMark("{"), !token.isMark("}") { cursor.position += 1 }
        guard cursor.isMark("{") else { return type }
        type.isClosed = cursor.tree.closing(cursor.position) < cursor.end
        let content = cursor.takeBlock()
        guard depth < Self.greatestDepth else { return type }
        let outer = cursor
        (cursor.position, cursor.end) = (content.startIndex, content.endIndex)
        readMembers(of: &type, depth: depth + 1)
        cursor = outer
        return type
    }

    /// Passes over a function, and notes its name.
    private mutating func readFunction(of type: inout TypeDeclaration) {
        let isInitializer = cursor.isWord("init")
        var name = cursor.token(isInitializer ? 0 : 1)?.text ?? ""
        let line = cursor.token?.line
        cursor.position += 1
        while let token = cursor.token {
            if token.isMark("{") || token.isMark("}") || token.isMark(";") { break }
            // A requirement of a protocol has no body: the next declaration follows.
            if token.isFirstOnLine, token.line != line, token.kind != .mark,
                token.kind != .word || Self.keywords.contains(token.text) || Self.modifiers.contains(token.text)
            {
                break
            }
            if token.isMark("("), isInitializer, name == "init" { name += " " + (cursor.token(1)?.text ?? "") }
            cursor.pass()
        }
        if cursor.isMark("{") { cursor.pass() }
        type.methods.insert(name)
    }

    private mutating func readCases(of type: inout TypeDeclaration) {
        repeat {
            cursor.position += 1
            guard let name = cursor.takeWord() else { return }
            var found = EnumCase(name: name)
            if cursor.isMark("(") {
                found.hasPayload = true
                cursor.pass()
            }
            if cursor.take("=") { found.rawValue = cursor.takeExpression() }
            type.cases.append(found)
        } while cursor.isMark(",")
    }

    private mutating func readVariables(_ prefix: Prefix, of type: inout TypeDeclaration) {
        let isLet = cursor.isWord("let")
        var found: [VariableDeclaration] = []
        repeat {
            cursor.position += 1
            var variable = VariableDeclaration(place: SourcePlace(file: file, line: cursor.token?.line ?? 0))
            (variable.isLet, variable.attributes) = (isLet, prefix.attributes)
            variable.isStatic = !prefix.modifiers.isDisjoint(with: ["static", "class"])
            variable.isLazy = prefix.modifiers.contains("lazy")
            variable.name = cursor.takeWord()
            if variable.name == nil { cursor.pass() }
            if cursor.take(":") { variable.type = cursor.type() }
            if cursor.take("=") { variable.initial = cursor.takeExpression() }
            if cursor.isMark("{") {
                variable.isComputed = !cursor.isAtObservers
                variable.body = cursor.takeBlock()
            }
            found.append(variable)
        } while cursor.isMark(",")
        // `var a, b: Int`: a type belongs to the names before it.
        for index in found.indices.dropLast().reversed() where found[index].type == nil && found[index].initial.isEmpty
        {
            found[index].type = found[index + 1].type
        }
        type.variables += found
    }
}
