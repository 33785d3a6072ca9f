import CSQLite
import CoreDataStore
import Diagnostics
import ManagedModel
import Stagecoach
import TestSupport
import Testing

@Suite("Tables that are no part of the source model")
struct ForeignTableTests {
    private func notes(adding sql: [String], options: MigrationOptions = .init()) throws -> [String] {
        let folder = try TemporaryFolder()
        let version = try model(entity("Note", [attribute("text", .string)]))
        var store = ReferenceStore(model: version)
        store.insert("Note", 1, ["text": .text("one")])
        try store.write(path: folder.file("old.sqlite"))
        let connection = try Connection(path: folder.file("old.sqlite"), flags: SQLITE_OPEN_READWRITE)
        for sql in sql { try connection.execute(sql) }
        try connection.close()
        let report = try Migration(
            from: folder.file("old.sqlite"), model: version, mapping: .inferred(from: version, to: version),
            to: folder.file("new.sqlite"), model: version, options: options
        ).run()
        return report.notes
    }

    @Test("A store that Core Data made has none")
    func none() throws {
        #expect(try notes(adding: []).isEmpty)
        let history = ["ATRANSACTION", "ACHANGE", "ATRANSACTIONSTRING"].map { "CREATE TABLE \($0) (Z_PK INTEGER)" }
        #expect(try notes(adding: history).allSatisfy { !$0.contains("left behind: ") })
    }

    @Test("The report names them; those of CloudKit mirroring are none")
    func named() throws {
        var options = MigrationOptions()
        options.cloudKit = .drop
        let found = try notes(
            adding: [
                "CREATE TABLE ANSCKMETADATAENTRY (Z_PK INTEGER PRIMARY KEY)", "CREATE TABLE ANSCKEVENT (Z_PK INTEGER)",
                "CREATE TABLE search (word VARCHAR)", "INSERT INTO search VALUES ('a'), ('b')",
            ], options: options)
        #expect(found.count == 2 && found[0].hasPrefix("The state of CloudKit's sync (2 tables)"), "\(found)")
        #expect(found.last == "Tables that are no part of the source model are left behind: search (2 rows)")
    }

    @Test("Of very many tables twenty are named")
    func many() throws {
        let found = try notes(adding: (10..<40).map { "CREATE TABLE own\($0) (a)" })
        #expect(found.count == 1 && found[0].hasSuffix("own28 (0 rows), own29 (0 rows) and 10 more"), "\(found)")
    }
}
