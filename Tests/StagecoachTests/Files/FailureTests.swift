import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import SpillStorage
import Stagecoach
import TestSupport
import Testing

@Suite("Failures: one clear error, and nothing left behind")
struct FailureTests {
    // MARK: The source

    @Test("A source that is not there is named", arguments: [false, true])
    func noSource(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        #expect(
            try fixture.problems("store.notFound", .noInput, naming: ["absent.sqlite"]) { fixture in
                try Migration(
                    from: fixture.inputFolder + "/absent.sqlite", model: fixture.source, mapping: fixture.mapping,
                    to: fixture.destinationPath, model: fixture.destination,
                    options: fixture.options(isStaged: isStaged)
                ).run()
            } == [])
    }

    @Test("A folder as source is refused")
    func folderAsSource() throws {
        let fixture = try FailureFixture()
        #expect(
            try fixture.problems("store.isDirectory", .noInput, naming: [fixture.inputFolder]) { fixture in
                try Migration(
                    from: fixture.inputFolder, model: fixture.source, mapping: fixture.mapping,
                    to: fixture.destinationPath,
                    model: fixture.destination, options: fixture.options()
                ).run()
            } == [])
    }

    @Test("A file that is no database is refused")
    func noDatabase() throws {
        let fixture = try FailureFixture()
        try Data("This is a letter, not a store. ".utf8).write(to: URL(fileURLWithPath: fixture.sourcePath))
        #expect(
            try fixture.problems("store.notADatabase", .data, naming: ["source.sqlite"]) {
                try $0.migration($0.options()).run()
            } == [])
    }

    @Test("An empty file is refused")
    func emptyFile() throws {
        let fixture = try FailureFixture()
        try Data().write(to: URL(fileURLWithPath: fixture.sourcePath))
        #expect(
            try fixture.problems("store.empty", .data, naming: ["source.sqlite"]) {
                try $0.migration($0.options()).run()
            } == [])
    }

    @Test("A truncated store is refused")
    func truncated() throws {
        let fixture = try FailureFixture(books: 500)
        let bytes = try #require(FileManager.default.contents(atPath: fixture.sourcePath))
        try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: fixture.sourcePath))
        #expect(
            try fixture.problems("store.truncated", .data, naming: ["source.sqlite"]) {
                try $0.migration($0.options()).run()
            } == [])
    }

    @Test("Pages overwritten in the midst of a store end the run as damage", arguments: [false, true])
    func damaged(isStaged: Bool) throws {
        let fixture = try FailureFixture(books: 3000, textLength: 100)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: fixture.sourcePath))
        let size = try handle.seekToEnd()
        try handle.seek(toOffset: size / 2 / 4096 * 4096)
        try handle.write(contentsOf: Data(repeating: 0x5a, count: 8 * 4096))
        try handle.close()
        #expect(
            try fixture.problems("store.damaged", .data, naming: ["source.sqlite"]) {
                try $0.migration($0.options(isStaged: isStaged)).run()
            } == [])
    }

    @Test("A store of another model is refused, naming the entity that differs")
    func otherModel() throws {
        let fixture = try FailureFixture()
        #expect(
            try fixture.problems("store.otherModel", .configuration, naming: ["source.sqlite", "Book"]) { fixture in
                try Migration(
                    from: fixture.sourcePath, model: fixture.destination,
                    mapping: try MappingModel.inferred(from: fixture.destination, to: fixture.destination),
                    to: fixture.destinationPath, model: fixture.destination, options: fixture.options()
                ).run()
            } == [])
    }

    @Test("A source that another program writes meanwhile ends the run", arguments: [false, true])
    func sourceChanged(isStaged: Bool) throws {
        let fixture = try FailureFixture(books: 20000)
        try fixture.change("PRAGMA journal_mode = WAL")
        var options = fixture.options(isStaged: isStaged)
        options.batchSize = 20
        let path = fixture.sourcePath
        let isMet = try untilMet {
            let progress = ProgressCounter()
            let watcher = Watcher {
                guard progress.snapshot.rows > 0 else { return false }
                let connection = try? Connection(path: path, flags: SQLITE_OPEN_READWRITE)
                try? connection?.execute("UPDATE ZBOOK SET ZPAGES = ZPAGES + 1 WHERE Z_PK = 3")
                return true
            }
            defer { watcher.finish() }
            let (error, changes) = try fixture.ending(sourceMayChange: true) {
                try $0.migration(options, progress: progress).run()
            }
            guard let error else {
                try FileManager.default.removeItem(atPath: fixture.destinationPath)
                return false
            }
            #expect(error.code == "store.moved" && error.category == .temporary, "\(error)")
            #expect("\(error)".contains("source.sqlite"))
            #expect(changes == [])
            return true
        }
        #expect(isMet)
    }

    // MARK: The destination

    @Test("An existing destination is refused and stays as it is", arguments: [false, true])
    func destinationExists(isStaged: Bool) throws {
        let fixture = try FailureFixture()
        try Data("old".utf8).write(to: URL(fileURLWithPath: fixture.destinationPath))
        #expect(
            try fixture.problems("destination.exists", .cannotCreate, naming: ["new.sqlite"]) {
                try $0.migration($0.options(isStaged: isStaged)).run()
            } == [])
    }

    @Test("A dangling link at the destination is refused and stays")
    func danglingLink() throws {
        let fixture = try FailureFixture()
        symlink("nowhere", fixture.destinationPath)
        #expect(
            try fixture.problems("destination.exists", .cannotCreate) { try $0.migration($0.options()).run() } == [])
    }

    @Test("A destination whose folder is missing, or no folder, is refused", arguments: ["absent", "file"])
    func noFolder(name: String) throws {
        let fixture = try FailureFixture()
        try Data().write(to: URL(fileURLWithPath: fixture.outputFolder + "/file"))
        fixture.destinationPath = fixture.outputFolder + "/\(name)/new.sqlite"
        #expect(
            try fixture.problems("destination.folder", .cannotCreate, naming: ["\(name)/new.sqlite"]) {
                try $0.migration($0.options()).run()
            } == [])
    }

    @Test(
        "A journal or -wal of an earlier store beside the destination is refused",
        arguments: ["-wal", "-shm", "-journal"])
    func leftover(suffix: String) throws {
        let fixture = try FailureFixture()
        try Data("old".utf8).write(to: URL(fileURLWithPath: fixture.destinationPath + suffix))
        #expect(
            try fixture.problems("destination.leftover", .cannotCreate, naming: ["new.sqlite\(suffix)"]) {
                try $0.migration($0.options()).run()
            } == [])
    }

    @Test("The same path twice is wrong usage, through a link and with a missing file too", arguments: 0..<3)
    func samePath(form: Int) throws {
        let fixture = try FailureFixture()
        switch form {
        case 0: fixture.destinationPath = fixture.sourcePath
        case 1:
            fixture.destinationPath = fixture.outputFolder + "/link.sqlite"
            symlink(fixture.sourcePath, fixture.destinationPath)
        default:
            fixture.destinationPath = fixture.sourcePath
            try FileManager.default.removeItem(atPath: fixture.sourcePath)
        }
        #expect(try fixture.problems("destination.isSource", .usage) { try $0.migration($0.options()).run() } == [])
    }

    @Test("A work directory that another run holds is told, and left to it")
    func locked() throws {
        let fixture = try FailureFixture()
        let held = try WorkDirectory(path: fixture.outputFolder + "/.new.sqlite.stagecoach")
        try Data("spilled".utf8).write(to: URL(fileURLWithPath: held.file(named: "other")))
        #expect(
            try fixture.problems("destination.busy", .temporary, naming: [".new.sqlite.stagecoach"]) {
                try $0.migration($0.options()).run()
            } == [])
        try held.remove()
    }

    @Test("A work folder that is not there is refused")
    func noWorkFolder() throws {
        let fixture = try FailureFixture()
        var options = fixture.options()
        options.workDirectory = fixture.folder.file("absent")
        #expect(
            try fixture.problems("work.create", .cannotCreate, naming: ["absent"]) { try $0.migration(options).run() }
                == [])
    }

    // MARK: Data

    @Test("A required value that is missing names entity, object and property", arguments: [false, true])
    func missing(isStaged: Bool) throws {
        let fixture = try FailureFixture { book in
            book.attributes[1].isOptional = false
            book.attributes[1].defaultValue = nil
        }
        try fixture.change("UPDATE ZBOOK SET ZISBN = NULL WHERE Z_PK = 17")
        #expect(
            try fixture.problems("validation.missing", .data, naming: ["Book/p17", "isbn"]) {
                try $0.migration($0.options(isStaged: isStaged)).run()
            } == [])
    }

    @Test("Equal values under a uniqueness constraint name entity, property and objects", arguments: [false, true])
    func duplicates(isStaged: Bool) throws {
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.change("UPDATE ZBOOK SET ZISBN = 'twin' WHERE Z_PK IN (11, 29)")
        #expect(
            try fixture.problems("validation.uniqueness", .data, naming: ["Book", "isbn", "p11", "p29"]) {
                try $0.migration($0.options(isStaged: isStaged)).run()
            } == [])
    }

    // MARK: In the midst

    struct Stop: Error, Equatable {}

    @Test("A cancelled run ends with the canceller's error and leaves nothing", arguments: [false, true])
    func cancelled(isStaged: Bool) throws {
        let fixture = try FailureFixture(books: 20000)
        var options = fixture.options(isStaged: isStaged)
        options.batchSize = 20
        let before = try fixture.snapshot()
        let isMet = try untilMet {
            let progress = ProgressCounter()
            let cancellation = CancellationFlag()
            let watcher = Watcher {
                guard progress.snapshot.rows > 500 else { return false }
                cancellation.cancel(Stop())
                return true
            }
            defer { watcher.finish() }
            do {
                try fixture.migration(options, progress: progress, cancellation: cancellation).run()
                try FileManager.default.removeItem(atPath: fixture.destinationPath)
                return false
            } catch is Stop { return true }
        }
        #expect(isMet)
        #expect(try fixture.snapshot() == before)
    }

    @Test("A policy that throws ends the run with its error and leaves nothing")
    func policyThrows() throws {
        let fixture = try FailureFixture()
        let manager = HookPolicy.manager(fixture) { throw Stop() }
        let before = try fixture.snapshot()
        #expect(throws: (any Error).self) { try fixture.migration(fixture.options(), manager: manager).run() }
        #expect(try fixture.snapshot() == before)
    }

    @Test("A run that failed can be run again when its cause is gone", arguments: [false, true])
    func again(isStaged: Bool) throws {
        let fixture = try FailureFixture { $0.uniquenessConstraints = [["isbn"]] }
        try fixture.change("UPDATE ZBOOK SET ZISBN = 'twin' WHERE Z_PK IN (11, 29)")
        #expect(
            try fixture.problems("validation.uniqueness", .data) {
                try $0.migration($0.options(isStaged: isStaged)).run()
            } == [])
        try fixture.change("UPDATE ZBOOK SET ZISBN = 'other' WHERE Z_PK = 29")
        let report = try fixture.migration(fixture.options(isStaged: isStaged)).run()
        #expect(report.counts.created == ["Author": 4, "Book": 40])
    }
}
