import Diagnostics

/// Passes the tags and the text of an ``XMLSource`` to a handler, within limits.
///
/// Nothing outside the file is read. Memory: that of the handler, and one tag.
package final class XMLTagParser {
    /// The greatest number of open elements; a model has five.
    static let greatestDepth = 32

    private static let tooDeep: MigrationError.Code = "model.tooDeep"

    private let source: XMLSource
    private let handler: any XMLTagHandler
    private var depth = 0
    /// The offset of the last tag.
    private var lastTag = 0
    /// The first error of the handler or of a limit. The handler is not called after it, but the file is read to its end: if it
    /// is not well-formed, that error takes precedence.
    private var failure: MigrationError?

    private init(_ source: XMLSource, _ handler: any XMLTagHandler) {
        self.source = source
        self.handler = handler
    }

    /// Parses the whole file.
    ///
    /// - Throws: `model.xml` if the XML is not well-formed, `model.documentType`, `model.encoding`, `model.tooDeep`, and the handler's errors, completed with path,
    ///   line and column of the last tag.
    /// - Complexity: O(file) time.
    package static func parse(_ source: XMLSource, into handler: any XMLTagHandler) throws(MigrationError) {
        let parser = XMLTagParser(source, handler)
        var scanner = XMLScanner(source.bytes, allowsDocumentType: source.allowsDocumentType)
        do throws(XMLScanner.Malformation) {
            try scanner.scan(parser.take)
        } catch {
            if let failure = parser.failure, failure.code == tooDeep { throw failure }
            throw MigrationError(
                error.code, .configuration,
                (error.code == "model.xml" ? "The file is not well-formed XML: " : "") + error.problem,
                remedy: error.remedy, context: source.context(at: min(error.offset, source.bytes.count)))
        }
        if let failure = parser.failure { throw failure }
    }

    private func take(_ event: XMLScanner.Event) {
        switch event {
        case .open(let tag):
            lastTag = tag.offset
            depth += 1
            attempt { () throws(MigrationError) in
                guard depth <= Self.greatestDepth else {
                    throw MigrationError(
                        Self.tooDeep, .configuration, "The file nests more than \(Self.greatestDepth) elements",
                        remedy: "Check that the path names a model")
                }
                try handler.open(tag)
            }
        case .close:
            depth -= 1
            attempt { () throws(MigrationError) in try handler.close() }
        case .text(let piece):
            if failure == nil { handler.text(piece) }
        }
    }

    private func attempt(_ body: () throws(MigrationError) -> Void) {
        guard failure == nil else { return }
        do { try body() } catch {
            let position = error.context.line == nil ? source.position(at: lastTag) : nil
            failure = error.inside(.init(path: source.path, line: position?.line, column: position?.column))
        }
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
