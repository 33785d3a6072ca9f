/// Formats a command line for a shell.
enum ShellCommand {
    /// Returns the words, each quoted if a shell would read more into it than a word.
    static func text(_ words: [String]) -> String { words.map(quoted).joined(separator: " ") }

    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "_-./:=,+@%".utf8.contains(byte)
            }
        }
        if isPlain, !word.isEmpty { return word }
        if word.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            // Control characters are written by their bytes: `$'…'` of bash, zsh and POSIX 2024.
            var text = "$'"
            for scalar in word.unicodeScalars {
                switch scalar {
                case "'": text += "\\'"
                case "\\": text += "\\\\"
                case "\n": text += "\\n"
                case "\t": text += "\\t"
                case _ where scalar.properties.generalCategory == .control:
                    for byte in String(scalar).utf8 {
                        let digits = String(byte, radix: 8)
                        text += "\\" + String(repeating: "0", count: 3 - digits.count) + digits
                    }
                default: text.unicodeScalars.append(scalar)
                }
            }
            return text + "'"
        }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}
