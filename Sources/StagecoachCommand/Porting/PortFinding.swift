/// One place of a policy source that does not compile on Linux, or behaves otherwise there.
struct PortFinding: Encodable, Equatable {
    enum Kind: String, Encodable {
        /// The source does not compile as it stands; the replacement makes it.
        case change
        /// Nothing can be put in its place by rule: a person has to look.
        case manual
        /// It compiles; what to know.
        case hint
    }

    let file: String
    /// One-based.
    let line: Int
    /// One-based, in characters.
    let column: Int
    let kind: Kind
    /// What stands there.
    let text: String
    /// What takes its place; empty: it goes. Nil where nothing is replaced.
    let replacement: String?
    let message: String
}

/// A replacement in a source, in bytes.
struct PortEdit: Equatable {
    let range: Range<Int>
    let replacement: String
}

/// A source with its findings and the edits that make it compile.
struct PortedSource {
    /// Relative to the folder that was asked about.
    let file: String
    let source: String
    let findings: [PortFinding]
    let edits: [PortEdit]

    /// The source with all edits.
    ///
    /// - Complexity: O(bytes + edits log edits).
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
