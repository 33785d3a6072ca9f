import Diagnostics
import Foundation
import FoundationXML

/// Runs Foundation's streaming parser over an ``XMLSource`` and hands tags and text to a handler, within bounds.
///
/// External entities are never resolved. Memory: what the handler keeps, and one tag.
package final class XMLTagParser: XMLParserDelegate {
    /// Refused below this many open elements; a model has five.
    static let greatestDepth = 32

    private static let tooDeep: MigrationError.Code = "model.tooDeep"

    private let source: XMLSource
    private let handler: any XMLTagHandler
    private var depth = 0
    private var ordinal = 0
    /// The first error of the handler or of a bound. The handler is not called again, but the parse goes on: an
    /// unfinished tag is reported as if it were whole, and what is really wrong comes after it.
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
    package static func parse(_ source: XMLSource, into handler: any XMLTagHandler) throws(MigrationError) {
        let delegate = XMLTagParser(source, handler)
        let parser = XMLParser(data: Data(instructionsFilled(source.bytes)))
        parser.shouldResolveExternalEntities = false
        parser.delegate = delegate
        _ = withExtendedLifetime(delegate) { parser.parse() }
        let problem = problem(parser.parserError)
        if let failure = delegate.failure, problem == nil || failure.code == tooDeep { throw failure }
        guard problem == nil, delegate.depth == 0, delegate.ordinal > 0 else {
            throw MigrationError(
                "model.xml", .configuration, "The file is not well-formed XML: \(problem ?? "it ends early")",
                remedy: "Restore the file from version control, or open and save it in Xcode",
                context: .init(
                    path: source.path, line: max(1, parser.lineNumber), column: max(1, parser.columnNumber)))
        }
    }

    /// The bytes with a space in each processing instruction that is a name only, `<?name?>`: Foundation's parser reads the
    /// data of one through a null pointer. Lines stay what they are.
    ///
    /// - Complexity: O(bytes); a copy only where there is one.
    private static func instructionsFilled(_ bytes: [UInt8]) -> [UInt8] {
        let (less, question, greater) = (UInt8(ascii: "<"), UInt8(ascii: "?"), UInt8(ascii: ">"))
        var ends: [Int] = []
        var position = 0
        while position + 1 < bytes.count {
            guard bytes[position] == less, bytes[position + 1] == question else {
                position += 1
                continue
            }
            position += 2
            // A name has no spaces, and no question mark either.
            while position < bytes.count, bytes[position] > 0x20, bytes[position] != question { position += 1 }
            if position + 1 < bytes.count, bytes[position] == question, bytes[position + 1] == greater {
                ends.append(position)
            }
        }
        guard !ends.isEmpty else { return bytes }
        var filled: [UInt8] = []
        filled.reserveCapacity(bytes.count + ends.count)
        var begin = 0
        for end in ends {
            filled += bytes[begin..<end]
            filled.append(0x20)
            begin = end
        }
        return filled + bytes[begin...]
    }

    /// What makes a file malformed, in words, by libxml2's error numbers; nil where it is well-formed.
    ///
    /// The parser says that it succeeded for files that go on behind their end or stop in the middle, but has an
    /// error for each.
    private static func problem(_ error: (any Error)?) -> String? {
        switch (error as NSError?)?.code {
        case nil: nil
        case 4: "it is empty"
        case 5: "it does not end with its root element"
        case 8, 9: "it has a character that XML does not allow"
        case 23, 26, 27, 28: "it uses an entity that is not declared"
        case 38, 39, 40, 41, 65: "an attribute is not written properly"
        case 42: "an element has two attributes of one name"
        case 68: "a name is missing"
        case 73, 77: "it ends in the middle of an element"
        case 76: "a start tag and an end tag do not match"
        // These would let a file pass, but may hide an error that comes after.
        case 99, 100, 200, 201, 202, 203, 204, 205: "it uses a namespace, which models have none of"
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
            if error.code == Self.tooDeep { parser.abortParsing() }
        }
    }

    /// Hands a start tag on, within the bound of depth.
    package func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
        qualifiedName qName: String?, attributes attributeDict: [String: String]
    ) {
        let tag = XMLTag(name: elementName, attributes: attributeDict, ordinal: ordinal)
        ordinal += 1
        depth += 1
        attempt(parser, tag: tag.ordinal) { () throws(MigrationError) in
            guard depth <= Self.greatestDepth else {
                throw MigrationError(
                    Self.tooDeep, .configuration, "The file nests more than \(Self.greatestDepth) elements",
                    remedy: "Check that the path names a model")
            }
            try handler.open(tag)
        }
    }

    /// Hands an end tag on.
    package func parser(
        _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?
    ) {
        depth -= 1
        attempt(parser, tag: max(0, ordinal - 1)) { () throws(MigrationError) in try handler.close() }
    }

    /// Hands text on.
    package func parser(_ parser: XMLParser, foundCharacters string: String) {
        if failure == nil { handler.text(string) }
    }
}
