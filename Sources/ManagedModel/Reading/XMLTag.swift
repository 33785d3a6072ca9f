import Diagnostics

/// A start tag as the parser met it.
package struct XMLTag {
    package let name: String
    package let attributes: [String: String]
    /// Where its `<` stands, in bytes of the file.
    package let offset: Int
}

/// What takes the tags and the text of an XML file, in the order of the file.
package protocol XMLTagHandler: AnyObject {
    /// A start tag; an empty element gives a start and an end.
    func open(_ tag: XMLTag) throws(MigrationError)
    /// The end of the innermost open element.
    func close() throws(MigrationError)
    /// A piece of text; one text may come in several pieces.
    func text(_ piece: String)
}

/// A place in a text file, both counted from one.
package struct TextPosition: Equatable {
    package let line: Int
    /// In characters (Unicode scalars).
    package let column: Int

    static let start = TextPosition(line: 1, column: 1)
}
