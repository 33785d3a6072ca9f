extension SwiftToken {
    /// The text that a string literal means; nil for another token, and for one with interpolations.
    package var literalText: String? {
        var body = Substring(text)
        let hashes = body.prefix { $0 == "#" }
        body = body.dropFirst(hashes.count).dropLast(hashes.count)
        guard body.first == "\"", body.last == "\"", body.count > 1 else { return nil }
        guard !body.hasPrefix("\"\"\"") else { return Self.multiline(body, hashes) }
        return Self.unescaped(body.dropFirst().dropLast(), escape: "\\" + hashes)
    }

    private static func multiline(_ body: Substring, _ hashes: Substring) -> String? {
        guard body.count > 6, body.hasSuffix("\"\"\"") else { return nil }
        var lines = body.dropFirst(3).dropLast(3).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard lines.count > 1, let indent = lines.popLast() else { return nil }
        let texts = lines.dropFirst().map { $0.hasPrefix(indent) ? $0.dropFirst(indent.count) : $0 }
        return unescaped(texts.joined(separator: "\n")[...], escape: "\\" + hashes)
    }

    private static let escapes: [Character: Character] = [
        "n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", "\"": "\"", "'": "'",
    ]

    private static func unescaped(_ text: Substring, escape: String) -> String? {
        var rest = text
        var result = ""
        while let range = rest.firstRange(of: escape) {
            result += rest[..<range.lowerBound]
            rest = rest[range.upperBound...]
            // The text goes on in the next line.
            let line = rest.drop { $0 == " " || $0 == "\t" }
            if line.first == "\n" {
                rest = line.dropFirst()
                continue
            }
            guard let next = rest.popFirst() else { return nil }
            if let plain = escapes[next] {
                result.append(plain)
                continue
            }
            let digits = rest.dropFirst().prefix { $0 != "}" }
            guard next == "u", let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
                return nil
            }
            result.unicodeScalars.append(scalar)
            rest = rest.dropFirst(digits.count + 2)
        }
        return result + rest
    }
}
