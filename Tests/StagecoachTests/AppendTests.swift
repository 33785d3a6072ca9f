import CSQLite
import Diagnostics
import Foundation
import PersistentStore
import Stagecoach
import TestSupport
import Testing

@Suite("Appending to a store")
struct AppendTests {
    private static func options(isStaged: Bool = false) -> MigrationOptions {
        var options = MigrationOptions()
        options.memoryLimit = 8 << 30
        options.usesStoreSpecificMigrationManager = !isStaged
        options.appendsToExisting = true
        options.fullCheck = true
        return options
    }

    /// Runs SQL on a store and closes it.
    private static func execute(_ sql: String, on path: String) throws {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(sql)
        try connection.close()
    }

    private static func integer(_ sql: String, in path: String) throws -> Int64? {
        try Connection(path: path, flags: SQLITE_OPEN_READONLY).integer(sql)
    }

    private static func names(beside scene: FailureScene) throws -> [String] {
        try FailureScene.contents(of: scene.outputFolder).keys.sorted()
    }

    @Test("Keys go on from Z_MAX, metadata stays, links are between new objects", arguments: [false, true])
    func goesOn(isStaged: Bool) throws {
        let scene = try FailureScene()
        var fresh = Self.options(isStaged: isStaged)
        fresh.newUUID = true
        try scene.migration(fresh).run()
        let path = scene.destinationPath
        try Self.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 100 WHERE Z_NAME = 'Author'", on: path)
        let metadata = "SELECT hex(Z_PLIST) || Z_UUID FROM Z_METADATA"
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let statement = try connection.prepare(metadata)
        _ = try statement.step()
        let before = statement.text(0)
        statement.reset()
        chmod(path, 0o600)
        let report = try scene.migration(Self.options(isStaged: isStaged)).run()
        #expect(report.isAppended && report.mappingModels == 1)
        #expect(report.counts.created == ["Author": 4, "Book": 40])
        #expect(report.keys == ["Author": "sequential", "Book": "sequential"])
        #expect(report.notes.contains { $0.contains("keys after those of the destination") })
        #expect(try Self.integer("SELECT count(*) FROM ZBOOK", in: path) == 80)
        #expect(try Self.integer("SELECT min(Z_PK) FROM ZAUTHOR WHERE Z_PK > 4", in: path) == 101)
        #expect(try Self.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Author'", in: path) == 104)
        #expect(try Self.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'", in: path) == 80)
        #expect(try Self.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK > 40 AND ZAUTHOR < 101", in: path) == 0)
        #expect(try Self.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK <= 40 AND ZAUTHOR > 4", in: path) == 0)
        let after = try Connection(path: path, flags: SQLITE_OPEN_READONLY).prepare(metadata)
        _ = try after.step()
        #expect(after.text(0) == before)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try Self.names(beside: scene) == ["new.sqlite"])
    }

    @Test("Rows that stand in the destination's -wal are kept, and no -wal is left", arguments: [false, true])
    func writeAheadLog(isStaged: Bool) throws {
        let scene = try FailureScene()
        try scene.migration(Self.options()).run()
        let path = scene.destinationPath
        let saved = scene.folder.file("saved")
        try FileManager.default.createDirectory(atPath: saved, withIntermediateDirectories: false)
        // Copied while a program has it open: a log that nobody has checkpointed.
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        try connection.execute(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) "
                + "VALUES (77, 1, 1, 'In the log'); UPDATE Z_PRIMARYKEY SET Z_MAX = 77 WHERE Z_NAME = 'Author'")
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: saved + "/new.sqlite" + suffix)
        }
        try connection.close()
        for name in try Self.names(beside: scene) {
            try FileManager.default.removeItem(atPath: scene.outputFolder + "/" + name)
        }
        for suffix in ["", "-wal"] {
            try FileManager.default.moveItem(atPath: saved + "/new.sqlite" + suffix, toPath: path + suffix)
        }
        try scene.migration(Self.options(isStaged: isStaged)).run()
        #expect(try Self.names(beside: scene) == ["new.sqlite"])
        #expect(try Self.integer("SELECT count(*) FROM ZAUTHOR WHERE ZNAME = 'In the log'", in: path) == 1)
        #expect(try Self.integer("SELECT max(Z_PK) FROM ZAUTHOR", in: path) == 81)
        #expect(
            try Self.integer("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'", in: path) == 1)
    }

    @Test("A file with numbers and columns of its own keeps them", arguments: [false, true])
    func ownLayout(isStaged: Bool) throws {
        let scene = try FailureScene()
        try scene.migration(Self.options()).run()
        let path = scene.destinationPath
        try Self.execute(
            """
            UPDATE Z_PRIMARYKEY SET Z_ENT = Z_ENT + 10; UPDATE ZAUTHOR SET Z_ENT = 11;
            CREATE TABLE other (Z_PK INTEGER PRIMARY KEY, ZOLD VARCHAR, ZNOTE VARCHAR, ZAUTHOR INTEGER, ZPAGES INTEGER,
            Z_OPT INTEGER, ZISBN VARCHAR, Z_ENT INTEGER, ZHEADING VARCHAR);
            INSERT INTO other SELECT Z_PK, 'old', ZNOTE, ZAUTHOR, ZPAGES, Z_OPT, ZISBN, 12, ZHEADING FROM ZBOOK;
            DROP TABLE ZBOOK; ALTER TABLE other RENAME TO ZBOOK; CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
            """, on: path)
        try scene.migration(Self.options(isStaged: isStaged)).run()
        #expect(try Self.integer("SELECT count(*) FROM ZAUTHOR WHERE Z_ENT = 11", in: path) == 8)
        #expect(try Self.integer("SELECT count(*) FROM ZBOOK WHERE Z_ENT = 12 AND Z_OPT = 1", in: path) == 80)
        #expect(
            try Self.integer(
                """
                SELECT count(*) FROM ZBOOK AS a JOIN ZBOOK AS b ON b.Z_PK = a.Z_PK + 40 AND b.ZAUTHOR = a.ZAUTHOR + 4
                AND b.ZHEADING = a.ZHEADING AND b.ZISBN = a.ZISBN AND b.ZPAGES = a.ZPAGES AND b.ZNOTE = a.ZNOTE
                WHERE a.ZOLD = 'old' AND b.ZOLD IS NULL
                """, in: path) == 40)
        #expect(
            try Self.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ZBOOK_ZAUTHOR_INDEX'", in: path) == 1)
    }

    /// Gives a store's ZBOOK its constraint as a clause of the table, as older frameworks wrote it.
    static func giveClause(_ path: String) throws {
        try execute(
            """
            CREATE TABLE other (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPAGES INTEGER, ZAUTHOR INTEGER,
            ZHEADING VARCHAR, ZISBN VARCHAR, ZNOTE VARCHAR, UNIQUE (ZISBN));
            INSERT INTO other SELECT Z_PK, Z_ENT, Z_OPT, ZPAGES, ZAUTHOR, ZHEADING, ZISBN, ZNOTE FROM ZBOOK;
            DROP TABLE ZBOOK; ALTER TABLE other RENAME TO ZBOOK
            """, on: path)
    }

    /// In which form the destination's file has the uniqueness constraint.
    enum ConstraintForm: CaseIterable { case index, clause }

    @Test(
        "An object that conflicts with one that stands there is refused, the destination stays as it was",
        arguments: ConstraintForm.allCases, [false, true])
    func uniqueness(form: ConstraintForm, isStaged: Bool) throws {
        let scene = try FailureScene { $0.uniquenessConstraints = [["isbn"]] }
        try scene.migration(Self.options()).run()
        let path = scene.destinationPath
        if form == .clause { try Self.giveClause(path) }
        try scene.change("UPDATE ZBOOK SET ZISBN = 'new ' || Z_PK WHERE Z_PK <> 7")
        let error = try scene.expectFailure(
            "validation.uniqueness", .data, naming: ["isbn 7", "Book/p47", "Book/p7"]
        ) { try $0.migration(Self.options(isStaged: isStaged)).run() }
        #expect(error?.context.property == "isbn")
        #expect(error?.context.entity == "Book")
        try scene.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK = 7")
        try scene.migration(Self.options(isStaged: isStaged)).run()
        #expect(try Self.integer("SELECT count(*) FROM ZBOOK", in: path) == 80)
    }

    @Test("A destination of another model, one in use, and kept keys are refused")
    func refusals() throws {
        let scene = try FailureScene()
        let other = try FailureScene { $0.attributes.append(attribute("added", .string)) }
        try other.migration(Self.options()).run()
        try FileManager.default.moveItem(atPath: other.destinationPath, toPath: scene.destinationPath)
        try scene.expectFailure("destination.otherModel", .configuration, naming: ["Book"]) {
            try $0.migration(Self.options()).run()
        }
        try FileManager.default.removeItem(atPath: scene.destinationPath)
        try scene.migration(Self.options()).run()
        var kept = Self.options()
        kept.keys = .kept
        try scene.expectFailure("plan.keysCannotBeKept", .configuration) { try $0.migration(kept).run() }
        let user = try Connection(path: scene.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try user.execute("BEGIN IMMEDIATE")
        try scene.expectFailure("destination.locked", .temporary) { try $0.migration(Self.options()).run() }
        try user.execute("ROLLBACK")
        try user.close()
        var plain = Self.options()
        plain.appendsToExisting = false
        try scene.expectFailure("destination.exists", .cannotCreate) { try $0.migration(plain).run() }
        var dry = Self.options()
        dry.isDryRun = true
        let before = try scene.snapshot()
        #expect(try scene.migration(dry).run().counts.created["Book"] == 40)
        #expect(try scene.snapshot() == before)
    }

    @Test("A link to a store is followed and stays a link")
    func link() throws {
        let scene = try FailureScene()
        try scene.migration(Self.options()).run()
        let link = scene.folder.file("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: scene.destinationPath)
        let real = scene.destinationPath
        scene.destinationPath = link
        try scene.migration(Self.options()).run()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == real)
        #expect(try Self.integer("SELECT count(*) FROM ZBOOK", in: real) == 80)
    }

    @Test("The error of a cancellation comes out as it was given, and the store stays", arguments: [false, true])
    func cancelled(isStaged: Bool) throws {
        struct Stop: Error, Equatable { let number: Int }
        let scene = try FailureScene(books: 4000)
        try scene.migration(Self.options()).run()
        let before = try scene.snapshot()
        for rows in [0, 1, 3000, 6000, 8000] {
            let progress = ProgressCounter()
            let cancellation = CancellationFlag()
            let watcher = Watcher {
                guard progress.snapshot.rows >= rows, progress.snapshot.totalRows > 0 else { return false }
                cancellation.cancel(Stop(number: rows))
                return true
            }
            var options = Self.options(isStaged: isStaged)
            options.batchSize = 1
            let migration = scene.migration(options, progress: progress, cancellation: cancellation)
            #expect(throws: Stop(number: rows)) { try migration.run() }
            watcher.finish()
        }
        #expect(try scene.snapshot() == before)
    }
}
