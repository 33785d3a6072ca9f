import CSQLite
import CoreDataStore
import Foundation
import Glibc
import TestSupport
import Testing

/// Sources that an ordinary user may only read, such as those of a backup: they migrate, and the result can be used.
@Suite(
    "Read-only sources of an ordinary user",
    .enabled(if: OtherUsers.haveOrdinary, "root cannot run the command as another user here: setpriv is missing"))
struct ReadOnlySourceTests {
    private static let reference = ExternalReference(uuid: (0..<16).map { UInt8($0) })

    /// A folder `in` with a bundle and old.sqlite, whose photos have their data in a file, in the row and nowhere; and a folder
    /// `out`. All is the ordinary user's, `in` is read-only.
    private static func folder(mode: mode_t = 0o444) throws -> TemporaryFolder {
        let data =
            "<attribute name=\"data\" optional=\"YES\" attributeType=\"Binary\" allowsExternalBinaryDataStorage=\"YES\"/>"
        let inputs = try VersionedInputs(
            VersionedInputs.entity("Photo", data), VersionedInputs.entity("Photo", data, VersionedInputs.text("name"))
        ) { store in
            store.insert("Photo", 1, ["data": .blob(reference.stored)])
            store.insert("Photo", 2, ["data": .blob([1] + [UInt8](repeating: 7, count: 200_000))])
            store.insert("Photo", 3, [:])
        }
        let folder = inputs.folder
        let files = FileManager.default
        for name in ["in", "out"] {
            try files.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        for name in ["M.xcdatamodeld", "old.sqlite"] {
            try files.moveItem(atPath: folder.file(name), toPath: folder.file("in/" + name))
        }
        let external = ExternalFolder(store: folder.file("in/old.sqlite"))
        try files.createDirectory(atPath: external.path, withIntermediateDirectories: true)
        try Data(repeating: 9, count: 150_000).write(to: URL(fileURLWithPath: external.path(of: reference)))
        try OtherUsers.give(folder.path)
        try lock(folder, mode: mode)
        return folder
    }

    /// Gives the files of `in` a mode and makes its folders read-only.
    private static func lock(_ folder: TemporaryFolder, mode: mode_t) throws {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.file("in")).map { "in/" + $0 }
        for name in names.sorted(by: >) + ["in"] {
            var status = stat()
            try #require(lstat(folder.file(name), &status) == 0)
            try #require(chmod(folder.file(name), status.st_mode & S_IFMT == S_IFDIR ? 0o555 : mode) == 0)
        }
    }

    /// Makes the folders of `in` writable again, so that an ordinary user's tests can remove them.
    private static func unlock(_ folder: TemporaryFolder) {
        _ = chmod(folder.file("in"), 0o755)
        for name in (try? FileManager.default.subpathsOfDirectory(atPath: folder.file("in"))) ?? [] {
            var status = stat()
            let path = folder.file("in/" + name)
            if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { _ = chmod(path, 0o755) }
        }
    }

    private static func run(_ arguments: [String], in folder: TemporaryFolder) throws -> CommandBinary.Outcome {
        // umask is the usual one, whatever the tests have.
        try CommandBinary.run(
            arguments + ["--to", "in/M.xcdatamodeld"], in: folder.path,
            through: OtherUsers.through(OtherUsers.ordinary) + ["/bin/sh", "-c", "umask 022; exec \"$0\" \"$@\""])
    }

    private static func modes(_ folder: TemporaryFolder) throws -> [String: mode_t] {
        var found: [String: mode_t] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.file("out")) {
            var status = stat()
            try #require(lstat(folder.file("out/" + name), &status) == 0)
            found[name] = status.st_mode & 0o777
        }
        return found
    }

    @Test(
        "A source that is read-only, in a read-only folder, with external data: migrated, verified and appended to",
        arguments: [0o444, 0o400, 0o440] as [mode_t], ["pages", "sqlite"])
    func readOnly(mode: mode_t, writer: String) throws {
        let folder = try Self.folder(mode: mode)
        defer { Self.unlock(folder) }
        let before = try CommandBinary.contents(of: folder.file("in"))
        let paths = ["in/old.sqlite", "out/new.sqlite"]
        for arguments in [
            ["migrate"] + paths + ["--writer", writer], ["verify"] + paths, ["migrate"] + paths + ["--append"],
        ] {
            let outcome = try Self.run(arguments, in: folder)
            #expect(outcome.code == 0, "\(arguments): \(outcome.messages)")
        }
        let modes = try Self.modes(folder)
        let (file, inner) = (mode | 0o600, mode | 0o700 | mode >> 2 & 0o111)
        #expect(modes["new.sqlite"] == file)
        #expect(modes[".new_SUPPORT"] == inner && modes[".new_SUPPORT/_EXTERNAL_DATA"] == inner)
        let data = modes.filter { $0.key.hasPrefix(".new_SUPPORT/_EXTERNAL_DATA/") }
        #expect(data.count == 4 && data.allSatisfy { $0.value == file }, "\(data)")
        #expect(modes.count == 7, "\(modes)")
        #expect(try CommandBinary.contents(of: folder.file("in")) == before)
    }

    @Test("A read-only source with its -wal beside it: what is in the -wal comes along")
    func writeAheadLog() throws {
        let folder = try Self.folder(mode: 0o444)
        defer { Self.unlock(folder) }
        Self.unlock(folder)
        let path = folder.file("in/old.sqlite")
        do {
            let writer = try Connection(path: path, flags: SQLITE_OPEN_READWRITE)
            try writer.execute(
                "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; DELETE FROM ZPHOTO WHERE Z_PK = 2")
            for suffix in ["", "-wal"] {
                try FileManager.default.copyItem(atPath: path + suffix, toPath: folder.file("in/live.sqlite" + suffix))
            }
        }
        try OtherUsers.give(folder.path)
        try Self.lock(folder, mode: 0o444)
        let before = try CommandBinary.contents(of: folder.file("in"))
        let outcome = try Self.run(["migrate", "in/live.sqlite", "out/new.sqlite"], in: folder)
        #expect(outcome.code == 0, "\(outcome.messages)")
        let result = try Connection(path: folder.file("out/new.sqlite"), flags: SQLITE_OPEN_READONLY)
        #expect(try result.integer("SELECT count(*) FROM ZPHOTO") == 2)
        #expect(try CommandBinary.contents(of: folder.file("in")) == before)
    }

    @Test("A destination that cannot be written is refused with what to do, and that helps")
    func refusals() throws {
        let folder = try Self.folder()
        defer { Self.unlock(folder) }
        let beside = try Self.run(["migrate", "in/old.sqlite", "in/new.sqlite"], in: folder)
        #expect(beside.code == 77 && beside.messages.contains("folder cannot be written"), "\(beside.messages)")
        #expect(beside.messages.contains("Name a destination in another folder"), "\(beside.messages)")
        #expect(try Self.run(["migrate", "in/old.sqlite", "out/new.sqlite"], in: folder).code == 0)
        try #require(chmod(folder.file("out/new.sqlite"), 0o444) == 0)
        let append = ["migrate", "in/old.sqlite", "out/new.sqlite", "--append"]
        let refused = try Self.run(append, in: folder)
        #expect(refused.code == 77, "\(refused.messages)")
        #expect(refused.messages.contains("chmod u+w"), "\(refused.messages)")
        try #require(chmod(folder.file("out/new.sqlite"), 0o644) == 0)
        let again = try Self.run(append, in: folder)
        #expect(again.code == 0, "\(again.messages)")
    }
}
