import Diagnostics

/// Passes the tags and the text of an ``XMLSource`` to a handler, within limits.
///
/// Nothing outside the file is read. Memory: that of the handler, and one tag.
package enum XMLTagParser {
    /// The greatest number of open elements; a model has five.
    static let greatestDepth = 32

    private static let tooDeep: MigrationError.Code = "model.tooDeep"

    /// Parses the whole file.
    ///
    /// After an error of the handler or of a limit, the handler is not called, but the file is read to its end: if it is not
    /// well-formed, that error takes precedence.
    ///
    /// - Throws: `model.xml` if the XML is not well-formed, `model.documentType`, `model.encoding`, `model.tooDeep`, and the
    ///   handler's errors, completed with path, line and column of the last tag.
    /// - Complexity: O(file) time.
    package static func parse(_ source: XMLSource, into handler: any XMLTagHandler) throws(MigrationError) {
        var scanner = XMLScanner(source.bytes, allowsDocumentType: source.allowsDocumentType)
        var (depth, lastTag) = (0, 0)
        var failure: MigrationError?
        func take(_ event: XMLScanner.Event) throws(MigrationError) {
            switch event {
            case .open(let tag):
                lastTag = tag.offset
                depth += 1
                guard depth <= greatestDepth else {
                    throw MigrationError(
                        tooDeep, .configuration, "The file nests more than \(greatestDepth) elements",
                        remedy: "Check that the path names a model")
                }
                try handler.open(tag)
            case .close:
                depth -= 1
                try handler.close()
            case .text(let piece): handler.text(piece)
            }
        }
        do throws(XMLScanner.Malformation) {
            try scanner.scan { event in
                guard failure == nil else { return }
                do throws(MigrationError) { try take(event) } catch {
                    let position = error.context.line == nil ? source.position(at: lastTag) : nil
                    failure = error.inside(
                        .init(path: source.path, line: position?.line, column: position?.column))
                }
            }
        } catch {
            if let failure, failure.code == tooDeep { throw failure }
            throw MigrationError(
                error.code, .configuration,
                (error.code == "model.xml" ? "The file is not well-formed XML: " : "") + error.problem,
                remedy: error.remedy, context: source.context(at: min(error.offset, source.bytes.count)))
        }
        if let failure { throw failure }
    }
}

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
