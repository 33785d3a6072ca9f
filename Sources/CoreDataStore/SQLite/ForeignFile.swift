import Foundation

/// A file that is no SQLite database, named by its first bytes.
enum ForeignFile {
    /// The bytes of a file that are looked at.
    static let prefixLength = 4096

    /// Names a file, as the end of the sentence "The file is …", and what to do about it.
    ///
    /// - Parameters:
    ///   - prefix: its first ``prefixLength`` bytes, or all of them.
    ///   - size: bytes of the file.
    static func description(of prefix: [UInt8], size: Int64) -> (what: String, remedy: String) {
        for (offset, magic, what, remedy) in signatures {
            if prefix.count >= offset + magic.count, prefix[offset..<(offset + magic.count)].elementsEqual(magic) {
                return (what, remedy)
            }
        }
        if prefix.allSatisfy({ $0 == 0 }) {
            return ("empty: it begins with zeros only", "Copy the store again; this copy was never filled")
        }
        if let text = text(prefix) { return xml(text) ?? ("a text", "Name the store's main file") }
        if isRandom(prefix) {
            let isPaged = size % 512 == 0
            return (
                isPaged ? "encrypted, most likely by SQLCipher" : "encrypted or compressed",
                "Decrypt it first; for SQLCipher: open it with its key, ATTACH 'plain.sqlite' AS plain KEY '', "
                    + "SELECT sqlcipher_export('plain')"
            )
        }
        return ("no SQLite database, and of no form that is known", "Name the store's main file")
    }

    private static let export = """
        Open it in the app, or on a Mac by NSPersistentStoreCoordinator, and have it written as an SQLite store \
        (migratePersistentStore to type SQLite)
        """
    private static let unpack = "Unpack it, and name the store's main file"

    /// Offset, bytes, what they say, remedy.
    private static let signatures: [(Int, [UInt8], String, String)] = [
        // Eight letters may begin a text: the first bytes of the version come with them.
        (0, Array("CoreData\0\0\0".utf8), "a binary store of Core Data (NSBinaryStoreType)", export),
        (16, Array("T-DB".utf8), "a Realm file", "Export it by Realm: Core Data did not make it"),
        (0, Array("bplist".utf8), "a binary property list", "Name the store's main file"),
        (0, [0x50, 0x4B, 0x03, 0x04], "a zip archive", unpack), (0, [0x50, 0x4B, 0x05, 0x06], "a zip archive", unpack),
        (0, [0x1F, 0x8B], "compressed by gzip", unpack), (0, Array("BZh".utf8), "compressed by bzip2", unpack),
        (0, [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00], "compressed by xz", unpack),
        (0, [0x28, 0xB5, 0x2F, 0xFD], "compressed by zstd", unpack),
        (0, [0x04, 0x22, 0x4D, 0x18], "compressed by lz4", unpack),
        (0, Array("bvx".utf8), "compressed by LZFSE", unpack),
        (0, Array("AEA1".utf8), "an Apple Encrypted Archive", unpack),
        (0, [0x37, 0x7A, 0xBC, 0xAF], "a 7-Zip archive", unpack), (257, Array("ustar".utf8), "a tar archive", unpack),
        (
            0, [0x00, 0x05, 0x16, 0x07], "an AppleDouble file: attributes of the file whose name lacks the leading ._",
            "Name the file without ._"
        ),
        // The last byte of the magic number has two forms, one for each byte order of checksums.
        (
            0, [0x37, 0x7F, 0x06], "the -wal of a database",
            "Name the main file, and keep the -wal beside it under its name"
        ),
        (
            0, [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7], "the rollback journal of a database",
            "Name the main file, and keep the -journal beside it under its name"
        ),
        (
            0, Array("** This file contains an SQLite 2".utf8), "a database of SQLite 2",
            "Core Data's stores are databases of SQLite 3: name the store's main file"
        ),
        (0, Array("%PDF".utf8), "a PDF document", "Name the store's main file"),
    ]

    /// The prefix as text; nil if it has bytes that text has not.
    private static func text(_ prefix: [UInt8]) -> String? {
        guard prefix.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || (0x09...0x0D).contains($0) }) else { return nil }
        // A character may be cut in two.
        for dropped in 0..<4 {
            if let text = String(validating: prefix.dropLast(dropped), as: UTF8.self) { return text }
        }
        return nil
    }

    private static func xml(_ text: String) -> (what: String, remedy: String)? {
        let start = text.drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        guard start.hasPrefix("<?xml") || start.hasPrefix("<!DOCTYPE") || start.hasPrefix("<database") else {
            return nil
        }
        if text.contains("<database>") || text.contains("DTDs/CoreData.dtd") {
            return ("an XML store of Core Data (NSXMLStoreType)", export)
        }
        if text.contains("<plist") { return ("an XML property list", "Name the store's main file") }
        if text.contains("DataModel") {
            return ("the XML of a model", "Name a store here, and models by --from and --to")
        }
        return ("an XML file", "Name the store's main file")
    }

    /// True for bytes that look like cipher text: all values about as often.
    private static func isRandom(_ prefix: [UInt8]) -> Bool {
        guard prefix.count >= 512 else { return Set(prefix).count * 2 > prefix.count }
        var counts = [Int](repeating: 0, count: 256)
        for byte in prefix { counts[Int(byte)] += 1 }
        let expected = Double(prefix.count) / 256
        // The sum has 255 degrees of freedom; text, tables and machine code have many times that.
        let deviation = counts.reduce(0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected }
        return deviation < 450
    }
}

/// A SQLite database that is no store of Core Data, named by its tables.
enum ForeignDatabase {
    /// Names a database, as the end of the sentence "The database is …", and what to do about it.
    ///
    /// - Parameter tables: their names, as many as are worth a look.
    static func description(of tables: [String]) -> (what: String, remedy: String) {
        let names = Set(tables.map { $0.lowercased() })
        let own = "Core Data did not make it: there is no model to migrate it by"
        if names.contains("meta"), names.contains(where: { $0.hasPrefix("ecd") }) {
            return (
                "a store of encrypted-core-data, which has a schema of its own",
                "Open it in the app with EncryptedStore, and have it written as an SQLite store of Core Data "
                    + "(migratePersistentStore to type SQLite)"
            )
        }
        if names.contains("grdb_migrations") { return ("a database of GRDB", own) }
        if names.contains("yap2") || names.contains("yap") { return ("a database of YapDatabase", own) }
        if names.contains("android_metadata") || names.contains("room_master_table") {
            return ("a database of an Android app", own)
        }
        if names.contains("z_primarykey") {
            return (
                "a store of Core Data whose table Z_METADATA is missing",
                "Restore it from a backup: without its metadata nothing says which version wrote it"
            )
        }
        if tables.isEmpty {
            return (
                "empty: it has no tables", "Name the store's main file; its rows may be in a -wal that is not beside it"
            )
        }
        let shown = tables.prefix(5).joined(separator: ", ") + (tables.count > 5 ? ", …" : "")
        return ("no Core Data store: it has no table Z_METADATA, but \(shown)", own)
    }
}
