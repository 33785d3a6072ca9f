import SwiftTokens

/// Replaces what older versions of Swift called or wrote in another way.
extension PortRules {
    private var message: String { "The name in older versions of Swift" }

    /// Replaces a call or declaration by the name that Swift gives it today.
    mutating func renamedCall(at index: Int) {
        guard let candidates = RenamedCall.byName[tokens[index].text] else { return renamedName(at: index) }
        let isDeclaration = isWord(index - 1, "func")
        let list = CallArguments(tokens, open: index + 1, isDeclaration: isDeclaration)
        let found = candidates.first { candidate in
            guard isDeclaration else {
                return candidate.labels == list.labels && (isSwift2 || !candidate.isSwift2)
                    && (candidate.isPolicyMethod || !declarations.declaresFunction(candidate.name))
            }
            guard candidate.isPolicyMethod, candidate.labels.count == list.arguments.count else { return false }
            // Swift 2 gave the first parameter no label.
            let isFirst = candidate.labels[0].isEmpty || candidate.labels[0] == list.labels[0]
            return isFirst && candidate.labels.dropFirst() == list.labels.dropFirst()
        }
        guard let found else { return renamedName(at: index) }
        // `begin(_:manager:)` is the old name of `begin(_:with:)` on a policy only.
        if found.isPolicyMethod, found.name == found.newName, !isDeclaration, !isWord(index - 2, "super") { return }
        note(.change, tokens[index], text: tokens[index].text, replacement: found.reference, message)
        guard found.becomesCall else {
            return edit(tokens[index].range.lowerBound..<tokens[list.close].range.upperBound, found.newName)
        }
        if found.throwsToday {
            edit(tokens[index].range, "(try? " + found.newName)
            let end = tokens[list.close].range.upperBound
            edit(end..<end, ")")
        } else if found.newName != found.name {
            edit(tokens[index].range, found.newName)
        }
        for (argument, label) in zip(list.arguments, found.newLabels) {
            relabel(argument, label, isDeclaration: isDeclaration)
        }
    }

    private mutating func relabel(_ argument: CallArguments.Argument, _ label: String, isDeclaration: Bool) {
        let start = tokens[argument.start].range.lowerBound
        guard let colon = argument.colon else {
            if !label.isEmpty { edit(start..<start, "\(label): ") }
            return
        }
        if isDeclaration {
            let inner = argument.inner ?? label
            let names = label.isEmpty ? "_ \(inner)" : label == inner ? label : "\(label) \(inner)"
            edit(start..<tokens[colon].range.lowerBound, names)
        } else if label.isEmpty {
            edit(start..<tokens[colon + 1].range.lowerBound, "")
        } else if label != argument.label {
            edit(start..<tokens[colon].range.lowerBound, label)
        }
    }

    /// Replaces a property, type or constant, or the name of a method with a trailing closure.
    mutating func renamedName(at index: Int) {
        let name = tokens[index].text
        let isMember = isMark(index - 1, ".")
        guard !declarations.declares(name), !declarations.declaresProperty(name) else { return }
        // An AttributedString has characters, and its sources are newer than those that ask a String for them.
        if isMember, name == "characters", !tokens.contains(where: { $0.isWord("AttributedString") }) {
            note(.change, tokens[index], replacement: "", "A String is a collection of characters itself")
            return edit(tokens[index - 1].range.lowerBound..<tokens[index].range.upperBound, "")
        }
        if let found = RenamedCall.properties[name]?.first {
            let isType = found.newName.hasPrefix("#") || found.newName.first?.isUppercase == true
            guard isType != isMember, isSwift2 || !found.isSwift2 else { return }
            change(from: index, to: index, found.reference, message)
        } else if isMember, isMark(index + 1, "{"),
            let found = RenamedCall.byName[name]?.first(where: { $0.labels == [""] })
        {
            change(from: index, to: index, found.newName, message)
        }
    }

    /// Replaces the statement `count++` or `count--`.
    mutating func increment(at index: Int) -> Int {
        let sign = tokens[index].text
        guard sign == "+" || sign == "-", isMark(index + 1, sign), index > 0,
            tokens[index + 1].range.lowerBound == tokens[index].range.upperBound,
            tokens[index].range.lowerBound == tokens[index - 1].range.upperBound, tokens.isWord(index - 1),
            index + 2 == tokens.count || tokens[index + 2].isFirstOnLine || "};".contains(tokens[index + 2].text)
        else { return index + 1 }
        change(from: index, to: index + 1, " \(sign)= 1", "Swift 3 has no \(sign)\(sign)")
        return index + 2
    }

    // MARK: - Swift 2

    /// Replaces what only Swift 2 wrote so. Returns true if it has replaced the token.
    mutating func swift2(at index: Int) -> Bool {
        let token = tokens[index]
        switch token.text {
        case "if", "guard", "while": conditions(at: index)
        case "func": unlabelled(at: index)
        case "path" where isMark(index - 1, ".") && isMark(index + 1, "!"):
            change(from: index, to: index + 1, "path", "A URL's path is no optional since Swift 3")
            return true
        case "AnyObject" where !isMark(index + 1, ")") && !isMark(index - 1, "&"):
            change(from: index, to: index, "Any", "Values are Any since Swift 3")
            return true
        case "NSObject" where isMark(index - 1, "[") && isMark(index + 1, ":"):
            change(from: index, to: index, "String", "Keys of user info and options are String since Swift 3")
            return true
        case _ where token.text.first?.isUppercase == true && isMark(index - 1, "."): enumerationCase(at: index)
        default: break
        }
        return false
    }

    /// Replaces `where`, and adds `let`, in `if let a = b, c = d where e`.
    private mutating func conditions(at index: Int) {
        var depth = 0
        var position = index + 1
        var binding: String?
        var isPattern = false
        while position < tokens.count {
            let token = tokens[position]
            if depth == 0, token.isMark("{") || token.isWord("else") { return }
            depth += token.bracket
            if depth == 0, token.isWord("let") || token.isWord("var") { binding = token.text }
            if depth == 0, token.isWord("case") { isPattern = true }
            if depth == 0, token.isMark(","), let binding, !isPattern, tokens.isWord(position + 1),
                isMark(position + 2, "="), !isMark(position + 3, "=")
            {
                let start = tokens[position + 1].range.lowerBound
                note(.change, tokens[position + 1], replacement: "\(binding) \(tokens[position + 1].text)", message)
                edit(start..<start, "\(binding) ")
            }
            if depth == 0, token.isWord("where") {
                note(.change, token, replacement: ",", "Conditions are separated by commas since Swift 3")
                edit(tokens[position - 1].range.upperBound..<token.range.upperBound, ",")
            }
            position += 1
        }
    }

    /// Gives the first parameter of a function no label, as Swift 2 did.
    private mutating func unlabelled(at index: Int) {
        guard tokens.isWord(index + 1), isMark(index + 2, "("), !isWord(index - 1, "override") else { return }
        let list = CallArguments(tokens, open: index + 2, isDeclaration: true)
        guard let first = list.arguments.first, let colon = first.colon, colon == first.start + 1,
            !isWord(first.start, "_")
        else { return }
        note(
            .change, tokens[first.start], replacement: "_ \(tokens[first.start].text)",
            "Swift 2 gave a first parameter no label")
        let start = tokens[first.start].range.lowerBound
        edit(start..<start, "_ ")
    }

    /// Replaces `.DocumentDirectory` by `.documentDirectory`, if no source declares such a case.
    private mutating func enumerationCase(at index: Int) {
        let name = tokens[index].text
        let before = index > 1 ? tokens[index - 2] : nil
        let isImplicit = before.map { "(,:=[?".contains($0.text) || ["case", "return"].contains($0.text) } == true
        guard isImplicit, !names.contains(name), !declarations.declares(name) else { return }
        // Of a run of capitals the last begins the next word: `URLPath` becomes `urlPath`.
        let capitals = name.prefix { $0.isUppercase }.count
        let count = capitals == name.count ? capitals : max(1, capitals - 1)
        change(
            from: index, to: index, name.prefix(count).lowercased() + name.dropFirst(count),
            "Cases begin with a small letter since Swift 3")
    }
}
