import Diagnostics
import Glibc

/// The form of a store's file: one of the three types of store that Core Data keeps in a file.
package enum StoreFormat: String, Sendable, CaseIterable {
    case sqlite = "SQLite"
    case xml = "XML"
    case binary = "Binary"

    /// The number of bytes at the beginning of a file that tell its form.
    private static let prefixLength = 4096

    /// Tells the form of a file by its first bytes; nil if they are those of no store, or if the file cannot be read. Whoever
    /// opens the file then finds out why.
    package static func of(_ path: String) -> StoreFormat? {
        guard let prefix = try? FileBytes.read(path, most: prefixLength) else { return nil }
        return of(prefix: prefix)
    }

    /// Tells the form by the first bytes of a file.
    static func of(prefix: [UInt8]) -> StoreFormat? {
        if prefix.starts(with: Array("SQLite format 3\0".utf8)) { return .sqlite }
        if prefix.starts(with: BinaryStoreHeader.magic) { return .binary }
        let text = String(decoding: prefix, as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        guard ["<?xml", "<!DOCTYPE", "<database"].contains(where: text.hasPrefix) else { return nil }
        return text.contains("<database>") || text.contains("DTDs/CoreData.dtd") ? .xml : nil
    }
}
