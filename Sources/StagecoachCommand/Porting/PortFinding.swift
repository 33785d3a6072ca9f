/// A place in a policy source that does not compile on Linux, or behaves differently there.
struct PortFinding: Encodable, Equatable {
    enum Kind: String, Encodable {
        /// The source does not compile; the replacement makes it compile.
        case change
        /// No rule has a replacement, so a person has to decide.
        case manual
        /// It compiles, with a difference worth knowing.
        case hint
    }

    let file: String
    /// The line, from 1.
    let line: Int
    /// The column in characters, from 1.
    let column: Int
    let kind: Kind
    let text: String
    /// The replacement of the text; empty to remove it, nil to keep it.
    let replacement: String?
    let message: String
}

/// A source with its findings and the edits that make it compile.
struct PortedSource {
    /// The path relative to the given folder.
    let file: String
    let source: String
    let findings: [PortFinding]
    /// The replacements of ranges of bytes.
    let edits: [(range: Range<Int>, replacement: String)]

    /// The source with all edits applied.
    var ported: String {
        let bytes = Array(source.utf8)
        var result: [UInt8] = []
        var position = 0
        for edit in edits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound })
        where edit.range.lowerBound >= position {
            result += bytes[position..<edit.range.lowerBound]
            result += Array(edit.replacement.utf8)
            position = edit.range.upperBound
        }
        result += bytes[position...]
        return String(decoding: result, as: UTF8.self)
    }
}
