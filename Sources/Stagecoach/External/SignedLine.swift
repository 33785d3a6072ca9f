import ManagedModel

/// A line of a text file with a sum of it: one that a kill cut off, or that somebody else changed, is none.
enum SignedLine {
    /// The line with its sum, without an end.
    static func signed(_ text: String) -> String {
        "\(text) \(SHA256.hash(Array(text.utf8)).prefix(4).hexadecimal)"
    }

    /// What a line says; nil where it is not what was written.
    static func text(of line: some StringProtocol) -> String? {
        guard let space = line.lastIndex(of: " ") else { return nil }
        let text = String(line[..<space])
        return signed(text) == line ? text : nil
    }
}
