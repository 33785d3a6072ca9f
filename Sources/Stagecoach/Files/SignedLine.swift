import ManagedModel

/// A line of a text file with a checksum. Lines that a kill cut off, or that another program changed, are recognised.
enum SignedLine {
    /// Returns the line with its checksum, without a line end.
    static func signed(_ text: String) -> String {
        "\(text) \(SHA256.hash(Array(text.utf8)).prefix(4).hexadecimal)"
    }

    /// Returns the text of a line. Returns nil if the checksum does not match.
    static func text(of line: some StringProtocol) -> String? {
        guard let space = line.lastIndex(of: " ") else { return nil }
        let text = String(line[..<space])
        return signed(text) == line ? text : nil
    }
}
