import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
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

    private static func names(beside fixture: FailureFixture) throws -> [String] {
        try FailureFixture.contents(of: fixture.outputFolder).keys.sorted()
    }

    @Test("Keys go on from Z_MAX, metadata stays, links are between new objects", arguments: [false, true])
    func goesOn(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        var fresh = Self.options(isStaged: isStaged)
        fresh.newUUID = true
        try fixture.migration(fresh).run()
        let path = fixture.destinationPath
        try Self.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 100 WHERE Z_NAME = 'Author'", on: path)
        let metadata = "SELECT hex(Z_PLIST) || Z_UUID FROM Z_METADATA"
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let statement = try connection.prepare(metadata)
        _ = try statement.step()
        let before = statement.text(0)
        statement.reset()
        chmod(path, 0o600)
        let report = try fixture.migration(Self.options(isStaged: isStaged)).run()
        #expect(report.isAppended && report.mappingModels == 1)
        #expect(report.counts.created == ["Author": 4, "Book": 40])
        #expect(report.keys == ["Author": "sequential", "Book": "sequential"])
        #expect(report.notes.contains { $0.contains("keys after those of the destination") })
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK", in: path) == 80)
        #expect(try StoreQuery.integer("SELECT min(Z_PK) FROM ZAUTHOR WHERE Z_PK > 4", in: path) == 101)
        #expect(try StoreQuery.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Author'", in: path) == 104)
        #expect(try StoreQuery.integer("SELECT Z_MAX FROM Z_PRIMARYKEY WHERE Z_NAME = 'Book'", in: path) == 80)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK > 40 AND ZAUTHOR < 101", in: path) == 0)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK WHERE Z_PK <= 40 AND ZAUTHOR > 4", in: path) == 0)
        let after = try Connection(path: path, flags: SQLITE_OPEN_READONLY).prepare(metadata)
        _ = try after.step()
        #expect(after.text(0) == before)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try Self.names(beside: fixture) == ["new.sqlite"])
    }

    @Test("Rows in the destination's -wal are kept, and no -wal is left", arguments: [false, true])
    func writeAheadLog(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        try fixture.migration(Self.options()).run()
        let path = fixture.destinationPath
        try fixture.leaveInLog(
            "INSERT INTO ZAUTHOR (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (77, 1, 1, 'In the log'); "
                + "UPDATE Z_PRIMARYKEY SET Z_MAX = 77 WHERE Z_NAME = 'Author'")
        try fixture.migration(Self.options(isStaged: isStaged)).run()
        #expect(try Self.names(beside: fixture) == ["new.sqlite"])
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR WHERE ZNAME = 'In the log'", in: path) == 1)
        #expect(try StoreQuery.integer("SELECT max(Z_PK) FROM ZAUTHOR", in: path) == 81)
        #expect(
            try StoreQuery.integer("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'", in: path)
                == 1)
    }

    @Test("A file with numbers and columns of its own keeps them", arguments: [false, true])
    func ownLayout(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        try fixture.migration(Self.options()).run()
        let path = fixture.destinationPath
        try Self.execute(
            """
            UPDATE Z_PRIMARYKEY SET Z_ENT = Z_ENT + 10; UPDATE ZAUTHOR SET Z_ENT = 11;
            CREATE TABLE other (Z_PK INTEGER PRIMARY KEY, ZOLD VARCHAR, ZNOTE VARCHAR, ZAUTHOR INTEGER, ZPAGES INTEGER,
            Z_OPT INTEGER, ZISBN VARCHAR, Z_ENT INTEGER, ZHEADING VARCHAR);
            INSERT INTO other SELECT Z_PK, 'old', ZNOTE, ZAUTHOR, ZPAGES, Z_OPT, ZISBN, 12, ZHEADING FROM ZBOOK;
            DROP TABLE ZBOOK; ALTER TABLE other RENAME TO ZBOOK; CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)
            """, on: path)
        try fixture.migration(Self.options(isStaged: isStaged)).run()
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZAUTHOR WHERE Z_ENT = 11", in: path) == 8)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK WHERE Z_ENT = 12 AND Z_OPT = 1", in: path) == 80)
        #expect(
            try StoreQuery.integer(
                """
                SELECT count(*) FROM ZBOOK AS a JOIN ZBOOK AS b ON b.Z_PK = a.Z_PK + 40 AND b.ZAUTHOR = a.ZAUTHOR + 4
                AND b.ZHEADING = a.ZHEADING AND b.ZISBN = a.ZISBN AND b.ZPAGES = a.ZPAGES AND b.ZNOTE = a.ZNOTE
                WHERE a.ZOLD = 'old' AND b.ZOLD IS NULL
                """, in: path) == 40)
        #expect(
            try StoreQuery.integer("SELECT count(*) FROM sqlite_master WHERE name = 'ZBOOK_ZAUTHOR_INDEX'", in: path)
                == 1)
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
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.migration(Self.options()).run()
        let path = fixture.destinationPath
        if form == .clause { try Self.giveClause(path) }
        try fixture.change("UPDATE ZBOOK SET ZISBN = 'new ' || Z_PK WHERE Z_PK <> 7")
        let (error, changes) = try fixture.ending { try $0.migration(Self.options(isStaged: isStaged)).run() }
        #expect(changes == [])
        #expect(error?.code == "validation.uniqueness" && error?.category == .data)
        #expect(error?.context.property == "isbn" && error?.context.entity == "Book")
        for word in ["isbn 7", "Book/p47", "Book/p7"] { #expect(String(describing: error).contains(word)) }
        try fixture.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK = 7")
        try fixture.migration(Self.options(isStaged: isStaged)).run()
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK", in: path) == 80)
    }

    @Test("A destination of another model, one in use, and kept keys are refused")
    func refusals() throws {
        let fixture = try FailureFixture()
        let other = try FailureFixture { $0.attributes.append(attribute("added", .string)) }
        try other.migration(Self.options()).run()
        try FileManager.default.moveItem(atPath: other.destinationPath, toPath: fixture.destinationPath)
        #expect(
            try fixture.problems("destination.otherModel", .configuration, naming: ["Book"]) {
                try $0.migration(Self.options()).run()
            } == [])
        try FileManager.default.removeItem(atPath: fixture.destinationPath)
        try fixture.migration(Self.options()).run()
        var kept = Self.options()
        kept.keys = .kept
        #expect(try fixture.problems("plan.keysCannotBeKept", .configuration) { try $0.migration(kept).run() } == [])
        let user = try Connection(path: fixture.destinationPath, flags: SQLITE_OPEN_READWRITE)
        try user.execute("BEGIN IMMEDIATE")
        #expect(try fixture.problems("destination.locked", .temporary) { try $0.migration(Self.options()).run() } == [])
        try user.execute("ROLLBACK")
        try user.close()
        var plain = Self.options()
        plain.appendsToExisting = false
        #expect(try fixture.problems("destination.exists", .cannotCreate) { try $0.migration(plain).run() } == [])
        var dry = Self.options()
        dry.isDryRun = true
        let before = try fixture.snapshot()
        #expect(try fixture.migration(dry).run().counts.created["Book"] == 40)
        #expect(try fixture.snapshot() == before)
    }

    @Test("A link to a store is followed and stays a link")
    func link() throws {
        let fixture = try FailureFixture()
        try fixture.migration(Self.options()).run()
        let link = fixture.folder.file("link.sqlite")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: fixture.destinationPath)
        let real = fixture.destinationPath
        fixture.destinationPath = link
        try fixture.migration(Self.options()).run()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == real)
        #expect(try StoreQuery.integer("SELECT count(*) FROM ZBOOK", in: real) == 80)
    }

    @Test("The error of a cancellation comes out as it was given, and the store stays", arguments: [false, true])
    func cancelled(isStaged: Bool) throws {
        struct Stop: Error, Equatable { let number: Int }
        let fixture = try FailureFixture(books: 4000)
        try fixture.migration(Self.options()).run()
        let before = try fixture.snapshot()
        let standing = try Data(contentsOf: URL(fileURLWithPath: fixture.destinationPath))
        var options = Self.options(isStaged: isStaged)
        options.batchSize = 1
        for tenths in [0, 1, 3, 6, 8] {
            let isMet = try untilMet {
                let progress = ProgressCounter()
                let cancellation = CancellationFlag()
                let watcher = Watcher {
                    let snapshot = progress.snapshot
                    guard snapshot.totalRows > 0, snapshot.rows >= snapshot.totalRows * tenths / 10 else {
                        return false
                    }
                    cancellation.cancel(Stop(number: tenths))
                    return true
                }
                defer { watcher.finish() }
                do {
                    try fixture.migration(options, progress: progress, cancellation: cancellation).run()
                    try standing.write(to: URL(fileURLWithPath: fixture.destinationPath))
                    return false
                } catch let error as Stop { return error.number == tenths }
            }
            #expect(isMet, "\(tenths) tenths of the rows")
            #expect(try fixture.snapshot() == before)
        }
    }
}
