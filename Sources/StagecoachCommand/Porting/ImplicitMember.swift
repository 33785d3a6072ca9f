import SwiftTokens

/// A member that a source names without its type, as `.running` and `.failed(code: 3)`.
struct ImplicitMember: Hashable {
    let name: String
    /// The labels of its arguments; nil without arguments.
    let labels: [String]?

    /// The same name, without arguments.
    var withoutArguments: ImplicitMember { ImplicitMember(name: name, labels: nil) }

    /// The members that every class has, or that an optional has.
    private static let others: Set<String> = [
        "init", "self", "none", "some", "description", "debugDescription", "hash", "superclass", "supportsSecureCoding",
        "Type", "Protocol",
    ]

    private init(name: String, labels: [String]?) {
        self.name = name
        self.labels = labels
    }

    /// Reads the word at an index; nil if it is no such member.
    init?(_ tokens: [SwiftToken], _ index: Int) {
        guard tokens.isWord(index), tokens.isMark(index - 1, "."), index > 1 else { return nil }
        let before = tokens[index - 2]
        let isBase =
            switch before.kind {
            case .word:
                before.text.first?.isUppercase == true || !PortTable.has(before.text, in: "keywords")
                    || ["self", "super"].contains(before.text)
            case .mark: ")]}?!.>\\".contains(before.text)
            case .string, .number: true
            case .attribute, .directive: false
            }
        // `a ? .b : .c`, and a chain that goes on in the next line.
        let isTernary = before.isMark("?") && before.range.upperBound < tokens[index - 1].range.lowerBound
        guard !isBase || isTernary, !tokens[index - 1].isFirstOnLine || before.isMark("(") || before.isMark(","),
            !Self.others.contains(tokens[index].text)
        else { return nil }
        name = tokens[index].text
        labels =
            tokens.isMark(index + 1, "(") && tokens[index + 1].line == tokens[index].line
            ? CallArguments(tokens, open: index + 1, isDeclaration: false).labels : nil
    }

    /// Returns the declaration of a static member that ends the process.
    func declaration(in type: String) -> String {
        let written = PortTable.has(name, in: "keywords") ? "`\(name)`" : name
        let end = "-> \(type) { stop(\"\(type).\(name)\") }"
        guard let labels else { return "static var \(written): \(type) { stop(\"\(type).\(name)\") }" }
        return "static func \(written)(\(PortStubs.parameters(labels))) \(end)"
    }
}

extension ImplicitMember: Comparable {
    static func < (left: ImplicitMember, right: ImplicitMember) -> Bool {
        func key(_ member: ImplicitMember) -> [String] { [member.name] + (member.labels ?? []) }
        return key(left).lexicographicallyPrecedes(key(right))
    }
}
