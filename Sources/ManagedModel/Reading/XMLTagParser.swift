import Diagnostics

/// Hands the tags and the text of an ``XMLSource`` to a handler, within bounds.
///
/// Nothing outside the file is looked at. Memory: what the handler keeps, and one tag.
package final class XMLTagParser {
    /// Refused below this many open elements; a model has five.
    static let greatestDepth = 32

    private static let tooDeep: MigrationError.Code = "model.tooDeep"

    private let source: XMLSource
    private let handler: any XMLTagHandler
    private var depth = 0
    /// Where the tag that was met last stands.
    private var lastTag = 0
    /// The first error of the handler or of a bound. The handler is not called again, but the file is read to its end:
    /// one that is not well-formed is told as such, whatever else is wrong in it.
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
        let parser = XMLTagParser(source, handler)
        var scanner = XMLScanner(source.bytes)
        do throws(XMLScanner.Malformation) {
            try scanner.scan(parser.take)
        } catch {
            if let failure = parser.failure, failure.code == tooDeep { throw failure }
            let place = source.position(at: min(error.offset, source.bytes.count))
            throw MigrationError(
                "model.xml", .configuration, "The file is not well-formed XML: \(error.problem)",
                remedy: "Restore the file from version control, or open and save it in Xcode",
                context: .init(path: source.path, line: place.line, column: place.column))
        }
        if let failure = parser.failure { throw failure }
    }

    private func take(_ event: XMLScanner.Event) {
        switch event {
        case .open(let name, let attributes, let offset):
            let tag = XMLTag(name: name, attributes: attributes, offset: offset)
            lastTag = offset
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
        do {
            try body()
        } catch {
            let position = error.context.line == nil ? source.position(at: lastTag) : nil
            failure = error.inside(.init(path: source.path, line: position?.line, column: position?.column))
        }
    }
}
