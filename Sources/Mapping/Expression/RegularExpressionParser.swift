/// The tree of a plain regular expression.
indirect enum RegularExpressionNode {
    case literal(Unicode.Scalar)
    case any
    case set(PatternAutomaton.CharacterSet)
    case sequence([RegularExpressionNode])
    case alternatives([RegularExpressionNode])
    /// A repetition with its least count and its greatest; nil is unbounded.
    case repetition(RegularExpressionNode, Int, Int?)
}

/// Parses the plain regular expressions that ``PatternAutomaton`` matches: literals, `.`, classes `[a-z]` `[^a-z]`, `\d \w \s
/// \D \W \S`, escapes, groups `( )` `(?: )`, `|`, `* + ? {n} {n,} {n,m}` and their lazy forms with `?`, `^` at the start, `$`
/// at the end, and leading `(?i)` `(?s)`.
///
/// It only reports that it does not know other forms. For invalid expressions it finds the usual mistakes and their place.
struct RegularExpressionParser {
    /// The reasons for a refusal.
    enum Failure: Error {
        /// Another form of ICU's syntax, or a mistake that this parser does not recognise.
        case otherForm
        /// A mistake, with the place of its character counted from 1.
        case mistake(String, Int)
    }

    private let scalars: [Unicode.Scalar]
    private var offset = 0
    private var depth = 0
    /// True if the expression begins with `(?i)`.
    private(set) var ignoresCase = false
    /// True if it begins with `(?s)`: a dot then matches line ends too.
    private(set) var dotIsAnything = false
    /// True if it has shorthand classes, whose members beyond ASCII are defined by Unicode.
    private(set) var hasShorthands = false

    init(_ text: String) { scalars = Array(text.unicodeScalars) }

    mutating func parse() throws(Failure) -> RegularExpressionNode {
        for (flags, length) in [("(?i)", 4), ("(?s)", 4), ("(?is)", 5), ("(?si)", 5)] where starts(with: flags) {
            ignoresCase = ignoresCase || flags.contains("i")
            dotIsAnything = dotIsAnything || flags.contains("s")
            offset += length
        }
        // The whole text must match, so anchors at the ends have no effect.
        _ = take("^")
        let node = try alternatives()
        guard offset == scalars.count else { throw wrong("unexpected ')'") }
        return node
    }

    private var peek: Unicode.Scalar? { offset < scalars.count ? scalars[offset] : nil }

    private func starts(with text: String) -> Bool { scalars[offset...].starts(with: text.unicodeScalars) }

    /// Skips a character if it is the next one, and tells whether it was.
    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        offset += 1
        return true
    }

    private func wrong(_ message: String) -> Failure { .mistake(message, offset + 1) }

    private mutating func alternatives() throws(Failure) -> RegularExpressionNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= 100 else { throw .otherForm }
        var all = [try sequence()]
        // An anchor at the end of an alternative is not at the end of the pattern.
        while take("|") { all.append(try sequence()) }
        return all.count == 1 ? all[0] : .alternatives(all)
    }

    private mutating func sequence() throws(Failure) -> RegularExpressionNode {
        var nodes: [RegularExpressionNode] = []
        while let next = peek, next != "|", next != ")" {
            if next == "$" {
                offset += 1
                guard offset == scalars.count else { throw .otherForm }
                break
            }
            nodes.append(try repeated(atom()))
        }
        return .sequence(nodes)
    }

    private mutating func atom() throws(Failure) -> RegularExpressionNode {
        guard let next = peek else { throw wrong("expected a character") }
        switch next {
        case "(":
            let start = offset
            offset += 1
            if peek == "?" {
                guard starts(with: "?:") else { throw .otherForm }
                offset += 2
            }
            let inner = try alternatives()
            guard take(")") else { throw .mistake("expected ')' for the group that begins", start + 1) }
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
        case "*", "+", "?", "{": throw wrong("nothing before '\(next)' can be repeated")
        case "^", "#", "}", "]": throw .otherForm
        default:
            offset += 1
            return .literal(next)
        }
    }

    private mutating func repeated(_ atom: RegularExpressionNode) throws(Failure) -> RegularExpressionNode {
        let bounds: (Int, Int?)
        switch peek {
        case "*": bounds = (0, nil)
        case "+": bounds = (1, nil)
        case "?": bounds = (0, 1)
        case "{": bounds = try counts()
        default: return atom
        }
        // A count ends at its closing brace, which is skipped here.
        offset += 1
        // A lazy repetition matches the same whole texts as a greedy one.
        if !take("?"), peek == "+" { throw .otherForm }
        if let next = peek, next == "*" || next == "+" || next == "?" || next == "{" {
            throw wrong("a quantifier follows a quantifier")
        }
        return .repetition(atom, bounds.0, bounds.1)
    }

    private mutating func counts() throws(Failure) -> (Int, Int?) {
        offset += 1
        let low = try count()
        var high: Int? = low
        if take(",") { high = peek == "}" ? nil : try count() }
        guard peek == "}" else { throw wrong("expected '}'") }
        if let high, high < low { throw wrong("the counts are in the wrong order") }
        return (low, high)
    }

    private mutating func count() throws(Failure) -> Int {
        var value = 0
        let start = offset
        while let next = peek, next.value >= 0x30, next.value <= 0x39 {
            value = value * 10 + Int(next.value - 0x30)
            guard value <= PatternAutomaton.maximumStates else { throw .otherForm }
            offset += 1
        }
        guard offset > start else { throw wrong("expected a number") }
        return value
    }

    private mutating func escape() throws(Failure) -> RegularExpressionNode {
        guard let letter = peek else { throw wrong("a backslash is the last character") }
        offset += 1
        if let set = shorthand(letter) { return .set(set) }
        return .literal(try literal(letter))
    }

    /// Returns the character of an escape, whose letter after the backslash is read already.
    private func literal(_ letter: Unicode.Scalar) throws(Failure) -> Unicode.Scalar {
        switch letter {
        case "n": return "\n"
        case "t": return "\t"
        case "r": return "\r"
        case "f": return "\u{C}"
        default:
            guard letter.value < 0x80, !letter.properties.isAlphabetic, letter.value < 0x30 || letter.value > 0x39
            else { throw .otherForm }
            return letter
        }
    }

    /// Parses a class after its opening bracket.
    private mutating func characterSet() throws(Failure) -> PatternAutomaton.CharacterSet {
        let start = offset
        var set = PatternAutomaton.CharacterSet()
        set.isInverted = take("^")
        while let next = peek, next != "]" {
            offset += 1
            guard let low = try member(next, of: &set) else { continue }
            var high = low
            if peek == "-", offset + 1 < scalars.count, scalars[offset + 1] != "]" {
                offset += 1
                guard let end = peek else { break }
                offset += 1
                guard let last = try member(end, of: &set) else { throw .otherForm }
                high = last
                guard low.value <= high.value else { throw wrong("the range of a class is in the wrong order") }
            } else if take("-") {
                // A hyphen at the end is a literal.
                set.ranges.append((0x2D, 0x2D))
            }
            set.ranges.append((low.value, high.value))
        }
        guard peek == "]" else { throw .mistake("expected ']' for the class that begins", start) }
        guard !set.ranges.isEmpty else { throw .otherForm }
        offset += 1
        return set
    }

    /// Returns a character of a class; nil for a shorthand, which is added to the class.
    private mutating func member(
        _ next: Unicode.Scalar, of set: inout PatternAutomaton.CharacterSet
    ) throws(Failure) -> Unicode.Scalar? {
        switch next {
        case "\\":
            guard let letter = peek else { throw wrong("a backslash is the last character") }
            offset += 1
            guard let inner = shorthand(letter) else { return try literal(letter) }
            guard !inner.isInverted else { throw .otherForm }
            set.ranges.append(contentsOf: inner.ranges)
            return nil
        // Nested classes, operations on classes, and characters that have a meaning only in some places.
        case "[", "&", "-", "{", "}", "^", "$": throw .otherForm
        default: return next
        }
    }

    /// Returns the ASCII members of a shorthand class.
    private mutating func shorthand(_ letter: Unicode.Scalar) -> PatternAutomaton.CharacterSet? {
        let ranges: [(UInt32, UInt32)]
        switch letter {
        case "d", "D": ranges = [(0x30, 0x39)]
        case "w", "W": ranges = [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)]
        case "s", "S": ranges = [(0x09, 0x0D), (0x20, 0x20)]
        default: return nil
        }
        hasShorthands = true
        return PatternAutomaton.CharacterSet(
            ranges: ranges, isInverted: letter == "D" || letter == "W" || letter == "S")
    }
}
