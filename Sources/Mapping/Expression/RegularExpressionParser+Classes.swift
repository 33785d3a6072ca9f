/// Classes of characters: `[a-z]`, classes in classes, `&&` and `--`, `[:alpha:]`, `\p{L}`.
extension RegularExpressionParser {
    /// Reads a class behind its opening bracket.
    mutating func characterSet(depth: Int = 0) throws(ProgramFault) -> TextPattern.CharacterSet {
        guard depth < 50 else { throw wrong("classes are nested more than 50 levels deep") }
        var set = TextPattern.CharacterSet()
        if peek == "^" {
            set.isInverted = true
            offset += 1
        }
        var isFirst = true
        while let next = peek, next != "]" || isFirst {
            isFirst = false
            if starts(with: "[:") {
                set.members.append(try namedClass())
                continue
            }
            if next == "[" {
                offset += 1
                set.members.append(try characterSet(depth: depth + 1))
                continue
            }
            if starts(with: "&&[") || starts(with: "--[") {
                let isRequired = next == "&"
                offset += 3
                let other = try characterSet(depth: depth + 1)
                if isRequired { set.required.append(other) } else { set.excluded.append(other) }
                continue
            }
            if starts(with: "&&") || starts(with: "--") {
                throw unsupported("an operation on classes without brackets")
            }
            try member(of: &set)
        }
        guard peek == "]" else { throw wrong("expected ']'") }
        offset += 1
        return set
    }

    /// Reads a character, a range or a shorthand inside a class.
    private mutating func member(of set: inout TextPattern.CharacterSet) throws(ProgramFault) {
        guard var low = peek else { return }
        offset += 1
        if low == "\\" {
            guard let letter = peek else { return }
            offset += 1
            if let inner = Self.shorthand(letter) {
                set.members.append(inner)
                return
            }
            if letter == "p" || letter == "P" {
                set.members.append(try property(isInverted: letter == "P"))
                return
            }
            low = try literal(letter)
        }
        var high = low
        if peek == "-", offset + 1 < scalars.count, scalars[offset + 1] != "]", !starts(with: "--") {
            offset += 1
            guard let end = peek else { return }
            offset += 1
            high = end
            if end == "\\" {
                guard let letter = peek else { return }
                offset += 1
                high = try literal(letter)
            }
            guard low.value <= high.value else { throw wrong("the range of a class is in the wrong order") }
        }
        set.ranges.append((low.value, high.value))
    }

    /// Reads the text up to an end, which is passed over.
    private mutating func name(upTo end: String) throws(ProgramFault) -> String {
        var text = ""
        while let next = peek, !starts(with: end), text.utf8.count < 64 {
            text.unicodeScalars.append(next)
            offset += 1
        }
        guard starts(with: end) else { throw wrong("expected '\(end)'") }
        offset += end.unicodeScalars.count
        return text
    }

    /// `[:alpha:]`, the place being at its bracket.
    private mutating func namedClass() throws(ProgramFault) -> TextPattern.CharacterSet {
        offset += 2
        let isInverted = peek == "^"
        if isInverted { offset += 1 }
        let name = try name(upTo: ":]")
        guard let set = Self.named(name, isInverted: isInverted) else { throw unsupported("the class [:\(name):]") }
        return set
    }

    /// `\p{L}`, `\pL`, the place being behind the letter p.
    mutating func property(isInverted: Bool) throws(ProgramFault) -> TextPattern.CharacterSet {
        var text: String
        if peek == "{" {
            offset += 1
            text = try name(upTo: "}")
        } else {
            guard let letter = peek else { throw wrong("expected the name of a property") }
            offset += 1
            text = String(Character(letter))
        }
        var isInverted = isInverted
        if text.hasPrefix("^") {
            isInverted.toggle()
            text.removeFirst()
        }
        guard let set = Self.named(text, isInverted: isInverted) else {
            throw unsupported("the property \(text) of characters")
        }
        return set
    }

    /// The class of a POSIX name or a general category; nil for other names.
    private static func named(_ name: String, isInverted: Bool) -> TextPattern.CharacterSet? {
        var set = TextPattern.CharacterSet()
        set.isInverted = isInverted
        switch name.lowercased() {
        case "alpha", "alphabetic": set.categories = letters.union([.letterNumber])
        case "upper", "uppercase": set.categories = [.uppercaseLetter]
        case "lower", "lowercase": set.categories = [.lowercaseLetter]
        case "digit": set.categories = [.decimalNumber]
        case "alnum": set.categories = letters.union([.letterNumber, .decimalNumber])
        case "punct": set.categories = punctuation
        case "space", "white_space": set.ranges = shorthand("s")?.ranges ?? []
        case "cntrl": set.categories = [.control]
        case "xdigit": set.ranges = [(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)]
        case "ascii": set.ranges = [(0, 0x7F)]
        default:
            guard let found = categories[name] else { return nil }
            set.categories = found
        }
        return set
    }

    private static let letters: Set<Unicode.GeneralCategory> = [
        .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
    ]
    private static let punctuation: Set<Unicode.GeneralCategory> = [
        .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
        .finalPunctuation, .otherPunctuation,
    ]

    private static let categories: [String: Set<Unicode.GeneralCategory>] = [
        "L": letters, "Lu": [.uppercaseLetter], "Ll": [.lowercaseLetter], "Lt": [.titlecaseLetter],
        "Lm": [.modifierLetter], "Lo": [.otherLetter], "Letter": letters,
        "M": [.nonspacingMark, .spacingMark, .enclosingMark], "Mn": [.nonspacingMark], "Mc": [.spacingMark],
        "Me": [.enclosingMark],
        "N": [.decimalNumber, .letterNumber, .otherNumber], "Nd": [.decimalNumber], "Nl": [.letterNumber],
        "No": [.otherNumber],
        "P": punctuation, "Pc": [.connectorPunctuation], "Pd": [.dashPunctuation], "Ps": [.openPunctuation],
        "Pe": [.closePunctuation], "Pi": [.initialPunctuation], "Pf": [.finalPunctuation], "Po": [.otherPunctuation],
        "S": [.mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol], "Sm": [.mathSymbol],
        "Sc": [.currencySymbol], "Sk": [.modifierSymbol], "So": [.otherSymbol],
        "Z": [.spaceSeparator, .lineSeparator, .paragraphSeparator], "Zs": [.spaceSeparator],
        "Zl": [.lineSeparator], "Zp": [.paragraphSeparator],
        "C": [.control, .format, .surrogate, .privateUse, .unassigned], "Cc": [.control], "Cf": [.format],
        "Cs": [.surrogate], "Co": [.privateUse], "Cn": [.unassigned],
    ]
}

/// Groups and assertions, for the matcher that backtracks.
extension RegularExpressionParser {
    /// Reads a group behind its opening parenthesis.
    mutating func group() throws(ProgramFault) -> RegularExpressionNode {
        let forms: [(String, (RegularExpressionNode) -> RegularExpressionNode)] = [
            ("?:", { $0 }), ("?>", { .atomic($0) }),
            ("?=", { .look($0, isBehind: false, isNegated: false) }),
            ("?!", { .look($0, isBehind: false, isNegated: true) }),
            ("?<=", { .look($0, isBehind: true, isNegated: false) }),
            ("?<!", { .look($0, isBehind: true, isNegated: true) }),
        ]
        for (sign, make) in forms where starts(with: sign) {
            offset += sign.unicodeScalars.count
            return make(try closed())
        }
        groups += 1
        let number = groups
        guard number <= 99 else { throw unsupported("more than 99 groups") }
        if starts(with: "?<") {
            offset += 2
            names[try name(upTo: ">")] = number
        } else if peek == "?" {
            throw unsupported("'(?' with flags behind the start")
        }
        return .capture(number, try closed())
    }

    private mutating func closed() throws(ProgramFault) -> RegularExpressionNode {
        let inner = try alternatives()
        guard peek == ")" else { throw wrong("expected ')'") }
        offset += 1
        return inner
    }

    /// What an escape asserts or refers to; nil where it is a character's.
    mutating func assertion(_ letter: Unicode.Scalar) throws(ProgramFault) -> RegularExpressionNode? {
        switch letter {
        case "b", "B": return .wordBoundary(isNegated: letter == "B")
        case "A": return .textStart
        case "z", "Z": return .textEnd
        case "k":
            guard peek == "<" else { throw wrong("expected '<'") }
            offset += 1
            guard let number = names[try name(upTo: ">")] else { throw wrong("no group has this name") }
            return .backReference(number)
        case "1", "2", "3", "4", "5", "6", "7", "8", "9":
            var number = Int(letter.value - 0x30)
            if number * 10 <= groups, let next = peek, next.value >= 0x30, next.value <= 0x39,
                number * 10 + Int(next.value - 0x30) <= groups
            {
                number = number * 10 + Int(next.value - 0x30)
                offset += 1
            }
            guard number <= groups else { throw wrong("there is no group \(number)") }
            return .backReference(number)
        default: return nil
        }
    }
}
