/// What a regular expression says.
indirect enum RegularExpressionNode {
    case literal(Unicode.Scalar)
    case any
    case set(TextPattern.CharacterSet)
    case sequence([RegularExpressionNode])
    case alternatives([RegularExpressionNode])
    /// At least and, unless nil, at most so many times.
    case repetition(RegularExpressionNode, Int, Int?, isLazy: Bool)
    // What follows is for the matcher that backtracks.
    /// A group whose text is remembered, by its number.
    case capture(Int, RegularExpressionNode)
    case backReference(Int)
    case look(RegularExpressionNode, isBehind: Bool, isNegated: Bool)
    /// What is found first is kept: `(?>…)`, possessive quantifiers.
    case atomic(RegularExpressionNode)
    case textStart
    case textEnd
    case wordBoundary(isNegated: Bool)
}

/// Reads the regular expressions that ``TextPattern`` knows.
struct RegularExpressionParser {
    let scalars: [Unicode.Scalar]
    var offset = 0
    private var depth = 0
    /// Whether forms are read that only ``BacktrackingPattern`` matches.
    let backtracks: Bool
    /// Whether the expression begins with `(?i)`.
    private(set) var ignoresCase = false
    /// Whether it begins with `(?s)`: a dot is any character, line ends too.
    private(set) var dotIsAnything = false
    /// Groups so far, and the numbers of those with a name.
    var groups = 0
    var names: [String: Int] = [:]

    init(_ text: String, backtracks: Bool = false) {
        scalars = Array(text.unicodeScalars)
        self.backtracks = backtracks
    }

    /// - Throws: `expression.syntax`, `expression.unsupported`.
    mutating func parse() throws(ProgramFault) -> RegularExpressionNode {
        guard scalars.count <= TextPattern.maximumStates else { throw unsupported("so long a pattern") }
        for (flags, length) in [("(?i)", 4), ("(?s)", 4), ("(?is)", 5), ("(?si)", 5)] where starts(with: flags) {
            ignoresCase = ignoresCase || flags.contains("i")
            dotIsAnything = dotIsAnything || flags.contains("s")
            offset += length
        }
        // The whole text has to match, so the anchors at the ends say nothing.
        if !backtracks, peek == "^" { offset += 1 }
        let node = try alternatives()
        guard offset == scalars.count else { throw wrong("unexpected ')'") }
        return node
    }

    var peek: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

    func starts(with text: String) -> Bool {
        scalars[offset...].starts(with: text.unicodeScalars)
    }

    func wrong(_ message: String) -> ProgramFault {
        ProgramFault("expression.syntax", "\(message), at character \(offset + 1) of the regular expression")
    }

    func unsupported(_ form: String) -> ProgramFault {
        .unsupported("\(form) in a regular expression is not known")
    }

    mutating func alternatives() throws(ProgramFault) -> RegularExpressionNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 100 else { throw wrong("groups are nested more than 100 levels deep") }
        var all = [try sequence()]
        while peek == "|" {
            offset += 1
            all.append(try sequence())
        }
        return all.count == 1 ? all[0] : .alternatives(all)
    }

    private mutating func sequence() throws(ProgramFault) -> RegularExpressionNode {
        var nodes: [RegularExpressionNode] = []
        while let next = peek, next != "|", next != ")" {
            if next == "$" {
                offset += 1
                if backtracks {
                    nodes.append(.textEnd)
                    continue
                }
                guard offset == scalars.count else { throw unsupported("'$' before the end") }
                break
            }
            nodes.append(try repeated(atom()))
        }
        return .sequence(nodes)
    }

    private mutating func atom() throws(ProgramFault) -> RegularExpressionNode {
        guard let next = peek else { throw wrong("expected a character") }
        switch next {
        case "(":
            offset += 1
            if backtracks { return try group() }
            if peek == "?" {
                guard starts(with: "?:") else { throw unsupported("'(?' other than '(?:'") }
                offset += 2
            }
            let inner = try alternatives()
            guard peek == ")" else { throw wrong("expected ')'") }
            offset += 1
            return inner
        case "[":
            offset += 1
            return .set(try characterSet())
        case ".":
            offset += 1
            return .any
        case "\\":
            offset += 1
            return try escape()
        case "*", "+", "?", "{": throw wrong("nothing stands before '\(next)' that could be repeated")
        case "^":
            guard backtracks else { throw unsupported("'^' behind the start") }
            offset += 1
            return .textStart
        default:
            offset += 1
            return .literal(next)
        }
    }

    private mutating func repeated(_ atom: RegularExpressionNode) throws(ProgramFault) -> RegularExpressionNode {
        var node = atom
        let bounds: (Int, Int?)
        switch peek {
        case "*": bounds = (0, nil)
        case "+": bounds = (1, nil)
        case "?": bounds = (0, 1)
        case "{": bounds = try counts()
        default: return node
        }
        // Counts leave the place at their closing brace.
        offset += 1
        // To an automaton it makes no difference to whether the whole matches.
        let isLazy = peek == "?"
        node = .repetition(node, bounds.0, bounds.1, isLazy: isLazy)
        if isLazy {
            offset += 1
        } else if peek == "+" {
            guard backtracks else { throw unsupported("a possessive quantifier") }
            offset += 1
            node = .atomic(node)
        }
        if let next = peek, next == "*" || next == "+" || next == "?" || next == "{" {
            throw wrong("a quantifier follows a quantifier")
        }
        return node
    }

    private mutating func counts() throws(ProgramFault) -> (Int, Int?) {
        offset += 1
        let low = try count()
        var high: Int? = low
        if peek == "," {
            offset += 1
            high = peek == "}" ? nil : try count()
        }
        guard peek == "}" else { throw wrong("expected '}'") }
        if let high, high < low { throw wrong("the counts are in the wrong order") }
        return (low, high)
    }

    private mutating func count() throws(ProgramFault) -> Int {
        var value = 0
        let start = offset
        while let next = peek, next.value >= 0x30, next.value <= 0x39 {
            value = value * 10 + Int(next.value - 0x30)
            guard value <= 1000 else { throw unsupported("a count above 1000") }
            offset += 1
        }
        guard offset > start else { throw wrong("expected a number") }
        return value
    }

    private mutating func escape() throws(ProgramFault) -> RegularExpressionNode {
        guard let letter = peek else { throw wrong("a backslash stands at the end") }
        offset += 1
        if let set = Self.shorthand(letter) { return .set(set) }
        if letter == "p" || letter == "P" { return .set(try property(isInverted: letter == "P")) }
        if backtracks, let node = try assertion(letter) { return node }
        return .literal(try literal(letter))
    }

    /// The character that an escape names, the letter behind the backslash being read.
    mutating func literal(_ letter: Unicode.Scalar) throws(ProgramFault) -> Unicode.Scalar {
        switch letter {
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "f": return "\u{C}"
        case "a": return "\u{7}"
        case "e": return "\u{1B}"
        case "u": return try hexadecimal(4)
        case "x": return try hexadecimal(2)
        default:
            guard !(letter.properties.isAlphabetic || (letter.value >= 0x30 && letter.value <= 0x39)) else {
                throw unsupported("'\\\(letter)'")
            }
            return letter
        }
    }

    mutating func hexadecimal(_ digits: Int) throws(ProgramFault) -> Unicode.Scalar {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let next = peek, let digit = Character(next).hexDigitValue else {
                throw wrong("expected a hexadecimal digit")
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        guard let scalar = Unicode.Scalar(value) else { throw wrong("the escape names no character") }
        return scalar
    }

    static func shorthand(_ letter: Unicode.Scalar) -> TextPattern.CharacterSet? {
        let ranges: [(UInt32, UInt32)]
        switch letter {
        case "d", "D": ranges = [(0x30, 0x39)]
        // Letters beyond ASCII count, as in ICU; by the blocks that hold them, not one by one.
        case "w", "W":
            ranges = [
                (0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xAA, 0xAA), (0xB5, 0xB5), (0xBA, 0xBA),
                (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x1FFF), (0x2C00, 0x2DFF), (0x3040, 0xD7FF), (0xF900, 0xFDFF),
                (0xFE70, 0xFEFC), (0xFF10, 0xFF19), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A), (0x10000, 0x1EFFF),
                (0x20000, 0x3FFFF),
            ]
        case "s", "S":
            ranges = [
                (0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
                (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
            ]
        default: return nil
        }
        return TextPattern.CharacterSet(
            ranges: ranges, isInverted: letter == "D" || letter == "W" || letter == "S")
    }
}
