/// The words and braces of Swift code, without comments and the text of string literals. Code in interpolations counts.
struct SwiftWords {
    private(set) var words: [String] = []
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
        while place < bytes.count { readCode(until: nil) }
    }

    private func byte(_ offset: Int = 0) -> UInt8 { place + offset < bytes.count ? bytes[place + offset] : 0 }

    private func starts(with text: StaticString) -> Bool {
        guard place + text.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<text.utf8CodeUnitCount).allSatisfy { bytes[place + $0] == text.utf8Start[$0] }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...:
            true
        default: false
        }
    }

    /// Reads code up to the end, or to a closing parenthesis of its own.
    private mutating func readCode(until end: UInt8?) {
        var depth = 0
        while place < bytes.count {
            if starts(with: "//") {
                while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
            } else if starts(with: "/*") {
                place += 2
                while place < bytes.count, !starts(with: "*/") { place += 1 }
                place += 2
            } else if byte() == UInt8(ascii: "\"") || byte() == UInt8(ascii: "#") && isRawString {
                readString()
            } else if SwiftWords.isWord(byte()) {
                let start = place
                while SwiftWords.isWord(byte()) { place += 1 }
                words.append(String(decoding: bytes[start..<place], as: UTF8.self))
            } else {
                let byte = byte()
                place += 1
                if byte == UInt8(ascii: "{") { words.append("{") }
                if byte == UInt8(ascii: "}") { words.append("}") }
                if byte == UInt8(ascii: "(") { depth += 1 }
                guard byte == UInt8(ascii: ")") else { continue }
                if depth == 0, end == byte { return }
                depth -= 1
            }
        }
    }

    /// True at the beginning of a string between number signs.
    private var isRawString: Bool {
        var offset = 0
        while byte(offset) == UInt8(ascii: "#") { offset += 1 }
        return byte(offset) == UInt8(ascii: "\"")
    }

    private mutating func readString() {
        var signs = 0
        while byte() == UInt8(ascii: "#") {
            signs += 1
            place += 1
        }
        let quotes = starts(with: "\"\"\"") ? 3 : 1
        place += quotes
        while place < bytes.count {
            if byte() == UInt8(ascii: "\\"), (0..<signs).allSatisfy({ byte(1 + $0) == UInt8(ascii: "#") }) {
                place += 1 + signs
                let escaped = byte()
                place += 1
                if escaped == UInt8(ascii: "(") { readCode(until: UInt8(ascii: ")")) }
            } else if (0..<quotes).allSatisfy({ byte($0) == UInt8(ascii: "\"") }),
                (0..<signs).allSatisfy({ byte(quotes + $0) == UInt8(ascii: "#") })
            {
                place += quotes + signs
                return
            } else {
                place += 1
            }
        }
    }
}
