/// A command line as a shell reads it.
enum ShellCommand {
    /// The words, each quoted where a shell would take it for more than a word.
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
            // What no line shows is written by its bytes: `$'…'` of bash, zsh and POSIX 2024.
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
