import Diagnostics
import ManagedModel

/// Parses a JSON text (RFC 8259) strictly, and records the place of every value.
///
/// It refuses violations of the grammar (comments, trailing commas, …), duplicate keys in an object, bytes that are not UTF-8,
/// escapes of lone surrogates, texts longer than ``maximumLength`` and nesting deeper than ``maximumDepth``. A byte order mark
/// at the start is skipped. Lines end with LF, CR LF or CR.
///
/// Memory: the tree, about ten times the text. O(n) time.
struct JSONParser {
    /// The greatest length of a text in bytes. A mapping model of a hundred entities has a hundred thousand.
    static let maximumLength = 32 << 20
    /// The greatest nesting of arrays and objects.
    static let maximumDepth = 100

    private let bytes: [UInt8]
    private let path: String
    private var offset = 0
    private var position = TextPosition(line: 1, column: 1)

    /// Parses a whole text.
    ///
    /// - Parameter path: the file, for errors.
    /// - Throws: `mapping.json` (78) with line and column; `mapping.duplicateKey` (78) at the second key.
    static func parse(_ bytes: [UInt8], path: String) throws(MigrationError) -> JSONNode {
        guard bytes.count <= maximumLength else {
            throw MigrationError(
                "mapping.json", .configuration,
                "The file has \(bytes.count.counted("byte")); a mapping model may have \(maximumLength.grouped)",
                context: .init(path: path))
        }
        var parser = JSONParser(bytes: bytes, path: path)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { parser.offset = 3 }
        parser.skipSpace()
        let root = try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.peek == nil else { throw parser.failure("Unexpected text after the end of the value") }
        return root
    }

    private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private static func isDigit(_ byte: UInt8?) -> Bool { byte.map { (0x30...0x39).contains($0) } ?? false }

    private func failure(_ message: String, at place: TextPosition? = nil) -> MigrationError {
        MigrationError("mapping.json", .configuration, message, context: .init(path: path, place ?? position))
    }

    /// Skips one byte that is a whole character or its first byte, and not a line end.
    private mutating func advance() {
        offset += 1
        position.column += 1
    }

    private mutating func skipSpace() {
        while let byte = peek {
            switch byte {
            case 0x20, 0x09: advance()
            case 0x0A, 0x0D:
                offset += 1
                if byte == 0x0D, peek == 0x0A { offset += 1 }
                position = TextPosition(line: position.line + 1, column: 1)
            default: return
            }
        }
    }

    private mutating func value(depth: Int) throws(MigrationError) -> JSONNode {
        guard depth <= Self.maximumDepth else { throw failure("Values are nested deeper than \(Self.maximumDepth)") }
        let start = position
        let value: JSONValue
        switch peek {
        case nil: throw failure("The text ends where a value is expected")
        case UInt8(ascii: "{"): value = try object(depth: depth)
        case UInt8(ascii: "["): value = try array(depth: depth)
        case UInt8(ascii: "\""): value = .string(try string())
        case let byte? where byte == UInt8(ascii: "-") || Self.isDigit(byte): value = .number(try number())
        case UInt8(ascii: "t"): value = try word("true", .boolean(true))
        case UInt8(ascii: "f"): value = try word("false", .boolean(false))
        case UInt8(ascii: "n"): value = try word("null", .null)
        default: throw failure("A value is expected")
        }
        return JSONNode(value: value, position: start)
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(MigrationError) -> JSONValue {
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard peek == word.utf8Start[index] else { throw failure("A value is expected", at: start) }
            advance()
        }
        return value
    }

    private mutating func array(depth: Int) throws(MigrationError) -> JSONValue {
        var elements: [JSONNode] = []
        try parts(until: "]", of: "an array") { parser throws(MigrationError) in
            elements.append(try parser.value(depth: depth + 1))
        }
        return .array(elements)
    }

    private mutating func object(depth: Int) throws(MigrationError) -> JSONValue {
        var members: [JSONMember] = []
        var keys: Set<String> = []
        try parts(until: "}", of: "an object") { parser throws(MigrationError) in
            guard let byte = parser.peek else { throw parser.failure("The text ends inside an object") }
            guard byte == UInt8(ascii: "\"") else { throw parser.failure("A key in quotation marks is expected") }
            let keyPosition = parser.position
            let key = try parser.string()
            guard keys.insert(key).inserted else {
                throw MigrationError(
                    "mapping.duplicateKey", .configuration, "The key \"\(key)\" occurs twice in one object",
                    context: .init(path: parser.path, keyPosition))
            }
            parser.skipSpace()
            guard parser.peek == UInt8(ascii: ":") else { throw parser.failure("A colon is expected") }
            parser.advance()
            parser.skipSpace()
            members.append(
                JSONMember(key: key, keyPosition: keyPosition, value: try parser.value(depth: depth + 1)))
        }
        return .object(members)
    }

    /// Parses the parts of an array or object, from its opening bracket to the closing one.
    private mutating func parts(
        until closing: Unicode.Scalar, of what: String, _ part: (inout JSONParser) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        advance()
        skipSpace()
        var isFirst = true
        while !isFirst || peek != UInt8(ascii: closing) {
            isFirst = false
            try part(&self)
            skipSpace()
            switch peek {
            case UInt8(ascii: ","):
                advance()
                skipSpace()
            case UInt8(ascii: closing):
                advance()
                return
            case nil: throw failure("The text ends inside \(what)")
            default: throw failure("A comma or \(closing) is expected")
            }
        }
        advance()
    }

    private mutating func number() throws(MigrationError) -> String {
        let start = offset
        let place = position
        func digits(_ parser: inout JSONParser) throws(MigrationError) {
            guard Self.isDigit(parser.peek) else { throw parser.failure("A digit is expected") }
            while Self.isDigit(parser.peek) { parser.advance() }
        }
        if peek == UInt8(ascii: "-") { advance() }
        if peek == UInt8(ascii: "0") {
            advance()
            if Self.isDigit(peek) { throw failure("A number must not begin with 0", at: place) }
        } else {
            try digits(&self)
        }
        if peek == UInt8(ascii: ".") {
            advance()
            try digits(&self)
        }
        if peek == UInt8(ascii: "e") || peek == UInt8(ascii: "E") {
            advance()
            if peek == UInt8(ascii: "+") || peek == UInt8(ascii: "-") { advance() }
            try digits(&self)
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func string() throws(MigrationError) -> String {
        let start = position
        advance()
        var scalars = String.UnicodeScalarView()
        while let byte = peek {
            if byte == UInt8(ascii: "\"") {
                advance()
                return String(scalars)
            }
            scalars.append(try character())
        }
        throw failure("The string that begins here has no end", at: start)
    }

    /// Reads one character of a string, escaped or not.
    private mutating func character() throws(MigrationError) -> Unicode.Scalar {
        guard let byte = peek else { throw failure("The text ends inside a string") }
        switch byte {
        case UInt8(ascii: "\\"): return try escape()
        case 0..<0x20: throw failure("A control character in a string must be written as an escape")
        case 0..<0x80:
            advance()
            return Unicode.Scalar(byte)
        default: return try multibyte()
        }
    }

    private mutating func multibyte() throws(MigrationError) -> Unicode.Scalar {
        var iterator = bytes[offset..<min(offset + 4, bytes.count)].makeIterator()
        var decoder = Unicode.UTF8()
        guard case .scalarValue(let scalar) = decoder.decode(&iterator) else {
            throw failure("The text is not valid UTF-8 here")
        }
        offset += UTF8.width(scalar)
        position.column += 1
        return scalar
    }

    private mutating func escape() throws(MigrationError) -> Unicode.Scalar {
        let place = position
        advance()
        guard let byte = peek else { throw failure("The text ends inside a string") }
        guard byte != UInt8(ascii: "u") else {
            advance()
            return try unicodeEscape(place)
        }
        guard let plain = Self.escapes[byte] else { throw failure("Unknown escape in a string", at: place) }
        advance()
        return plain
    }

    /// The characters that escapes of one letter stand for.
    private static let escapes = Dictionary(
        uniqueKeysWithValues: zip("\"\\/bfnrt".utf8, "\"\\/\u{8}\u{C}\n\r\t".unicodeScalars))

    private mutating func unicodeEscape(_ place: TextPosition) throws(MigrationError) -> Unicode.Scalar {
        let first = try codeUnit(place)
        if let scalar = Unicode.Scalar(UInt32(first)) { return scalar }
        guard UTF16.isLeadSurrogate(first), peek == UInt8(ascii: "\\") else {
            throw failure("The escape is half of a surrogate pair", at: place)
        }
        advance()
        guard peek == UInt8(ascii: "u") else { throw failure("The escape is half of a surrogate pair", at: place) }
        advance()
        let second = try codeUnit(place)
        guard UTF16.isTrailSurrogate(second) else { throw failure("The escape is half of a surrogate pair", at: place) }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    private mutating func codeUnit(_ place: TextPosition) throws(MigrationError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw failure("Four hexadecimal digits are expected after \\u", at: place)
            }
            unit = unit << 4 | UInt16(digit)
            advance()
        }
        return unit
    }
}
