import SwiftTokens

extension PortRules {
    /// Reports a name that neither the sources nor Linux nor Stagecoach declare.
    mutating func unknownName(at index: Int) {
        let name = tokens[index].text
        let isPattern = isWord(index - 2, "case") || isWord(index - 2, "let") && isWord(index - 3, "case")
        if isPattern, isMark(index - 1, "."), isMark(index + 1, "("), !names.shared.contains(name),
            !PortTable.has(name, in: "casesWithValues"),
            tokens[(index - 2)...closing(index + 1)].contains(where: { $0.isWord("let") || $0.isWord("var") })
        {
            return note(
                .manual, tokens[index], "A stub has no values to bind: port the enumeration with the case \(name)")
        }
        if name.hasPrefix("$"), findings.contains(where: { $0.text.contains("var \(name.dropFirst()):") }) {
            return note(
                .manual, tokens[index], "The property has no wrapper here: port the wrapper, or use the property")
        }
        let base = unknownBase(index)
        guard
            let unknown = UnknownName(tokens, index, declarations, names, variables, isInherited: base != nil)
        else { return }
        if let base, unknown == .function || unknown == .variable {
            note(
                .manual, tokens[index], replacement: "self." + name,
                "No source declares \(name): it may be a member of \(base), which no source declares either")
            edit(tokens[index].range.lowerBound..<tokens[index].range.lowerBound, "self.")
            return
        }
        switch unknown {
        case .member:
            note(
                .manual, tokens[index],
                "Nothing on Linux has a member \(name): use another, or port the extension of the app that declares it")
        case .function: note(.manual, tokens[index], "No source declares \(name)(): port it, or do without")
        case .variable: note(.manual, tokens[index], "No source declares \(name): port it, or do without")
        case .initialiser:
            note(
                .manual, tokens[index],
                "\(name) has no such initialiser on Linux: use another, or port the extension of the app that declares it"
            )
        case .constant: note(.manual, tokens[index], "Linux has no \(name): write its value, or do without")
        }
    }
}

extension PortRules {
    /// Returns the superclass that no source declares of the policy in one of whose functions a token stands.
    private func unknownBase(_ index: Int) -> String? {
        guard let type = enclosingType(index), let base = declarations.unknownBases[type],
            !declarations.declaresInherited(tokens[index].text, of: type),
            let body = bodies.first(where: { $0.type == type && $0.body.contains(index) })?.body
        else { return nil }
        return isAsDeep(index, as: body.lowerBound) ? nil : base
    }
}

/// A name that nobody declares, by its place.
enum UnknownName {
    case member, initialiser, function, variable, constant

    private static let keywords: Set<String> = [
        "if", "guard", "while", "switch", "return", "for", "in", "is", "as", "try", "await", "async", "throw", "throws",
        "catch", "case", "let", "var", "func", "init", "deinit", "subscript", "get", "set", "willSet", "didSet", "self",
        "super", "nil", "true", "false", "where", "some", "any", "else", "do", "defer", "repeat", "private",
        "fileprivate", "internal", "public", "open", "unowned", "weak", "error", "newValue", "oldValue", "inout",
        "default", "import", "operator", "convenience", "required", "static", "class", "mutating", "lazy", "package",
        "nonisolated", "isolated", "borrowing", "consuming", "each", "repeat", "yield", "indirect", "optional",
        "break", "continue", "of", "prefix", "postfix", "infix", "precedencegroup", "associatedtype", "unsafe", "safe",
        "dynamic", "final", "override", "sending", "macro", "then", "discard", "copy", "actor", "line", "file",
        "function", "fallthrough", "extension", "struct", "enum", "protocol", "typealias", "rethrows",
    ]

    /// Returns what a word is if nobody declares it; nil if somebody does, or if no rule can tell.
    ///
    /// - Parameters:
    ///   - names: the names that the source declares or sees.
    ///   - isInherited: true where the name may be a member of a superclass that no source declares: only what can be seen
    ///     everywhere is known there.
    init?(
        _ tokens: [SwiftToken], _ index: Int, _ declarations: SourceDeclarations, _ names: SourceNames,
        _ variables: VariableTypes, isInherited: Bool = false
    ) {
        let name = tokens[index].text
        if Self.isUnknownInitialiser(tokens, index, declarations) {
            self = .initialiser
            return
        }
        let isMember = tokens.isMark(index - 1, ".")
        let receiver = isMember ? variables.receiver(tokens, index) : nil
        // `3.days`
        let isNumber = isMember && index > 1 && tokens[index - 2].kind == .number
        let members = isNumber ? PortTable.words["numberMembers"] : receiver.flatMap { PortTable.knownMembers[$0] }
        let known = members ?? (isInherited && !isMember ? PortTable.visibleNames : PortTable.knownNames)
        // `log` is a function.
        let isLog = !isMember && name == "log"
        let isOtherLog = isLog && (tokens.isMark(index + 1, ".") || isInherited && !tokens.isMark(index + 1, "("))
        let isKnown = known.contains(name) && !isOtherLog
        let isDeclared =
            members != nil
            ? declarations.declaresMember(name, of: receiver)
            : isInherited && !isMember ? names.visible.contains(name) : names.contains(name)
        guard tokens[index].kind == .word, let first = name.first, first != "$", first != "_", !isKnown, !isDeclared,
            !declarations.declares(name),
            !PortTable.knownTypes.contains(name), !Self.isCondition(tokens, index),
            PlatformPart.used(tokens, at: isMember ? index - 1 : index) == nil
        else { return nil }
        if isMember {
            guard !tokens.isMark(index - 2, "."), !["self", "Type", "init", "Protocol"].contains(name),
                !Self.isPartOfImport(tokens, index), Self.isKnownRoot(tokens, index, declarations, names)
            else { return nil }
            self = .member
        } else if name.isConstantOfApple {
            self = tokens.isMark(index + 1, "(") ? .function : .constant
        } else {
            guard first.isLowercase, !Self.keywords.contains(name), !tokens.isMark(index + 1, ":") else { return nil }
            if index > 0,
                ["func", "import", "case", "let", "var", "class", "continue", "break", "operator"].contains(
                    tokens[index - 1].text)
            {
                return nil
            }
            // `forMapping mapping:` names a parameter.
            if tokens.isWord(index + 1), !["as", "is", "else", "in", "where"].contains(tokens[index + 1].text),
                !tokens[index + 1].isFirstOnLine
            {
                return nil
            }
            self = tokens.isMark(index + 1, "(") ? .function : .variable
        }
    }

    /// Tells whether a call makes a value of a known type with labels that none of its initialisers has.
    private static func isUnknownInitialiser(
        _ tokens: [SwiftToken], _ index: Int, _ declarations: SourceDeclarations
    ) -> Bool {
        guard let known = PortTable.words["init." + tokens[index].text], tokens.isMark(index + 1, "("),
            !tokens.isMark(index - 1, "."), !declarations.extensions.contains(where: { $0.name == tokens[index].text })
        else { return false }
        let labels = CallArguments(tokens, open: index + 1, isDeclaration: false).labels
        // Arguments with default values may be left out.
        return !labels.isEmpty
            && !known.contains { list in
                var rest = labels[...]
                for label in list.split(separator: ":") where rest.first == (label == "_" ? "" : String(label)) {
                    rest = rest.dropFirst()
                }
                return rest.isEmpty
            }
    }

    private static func isPartOfImport(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        tokens[..<index].reversed().prefix { $0.line == tokens[index].line }.contains { $0.isWord("import") }
    }

    /// Tells whether a word belongs to a condition of the compiler.
    static func isCondition(_ tokens: [SwiftToken], _ index: Int) -> Bool {
        tokens[..<index].reversed().prefix { $0.line == tokens[index].line }.contains {
            ["#if", "#elseif", "#available", "#unavailable", "@available", "@unknown"].contains($0.text)
        }
    }

    /// Tells whether the first name of `a.b(c).d` is known: members of a stub are not looked at.
    private static func isKnownRoot(
        _ tokens: [SwiftToken], _ index: Int, _ declarations: SourceDeclarations, _ names: SourceNames
    ) -> Bool {
        guard let root = root(tokens, index) else { return true }
        let name = tokens[root].text
        guard tokens[root].kind == .word, !keywords.contains(name) else { return true }
        if name.first?.isUppercase == true || name.isConstantOfApple {
            return declarations.declares(name) || PortTable.isKnown(name)
        }
        return names.contains(name) || PortTable.knownNames.contains(name)
    }

    /// Returns the token with which a chain of members begins; nil for a member like `.name` without a base.
    static func root(_ tokens: [SwiftToken], _ index: Int) -> Int? {
        var position = index
        while tokens.isMark(position - 1, ".") {
            position -= 2
            while tokens.isMark(position, "?") || tokens.isMark(position, "!") { position -= 1 }
            while tokens.isMark(position, ")") || tokens.isMark(position, "]") || tokens.isMark(position, "}") {
                var depth = 0
                repeat {
                    depth -= tokens[position].bracket
                    position -= 1
                } while depth > 0 && position >= 0
                while tokens.isMark(position, "?") || tokens.isMark(position, "!") { position -= 1 }
            }
            guard position >= 0, tokens[position].kind == .word || tokens[position].kind == .string else { return nil }
        }
        return position
    }
}

extension String {
    /// True for the name of a constant as Apple's frameworks write it: `kUTTypeJPEG`, or `NS` and no type that Linux has.
    var isConstantOfApple: Bool {
        let letters = Array(unicodeScalars.prefix(3))
        guard letters.count == 3 else { return false }
        let isUpper = { (scalar: Unicode.Scalar) in ("A"..."Z").contains(scalar) }
        if letters[0] == "k" { return isUpper(letters[1]) }
        let endings = ["Key", "Domain", "Error", "Type", "Option", "Policy", "Notification", "Name", "Attribute"]
        let isUpperCase = contains("_") && allSatisfy { $0.isUppercase || $0.isNumber || $0 == "_" }
        if isUpperCase { return true }
        return letters[0] == "N" && letters[1] == "S" && isUpper(letters[2]) && endings.contains { hasSuffix($0) }
    }
}
