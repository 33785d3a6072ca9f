import Foundation
import Glibc
import TestSupport
import Testing

/// The inputs that the command refuses: one clear error naming what and where, the documented exit code, nothing touched.
@Suite("Bad input to the built command")
struct CommandBadInputTests {
    /// A folder with a small library, and things that are wrong in many ways.
    private static func folder() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        let source = try Data(contentsOf: URL(fileURLWithPath: try CommandBinary.librarySource()))
        func write(_ name: String, _ data: Data) throws { try data.write(to: URL(fileURLWithPath: folder.file(name))) }
        try write("library.sqlite", source)
        try write("truncated.sqlite", source.prefix(source.count / 3))
        try write("header.sqlite", source.prefix(60))
        try write("empty.sqlite", Data())
        try write("text.sqlite", Data("not a database, but long enough to be one by its size".utf8))
        try write("taken.sqlite", Data("old".utf8))
        try write("damaged.xml", Data("<model><entity name='A'".utf8))
        try write("damaged.json", Data("{ \"formatVersion\": 1, ".utf8))
        try write(
            "foreign.json",
            Data("{ \"formatVersion\": 1, \"entityMappings\": [{ \"sourceEntity\": \"Nobody\" }] }".utf8))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link.sqlite"), withDestinationPath: "library.sqlite")
        try FileManager.default.linkItem(atPath: folder.file("library.sqlite"), toPath: folder.file("hard.sqlite"))
        try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: false)
        return folder
    }

    private static let to = CommandBinary.models

    @Test("A limit without its unit is told in bytes, with the unit that was meant")
    func unit() throws {
        let source = try CommandBinary.librarySource()
        let outcome = try CommandBinary.run([
            "migrate", source, source + ".new", "--to", Self.to, "--memory-limit", "900",
        ])
        #expect(outcome.code == 78 && outcome.messages.contains("The memory limit of 900 bytes"), "\(outcome.messages)")
        #expect(outcome.messages.contains("Did you mean 900M? Give --memory-limit "), "\(outcome.messages)")
    }

    @Test(
        "each is refused with its exit code, naming the file, and changes nothing",
        arguments: [
            ("no file", ["none.sqlite", "new.sqlite"], 66, "none.sqlite"),
            ("a folder", ["folder", "new.sqlite"], 66, "folder"),
            ("an empty file", ["empty.sqlite", "new.sqlite"], 65, "empty.sqlite"),
            ("not a database", ["text.sqlite", "new.sqlite"], 65, "text.sqlite"),
            ("a truncated database", ["truncated.sqlite", "new.sqlite"], 65, "truncated.sqlite"),
            ("a truncated header", ["header.sqlite", "new.sqlite"], 65, "header.sqlite"),
            ("a store of another model", ["library.sqlite", "new.sqlite", "--from", to], 78, "library.sqlite"),
            (
                "a model that does not parse", ["library.sqlite", "new.sqlite", "--to", "damaged.xml"], 78,
                "damaged.xml"
            ),
            (
                "a model that is not there", ["library.sqlite", "new.sqlite", "--to", "no.xcdatamodeld"], 66,
                "no.xcdatamodeld"
            ),
            ("a version that is not there", ["library.sqlite", "new.sqlite", "--to", to + ":9"], 66, "9"),
            (
                "a mapping that does not parse", ["library.sqlite", "new.sqlite", "--mapping", "damaged.json"], 78,
                "damaged.json"
            ),
            (
                "a mapping of other models", ["library.sqlite", "new.sqlite", "--mapping", "foreign.json"], 78,
                "foreign.json"
            ),
            ("a mapping that is not there", ["library.sqlite", "new.sqlite", "--mapping", "no.json"], 66, "no.json"),
            ("a limit too low", ["library.sqlite", "new.sqlite", "--memory-limit", "4M"], 78, "--memory-limit"),
            ("a destination that exists", ["library.sqlite", "taken.sqlite"], 73, "taken.sqlite"),
            ("a destination folder that is not there", ["library.sqlite", "no/new.sqlite"], 73, "no/new.sqlite"),
            ("a destination below a file", ["library.sqlite", "taken.sqlite/new"], 73, "taken.sqlite/new"),
            ("the same path", ["library.sqlite", "library.sqlite"], 64, "library.sqlite"),
            ("the same path, relative", ["library.sqlite", "folder/../library.sqlite"], 64, "library.sqlite"),
            ("the same path by a symbolic link", ["library.sqlite", "link.sqlite"], 64, "link.sqlite"),
            ("the same path by a hard link", ["hard.sqlite", "library.sqlite"], 64, "hard.sqlite"),
            ("the same path, not there", ["none.sqlite", "./none.sqlite"], 64, "none.sqlite"),
            ("the source's -wal", ["library.sqlite", "library.sqlite-wal"], 64, "library.sqlite-wal"),
        ])
    func refused(what: String, arguments: [String], code: Int, named: String) throws {
        let folder = try Self.folder()
        let before = try CommandBinary.contents(of: folder.path)
        let model = arguments.contains("--to") ? [] : ["--to", Self.to]
        let outcome = try CommandBinary.run(["migrate"] + arguments + model, in: folder.path)
        #expect(outcome.code == Int32(code), "\(what): \(outcome.messages)")
        #expect(outcome.output.isEmpty)
        #expect(outcome.messages.hasPrefix("stagecoach: "))
        #expect(outcome.messages.contains(named), "\(outcome.messages)")
        #expect(outcome.messages.split(separator: "\n").count <= 2, "\(outcome.messages)")
        #expect(try CommandBinary.contents(of: folder.path) == before, "\(what)")
    }

    @Test(
        "an unwritable folder is 77",
        .enabled(if: OtherUsers.haveOrdinary, "root writes everywhere and setpriv is missing"))
    func unwritable() throws {
        let folder = try Self.folder()
        let inner = folder.file("folder")
        for path in [folder.path, inner] {
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: path)
        }
        defer {
            for path in [folder.path, inner] {
                try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
            }
        }
        let before = try CommandBinary.contents(of: folder.path)
        let outcome = try CommandBinary.run(
            ["migrate", "library.sqlite", "folder/new.sqlite", "--to", Self.to], in: folder.path,
            through: OtherUsers.through(OtherUsers.ordinary))
        #expect(outcome.code == 77, "\(outcome.messages)")
        #expect(outcome.messages.contains("folder/new.sqlite"))
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }

    @Test(
        "a full disk is 74, and leaves no destination but work that can be resumed",
        .enabled(if: SmallDisk.isUsable, "mounting a small tmpfs needs root"))
    func fullDisk() throws {
        let folder = try Self.folder()
        let before = try CommandBinary.contents(of: folder.path)
        let disk = try SmallDisk(mebibytes: 6)
        let outcome = try CommandBinary.run(
            ["migrate", "library.sqlite", disk.folder.file("new.sqlite"), "--to", Self.to], in: folder.path)
        #expect(outcome.code == 74, "\(outcome.messages)")
        #expect(outcome.messages.contains("new.sqlite"), "\(outcome.messages)")
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: disk.folder.path).allSatisfy {
                $0 == ".new.sqlite.stagecoach"
            })
        #expect(try CommandBinary.contents(of: folder.path) == before)
    }
}

/// A file system of a few MiB on a temporary folder.
final class SmallDisk {
    let folder: TemporaryFolder

    /// - Throws: where nothing can be mounted.
    init(mebibytes: Int) throws {
        folder = try TemporaryFolder()
        try #require(SmallDisk.run("/bin/mount", ["-t", "tmpfs", "-o", "size=\(mebibytes)m", "tmpfs", folder.path]))
    }

    deinit { _ = SmallDisk.run("/bin/umount", [folder.path]) }

    /// True if this process may mount.
    static let isUsable = geteuid() == 0 && (try? SmallDisk(mebibytes: 1)) != nil

    private static func run(_ program: String, _ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
