import Diagnostics
import Foundation

/// Reads `.xccurrentversion`: an XML property list with one key of interest, `_XCCurrentVersionName`.
enum CurrentVersionFile {
    /// Returns the folder name of the current version; nil if the file does not state it.
    ///
    /// - Throws: the errors of ``XMLSource`` and ``XMLTagParser`` for hostile or malformed XML.
    static func read(_ data: Data, path: String) throws(MigrationError) -> String? {
        let handler = Handler()
        // Property lists have a document type, but entities in it are still refused.
        try XMLTagParser.parse(try XMLSource(data, path: path, allowsDocumentType: true), into: handler)
        return handler.name
    }

    /// Reads the string that follows the key.
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

        /// Collects the text of the innermost element.
        func text(_ piece: String) { self.piece += piece }

        /// Examines only the keys and strings of the outermost dictionary.
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
