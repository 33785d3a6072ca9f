/// A pattern of LIKE: `*` stands for any text, `?` for one character, and a backslash makes the next character literal.
///
/// Memory: 8 bytes a character of the pattern; nothing during a match but a folded copy of a text beyond ASCII.
struct LikePattern: Sendable {
    private enum Piece {
        case scalar(UInt32)
        case anyScalar
        case anyText
    }

    private var pieces: [Piece] = []
    private let folding: TextFolding

    init(_ text: String, _ folding: TextFolding) {
        self.folding = folding
        var isEscaped = false
        for scalar in text.unicodeScalars {
            switch scalar {
            case _ where isEscaped:
                isEscaped = false
                append(scalar)
            case "\\": isEscaped = true
            case "?": pieces.append(.anyScalar)
            case "*": pieces.append(.anyText)
            default: append(scalar)
            }
        }
        if isEscaped { append("\\") }
    }

    private mutating func append(_ scalar: Unicode.Scalar) {
        let folded = folding.foldedByCharacter(Array(String(Character(scalar)).utf8))
        pieces += String(decoding: folded, as: UTF8.self).unicodeScalars.map { .scalar($0.value) }
    }

    /// Tells whether the pattern matches a whole text of UTF-8 bytes.
    ///
    /// - Complexity: O(text × pattern). Only the last `*` is ever tried again: what stands before it has matched already, and
    ///   a longer text for an earlier one could not help.
    func matches(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if !folding.isExact, folding.ignoresDiacritics || bytes.contains(where: { $0 >= 0x80 }) {
            return folding.foldedByCharacter(bytes).withUnsafeBytes { run($0) }
        }
        return run(bytes)
    }

    private func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var text = UnicodeBytes(bytes: bytes)
        var piece = 0
        /// The piece behind the last `*`, and the text that is left if the `*` takes no more than it has.
        var last: (piece: Int, text: UnicodeBytes)?
        while true {
            if piece < pieces.count, case .anyText = pieces[piece] {
                piece += 1
                if piece == pieces.count { return true }
                last = (piece, text)
                continue
            }
            guard let scalar = text.next(lowering: folding.ignoresCase) else { return piece == pieces.count }
            if piece < pieces.count, accepts(pieces[piece], scalar) {
                piece += 1
                continue
            }
            guard var retry = last else { return false }
            _ = retry.text.next(lowering: false)
            last = retry
            (piece, text) = retry
        }
    }

    private func accepts(_ piece: Piece, _ scalar: UInt32) -> Bool {
        switch piece {
        case .scalar(let wanted): scalar == wanted
        case .anyScalar: true
        case .anyText: false
        }
    }
}

/// Iterates over the characters of UTF-8 bytes; a damaged sequence gives U+FFFD.
struct UnicodeBytes {
    let bytes: UnsafeRawBufferPointer
    private(set) var offset = 0

    @inline(__always)
    mutating func next(lowering: Bool) -> UInt32? {
        guard offset < bytes.count else { return nil }
        let first = bytes[offset]
        offset += 1
        if first < 0x80 { return UInt32(lowering ? TextFolding.lowered(first) : first) }
        let length = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : first >= 0xC0 ? 1 : 0
        guard length > 0, offset + length <= bytes.count else { return 0xFFFD }
        var value = UInt32(first) & (0x3F >> UInt32(length))
        for index in 0..<length {
            let byte = bytes[offset + index]
            guard byte & 0xC0 == 0x80 else { return 0xFFFD }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        offset += length
        return value
    }
}
