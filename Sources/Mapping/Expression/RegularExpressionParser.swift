/// What a regular expression says.
indirect enum RegularExpressionNode {
    case literal(Unicode.Scalar)
    case any
    case set(TextPattern.CharacterSet)
    case sequence([RegularExpressionNode])
    case alternatives([RegularExpressionNode])
    /// At least and, unless nil, at most so many times.
    case repetition(RegularExpressionNode, Int, Int?)
}

/// Reads the regular expressions that ``TextPattern`` knows.
struct RegularExpressionParser {
    private let scalars: [Unicode.Scalar]
    private var offset = 0
    private var depth = 0
    /// Whether the expression begins with `(?i)`.
    private(set) var ignoresCase = false

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    /// - Throws: `expression.syntax`, `expression.unsupported`.
    mutating func parse() throws(ProgramFault) -> RegularExpressionNode {
        guard scalars.count <= TextPattern.maximumStates else { throw unsupported("so long a pattern") }
        if starts(with: "(?i)") {
            ignoresCase = true
            offset += 4
        }
        // The whole text has to match, so the anchors at the ends say nothing.
        if peek == "^" { offset += 1 }
        let node = try alternatives()
        guard offset == scalars.count else { throw wrong("unexpected ')'") }
        return node
    }

    private var peek: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

    private func starts(with text: String) -> Bool {
        scalars[offset...].starts(with: text.unicodeScalars)
    }

    private func wrong(_ message: String) -> ProgramFault {
        ProgramFault("expression.syntax", "\(message), at character \(offset + 1) of the regular expression")
    }

    private func unsupported(_ form: String) -> ProgramFault {
        .unsupported("\(form) in a regular expression is not known to this matcher, which never backtracks")
    }

    private mutating func alternatives() throws(ProgramFault) -> RegularExpressionNode {
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
        case "^": throw unsupported("'^' behind the start")
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
        node = .repetition(node, bounds.0, bounds.1)
        // Whether a quantifier is lazy makes no difference to whether the whole matches.
        if peek == "?" {
            offset += 1
        } else if peek == "+" {
            throw unsupported("a possessive quantifier")
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
        return .literal(try literal(letter))
    }

    /// The character that an escape names, the letter behind the backslash being read.
    private mutating func literal(_ letter: Unicode.Scalar) throws(ProgramFault) -> Unicode.Scalar {
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

    private mutating func hexadecimal(_ digits: Int) throws(ProgramFault) -> Unicode.Scalar {
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

    private static func shorthand(_ letter: Unicode.Scalar) -> TextPattern.CharacterSet? {
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

    /// Reads a class behind its opening bracket.
    private mutating func characterSet() throws(ProgramFault) -> TextPattern.CharacterSet {
        var set = TextPattern.CharacterSet()
        if peek == "^" {
            set.isInverted = true
            offset += 1
        }
        var isFirst = true
        while let next = peek, next != "]" || isFirst {
            isFirst = false
            if next == "[" { throw unsupported("a class inside a class") }
            if starts(with: "&&") || starts(with: "--") { throw unsupported("an operation on classes") }
            offset += 1
            var low = next
            if next == "\\" {
                guard let letter = peek else { break }
                offset += 1
                if let inner = Self.shorthand(letter) {
                    guard !inner.isInverted else { throw unsupported("'\\\(letter)' inside a class") }
                    set.ranges += inner.ranges
                    continue
                }
                low = try literal(letter)
            }
            var high = low
            if peek == "-", offset + 1 < scalars.count, scalars[offset + 1] != "]" {
                offset += 1
                guard let end = peek else { break }
                offset += 1
                high = end
                if end == "\\" {
                    guard let letter = peek else { break }
                    offset += 1
                    high = try literal(letter)
                }
                guard low.value <= high.value else { throw wrong("the range of a class is in the wrong order") }
            }
            set.ranges.append((low.value, high.value))
        }
        guard peek == "]" else { throw wrong("expected ']'") }
        offset += 1
        return set
    }
}
