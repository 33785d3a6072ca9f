import CSQLite
import Diagnostics
import Foundation
import TestSupport
import Testing

@testable import CoreDataStore

@Suite("Files that are no stores are named for what they are")
struct ForeignFileTests {
    private func error(_ bytes: [UInt8]) throws -> MigrationError? {
        let folder = try TemporaryFolder()
        try Data(bytes).write(to: URL(fileURLWithPath: folder.file("file.sqlite")))
        return #expect(throws: MigrationError.self) { _ = try DatabaseFile.read(path: folder.file("file.sqlite")) }
    }

    private static let random: [UInt8] = {
        var generator = SeededGenerator(seed: 4)
        return (0..<8192).map { _ in UInt8(generator.below(256)) }
    }()

    static let files: [(bytes: [UInt8], what: String, remedy: String)] = [
        (random, "encrypted, most likely by SQLCipher", "sqlcipher_export"),
        (Array(random.prefix(5001)), "encrypted or compressed", "Decrypt"),
        ([UInt8](repeating: 0, count: 16) + Array("T-DB".utf8) + [9, 9, 0, 0] + random, "a Realm file", "Realm"),
        (
            Array("CoreData\0\0\0\u{1}\u{8}\u{4}\u{8}\0".utf8) + random,
            "a binary store of Core Data (NSBinaryStoreType)",
            "migratePersistentStore"
        ),
        (Array("CoreData is a framework.\n".utf8), "a text", "main file"),
        (
            Array(
                """
                <?xml version="1.0" standalone="yes"?>
                <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

                <database>
                """.utf8), "an XML store of Core Data (NSXMLStoreType)", "migratePersistentStore"
        ),
        (Array("<?xml version=\"1.0\"?><plist version=\"1.0\"/>".utf8), "an XML property list", "main file"),
        (Array("bplist00".utf8) + random, "a binary property list", "main file"),
        ([0x50, 0x4B, 3, 4] + random, "a zip archive", "Unpack"),
        ([0x1F, 0x8B] + random, "compressed by gzip", "Unpack"),
        (Array("BZh9".utf8) + random, "compressed by bzip2", "Unpack"),
        ([0, 5, 0x16, 7, 0, 2] + random, "an AppleDouble file", "._"),
        ([0x37, 0x7F, 6, 0x82] + random, "the -wal of a database", "main file"),
        ([UInt8](repeating: 0, count: 4096), "empty: it begins with zeros only", "Copy"),
        (Array("title,author\n1,Zo\u{EB}\n".utf8), "a text", "main file"),
    ]

    @Test("By their first bytes", arguments: files.indices)
    func signatures(index: Int) throws {
        let file = Self.files[index]
        let found = try error(file.bytes)
        #expect(found?.code == "store.notADatabase" && found?.category == .data)
        #expect(found?.message.contains("it is \(file.what)") == true, "\(found?.message ?? "")")
        #expect(found?.remedy?.contains(file.remedy) == true, "\(found?.remedy ?? "")")
    }

    @Test("SQLite databases of others, by their tables")
    func databases() throws {
        func message(_ statements: [String]) throws -> String {
            let folder = try TemporaryFolder()
            let connection = try Connection(
                path: folder.file("other.sqlite"), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
            for sql in statements { try connection.execute(sql) }
            try connection.close()
            let error = #expect(throws: MigrationError.self) {
                _ = try SourceStore(
                    path: folder.file("other.sqlite"), cacheBytes: 1 << 18, valueLimit: 1 << 20, temporaryDirectory: nil
                )
            }
            #expect(error?.code == "store.notCoreData" && error?.remedy?.isEmpty == false)
            return error?.message ?? ""
        }
        #expect(
            try message(["CREATE TABLE meta (plist BLOB)", "CREATE TABLE ecdNote (__objectID INTEGER)"])
                .contains("encrypted-core-data"))
        #expect(try message(["CREATE TABLE notes (id)", "CREATE TABLE tags (id)"]).contains("but notes, tags"))
        #expect(try message(["CREATE TABLE grdb_migrations (id)"]).contains("GRDB"))
        #expect(try message(["CREATE TABLE Z_PRIMARYKEY (Z_ENT)"]).contains("Z_METADATA is missing"))
        #expect(try message(["CREATE TABLE a (x)", "DROP TABLE a"]).contains("it has no tables"))
    }
}
