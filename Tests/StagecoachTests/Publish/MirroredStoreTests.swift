import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import TestSupport
import Testing

@testable import Stagecoach

private func noteModel() throws -> ManagedObjectModel { try model(entity("Note", [attribute("text", .string)])) }

/// A store with history, and with the tables of CloudKit mirroring as a developer has published them.
struct StoreWithHistory {
    let folder: TemporaryFolder
    let model: ManagedObjectModel
    var path: String { folder.file("Notes.sqlite") }

    static let history = [
        "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB )",
        "CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR, ZPROCESSID VARCHAR, ZQUERYGEN BLOB )",
        "CREATE TABLE ATRANSACTIONSTRING ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR )",
        "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
        "CREATE INDEX ATRANSACTION_ZAUTHORTS_INDEX ON ATRANSACTION (ZAUTHORTS)",
        "CREATE UNIQUE INDEX Z_TRANSACTIONSTRING_UNIQUE_NAME ON ATRANSACTIONSTRING (ZNAME COLLATE BINARY ASC)",
        "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 2), (16002, 'TRANSACTION', 0, 1), (16003, 'TRANSACTIONSTRING', 0, 1)",
        "INSERT INTO ACHANGE VALUES (1, 16001, 1, 0, 1, 1, 1, NULL), (2, 16001, 1, 1, 1, 2, 1, X'40')",
        "INSERT INTO ATRANSACTION VALUES (1, 16002, 1, NULL, 1, NULL, 1, 700000000.5, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO ATRANSACTIONSTRING VALUES (1, 16003, 1, 'org.example')",
    ]
    static let mirroring = [
        "CREATE TABLE ANSCKRECORDMETADATA ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZENTITYID INTEGER, ZENTITYPK INTEGER, ZNEEDSUPLOAD INTEGER, ZRECORDZONE INTEGER, ZCKRECORDNAME VARCHAR )",
        "CREATE UNIQUE INDEX Z_NSCKRecordMetadata_UNIQUE_entityId_entityPK ON ANSCKRECORDMETADATA (ZENTITYID COLLATE BINARY ASC, ZENTITYPK COLLATE BINARY ASC)",
        "CREATE TABLE ANSCKMETADATAENTRY ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZINTEGERVALUENUM INTEGER, ZKEY VARCHAR, ZSTRINGVALUE VARCHAR )",
        "CREATE TABLE ANSCKRECORDZONEMETADATA ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCURRENTCHANGETOKEN BLOB )",
        "INSERT INTO ANSCKRECORDMETADATA VALUES (1, 17012, 1, 1, 1, 0, 1, 'A-1'), (2, 17012, 1, 1, 2, 0, 1, 'A-2')",
        "INSERT INTO ANSCKMETADATAENTRY VALUES (1, 17009, 1, NULL, 'PFCloudKitMetadataFrameworkVersionKey', '1')",
        "INSERT INTO Z_PRIMARYKEY VALUES (17009, 'NSCKMetadataEntry', 0, 1), (17012, 'NSCKRecordMetadata', 0, 2)",
    ]

    init(mirrored: Bool) throws {
        folder = try TemporaryFolder()
        model = try noteModel()
        var store = ReferenceStore(model: model)
        store.insert("Note", 1, ["text": .text("one")])
        store.insert("Note", 2, ["text": .text("two")])
        try store.write(path: folder.file("Notes.sqlite"))
        try execute(Self.history + (mirrored ? Self.mirroring : []))
        if mirrored {
            try FileManager.default.createDirectory(
                atPath: folder.file("Notes_ckAssets"), withIntermediateDirectories: true)
        }
    }

    func execute(_ statements: [String]) throws {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        for sql in statements { try connection.execute(sql) }
        try connection.close()
    }

    func migration(
        to destination: ManagedObjectModel? = nil, file: String = "new.sqlite", _ options: MigrationOptions = .init()
    ) throws -> Migration {
        let destination = destination ?? model
        return Migration(
            from: path, model: model, mapping: try .inferred(from: model, to: destination), to: folder.file(file),
            model: destination, options: options)
    }

    func rows(_ sql: String, _ file: String = "new.sqlite") throws -> [String] {
        return try Connection(path: folder.file(file), flags: SQLITE_OPEN_READONLY).firstColumn(sql)
    }
}

@Suite("Stores with history, mirrored by CloudKit or not")
struct MirroredStoreTests {
    private let historyTables =
        "SELECT sql FROM sqlite_master WHERE tbl_name GLOB 'A[CT]*' AND sql IS NOT NULL ORDER BY name"

    @Test(
        "A mirrored destination is not appended to: its sync would not know of the objects", arguments: [false, true])
    func appended(dropsSync: Bool) throws {
        let destination = try StoreWithHistory(mirrored: true)
        let source = try StoreWithHistory(mirrored: false)
        let before = try Data(contentsOf: URL(fileURLWithPath: destination.path))
        var options = MigrationOptions()
        options.appendsToExisting = true
        if dropsSync { options.cloudKit = .drop }
        let migration = Migration(
            from: source.path, model: source.model, mapping: try .inferred(from: source.model, to: source.model),
            to: destination.path, model: source.model, options: options)
        let error = #expect(throws: MigrationError.self) { _ = try migration.run() }
        #expect(error?.code == "destination.mirrored" && error?.category == .data)
        #expect(try Data(contentsOf: URL(fileURLWithPath: destination.path)) == before)
    }

    @Test("History is carried over by default if keys and numbers are kept, with a line that says so")
    func kept() throws {
        let store = try StoreWithHistory(mirrored: false)
        let report = try store.migration().run()
        #expect(
            report.notes.contains {
                $0.hasPrefix("The source's persistent history, one transaction, was carried over")
                    && $0.contains("--history drop")
            }, "\(report.notes)")
        for table in ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"] {
            let all = "SELECT json_array(Z_PK, Z_ENT, Z_OPT) FROM \(table)"
            #expect(try store.rows(all) == store.rows(all, "Notes.sqlite"))
        }
        #expect(try store.rows(historyTables) == store.rows(historyTables, "Notes.sqlite"))
        let columns = "SELECT quote(ZCOLUMNS) FROM ACHANGE ORDER BY Z_PK"
        #expect(try store.rows(columns) == ["NULL", "X'40'"])
    }

    @Test("Where an entity's number changes it is dropped by default, its tables stay, and keep renumbers it")
    func renumbered() throws {
        let store = try StoreWithHistory(mirrored: false)
        let next = try model(entity("Folder", []), entity("Note", [attribute("text", .string)]))
        let report = try store.migration(to: next).run()
        #expect(report.notes.contains { $0.contains("was not carried over: entities have other numbers (Note)") })
        #expect(try store.rows("SELECT count(*) FROM ACHANGE") == ["0"])
        #expect(try store.rows(historyTables) == store.rows(historyTables, "Notes.sqlite"))
        #expect(
            try store.rows("SELECT Z_NAME || Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 16000 ORDER BY 1")
                == ["CHANGE2", "TRANSACTION1", "TRANSACTIONSTRING1"])
        var options = MigrationOptions()
        options.history = .keep
        _ = try store.migration(to: next, file: "kept.sqlite", options).run()
        #expect(try store.rows("SELECT DISTINCT ZENTITY FROM ACHANGE", "kept.sqlite") == ["2"])
    }

    @Test("Dropped: the tables are there and empty; a store without them gets none")
    func dropped() throws {
        let store = try StoreWithHistory(mirrored: false)
        var options = MigrationOptions()
        options.history = .drop
        for (file, writer) in [("pages.sqlite", StoreWriter.pages), ("sqlite.sqlite", .sqlite)] {
            options.writer = writer
            _ = try store.migration(file: file, options).run()
            #expect(try store.rows(historyTables, file) == store.rows(historyTables, "Notes.sqlite"))
            #expect(try store.rows("SELECT count(*) FROM ATRANSACTION", file) == ["0"])
        }
        try store.execute(["DROP TABLE ACHANGE", "DROP TABLE ATRANSACTION", "DROP TABLE ATRANSACTIONSTRING"])
        _ = try store.migration(file: "none.sqlite", options).run()
        #expect(try store.rows(historyTables, "none.sqlite").isEmpty)
    }

    @Test("A mirrored store is refused with the option that helps, and nothing is written", arguments: [true, false])
    func refused(plans: Bool) throws {
        let store = try StoreWithHistory(mirrored: true)
        let migration = try store.migration()
        let error = #expect(throws: MigrationError.self) {
            if plans { _ = try migration.plan() } else { _ = try migration.run() }
        }
        #expect(error?.code == "store.mirrored" && error?.category == .data)
        #expect(error?.remedy?.contains("--cloudkit drop") == true)
        #expect(!FileManager.default.fileExists(atPath: store.folder.file("new.sqlite")))
    }

    @Test(
        "With drop the copy has no state of the sync and no history, and the report says what comes",
        arguments: PersistentHistory.allCases)
    func mirroringDropped(history: PersistentHistory) throws {
        let store = try StoreWithHistory(mirrored: true)
        var options = MigrationOptions()
        options.cloudKit = .drop
        options.history = history
        let report = try store.migration(options).run()
        #expect(try store.rows("SELECT name FROM sqlite_master WHERE name GLOB '*NSCK*'").isEmpty)
        #expect(try store.rows("SELECT Z_NAME FROM Z_PRIMARYKEY WHERE Z_ENT >= 17000").isEmpty)
        for table in ["ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"] {
            #expect(try store.rows("SELECT count(*) FROM \(table)") == ["0"])
        }
        #expect(try store.rows("SELECT ZTEXT FROM ZNOTE ORDER BY 1") == ["one", "two"])
        #expect(
            report.notes.contains {
                $0.hasPrefix("The state of CloudKit's sync (3 tables)") && $0.contains("twice")
                    && $0.contains("Notes_ckAssets was not copied")
            }, "\(report.notes)")
        #expect(!FileManager.default.fileExists(atPath: store.folder.file("new_ckAssets")))
        #expect(try StoreVerification(store.migration(options)).run().isEqual)
    }
}
