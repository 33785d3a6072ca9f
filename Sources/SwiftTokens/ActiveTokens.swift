/// Leaves out the tokens that a release build for iOS does not compile: the other branches of `#if`.
///
/// Conditions are read as the compiler reads them, with these facts: the platform is iOS on a device, every module can be
/// imported, the compiler is new enough, and no flag is set. So `DEBUG` is false, and SwiftData's model is that of the app in the
/// store.
package struct ActiveTokens {
    /// A branch that is open.
    private struct Branch {
        /// True if the tokens around the condition are compiled.
        let isAround: Bool
        /// True if a branch of the condition was taken.
        var isTaken: Bool
        var isActive: Bool
    }

    private let tokens: [SwiftToken]
    private var position = 0

    private init(_ tokens: [SwiftToken]) { self.tokens = tokens }

    /// Returns the tokens that are compiled.
    ///
    /// - Complexity: O(tokens).
    package static func of(_ tokens: [SwiftToken]) -> [SwiftToken] {
        guard tokens.contains(where: { $0.kind == .directive && $0.text == "#if" }) else { return tokens }
        var reader = ActiveTokens(tokens)
        return reader.read()
    }

    private mutating func read() -> [SwiftToken] {
        var kept: [SwiftToken] = []
        var branches: [Branch] = []
        while position < tokens.count {
            let token = tokens[position]
            position += 1
            let isActive = branches.last?.isActive ?? true
            switch token.kind == .directive ? token.text : "" {
            case "#if":
                let holds = condition(on: token.line)
                branches.append(Branch(isAround: isActive, isTaken: holds, isActive: isActive && holds))
            case "#elseif":
                let holds = condition(on: token.line)
                guard var branch = branches.popLast() else { continue }
                branch.isActive = branch.isAround && !branch.isTaken && holds
                branch.isTaken = branch.isTaken || holds
                branches.append(branch)
            case "#else":
                guard var branch = branches.popLast() else { continue }
                branch.isActive = branch.isAround && !branch.isTaken
                branch.isTaken = true
                branches.append(branch)
            case "#endif": _ = branches.popLast()
            default: if isActive { kept.append(token) }
            }
        }
        return kept
    }

    /// Reads the condition of a directive, up to the end of its line.
    private mutating func condition(on line: Int) -> Bool {
        let start = position
        while position < tokens.count, tokens[position].line == line { position += 1 }
        var reader = ConditionReader(tokens: tokens[start..<position])
        return reader.alternatives(depth: 0)
    }
}

/// Reads a condition: names and calls joined by `!`, `&&`, `||` and parentheses.
private struct ConditionReader {
    var tokens: ArraySlice<SwiftToken>

    /// Takes a mark that is written with one or two characters.
    private mutating func take(_ mark: String) -> Bool {
        let found = tokens.prefix(mark.count)
        guard found.count == mark.count, zip(found, mark).allSatisfy({ $0.isMark(String($1)) }) else { return false }
        tokens = tokens.dropFirst(mark.count)
        return true
    }

    mutating func alternatives(depth: Int) -> Bool {
        var holds = conjunction(depth)
        while take("||") {
            let next = conjunction(depth)
            holds = holds || next
        }
        return holds
    }

    private mutating func conjunction(_ depth: Int) -> Bool {
        var holds = term(depth)
        while take("&&") {
            let next = term(depth)
            holds = holds && next
        }
        return holds
    }

    private mutating func term(_ depth: Int) -> Bool {
        guard depth < 32 else { return false }
        if take("!") { return !term(depth + 1) }
        if take("(") {
            let holds = alternatives(depth: depth + 1)
            _ = take(")")
            return holds
        }
        guard let name = tokens.popFirst() else { return false }
        guard take("(") else { return name.text == "true" }
        var arguments: [String] = []
        while let next = tokens.popFirst(), !next.isMark(")") { arguments.append(next.text) }
        switch name.text {
        case "os": return arguments == ["iOS"]
        case "canImport", "swift", "compiler", "hasFeature", "hasAttribute", "arch", "_endian": return true
        default: return false
        }
    }
}
