/// An argument of a call or an attribute.
package struct CallArgument: Sendable {
    package let label: String?
    package let value: ArraySlice<SwiftToken>

    /// Cuts the tokens between parentheses into arguments.
    package static func list(_ tokens: ArraySlice<SwiftToken>) -> [CallArgument] {
        tokens.parts(at: ",").map { part in
            guard let first = part.first, first.kind == .word, part.dropFirst().first?.isMark(":") == true else {
                return CallArgument(label: nil, value: part)
            }
            return CallArgument(label: first.text, value: part.dropFirst(2))
        }
    }
}

/// An attribute in front of a declaration, `@Attribute(.unique)`, or a macro in its place, `#Index<Book>([\.title])`.
package struct AttributeSyntax: Sendable {
    /// The name without the sign, and without a module's name.
    package let name: String
    package let arguments: [CallArgument]
    package let place: SourcePlace
}

extension TokenCursor {
    private static let infixMarks: Set<String> = [".", "?", ":", "+", "-", "*", "/", "&", "|", "<", "="]

    /// True at a block that only observes a stored variable.
    package var isAtObservers: Bool { isMark("{") && (isWord("willSet", 1) || isWord("didSet", 1)) }

    /// Moves behind `<…>`, which begins here or not.
    package mutating func passGenerics() {
        guard isMark("<") else { return }
        var depth = 0
        while let token, !token.isMark("{"), token.bracket != -1 {
            if token.isMark("<") { depth += 1 }
            if token.isMark(">"), !isMark("-", -1) { depth -= 1 }
            pass()
            if depth == 0 { return }
        }
    }

    /// Reads an attribute or a macro with its arguments, which begins here.
    package mutating func takeAttribute(file: String) -> AttributeSyntax {
        let place = SourcePlace(file: file, line: token?.line ?? 0)
        let isMacro = token?.kind == .directive
        var name = String(token?.text.dropFirst() ?? "")
        position += 1
        while take(".") { name = takeWord() ?? name }
        passGenerics()
        // Behind a space a parenthesis is one of the declaration: `@escaping (Int)`.
        let hasArguments = isMark("(") && (isMacro || isAdjacent)
        return AttributeSyntax(name: name, arguments: hasArguments ? CallArgument.list(takeBlock()) : [], place: place)
    }

    /// Reads an expression up to a comma, a semicolon, a block of observers, a bracket that closes, or a line that does not
    /// continue it.
    package mutating func takeExpression() -> ArraySlice<SwiftToken> {
        let start = position
        while let token {
            if token.isMark(",") || token.isMark(";") || token.bracket == -1 { break }
            if position > start, isAtObservers || token.isFirstOnLine && !continues(token) { break }
            pass()
            // The comma of `Dictionary<String, Int>()` ends nothing.
            guard isMark("<"), isAdjacent, token.text.first?.isUppercase == true else { continue }
            var behind = self
            behind.passGenerics()
            if behind.isMark(">", -1) { self = behind }
        }
        return tree.tokens[start..<position]
    }

    private func continues(_ token: SwiftToken) -> Bool {
        if token.kind == .mark, Self.infixMarks.contains(token.text) || [">", "!"].contains(token.text) { return true }
        if token.isWord("as") || token.isWord("is") { return true }
        guard let last = self.token(-1) else { return false }
        return last.kind == .mark && Self.infixMarks.contains(last.text) && !last.isMark("?")
            || last.kind == .word && ["try", "await", "as", "is"].contains(last.text)
    }
}
