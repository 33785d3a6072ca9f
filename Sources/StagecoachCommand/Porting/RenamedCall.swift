/// A method or initialiser that older versions of Swift called by another name.
struct RenamedCall {
    let name: String
    /// The labels of the arguments in a call; empty for none.
    let labels: [String]
    let newName: String
    let newLabels: [String]
    /// True for a method that policies override.
    let isPolicyMethod: Bool

    /// Makes a renamed call from `name(_:label:)` texts.
    private init(_ old: String, _ new: String, isPolicyMethod: Bool) {
        (name, labels) = Self.parts(old)
        (newName, newLabels) = Self.parts(new)
        self.isPolicyMethod = isPolicyMethod
    }

    private static func parts(_ text: String) -> (String, [String]) {
        let halves = text.split(separator: "(")
        let labels = halves[1].dropLast().split(separator: ":").map { $0 == "_" ? "" : String($0) }
        return (String(halves[0]), labels)
    }

    /// The new name for people: `value(forKey:)`.
    var reference: String { newName + "(" + newLabels.map { ($0.isEmpty ? "_" : $0) + ":" }.joined() + ")" }

    static let byName = Dictionary(grouping: all, by: \.name)
    static let all = PortTable.lines(PackageResources.renamed_calls_txt).map {
        RenamedCall($0[0], $0[1], isPolicyMethod: $0.last == "policy")
    }

    /// Properties of Swift 2 that are methods, or have another name.
    static let properties: [String: String] = [
        "lowercaseString": "lowercased()", "uppercaseString": "uppercased()", "capitalizedString": "capitalized",
        "UUIDString": "uuidString", "mainBundle": "main",
    ]
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
