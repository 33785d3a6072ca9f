/// Bytes of JSON that are appended value by value, each as Foundation's JSONEncoder writes it without escaping slashes.
///
/// Memory: the bytes. Complexity: O(bytes).
struct JSONLineBytes {
    private(set) var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns a text as JSON.
    static func json(_ text: String) -> [UInt8] {
        var line = JSONLineBytes()
        line.append(quoted: text)
        return line.bytes
    }

    /// Inserts JSON before a place.
    mutating func insert(_ other: JSONLineBytes, at place: Int) { bytes.insert(contentsOf: other.bytes, at: place) }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    /// Appends JSON as it is.
    mutating func append(_ json: [UInt8]) { bytes.append(contentsOf: json) }

    /// Appends JSON as it is.
    mutating func append(_ json: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: json.utf8Start, count: json.utf8CodeUnitCount))
    }

    mutating func append(integer: Int64) {
        var rest = integer.magnitude
        if integer < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    /// Appends a number. Infinite ones and those that are none have no form in JSON, and are texts.
    mutating func append(real: Double) {
        guard real.isFinite else { return append(quoted: "\(real)") }
        append(number: real.description)
    }

    /// Appends a number by its description, without the fraction of a whole one.
    mutating func append(number description: String) {
        bytes.append(contentsOf: description.utf8)
        if description.utf8.count > 2, description.hasSuffix(".0") { bytes.removeLast(2) }
    }

    mutating func append(quoted text: String) {
        var text = text
        text.withUTF8 { append(quotedUTF8: UnsafeRawBufferPointer($0)) }
    }

    /// Appends a text of a store. What is no UTF-8 is replaced, as where it is read as a String.
    mutating func append(quoted text: UnsafeRawBufferPointer) {
        // Bits 7 of all bytes are zero in most texts.
        guard text.contains(where: { $0 >= 0x80 }) else { return append(quotedUTF8: text) }
        append(quoted: String(decoding: text, as: UTF8.self))
    }

    private mutating func append(quotedUTF8 text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for place in text.indices where Self.needsEscape(text[place]) {
            bytes.append(contentsOf: text[start..<place])
            appendEscape(of: text[place])
            start = place + 1
        }
        bytes.append(contentsOf: text[start...])
        bytes.append(UInt8(ascii: "\""))
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func appendEscape(of byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            append("u00")
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}
