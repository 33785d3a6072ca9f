/// The escapes in XML stores. Core Data writes `<`, `>` and `&` as a backslash, `u` and the two bytes of the UTF-16 unit in
/// swapped order, and a backslash as two. Real files have no others.
enum XMLEscapes {
    /// The character of an entity or a character reference, by the text between `&` and `;`; nil if it is unknown.
    static func scalar(named name: [UInt8]) -> Unicode.Scalar? {
        switch String(decoding: name, as: UTF8.self) {
        case "lt": return "<"
        case "gt": return ">"
        case "amp": return "&"
        case "quot": return "\""
        case "apos": return "'"
        case let text where text.hasPrefix("#x"):
            return UInt32(text.dropFirst(2), radix: 16).flatMap(Unicode.Scalar.init)
        case let text where text.hasPrefix("#"): return UInt32(text.dropFirst()).flatMap(Unicode.Scalar.init)
        default: return nil
        }
    }

    /// The UTF-16 unit of four hexadecimal digits in swapped order. The three characters that are always escaped are also
    /// known in plain order, in which other software wrote them.
    static func unit(_ digits: [UInt8]) -> UInt16? {
        let text = String(decoding: digits, as: UTF8.self)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let value = UInt16(text, radix: 16)
        else { return nil }
        return [0x3C, 0x3E, 0x26].contains(value) ? value : value.byteSwapped
    }

    /// Appends a text with its escapes.
    static func append(_ text: UnsafeRawBufferPointer, to target: inout [UInt8]) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "<"): target += Array("\\u3c00".utf8)
            case UInt8(ascii: ">"): target += Array("\\u3e00".utf8)
            case UInt8(ascii: "&"): target += Array("\\u2600".utf8)
            case UInt8(ascii: "\\"): target += Array("\\\\".utf8)
            default: target.append(byte)
            }
        }
    }
}
