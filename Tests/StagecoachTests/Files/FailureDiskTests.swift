import Diagnostics
import Foundation
import Stagecoach
import TestSupport
import Testing

@Suite(
    "Failures: full and read-only disks", .enabled(if: SmallDisk.isPossible, "mounting a small disk needs root"),
    .serialized)
struct FailureDiskTests {
    /// The way through the engine, and the size of the disk: too small for the first page, for rows, for indexes.
    static let cases: [(isStaged: Bool, kilobytes: Int)] = [false, true].flatMap { isStaged in
        [4, 64, 256, 700, 1024].map { (isStaged, $0) }
    }

    @Test("A full disk at the destination ends the run as an I/O error", arguments: cases)
    func destinationFull(isStaged: Bool, kilobytes: Int) throws {
        let fixture = try FailureFixture(books: 4000, textLength: 400)
        let disk = try #require(SmallDisk(bytes: kilobytes << 10))
        fixture.destinationPath = disk.path + "/new.sqlite"
        let (error, changes) = try fixture.ending { try $0.migration($0.options(isStaged: isStaged)).run() }
        #expect(changes == [])
        #expect(error?.category == .io, "\(String(describing: error))")
        #expect(error?.context.path?.hasPrefix(disk.path) == true, "\(String(describing: error))")
        // Work that can be resumed may be left, and nothing else.
        #expect(
            try FailureFixture.contents(of: disk.path).keys.filter { !$0.hasPrefix(".new.sqlite.stagecoach") }.isEmpty)
    }

    @Test(
        "A disk that fills up where only the work directory is ends the run as an I/O error", arguments: [4, 16, 128])
    func workFull(kilobytes: Int) throws {
        let fixture = try FailureFixture(books: 4000, textLength: 400)
        let disk = try #require(SmallDisk(bytes: kilobytes << 10))
        var options = fixture.options(isStaged: true)
        options.workDirectory = disk.path
        options.memoryLimit = 8 << 30
        let (error, changes) = try fixture.ending { try $0.migration(options).run() }
        #expect(changes == [])
        #expect(error?.category == .io, "\(String(describing: error))")
        #expect(error?.context.path?.hasPrefix(disk.path) == true, "\(String(describing: error))")
        #expect(try FailureFixture.contents(of: disk.path).isEmpty)
    }

    @Test("A read-only destination folder is refused before anything is read or written")
    func readOnlyDestination() throws {
        let fixture = try FailureFixture()
        let disk = try #require(SmallDisk(bytes: 65536))
        try #require(disk.makeReadOnly())
        fixture.destinationPath = disk.path + "/new.sqlite"
        #expect(
            try fixture.problems("destination.permission", .cannotCreate, naming: [disk.path, "read-only"]) {
                try $0.migration($0.options()).run()
            } == [])
    }

    @Test("A read-only work folder is refused, and nothing is left at the destination")
    func readOnlyWork() throws {
        let fixture = try FailureFixture()
        let disk = try #require(SmallDisk(bytes: 65536))
        try #require(disk.makeReadOnly())
        var options = fixture.options()
        options.workDirectory = disk.path
        #expect(
            try fixture.problems("spill.permission", .permission, naming: [disk.path]) {
                try $0.migration(options).run()
            } == [])
    }

    @Test("A source on a read-only disk is migrated")
    func readOnlySource() throws {
        let fixture = try FailureFixture()
        let disk = try #require(SmallDisk(bytes: 1 << 20))
        let path = disk.path + "/source.sqlite"
        try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: path)
        try #require(disk.makeReadOnly())
        let report = try Migration(
            from: path, model: fixture.source, mapping: fixture.mapping, to: fixture.destinationPath,
            model: fixture.destination, options: fixture.options()
        ).run()
        #expect(report.counts.created == ["Author": 4, "Book": 40])
        #expect(try FailureFixture.contents(of: disk.path).keys.sorted() == ["source.sqlite"])
    }
}
