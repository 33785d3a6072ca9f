import SwiftTokens

/// Reads classes and methods of Objective-C sources.
struct ObjectiveCReader {
    private struct Class {
        var superclass: String?
        var file: String
        var line: Int
        var methods: [ObjectiveCMethod] = []
        /// False as long as only categories and class extensions of the class were read.
        var isDeclared = false
    }

    private var classes: [String: Class] = [:]

    /// Returns the policies of sources: classes that inherit from the framework's, and those with a method of its.
    ///
    /// - Parameter called: the selectors that expressions call; nil if they are unknown.
    static func policies(
        in sources: [(file: String, tokens: [SwiftToken])], called: Set<String>?
    ) -> [ObjectiveCPolicy] {
        var reader = ObjectiveCReader()
        for source in sources { reader.read(source.tokens, file: source.file) }
        let policies = reader.classes.filter { $0.value.isDeclared && reader.isPolicy($0.key) }
        return policies.sorted { $0.key < $1.key }.map { name, found in
            let superclass = found.superclass.flatMap { policies[$0] == nil ? nil : $0 }
            let lineage = SourceDeclarations.lineage(of: superclass ?? "") { policies[$0]?.superclass }
            return ObjectiveCPolicy(
                className: name, superclass: superclass, file: found.file, line: found.line, methods: found.methods,
                inherited: Set(lineage.flatMap { policies[$0]?.methods ?? [] }.map(\.selector)), called: called)
        }
    }

    private func isPolicy(_ name: String) -> Bool {
        SourceDeclarations.lineage(of: name) { classes[$0]?.superclass }.contains { name in
            name == "NSEntityMigrationPolicy"
                || classes[name]?.methods.contains { $0.policyMethod != nil } == true
        }
    }

    /// Reads the interfaces and implementations of a source.
    private mutating func read(_ tokens: [SwiftToken], file: String) {
        var index = 0
        while index < tokens.count {
            let text = tokens[index].text
            guard text == "@interface" || text == "@implementation", index + 1 < tokens.count else {
                index += 1
                continue
            }
            let name = tokens[index + 1].text
            let end = tokens[index...].firstIndex { $0.text == "@end" } ?? tokens.count
            var found = classes[name] ?? Class(file: file, line: tokens[index].line)
            if index + 3 < tokens.count, tokens.isMark(index + 2, ":") { found.superclass = tokens[index + 3].text }
            for method in Self.methods(tokens, index + 2..<max(end, index + 2)) {
                // A method's body says more than its declaration.
                if let place = found.methods.firstIndex(where: { $0.selector == method.selector }) {
                    if !method.messages.isEmpty { found.methods[place] = method }
                } else {
                    found.methods.append(method)
                }
            }
            // A category or a class extension is no class of its own.
            let isOfClass = !tokens.isMark(index + 2, "(")
            found.isDeclared = found.isDeclared || isOfClass
            if text == "@implementation", isOfClass { (found.file, found.line) = (file, tokens[index].line) }
            classes[name] = found
            index = end + 1
        }
    }

    /// Returns the instance methods that a range of tokens declares or implements.
    private static func methods(_ tokens: [SwiftToken], _ range: Range<Int>) -> [ObjectiveCMethod] {
        var methods: [ObjectiveCMethod] = []
        var index = range.lowerBound
        while index < range.upperBound, index < tokens.count {
            if tokens[index].isMark("{") {
                index = tokens.closing(index) + 1
            } else if tokens[index].isMark("-"), tokens[index].isFirstOnLine,
                let (method, end) = method(tokens, index, range.upperBound)
            {
                methods.append(method)
                index = end
            } else {
                index += 1
            }
        }
        return methods
    }

    private static func method(_ tokens: [SwiftToken], _ index: Int, _ limit: Int) -> (ObjectiveCMethod, Int)? {
        guard index + 2 < limit, tokens[index + 1].isMark("(") else { return nil }
        let resultEnd = tokens.closing(index + 1)
        let result = type(tokens, index + 2..<resultEnd)
        var position = resultEnd + 1
        guard tokens.isWord(position) else { return nil }
        var selector = ""
        var parameters: [(name: String, type: String)] = []
        while position < limit, !tokens[position].isMark("{"), !tokens[position].isMark(";") {
            if tokens[position].kind == .word, selector.isEmpty || position + 1 < limit {
                selector += tokens[position].text
            }
            position += 1
            guard position < limit, tokens[position].isMark(":") else { continue }
            selector += ":"
            position += 1
            var typeText = "id"
            if position < limit, tokens[position].isMark("(") {
                let end = tokens.closing(position)
                typeText = type(tokens, position + 1..<end)
                position = end + 1
            }
            guard position < limit else { break }
            parameters.append((tokens[position].text, typeText))
            position += 1
        }
        guard position < limit, !selector.isEmpty else { return nil }
        var messages: [ObjectiveCMethod.Message] = []
        var end = position
        if tokens[position].isMark("{") {
            end = tokens.closing(position)
            messages = Self.messages(tokens, position + 1..<max(position + 1, end))
        }
        let method = ObjectiveCMethod(
            selector: selector, result: result, parameters: parameters, line: tokens[index].line, messages: messages)
        return (method, end + 1)
    }

    private static func type(_ tokens: [SwiftToken], _ range: Range<Int>) -> String {
        guard range.lowerBound < range.upperBound else { return "id" }
        let marks: Set<String> = ["const", "_Nullable", "_Nonnull"]
        return tokens[range].map(\.text).filter { !marks.contains($0) }.joined()
    }

    /// Returns the messages in a range, each after those that its receiver and arguments send.
    private static func messages(_ tokens: [SwiftToken], _ range: Range<Int>) -> [ObjectiveCMethod.Message] {
        struct Open {
            var receiver: String?
            var selector = ""
            /// The last word, which is a selector without arguments where nothing follows it.
            var word = ""
            var isMessage: Bool
            /// The number of other brackets that are open inside.
            var depth = 0
        }
        var found: [ObjectiveCMethod.Message] = []
        var open: [Open] = []
        for index in range where index < tokens.count {
            let token = tokens[index]
            if token.isMark("[") {
                let before = tokens[index - 1]
                let isSubscript = before.kind == .word && before.text != "return" || before.isMark("]")
                let isLiteral = before.isMark("@")
                let isAdjacent = before.range.upperBound == token.range.lowerBound
                open.append(Open(isMessage: !isLiteral && !(isSubscript && isAdjacent)))
            } else if token.isMark("]"), let closed = open.popLast() {
                guard closed.isMessage else { continue }
                let selector = closed.selector.isEmpty ? closed.word : closed.selector
                guard !selector.isEmpty else { continue }
                found.append(.init(receiver: closed.receiver ?? "self", selector: selector))
                if let last = open.indices.last, open[last].receiver == nil { open[last].receiver = selector }
            } else if let last = open.indices.last {
                open[last].depth += token.bracket
                guard open[last].depth == 0 else { continue }
                if token.kind == .word, open[last].receiver == nil {
                    open[last].receiver = token.text
                } else if token.kind == .word {
                    open[last].word = token.text
                } else if token.isMark(":"), !open[last].word.isEmpty {
                    open[last].selector += open[last].word + ":"
                    open[last].word = ""
                } else if token.isMark("."), !open[last].selector.isEmpty {
                    open[last].word = ""
                }
            }
        }
        return found
    }
}
