import CSQLite
import Foundation
import TestSupport
import Testing

@testable import CoreDataStore

@Suite("The tables and indexes of a file, read at once")
struct FileSchemaTests {
    private func connection(_ folder: TemporaryFolder) throws -> Connection {
        try Connection(path: folder.file("file.sqlite"), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    }

    @Test("Indexes with a statement of their own, by a table whose name is compared as SQLite compares names")
    func names() throws {
        let folder = try TemporaryFolder()
        let connection = try connection(folder)
        try connection.execute(
            """
            CREATE TABLE ZItem (Z_PK INTEGER PRIMARY KEY, ZA, ZB UNIQUE); CREATE INDEX One ON ZItem (ZA);
            CREATE UNIQUE INDEX Two ON zitem (ZB, ZA); CREATE TABLE "ZÉ" (ZA); CREATE TABLE "Zé" (ZA);
            CREATE INDEX Three ON "ZÉ" (ZA); CREATE VIEW V AS SELECT * FROM ZItem
            """)
        let schema = try FileSchema(connection)
        for name in ["ZItem", "ZITEM", "zitem"] {
            #expect(schema.indexNames(of: name) == ["One", "Two"])
            #expect(try schema.root(of: "table", name, connection) == schema["ZItem"])
        }
        // Beyond ASCII, cases differ.
        #expect(schema.indexNames(of: "zÉ") == ["Three"])
        #expect(schema.indexNames(of: "Zé").isEmpty)
        #expect(schema["V"] == nil && schema.indexNames(of: "V").isEmpty)
        let roots = try ["ZItem", "One", "Two", "sqlite_autoindex_ZItem_1"].map { try #require(schema[$0]) }
        #expect(Set(roots).count == 4)
    }

    @Test("The version tells that a schema is not what it was; rows do not change it")
    func versions() throws {
        let folder = try TemporaryFolder()
        let connection = try connection(folder)
        try connection.execute("CREATE TABLE T (A)")
        var known = try connection.schemaVersion()
        try connection.execute("INSERT INTO T VALUES (1)")
        #expect(try connection.schemaVersion() == known)
        for statement in ["CREATE INDEX I ON T (A)", "DROP INDEX I", "ALTER TABLE T RENAME TO U"] {
            try connection.execute(statement)
            let version = try connection.schemaVersion()
            #expect(version != known, "\(statement)")
            known = version
        }
    }
}
