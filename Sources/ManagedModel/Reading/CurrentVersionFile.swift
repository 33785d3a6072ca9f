import Diagnostics
import Foundation

/// Reads `.xccurrentversion`: an XML property list with one key of interest, `_XCCurrentVersionName`.
enum CurrentVersionFile {
    /// The folder name of the current version, or nil where the file does not say.
    ///
    /// - Throws: What ``XMLSource`` and ``XMLTagParser`` throw for hostile or malformed XML.
    static func read(_ data: Data, path: String) throws(MigrationError) -> String? {
        let handler = Handler()
        // Property lists do have a document type; its entities are refused all the same.
        try XMLTagParser.parse(try XMLSource(data, path: path, allowsDocumentType: true), into: handler)
        return handler.name
    }

    /// Takes the string that follows the key.
    private final class Handler: XMLTagHandler {
        private(set) var name: String?
        private var open: [String] = []
        private var piece = ""
        private var key: String?

        /// Starts a new text.
        func open(_ tag: XMLTag) throws(MigrationError) {
            open.append(tag.name)
            piece = ""
        }

        /// Gathers the text of the innermost element.
        func text(_ piece: String) { self.piece += piece }

        /// Looks at the keys and strings of the outermost dictionary only.
        func close() throws(MigrationError) {
            guard let element = open.popLast(), open == ["plist", "dict"] else { return }
            if element == "key" {
                key = piece
            } else {
                if element == "string", key == "_XCCurrentVersionName", !piece.isEmpty { name = piece }
                key = nil
            }
        }
    }
}
