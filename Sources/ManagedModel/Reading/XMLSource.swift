import Diagnostics
import Foundation

/// The bytes of an XML file, with the checks required before parsing, and the conversion of offsets into lines and columns.
///
/// Memory: the bytes, once.
package struct XMLSource {
    /// The greatest size of a file in bytes; the largest known `contents` has 0.2 MB.
    package static let greatestByteCount = 16 << 20

    let bytes: [UInt8]
    /// The path, for messages.
    let path: String

    /// Checks the size and the prolog.
    ///
    /// Only UTF-8 is accepted, so that nothing is hidden from the check of the prolog. A document type is refused, and with it
    /// entity declarations, external entities and their expansion. No model file written by Xcode has one.
    ///
    /// - Parameters:
    ///   - allowsDocumentType: true to allow `<!DOCTYPE name PUBLIC …>` in the prolog, as in property lists. An internal
    ///     subset, which can declare entities, is refused in any case.
    ///   - byteLimit: the greatest size in bytes.
    /// - Throws: `model.tooLarge`, `model.encoding`, `model.documentType`, all 78.
    package init(_ data: Data, path: String, allowsDocumentType: Bool = false, byteLimit: Int = greatestByteCount)
        throws(MigrationError)
    {
        self.path = path
        guard data.count <= byteLimit else {
            throw MigrationError(
                "model.tooLarge", .configuration,
                "The file has \(data.count) bytes, more than the \(byteLimit) a model may have",
                remedy: "Check that the path names the model", context: .init(path: path))
        }
        bytes = [UInt8](data)
        try checkProlog(allowsDocumentType: allowsDocumentType)
    }

    private func checkProlog(allowsDocumentType: Bool) throws(MigrationError) {
        let offset = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        let head = bytes.prefix(4)
        // UTF-16 and UTF-32, with or without byte order mark, and EBCDIC.
        guard !head.contains(0), head.first != 0xFE, head.first != 0xFF, !head.starts(with: [0x4C, 0x6F, 0xA7]) else {
            throw encodingError("The file is not in UTF-8", at: 0)
        }
        if let invalid = firstInvalidByte() { throw encodingError("The file is not in UTF-8", at: invalid) }
        try checkDeclarations(from: offset, allowsDocumentType)
    }

    private func checkDeclarations(from start: Int, _ allowsDocumentType: Bool) throws(MigrationError) {
        var offset = start
        while offset < bytes.count {
            if has("<?", at: offset) {
                let end = self.offset(after: "?>", from: offset)
                // An unfinished declaration is left to the parser, which refuses it.
                if has("<?xml", at: offset), end < bytes.count {
                    try checkDeclaration(bytes[offset..<end], at: offset)
                }
                offset = end
            } else if has("<!--", at: offset) {
                offset = self.offset(after: "-->", from: offset + 4)
            } else if has("<!", at: offset) {
                let end = self.offset(after: ">", from: offset)
                guard allowsDocumentType, !bytes[offset..<end].contains(UInt8(ascii: "[")) else {
                    throw MigrationError(
                        "model.documentType", .configuration, "The file declares a document type or entities",
                        remedy: "Remove the declaration: Xcode writes none", context: context(at: offset))
                }
                offset = end
            } else if bytes[offset] == UInt8(ascii: "<") {
                return
            } else {
                // White space, or text that the parser will refuse.
                offset += 1
            }
        }
    }

    private func checkDeclaration(_ declaration: ArraySlice<UInt8>, at offset: Int) throws(MigrationError) {
        let text = String(decoding: declaration, as: UTF8.self)
        guard let keyword = text.range(of: "encoding") else { return }
        let quotes: Set<Character> = ["\"", "'"]
        let value = text[keyword.upperBound...].drop { !quotes.contains($0) }.dropFirst()
            .prefix { !quotes.contains($0) }
        guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(value.lowercased()) else {
            throw encodingError("The file is in \(value), not in UTF-8", at: offset)
        }
    }

    private func encodingError(_ message: String, at offset: Int) -> MigrationError {
        MigrationError(
            "model.encoding", .configuration, message, remedy: "Save the file as UTF-8, as Xcode does",
            context: context(at: offset))
    }

    /// Returns the offset of the first byte that is not part of valid UTF-8; nil if there is none. O(file).
    private func firstInvalidByte() -> Int? {
        // The library's validator is much faster than a walk by scalars, which only an invalid file needs.
        if String(validating: bytes, as: UTF8.self) != nil { return nil }
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let scalar): offset += scalar.count
            case .error: return offset
            case .emptyInput: return nil
            }
        }
    }

    /// Tells whether ASCII text is at an offset.
    static func has(_ text: StaticString, at offset: Int, in bytes: [UInt8]) -> Bool {
        text.withUTF8Buffer { bytes.dropFirst(offset).starts(with: $0) }
    }

    private func has(_ text: StaticString, at offset: Int) -> Bool { Self.has(text, at: offset, in: bytes) }

    /// Returns the offset after the next occurrence of ASCII text, or the end of the file.
    private func offset(after text: StaticString, from start: Int) -> Int {
        let found = (start..<max(start, bytes.count)).first { has(text, at: $0) }
        return found.map { $0 + text.utf8CodeUnitCount } ?? bytes.count
    }

    private func context(at offset: Int) -> MigrationError.Context {
        let position = position(at: offset)
        return .init(path: path, line: position.line, column: position.column)
    }

    /// Returns the line and column of a byte offset. O(offset).
    package func position(at offset: Int) -> TextPosition { positions(at: [offset])[offset] ?? .start }

    /// Returns the lines and columns of byte offsets.
    ///
    /// - Complexity: O(file) for any number of offsets, and O(n log n) in their number.
    package func positions(at offsets: Set<Int>) -> [Int: TextPosition] {
        var found: [Int: TextPosition] = [:]
        var (position, counted) = (TextPosition.start, 0)
        for offset in offsets.sorted() {
            for byte in bytes.prefix(offset).dropFirst(counted) {
                if byte == UInt8(ascii: "\n") {
                    position = TextPosition(line: position.line + 1, column: 1)
                } else if byte & 0xC0 != 0x80 {
                    position = TextPosition(line: position.line, column: position.column + 1)
                }
            }
            counted = offset
            found[offset] = position
        }
        return found
    }
}
