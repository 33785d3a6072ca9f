import SwiftTokens

extension PortRules {
    mutating func importStatement(at index: Int) -> Int? {
        let kinds: Set<String> = ["struct", "class", "enum", "protocol", "typealias", "func", "var", "let"]
        var next = index + 1
        if next < tokens.count, kinds.contains(tokens[next].text) { next += 1 }
        guard tokens.isWord(next), tokens[next].line == tokens[index].line else { return nil }
        let module = tokens[next].text
        while isMark(next + 1, "."), tokens.isWord(next + 2) { next += 2 }
        // Attributes and access modifiers before the import belong to the statement.
        var first = index
        while first > 0, tokens[first - 1].line == tokens[index].line,
            tokens[first - 1].kind == .attribute || tokens[first - 1].kind == .word
        {
            first -= 1
        }
        let start = tokens[first]
        let whole = text(from: first, to: next)
        let range = start.range.lowerBound..<tokens[next].range.upperBound
        if PortTable.has(module, in: "replacedModules") {
            let replacement = importsStagecoach ? "" : "import Stagecoach" + PortTable.foundationImports(tokens)
            importsStagecoach = true
            note(
                .change, start, text: whole, replacement: replacement,
                replacement.isEmpty
                    ? "Stagecoach brings what policies use of \(module)"
                    : "Stagecoach has Core Data's names and brings Foundation")
            if replacement.isEmpty { remove(range) } else { edit(range, replacement) }
        } else if !PortTable.has(module, in: "presentModules") {
            let isApple =
                PortTable.has(module, in: "appleModules") || module.hasSuffix("Kit")
                || PortTable.words["applePrefixes", default: []].contains { module.hasPrefix($0) }
            note(
                .manual, start, text: whole, replacement: "",
                isApple
                    ? "There is no module \(module) on Linux"
                    : "The module \(module) is the app's or a package's: port what the policies use of it")
            remove(range)
        }
        return next + 1
    }
}
