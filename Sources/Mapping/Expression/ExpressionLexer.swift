/// Cuts the text of a value expression or predicate into tokens, one at a time.
///
/// Memory: the text's UTF-8 bytes and one token. Each byte is read a bounded number of times.
struct ExpressionLexer {
    /// The greatest length of a text in bytes.
    static let maximumLength = 1 << 20

    private let bytes: [UInt8]
    /// The offset of the next byte to read.
    private(set) var offset = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Returns a text shortened for an error message.
    static func excerpt(_ text: String) -> String {
        text.utf8.count <= 1000 ? text : String(text.prefix(500)) + "…"
    }

    /// Returns the error for a place in bytes, which the message counts in characters from one.
    func error(at offset: Int, _ message: String, remedy: String? = nil) -> ProgramFault {
        let column = String(decoding: bytes.prefix(offset), as: UTF8.self).count + 1
        return ProgramFault("expression.syntax", "\(message), at column \(column) of the expression", remedy: remedy)
    }

    private func byte(_ ahead: Int = 0) -> UInt8? {
        let place = offset + ahead
        return place < bytes.count ? bytes[place] : nil
    }

    /// Skips blanks and returns the offset of the next other byte.
    mutating func skipBlanks() -> Int {
        while let next = byte(), next == 0x20 || (next >= 0x09 && next <= 0x0D) { offset += 1 }
        return offset
    }

    /// Reads the next token.
    ///
    /// - Throws: `expression.syntax`.
    mutating func next() throws(ProgramFault) -> ExpressionToken {
        let start = skipBlanks()
        guard let first = byte() else { return .end }
        if Self.isNameStart(first) { return word() }
        if Self.isDigit(first) { return try number() }
        switch first {
        case UInt8(ascii: "'"), UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "."):
            if let second = byte(1), Self.isDigit(second) { return try number() }
            offset += 1
            return .symbol(.dot)
        case UInt8(ascii: "$"):
            offset += 1
            guard let name = plainName() else { throw error(at: offset, "expected the name of a variable after '$'") }
            return .variable(name)
        case UInt8(ascii: "@"):
            offset += 1
            guard let name = plainName() else { throw error(at: offset, "expected the name of an operator after '@'") }
            return .collectionOperator(name)
        case UInt8(ascii: "#"):
            offset += 1
            if let quote = byte(), quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"") {
                return .name(try string())
            }
            guard let name = plainName() else { throw error(at: offset, "expected a name after '#'") }
            return .name(name)
        default: return .symbol(try symbol(first, start: start))
        }
    }

    private mutating func symbol(_ first: UInt8, start: Int) throws(ProgramFault) -> ExpressionToken.Symbol {
        if let second = byte(1), let symbol = Self.symbols[UInt16(first) << 8 | UInt16(second)] {
            offset += 2
            return symbol
        }
        guard let symbol = Self.symbols[UInt16(first)] else {
            throw error(
                at: start,
                "unexpected character '\(String(decoding: bytes[start...].prefix(4), as: UTF8.self).prefix(1))'")
        }
        offset += 1
        return symbol
    }

    /// The symbols by their one or two bytes. Formats with arguments double the percent sign.
    private static let symbols: [UInt16: ExpressionToken.Symbol] = {
        let others: [(String, ExpressionToken.Symbol)] = [
            ("%%", .modulus), ("=", .equal), ("=<", .lessOrEqual), ("=>", .greaterOrEqual), ("<>", .notEqual),
        ]
        let all = ExpressionToken.Symbol.allCases.map { ($0.rawValue, $0) } + others
        return Dictionary(
            uniqueKeysWithValues: all.map { text, symbol in
                (text.utf8.reduce(0) { $0 << 8 | UInt16($1) }, symbol)
            })
    }()

    // MARK: Words

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
    /// Tells whether a byte starts a name: a letter, the underscore, or any byte of a character beyond ASCII, as model names
    /// are not only ASCII.
    private static func isNameStart(_ byte: UInt8) -> Bool {
        (byte >= 0x61 && byte <= 0x7A) || (byte >= 0x41 && byte <= 0x5A) || byte == 0x5F || byte >= 0x80
    }
    private static func isNamePart(_ byte: UInt8) -> Bool { isNameStart(byte) || isDigit(byte) }

    /// Tells whether a name can be written without quotes.
    static func isPlainName(_ name: String) -> Bool {
        guard let first = name.utf8.first, isNameStart(first) else { return false }
        return name.utf8.allSatisfy(isNamePart)
    }

    private mutating func plainName() -> String? {
        guard let first = byte(), Self.isNameStart(first) else { return nil }
        let start = offset
        while let next = byte(), Self.isNamePart(next) { offset += 1 }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func word() -> ExpressionToken {
        let start = offset
        while let next = byte(), Self.isNamePart(next) { offset += 1 }
        // A colon makes the word a selector, but `:=` is the assignment operator.
        if byte() == UInt8(ascii: ":"), byte(1) != UInt8(ascii: "=") {
            while let next = byte(), Self.isNamePart(next) || next == UInt8(ascii: ":") { offset += 1 }
            return .selector(String(decoding: bytes[start..<offset], as: UTF8.self))
        }
        let text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if let word = ReservedWord(bytes[start..<offset]) { return .reserved(word, text: text) }
        return .name(text)
    }

    /// Reads the name after a dot, where reserved words need no escape; nil if there is none.
    mutating func componentAfterDot() throws(ProgramFault) -> String? {
        let start = skipBlanks()
        if let first = byte(), Self.isNameStart(first) { return plainName() }
        if byte() == UInt8(ascii: "%") { return nil }
        guard let first = byte(), first == UInt8(ascii: "#") || first == UInt8(ascii: "@") else { return nil }
        switch try next() {
        case .name(let name): return name
        case .collectionOperator(let name): return "@" + name
        default: throw error(at: start, "expected the name of a property")
        }
    }

    /// Reads the letter of a placeholder after its percent sign: `@`, `K`, or a `printf` conversion, whose length modifier is
    /// skipped; nil if there is none.
    mutating func placeholder() -> UInt8? {
        guard offset > 0, bytes[offset - 1] == UInt8(ascii: "%") else { return nil }
        var ahead = 0
        while let next = byte(ahead), "hlqjztL".utf8.contains(next) { ahead += 1 }
        guard let letter = byte(ahead), "@KdDiuUxXoOcCfFeEgGaAsSp".utf8.contains(letter) else { return nil }
        if let next = byte(ahead + 1), Self.isNamePart(next) { return nil }
        offset += ahead + 1
        return letter
    }

    // MARK: Literals

    private mutating func number() throws(ProgramFault) -> ExpressionToken {
        let start = offset
        let token: ExpressionToken
        if byte() == UInt8(ascii: "0"), let radix = Self.radix(byte(1)) {
            offset += 2
            token = .integer(try digits(radix: radix, start: start))
        } else {
            token = try decimalNumber(start: start)
        }
        if let next = byte(), Self.isNamePart(next) {
            throw error(at: offset, "a number is followed by a letter or digit that does not belong to it")
        }
        return token
    }

    private static func radix(_ letter: UInt8?) -> Int? {
        switch letter {
        case UInt8(ascii: "x"), UInt8(ascii: "X"): 16
        case UInt8(ascii: "o"), UInt8(ascii: "O"): 8
        case UInt8(ascii: "b"), UInt8(ascii: "B"): 2
        default: nil
        }
    }

    private static func digit(_ byte: UInt8) -> Int? { Character(Unicode.Scalar(byte)).hexDigitValue }

    private mutating func digits(radix: Int, start: Int) throws(ProgramFault) -> UInt64 {
        let first = offset
        while let next = byte(), let digit = Self.digit(next), digit < radix { offset += 1 }
        guard offset > first else { throw error(at: offset, "expected a digit of base \(radix)") }
        let text = String(decoding: bytes[first..<offset], as: UTF8.self)
        guard let value = UInt64(text, radix: radix) else { throw error(at: start, "the number does not fit 64 bits") }
        return value
    }

    private mutating func decimalNumber(start: Int) throws(ProgramFault) -> ExpressionToken {
        while let next = byte(), Self.isDigit(next) { offset += 1 }
        var isWhole = true
        if byte() == UInt8(ascii: "."), let next = byte(1), Self.isDigit(next) {
            isWhole = false
            offset += 1
            while let next = byte(), Self.isDigit(next) { offset += 1 }
        }
        if let letter = byte(), letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") {
            let sign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-") ? 1 : 0
            if let next = byte(1 + sign), Self.isDigit(next) {
                isWhole = false
                offset += 1 + sign
                while let next = byte(), Self.isDigit(next) { offset += 1 }
            }
        }
        if isWhole {
            offset = start
            return .integer(try digits(radix: 10, start: start))
        }
        var text = String(decoding: bytes[start..<offset], as: UTF8.self)
        if text.hasPrefix(".") { text = "0" + text }
        guard let value = Double(text), value.isFinite else {
            throw error(at: start, "the number does not fit a double")
        }
        return .double(value)
    }

    private mutating func string() throws(ProgramFault) -> String {
        let start = offset
        guard let quote = byte() else { throw error(at: start, "expected a string") }
        offset += 1
        var result: [UInt8] = []
        while let next = byte() {
            if next == quote {
                offset += 1
                return String(decoding: result, as: UTF8.self)
            }
            if next == UInt8(ascii: "\\") {
                let scalar = try escape()
                result.append(contentsOf: Array(String(Character(scalar)).utf8))
            } else {
                result.append(next)
                offset += 1
            }
        }
        throw error(at: start, "a string that begins here has no closing quote")
    }

    /// The characters that escapes of one letter stand for.
    private static let escapes = Dictionary(
        uniqueKeysWithValues: zip(
            "\\'\"/nrtbfvae0".utf8, "\\'\"/\n\r\t\u{8}\u{C}\u{B}\u{7}\u{1B}\0".unicodeScalars))

    /// Reads one escape, starting at its backslash.
    private mutating func escape() throws(ProgramFault) -> Unicode.Scalar {
        let start = offset
        let letter = byte(1)
        offset += 2
        switch letter {
        case let letter? where Self.escapes[letter] != nil: return Self.escapes[letter] ?? "\0"
        case UInt8(ascii: "u"): return try unicodeEscape(digits: 4, start: start)
        case UInt8(ascii: "U"): return try unicodeEscape(digits: 8, start: start)
        default:
            throw error(
                at: start, "unknown escape in a string",
                remedy: "Write \\\\ for a backslash, also in front of a regular expression's letters")
        }
    }

    private mutating func unicodeEscape(digits count: Int, start: Int) throws(ProgramFault) -> Unicode.Scalar {
        var value = try hexadecimal(count, start: start)
        // Characters beyond the Basic Multilingual Plane are escaped as surrogate pairs.
        if count == 4, value >= 0xD800, value <= 0xDBFF, byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
            offset += 2
            let low = try hexadecimal(4, start: start)
            if low >= 0xDC00, low <= 0xDFFF { value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00) }
        }
        guard let scalar = Unicode.Scalar(value) else {
            throw error(at: start, "the escape does not name a Unicode character")
        }
        return scalar
    }

    private mutating func hexadecimal(_ count: Int, start: Int) throws(ProgramFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let next = byte(), let digit = Self.digit(next) else {
                throw error(at: start, "expected \(count) hexadecimal digits in the escape")
            }
            value = value << 4 | UInt32(digit)
            offset += 1
        }
        return value
    }
}
