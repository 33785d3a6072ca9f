import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import SpillStorage
import Stagecoach
import Synchronization
import TestSupport
import Testing

@Suite("Publishing: whole, at once, never over another file")
struct PublishTests {
    @Test("The destination appears complete, and nothing else appears beside it", arguments: [false, true])
    func appearsComplete(isStaged: Bool) throws {
        let fixture = try FailureFixture(books: 3000, textLength: 100)
        let path = fixture.destinationPath
        let sightings = Mutex<[String]>([])
        let watcher = Watcher {
            guard FileManager.default.fileExists(atPath: path) else { return false }
            let finding = Result {
                let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
                let check = try connection.prepare("PRAGMA integrity_check")
                _ = try check.step()
                let books = try connection.integer("SELECT count(*) FROM ZBOOK") ?? 0
                let metadata = try connection.integer("SELECT count(*) FROM Z_METADATA") ?? 0
                return "\(check.text(0) ?? ""), \(books) books, \(metadata) metadata"
            }
            sightings.withLock { $0.append((try? finding.get()) ?? "\(finding)") }
            return true
        }
        try fixture.migration(fixture.options(isStaged: isStaged)).run()
        while sightings.withLock({ $0.isEmpty }) { usleep(500) }
        watcher.finish()
        #expect(sightings.withLock { $0 } == ["ok, 3000 books, 1 metadata"])
        #expect(try FailureFixture.contents(of: fixture.outputFolder).keys.sorted() == ["new.sqlite"])
        #expect(try FailureFixture.contents(of: fixture.inputFolder).keys.sorted() == ["source.sqlite"])
    }

    @Test("A published store is a file of its own: one name, the permissions of a new file")
    func ownFile() throws {
        let fixture = try FailureFixture()
        try fixture.migration(fixture.options()).run()
        var status = stat()
        try #require(stat(fixture.destinationPath, &status) == 0)
        #expect(status.st_nlink == 1)
        let mask = umask(0)
        umask(mask)
        #expect(status.st_mode & 0o777 == 0o644 & ~mask)
    }

    @Test("A file that appears at the destination during the run is not replaced")
    func noReplace() throws {
        let fixture = try FailureFixture()
        let path = fixture.destinationPath
        let manager = HookPolicy.manager(fixture) { try Data("mine".utf8).write(to: URL(fileURLWithPath: path)) }
        let error = #expect(throws: MigrationError.self) {
            try fixture.migration(fixture.options(), manager: manager).run()
        }
        #expect(error?.code == "destination.exists")
        #expect(error?.category == .cannotCreate)
        #expect(try FailureFixture.contents(of: fixture.outputFolder) == ["new.sqlite": Data("mine".utf8)])
    }

    @Test("A -wal that appears beside the destination during the run stops the publishing")
    func noForeignLog() throws {
        let fixture = try FailureFixture()
        let path = fixture.destinationPath + "-wal"
        let manager = HookPolicy.manager(fixture) { try Data("mine".utf8).write(to: URL(fileURLWithPath: path)) }
        let error = #expect(throws: MigrationError.self) {
            try fixture.migration(fixture.options(), manager: manager).run()
        }
        #expect(error?.code == "destination.leftover")
        #expect(try FailureFixture.contents(of: fixture.outputFolder) == ["new.sqlite-wal": Data("mine".utf8)])
    }

    @Test("Files of a killed run in its work directory are removed, and the run succeeds", arguments: [false, true])
    func leftoverWork(hasLock: Bool) throws {
        let fixture = try FailureFixture()
        let work = fixture.outputFolder + "/.new.sqlite.stagecoach"
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
        for name in ["sort-1.spill", "keys-2.spill", "store.sqlite"] + (hasLock ? ["lock"] : []) {
            try Data("junk".utf8).write(to: URL(fileURLWithPath: "\(work)/\(name)"))
        }
        let report = try fixture.migration(fixture.options()).run()
        #expect(report.counts.created == ["Author": 4, "Book": 40])
        #expect(try FailureFixture.contents(of: fixture.outputFolder).keys.sorted() == ["new.sqlite"])
    }

    @Test("A dry run does the work and leaves nothing", arguments: [false, true])
    func dryRun(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        var options = fixture.options(isStaged: isStaged)
        options.isDryRun = true
        let before = try fixture.snapshot()
        let report = try fixture.migration(options).run()
        #expect(report.isDryRun)
        #expect(report.counts.created == ["Author": 4, "Book": 40])
        #expect(report.destinationBytes > 0)
        #expect(try fixture.snapshot() == before)
    }

    @Test("A work folder elsewhere is used, and left as it was", arguments: [false, true])
    func workElsewhere(isStaged: Bool) throws {
        let fixture = try FailureFixture(books: 3000)
        let work = fixture.folder.file("work")
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
        try Data("mine".utf8).write(to: URL(fileURLWithPath: work + "/notes.txt"))
        var options = fixture.options(isStaged: isStaged)
        options.workDirectory = work
        // A run that works there meets who holds the place.
        let held = try WorkDirectory(path: work + "/.new.sqlite.stagecoach")
        let (error, changes) = try fixture.ending { try $0.migration(options).run() }
        #expect(error?.code == "destination.busy" && changes == [])
        try held.remove()
        try fixture.migration(options).run()
        #expect(try FailureFixture.contents(of: work) == ["notes.txt": Data("mine".utf8)])
        #expect(try FailureFixture.contents(of: fixture.outputFolder).keys.sorted() == ["new.sqlite"])
    }

    @Test("A failed run with a work folder elsewhere leaves nothing there")
    func failureElsewhere() throws {
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.change("UPDATE ZBOOK SET ZISBN = 'twin' WHERE Z_PK IN (11, 29)")
        let work = fixture.folder.file("work")
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: false)
        var options = fixture.options(isStaged: true)
        options.workDirectory = work
        #expect(try fixture.problems("validation.uniqueness", .data) { try $0.migration(options).run() } == [])
    }

    @Test("A destination given by name alone is made in the current directory's folder")
    func relativeName() throws {
        let fixture = try FailureFixture()
        let name = "stagecoach-relative-\(UUID().uuidString).sqlite"
        defer { unlink(name) }
        fixture.destinationPath = name
        try fixture.migration(fixture.options()).run()
        #expect(FileManager.default.fileExists(atPath: name))
        #expect(!FileManager.default.fileExists(atPath: ".\(name).stagecoach"))
    }
}
