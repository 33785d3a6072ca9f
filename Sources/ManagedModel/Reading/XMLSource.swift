import Diagnostics
import Foundation

/// The bytes of an XML file, with the checks required before parsing, and the conversion of offsets into lines and columns.
///
/// Memory: the bytes, once.
package struct XMLSource {
    /// The greatest size of a file in bytes; the largest known `contents` has 0.2 MB.
    package static let greatestByteCount = 16 << 20

    static let encodingRemedy = "Save the file as UTF-8, as Xcode does"

    let bytes: [UInt8]
    /// The path, for messages.
    let path: String
    let allowsDocumentType: Bool

    /// Checks the size and the encoding. Only UTF-8 is accepted.
    ///
    /// - Parameters:
    ///   - allowsDocumentType: true to let the parser skip a document type. Otherwise it refuses one, and with it entity
    ///     declarations, external entities and their expansion. No model file written by Xcode has one.
    ///   - byteLimit: the greatest size in bytes.
    /// - Throws: `model.tooLarge`, `model.encoding`, both 78.
    package init(_ data: Data, path: String, allowsDocumentType: Bool = false, byteLimit: Int = greatestByteCount)
        throws(MigrationError)
    {
        self.path = path
        self.allowsDocumentType = allowsDocumentType
        guard data.count <= byteLimit else {
            throw MigrationError(
                "model.tooLarge", .configuration,
                "The file has \(data.count.counted("byte")), more than the \(byteLimit.grouped) a model may have",
                remedy: "Check that the path names the model", context: .init(path: path))
        }
        bytes = [UInt8](data)
        let head = bytes.prefix(4)
        // UTF-16 and UTF-32, with or without byte order mark, and EBCDIC.
        guard !head.contains(0), head.first != 0xFE, head.first != 0xFF, !head.starts(with: [0x4C, 0x6F, 0xA7]) else {
            throw encodingError(at: 0)
        }
        if let invalid = firstInvalidByte() { throw encodingError(at: invalid) }
    }

    private func encodingError(at offset: Int) -> MigrationError {
        MigrationError(
            "model.encoding", .configuration, "The file is not in UTF-8", remedy: Self.encodingRemedy,
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

    func context(at offset: Int) -> MigrationError.Context {
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
