import SwiftTokens

/// A method or initialiser that older versions of Swift called by another name.
struct RenamedCall {
    let name: String
    /// The labels of the arguments in a call; empty for none.
    let labels: [String]
    let newName: String
    let newLabels: [String]
    /// True for a method that policies override.
    let isPolicyMethod: Bool
    /// True for a name that a source for Swift 3 and later may have with another meaning.
    let isSwift2: Bool
    /// False for a property, type or constant.
    let isCall: Bool
    /// True for an initialiser that gave an optional and throws today.
    let throwsToday: Bool
    /// True if the new name is that of a call.
    let becomesCall: Bool

    /// Makes a renamed call from `name(_:label:)` texts.
    private init(_ old: String, _ new: String, _ mark: String) {
        throwsToday = new.hasPrefix("try?_")
        let new = throwsToday ? String(new.dropFirst(5)) : new
        (name, labels) = Self.parts(old)
        (newName, newLabels) = Self.parts(new)
        (isCall, becomesCall) = (old.hasSuffix(")"), new.hasSuffix(")"))
        (isPolicyMethod, isSwift2) = (mark == "policy", mark == "swift2")
    }

    private static func parts(_ text: String) -> (String, [String]) {
        let halves = text.split(separator: "(")
        let labels = halves.count < 2 ? [] : halves[1].dropLast().split(separator: ":")
        return (String(halves[0]), labels.map { $0 == "_" ? "" : String($0) })
    }

    /// The new name for people: `value(forKey:)`.
    var reference: String {
        guard becomesCall else { return newName }
        return newName + "(" + newLabels.map { ($0.isEmpty ? "_" : $0) + ":" }.joined() + ")"
    }

    static let byName = Dictionary(grouping: all.filter(\.isCall), by: \.name)
    static let properties = Dictionary(grouping: all.filter { !$0.isCall }, by: \.name)
    static let all = PortTable.lines(text).map {
        RenamedCall($0[0], $0[1], $0.count > 2 ? $0[2] : "")
    }
}

/// The arguments of a call, or the parameters of a declaration.
struct CallArguments {
    struct Argument {
        /// The index of the first token.
        let start: Int
        /// The label; empty for none.
        let label: String
        /// The name inside the method, for a parameter; nil for an argument without a label.
        let inner: String?
        /// The index of the colon; nil without a label.
        let colon: Int?
    }

    let arguments: [Argument]
    /// The index of the closing parenthesis.
    let close: Int

    var labels: [String] { arguments.map(\.label) }

    /// Reads the arguments after an opening parenthesis.
    init(_ tokens: [SwiftToken], open: Int, isDeclaration: Bool) {
        var arguments: [Argument] = []
        var depth = 0
        var position = open
        var start = open + 1
        func argument(_ end: Int) -> Argument? {
            guard start < end else { return nil }
            let words = tokens[start..<end].prefix { $0.kind == .word }.map(\.text)
            // A single word is the label of an argument, and both names of a parameter.
            let colon = start + words.count
            guard colon < end, tokens[colon].isMark(":"), (1...(isDeclaration ? 2 : 1)).contains(words.count) else {
                return Argument(start: start, label: "", inner: nil, colon: nil)
            }
            return Argument(start: start, label: words[0] == "_" ? "" : words[0], inner: words.last, colon: colon)
        }
        while position < tokens.count {
            depth += tokens[position].bracket
            if depth == 0 { break }
            // A declaration's angle brackets hold generic arguments. The arrow of a function type closes none.
            if isDeclaration, tokens[position].isMark("<") { depth += 1 }
            if isDeclaration, tokens[position].isMark(">"), !tokens.isMark(position - 1, "-") {
                depth = max(1, depth - 1)
            }
            if depth == 1, tokens[position].isMark(",") {
                if let found = argument(position) { arguments.append(found) }
                start = position + 1
            }
            position += 1
        }
        close = min(position, tokens.count - 1)
        if let found = argument(close) { arguments.append(found) }
        self.arguments = arguments
    }
}
