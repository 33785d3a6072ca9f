import SwiftTokens

/// Edits of ported copies around stubs, whose members have no types of their own.
extension PortStubs {
    private typealias Edits = [(range: Range<Int>, replacement: String)]

    /// Returns a ported source that compiles with the stubs: `.case` among the arguments of a stub gets its type, and what is
    /// used as an optional becomes one.
    func edited(_ source: PortedSource) -> String {
        let ported = source.ported
        let names = declarations.names[source.file] ?? SourceNames([])
        let tokens = SwiftLexer.tokens(of: ported)
        var edits: Edits = []
        func insert(_ text: String, before position: Int) { edits.append((position..<position, text)) }
        let variables = VariableTypes(tokens)
        let types = DeclarationReader(tokens: tokens, file: "").types
        // The variables that hold what a stub gives.
        var held: Set<String> = []
        for index in tokens.indices {
            let isHeld = held.contains(tokens[index].text) && !tokens.isMark(index - 1, ".")
            if isHeld || isVariable(tokens, index, variables) {
                let end = chainEnd(tokens, index, isVariable: true, types, &edits)
                let start = tokens.isWord(index - 1, "try") ? index - 1 : index
                // `if let a = try variable.member(b)`
                let isBound =
                    start > 3 && tokens[start - 1].isMark("=") && ["let", "var"].contains(tokens[start - 3].text)
                    && ["if", "guard", "while", ","].contains(tokens[start - 4].text)
                let isWhole = end < tokens.count && [",", "{", "else"].contains(tokens[end].text)
                if isBound, isWhole, end > index + 1 {
                    insert(" as Missing?", before: tokens[end - 1].range.upperBound)
                }
            }
            let isStub = isRoot(tokens, index) && !names.contains(tokens[index].text)
            guard isStub || isInherited(tokens, index, types, names) else { continue }
            let end = chainEnd(tokens, index, isVariable: false, types, &edits)
            // `for (key, value) in` what a stub gives
            if tokens.isWord(index - 1, "in"), tokens.isMark(index - 2, ")"), !tokens.isMark(end, "."),
                let open = tokens[..<index].lastIndex(where: { $0.isMark("(") })
            {
                let tuple = ["Missing"] + tokens[open..<index].filter { $0.isMark(",") }.map { _ in "Missing" }
                insert(" as [(\(tuple.joined(separator: ", ")))]", before: tokens[end - 1].range.upperBound)
            }
            let after = end < tokens.count ? tokens[end] : nil
            let isWhole = after.map { $0.isFirstOnLine || "{},;".contains($0.text) || $0.isWord("else") } ?? true
            guard index > 2, tokens[index - 1].isMark("="), isWhole,
                tokens[index - 3].isWord("let") || tokens[index - 3].isWord("var")
            else { continue }
            let variable = tokens[index - 2]
            let isManaged = variables.managed.contains(variable.text)
            held.insert(variable.text)
            let isCall = tokens.isMark(index + 1, "(") && tokens.closing(index + 1) == end - 1
            guard !isCall || isManaged && missing[tokens[index].text]?.kind == .function else { continue }
            let type = isManaged ? "NSManagedObject" : "Missing"
            let isCondition = index > 3 && ["if", "guard", "while", ","].contains(tokens[index - 4].text)
            if isCondition {
                insert(" as \(type)?", before: tokens[end - 1].range.upperBound)
            } else if VariableTypes.isOptional(tokens, variable.text, after: end) {
                insert(": \(type)?", before: variable.range.upperBound)
            } else if isManaged {
                insert(": \(type)", before: variable.range.upperBound)
            }
        }
        return PortedSource(file: "", source: ported, findings: [], edits: edits).ported
    }

    /// Tells whether a chain of members of a stub begins at a token.
    private func isRoot(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        guard tokens[index].kind == .word, !tokens.isMark(index - 1, "."), let type = missing[tokens[index].text] else {
            return false
        }
        return [.other, .variable, .function].contains(type.kind)
            && (tokens.isMark(index + 1, "(") || tokens.isMark(index + 1, ".")) && !tokens.isWord(index - 1, "func")
    }

    /// Tells whether a chain of members begins at a token, which is `self` in a policy whose superclass is a stub.
    private func isInherited(
        _ tokens: [SwiftToken], _ index: Int, _ types: [DeclaredType], _ names: SourceNames
    ) -> Bool {
        guard tokens.isWord(index, "self"), tokens.isMark(index + 1, "."), tokens.isWord(index + 2),
            !tokens.isMark(index - 1, "."),
            types.contains(where: { declarations.unknownBases[$0.name] != nil && $0.body.contains(index) })
        else { return false }
        let name = tokens[index + 2].text
        return !names.visible.contains(name) && !PortTable.visibleNames.contains(name)
    }

    /// Tells whether a chain of members of a variable with a stub's type begins at a token.
    private func isVariable(_ tokens: [SwiftToken], _ index: Int, _ variables: VariableTypes) -> Bool {
        tokens[index].kind == .word && !tokens.isMark(index - 1, ".")
            && (variables.types[tokens[index].text].map { missing[$0]?.kind == .other }) == true
    }

    /// Gives the parameters of a closure of a stub's call the type of all stubs' values, and lets it name members of its class
    /// without `self`. Returns the index behind the closure; nil if none begins at an index.
    ///
    /// - Parameter isLabelled: true where the call has labels, so that the compiler finds no type for `$0`.
    private func closure(
        _ tokens: [SwiftToken], _ open: Int, isLabelled: Bool, isClosure: Bool, _ types: [DeclaredType],
        _ edits: inout Edits
    ) -> Int? {
        guard tokens.isMark(open, "{") else { return nil }
        let close = min(tokens.closing(open), tokens.count)
        var end = open + 1
        var names: [String] = []
        while tokens.isWord(end), !tokens.isWord(end, "in") {
            names.append(tokens[end].text)
            end += 1
            if tokens.isMark(end, ",") { end += 1 } else { break }
        }
        let isNamed = tokens.isWord(end, "in") && !names.isEmpty
        guard isNamed || isClosure else { return nil }
        if !isNamed { names = [] }
        var depth = 0
        for place in open..<close where isLabelled && !isNamed {
            depth += tokens[place].isMark("{") ? 1 : tokens[place].isMark("}") ? -1 : 0
            guard depth == 1, let number = ["$0", "$1", "$2"].firstIndex(of: tokens[place].text) else { continue }
            edits.append((tokens[place].range, "a\(number)"))
            while names.count <= number { names.append("a\(names.count)") }
        }
        let hasList = tokens.isMark(open + 1, "[") || tokens.isMark(open + 1, "(")
        let classes = hasList ? [] : types.filter { $0.body.contains(open) }.map(\.name)
        let usesSelf = (open..<close).contains { place in
            let name = tokens[place].text
            return !tokens.isMark(place - 1, ".") && classes.contains { declarations.declaresInherited(name, of: $0) }
        }
        let list = names.isEmpty ? [] : ["(" + names.map { $0 + ": Missing" }.joined(separator: ", ") + ")"]
        let head = ((usesSelf ? ["[self]"] : []) + list).joined(separator: " ")
        let start = tokens[open].range.upperBound
        let range = isNamed ? tokens[open + 1].range.lowerBound..<tokens[end - 1].range.upperBound : start..<start
        edits.append((range, isNamed || head.isEmpty ? head : " \(head) in"))
        return min(close + 1, tokens.count)
    }

    /// Returns the index behind a chain, with the edits of its marks and arguments.
    private func chainEnd(
        _ tokens: [SwiftToken], _ index: Int, isVariable: Bool, _ types: [DeclaredType], _ edits: inout Edits
    ) -> Int {
        var position = index + 1
        // True behind an initialiser that gives an optional.
        var isOptional = false
        var isLabelled = false
        while position < tokens.count, !tokens.isWord(position + 1, "enumerated") {
            if tokens[position].isMark("(") {
                let list = CallArguments(tokens, open: position, isDeclaration: false)
                isLabelled = list.labels.contains { !["", "by", "where", "into"].contains($0) }
                for argument in list.arguments {
                    let first = argument.colon.map { $0 + 1 } ?? argument.start
                    if tokens.isMark(first, "&") { edits.append((tokens[first].range, "")) }
                    if isLabelled { _ = closure(tokens, first, isLabelled: true, isClosure: true, types, &edits) }
                    guard tokens.isMark(first, "."), tokens.isWord(first + 1) else { continue }
                    // `.init(…)`: a value is made, and called.
                    let end = tokens.isWord(first + 1, "init") ? tokens[first + 1].range.upperBound : nil
                    let start = tokens[first].range.lowerBound
                    edits.append((start..<(end ?? start), end == nil ? "Missing" : "Missing()"))
                }
                let type = missing[tokens[index].text]
                let calls = position == index + 1 ? type?.initialisers : type?.nested[tokens[position - 1].text]
                isOptional = calls?[list.labels] == true
                position = list.close + 1
            } else if tokens[position].isMark("{") {
                // Behind `if`, also of a line before, it may be the statement's body.
                let line = tokens[..<index].reversed().prefix { $0.line == tokens[index].line }
                let isContinued = ",&|(=?:".contains(tokens[..<(index - line.count)].last?.text ?? "")
                let isBody = isContinued || line.contains { PortTable.has($0.text, in: "statements") }
                guard let end = closure(tokens, position, isLabelled: isLabelled, isClosure: !isBody, types, &edits)
                else { break }
                position = end
            } else if tokens[position].isMark("["), !tokens[position].isFirstOnLine {
                position = tokens.closing(position) + 1
            } else if tokens[position].isMark("."), tokens.isWord(position + 1) {
                position += 2
            } else if tokens[position].isMark("?") || tokens[position].isMark("!"), tokens.isMark(position + 1, "."),
                tokens[position].range.lowerBound == tokens[position - 1].range.upperBound
            {
                if !isVariable || position > index + 1, !isOptional { edits.append((tokens[position].range, "")) }
                position += 1
            } else {
                break
            }
        }
        // `== .case` of a stub
        if tokens.isMark(position + 1, "="), tokens.isMark(position, "=") || tokens.isMark(position, "!"),
            tokens.isMark(position + 2, "."), tokens.isWord(position + 3)
        {
            edits.append((tokens[position + 2].range.lowerBound..<tokens[position + 2].range.lowerBound, "Missing"))
        }
        return position
    }
}
