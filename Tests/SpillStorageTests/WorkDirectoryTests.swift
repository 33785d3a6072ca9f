import Diagnostics
import Foundation
import Glibc
import TestSupport
import Testing

@testable import SpillStorage

@Suite("Work directory") struct WorkDirectoryTests {
    @Test("The directory is made with mode 0700, and is gone after remove")
    func lifetime() throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        let mode = try FileManager.default.attributesOfItem(atPath: directory.path)[.posixPermissions] as? Int
        #expect(mode == 0o700)
        let file = try SpillFile(directory: directory, named: "a")
        try [1, 2, 3].withUnsafeBytes { try file.append($0) }
        #expect(directory.bytesWritten == 24)
        #expect(directory.bytesHeld == 24)
        try directory.remove()
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test("A second run is told that the first holds the lock, and gets it afterwards")
    func busy() throws {
        let folder = try TemporaryFolder()
        let first = try WorkDirectory(path: folder.file("work"))
        let error = #expect(throws: MigrationError.self) { _ = try WorkDirectory(path: folder.file("work")) }
        #expect(error?.code == "destination.busy")
        #expect(error?.category == .temporary)
        try first.remove()
        _ = try WorkDirectory(path: folder.file("work"))
    }

    @Test("A folder goes with all that is in it; what a link leads to stays")
    func removal() throws {
        let folder = try TemporaryFolder()
        for name in ["own/0/a", "own/0/b", "own/1/c", "other/d"] {
            let url = folder.url.appendingPathComponent(name)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("x".utf8).write(to: url)
        }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("own/1/link"), withDestinationPath: folder.file("other"))
        FileSystem.removeTree(folder.file("own"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["other"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("other")) == ["d"])
        FileSystem.removeTree(folder.file("own"))

        try FileSystem.remove(folder.file("other/d"))
        try FileSystem.remove(folder.file("other/d"))
        let error = #expect(throws: MigrationError.self) { try FileSystem.remove(folder.file("other")) }
        #expect(error?.category == .io && error?.context.path == folder.file("other"))
    }

    @Test("A folder that a run that ends removes before this one has locked it is made again", arguments: [1, 15])
    func removedMeanwhile(times: Int) throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"), calls: FaultyFileCalls(departures: times))
        #expect(FileManager.default.fileExists(atPath: directory.path + "/lock"))
        try directory.remove()
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    @Test("A folder that goes whenever it was made cannot be had")
    func removedAlways() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: MigrationError.self) {
            _ = try WorkDirectory(path: folder.file("work"), calls: FaultyFileCalls(departures: .max))
        }
        #expect(error?.code == "work.create")
        #expect(!FileManager.default.fileExists(atPath: folder.file("work")))
    }

    @Test("A folder or lock that the disk does not show is its error, not another run's", arguments: [true, false])
    func unknownLock(isOfPath: Bool) throws {
        let folder = try TemporaryFolder()
        let calls = FaultyFileCalls(failedLookup: isOfPath ? .path(EIO) : .file(EIO))
        let error = #expect(throws: MigrationError.self) {
            _ = try WorkDirectory(path: folder.file("work"), calls: calls)
        }
        #expect(error?.code == "spill.io")
        #expect(error?.category == .io)
        #expect(error?.context.path == folder.file(isOfPath ? "work/lock" : "work"))
    }

    @Test("A killed run's spill files are removed, other files stay")
    func stale() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("work")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        for name in ["pairs-7.spill", "external-8.spill", "external-8.spill-journal", "lock", "journal"] {
            try Data([1]).write(to: URL(fileURLWithPath: path + "/" + name))
        }
        let directory = try WorkDirectory(path: path)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == ["journal", "lock"])
        try directory.remove()
        #expect(!FileManager.default.fileExists(atPath: path + "/lock"))
        #expect(FileManager.default.fileExists(atPath: path + "/journal"))
    }

    @Test("A folder of the user's own stays when the run is over")
    func foreignFolder() throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.path)
        try directory.remove()
        #expect(FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("A folder that gets another name, and a link in its place, keeps its files; errors have the name that it had")
    func replacedFolder() throws {
        let folder = try TemporaryFolder()
        let directory = try WorkDirectory(path: folder.file("work"))
        for name in ["other", "moved"] {
            try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
        }
        try #require(rename(folder.file("work"), folder.file("moved/work")) == 0)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("work"), withDestinationPath: folder.file("other"))
        let file = try SpillFile(directory: directory, named: "a")
        try [1, 2, 3].withUnsafeBytes { try file.append($0) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("other")) == [])
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("moved/work"))
        #expect(names.sorted() == ["a-1.spill", "lock"])
        let error = MigrationError("spill.io", .io, "", context: .init(path: file.path))
        #expect(error.context.path == folder.file("work/a-1.spill"))
    }

    @Test("A link, and a file, in the place of the folder are refused")
    func noFolder() throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("other"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link"), withDestinationPath: folder.file("other"))
        try Data().write(to: URL(fileURLWithPath: folder.file("file")))
        let link = #expect(throws: MigrationError.self) { _ = try WorkDirectory(path: folder.file("link")) }
        #expect(link?.code == "folder.foreign" && link?.category == .permission)
        #expect(link?.message.contains("owner \(geteuid()), mode 0777") == true, "\(link?.message ?? "")")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("other")) == [])
        let file = #expect(throws: MigrationError.self) { _ = try WorkDirectory(path: folder.file("file")) }
        #expect(file?.code == "work.create")
    }

    @Test("A folder of one's own that others could write in is theirs no more")
    func writableFolder() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("work")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try #require(chmod(path, 0o1777) == 0)
        let directory = try WorkDirectory(path: path)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
        try directory.remove()
    }

    @Test("A missing parent cannot be created in")
    func missingParent() throws {
        let folder = try TemporaryFolder()
        let error = #expect(throws: MigrationError.self) { _ = try WorkDirectory(path: folder.file("a/b")) }
        #expect(error?.category == .cannotCreate)
    }

    @Test("Names are unique and files go with their owners")
    func names() throws {
        let fixture = try SpillFixture()
        #expect(fixture.directory.file(named: "x") != fixture.directory.file(named: "x"))
        var file: SpillFile? = try SpillFile(directory: fixture.directory, named: "x")
        try [UInt8(1)].withUnsafeBytes { try file?.append($0) }
        #expect(try fixture.files().count == 1)
        file = nil
        #expect(try fixture.files().isEmpty)
        #expect(fixture.directory.bytesHeld == 0)
        #expect(fixture.directory.bytesWritten == 1)
    }

    @Test("A full disk is spill.full, with a remedy")
    func full() throws {
        let fixture = try SpillFixture(calls: FaultyFileCalls(space: 40_000))
        let sorter = RecordSorter(directory: fixture.directory, name: "s", width: 2, memory: 0)
        var random = SeededGenerator(seed: 5)
        let error = #expect(throws: MigrationError.self) {
            for _ in 0..<100_000 { try sorter.append(random.next(), random.next()) }
        }
        #expect(error?.code == "spill.full")
        #expect(error?.category == .io)
        #expect(error?.remedy?.contains("--work-dir") == true)
        #expect(error?.context.path?.hasSuffix(".spill") == true)
    }
}
