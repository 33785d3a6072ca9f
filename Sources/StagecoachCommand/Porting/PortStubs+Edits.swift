import SwiftTokens

/// Edits of ported copies around stubs, whose members have no types of their own.
extension PortStubs {
    /// Returns a ported source that compiles with the stubs: `.case` among the arguments of a stub gets its type, and what is
    /// used as an optional becomes one.
    func edited(_ source: PortedSource) -> String {
        let ported = source.ported
        let names = declarations.names[source.file] ?? SourceNames([])
        let tokens = SwiftLexer.tokens(of: ported)
        var edits: [(range: Range<Int>, replacement: String)] = []
        func insert(_ text: String, before position: Int) { edits.append((position..<position, text)) }
        let variables = VariableTypes(tokens)
        let bodies = DeclarationReader(tokens: tokens, file: "").types
            .filter { declarations.unknownBases[$0.name] != nil }.map(\.body)
        // The variables that hold what a stub gives.
        var held: Set<String> = []
        for index in tokens.indices {
            let isHeld = held.contains(tokens[index].text) && !tokens.isMark(index - 1, ".")
            if isHeld || isVariable(tokens, index, variables) {
                let end = chainEnd(tokens, index, isVariable: true, &edits)
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
            guard isStub || isInherited(tokens, index, bodies, names) else { continue }
            let end = chainEnd(tokens, index, isVariable: false, &edits)
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
        _ tokens: [SwiftToken], _ index: Int, _ bodies: [Range<Int>], _ names: SourceNames
    ) -> Bool {
        guard tokens.isWord(index, "self"), tokens.isMark(index + 1, "."), tokens.isWord(index + 2),
            !tokens.isMark(index - 1, "."), bodies.contains(where: { $0.contains(index) })
        else { return false }
        let name = tokens[index + 2].text
        return !names.visible.contains(name) && !PortTable.visibleNames.contains(name)
    }

    /// Tells whether a chain of members of a variable with a stub's type begins at a token.
    private func isVariable(_ tokens: [SwiftToken], _ index: Int, _ variables: VariableTypes) -> Bool {
        tokens[index].kind == .word && !tokens.isMark(index - 1, ".")
            && (variables.types[tokens[index].text].map { missing[$0]?.kind == .other }) == true
    }

    /// Gives the parameters of a closure behind a stub's call the type of all stubs' values. Returns the index behind the closure;
    /// nil if none with parameters begins at an index.
    private func closureParameters(
        _ tokens: [SwiftToken], _ open: Int, _ edits: inout [(range: Range<Int>, replacement: String)]
    ) -> Int? {
        guard tokens.isMark(open, "{"), tokens.isWord(open + 1) else { return nil }
        var position = open + 1
        var names: [Int] = []
        while tokens.isWord(position), !tokens.isWord(position, "in") {
            names.append(position)
            position += 1
            if tokens.isMark(position, ",") { position += 1 } else { break }
        }
        guard tokens.isWord(position, "in"), let first = names.first, let last = names.last else { return nil }
        let (start, end) = (tokens[first].range.lowerBound, tokens[last].range.upperBound)
        let list = names.map { tokens[$0].text + ": Missing" }.joined(separator: ", ")
        edits.append((start..<end, "(\(list))"))
        return min(tokens.closing(open) + 1, tokens.count)
    }

    /// Returns the index behind a chain, with the edits of its marks and arguments.
    private func chainEnd(
        _ tokens: [SwiftToken], _ index: Int, isVariable: Bool,
        _ edits: inout [(range: Range<Int>, replacement: String)]
    ) -> Int {
        var position = index + 1
        // True behind an initialiser that gives an optional.
        var isOptional = false
        while position < tokens.count {
            if tokens[position].isMark("(") {
                let list = CallArguments(tokens, open: position, isDeclaration: false)
                for argument in list.arguments {
                    let first = argument.colon.map { $0 + 1 } ?? argument.start
                    if tokens.isMark(first, "&") { edits.append((tokens[first].range, "")) }
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
            } else if let end = closureParameters(tokens, position, &edits) {
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
