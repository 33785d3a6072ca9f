import Diagnostics

/// A start tag as found by the parser.
package struct XMLTag {
    package let name: String
    package let attributes: [String: String]
    /// The offset of its `<` in bytes of the file.
    package let offset: Int
}

/// Receives the tags and the text of an XML file, in order.
package protocol XMLTagHandler: AnyObject {
    /// Handles a start tag. An empty element gives a start and an end.
    func open(_ tag: XMLTag) throws(MigrationError)
    /// Handles the end of the innermost open element.
    func close() throws(MigrationError)
    /// Handles a piece of text. One text may come in several pieces.
    func text(_ piece: String)
}

/// A place in a text file: line and column, from 1.
package struct TextPosition: Hashable, Sendable {
    package var line: Int
    /// The column in characters (Unicode scalars).
    package var column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package static let start = TextPosition(line: 1, column: 1)
}
