import Diagnostics
import Foundation
import FoundationXML

/// Runs Foundation's streaming parser over an ``XMLSource`` and hands tags and text to a handler, within bounds.
///
/// External entities are never resolved. Memory: what the handler keeps, and one tag.
final class XMLTagParser: XMLParserDelegate {
    /// Refused below this many open elements; a model has five.
    static let greatestDepth = 32

    private let source: XMLSource
    private let handler: any XMLTagHandler
    private var depth = 0
    private var ordinal = 0
    /// The first error of the handler or of a bound; it ends the parse.
    private var failure: MigrationError?

    private init(_ source: XMLSource, _ handler: any XMLTagHandler) {
        self.source = source
        self.handler = handler
    }

    /// Parses the whole file.
    ///
    /// - Throws: `model.xml` for what is no well-formed XML, `model.tooDeep`, and the handler's errors, filled with
    ///   path, line and column of the tag that was met last.
    /// - Complexity: O(file) time.
    static func parse(_ source: XMLSource, into handler: any XMLTagHandler) throws(MigrationError) {
        let delegate = XMLTagParser(source, handler)
        let parser = XMLParser(data: Data(source.bytes))
        parser.shouldResolveExternalEntities = false
        parser.delegate = delegate
        let succeeded = withExtendedLifetime(delegate) { parser.parse() }
        if let failure = delegate.failure { throw failure }
        guard succeeded, delegate.depth == 0, delegate.ordinal > 0 else {
            throw MigrationError(
                "model.xml", .configuration, "The file is not well-formed XML: \(reason(parser.parserError))",
                remedy: "Restore the file from version control, or open and save it in Xcode",
                context: .init(
                    path: source.path, line: max(1, parser.lineNumber), column: max(1, parser.columnNumber)))
        }
    }

    /// libxml2's commonest error numbers in words.
    private static func reason(_ error: (any Error)?) -> String {
        switch (error as NSError?)?.code {
        case 4, nil: "it is empty or ends early"
        case 5, 77, 73: "it ends in the middle of an element"
        case 8, 9: "it has a character that XML does not allow"
        case 26, 27: "it uses an entity that is not declared"
        case 32, 81: "its encoding is not UTF-8"
        case 38, 39, 40, 41, 65: "an attribute is not written properly"
        case 42: "an element has two attributes of one name"
        case 68: "a name is missing"
        case 76: "a start tag and an end tag do not match"
        case 86: "there is something after the end"
        case let code?: "parser error \(code)"
        }
    }

    private func attempt(_ parser: XMLParser, tag: Int, _ body: () throws(MigrationError) -> Void) {
        guard failure == nil else { return }
        do {
            try body()
        } catch {
            let position = error.context.line == nil ? source.position(ofTag: tag) : nil
            failure = error.inside(.init(path: source.path, line: position?.line, column: position?.column))
            parser.abortParsing()
        }
    }

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
        qualifiedName qName: String?, attributes attributeDict: [String: String]
    ) {
        let tag = XMLTag(name: elementName, attributes: attributeDict, ordinal: ordinal)
        ordinal += 1
        depth += 1
        attempt(parser, tag: tag.ordinal) { () throws(MigrationError) in
            guard depth <= Self.greatestDepth else {
                throw MigrationError(
                    "model.tooDeep", .configuration, "The file nests more than \(Self.greatestDepth) elements",
                    remedy: "Check that the path names a model")
            }
            try handler.open(tag)
        }
    }

    func parser(
        _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?
    ) {
        depth -= 1
        attempt(parser, tag: max(0, ordinal - 1)) { () throws(MigrationError) in try handler.close() }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if failure == nil { handler.text(string) }
    }
}
