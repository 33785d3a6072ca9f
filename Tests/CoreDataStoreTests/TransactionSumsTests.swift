import Diagnostics
import Foundation
import SpillStorage
import TestSupport
import Testing

@testable import CoreDataStore

/// A database with checksums, as a process leaves it that is killed within a transaction.
@Suite("Sums over a killed transaction")
struct TransactionSumsTests {
    /// A database in whose transaction pages were written, and copies of its files as they were.
    private final class Killed {
        let folder: TemporaryFolder
        let path: String
        static let endings = ["", "-journal", "-sums", "-sums-before"]
        private(set) var before: [String: Data] = [:]
        private(set) var within: [String: Data] = [:]
        private(set) var committed: [String: Data] = [:]

        /// - Parameter mode: SQLite's journal mode.
        init(mode: String) throws {
            folder = try TemporaryFolder()
            path = folder.file("a.sqlite")
            let vfs = WorkVFS(temporaryDirectory: folder.path)
            defer { vfs.close() }
            try FileSums.begin(path)
            let connection = try Connection(path: path, vfs: vfs.name)
            connection.trustFile()
            try connection.execute(
                """
                PRAGMA page_size=4096; PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=\(mode);
                PRAGMA synchronous=FULL; PRAGMA cache_size=8;
                CREATE TABLE a (x INTEGER PRIMARY KEY, y); CREATE TABLE b (x);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
                INSERT INTO a SELECT i, printf('%.1000c', 'a') FROM n;
                """)
            before = try files()
            try connection.execute(
                """
                BEGIN; INSERT INTO b VALUES (1); UPDATE a SET y = printf('%.1000c', 'b');
                """)
            within = try files()
            try connection.execute("COMMIT")
            committed = try files()
            try connection.close()
        }

        private func files() throws -> [String: Data] {
            try Self.endings.reduce(into: [:]) { files, ending in
                guard FileManager.default.fileExists(atPath: path + ending) else { return }
                files[ending] = try Data(contentsOf: URL(fileURLWithPath: path + ending))
            }
        }
    }

    /// Puts files back, as a later process finds them.
    private func restore(_ files: [String: Data], _ killed: Killed) throws {
        for ending in Killed.endings + ["-sums-rollback"] {
            try? FileManager.default.removeItem(atPath: killed.path + ending)
            try files[ending]?.write(to: URL(fileURLWithPath: killed.path + ending))
        }
    }

    /// Rolls back, checks, and returns the number of rows that have the transaction's value.
    private func rolledBack(_ killed: Killed) throws -> Int64? {
        let vfs = WorkVFS(temporaryDirectory: killed.folder.path)
        defer { vfs.close() }
        let changed = try FileSums.rollingBack(killed.path) {
            let connection = try Connection(path: killed.path, vfs: vfs.name)
            defer { try? connection.close() }
            return try connection.integer("SELECT count(*) FROM a WHERE y LIKE 'b%'")
        }
        try FileSums.check(killed.path)
        return changed
    }

    @Test("Rolled back, or ended, the file matches its sums", arguments: ["TRUNCATE", "DELETE"])
    func sound(mode: String) throws {
        let killed = try Killed(mode: mode)
        #expect(try #require(killed.within["-journal"]).count > 100_000)
        #expect(try #require(killed.within["-sums-before"]).count > 1000)
        try restore(killed.within, killed)
        #expect(try rolledBack(killed) == 0)
        // Killed between the end of the transaction and that of its old checksums.
        try restore(killed.committed.merging(["-sums-before": killed.within["-sums-before"] ?? Data()]) { $1 }, killed)
        #expect(try rolledBack(killed) == 500)
    }

    @Test("A second process, killed while it rolled back, changes nothing", arguments: ["TRUNCATE", "DELETE"])
    func again(mode: String) throws {
        let killed = try Killed(mode: mode)
        var files = killed.within
        files["-sums-rollback"] = files.removeValue(forKey: "-sums-before")
        // What it noted itself, of blocks that were half rolled back.
        let noted: [UInt64] = (1...10).flatMap { [$0, 99] }
        files["-sums-before"] = noted.withUnsafeBytes { Data($0) }
        try restore(files, killed)
        #expect(try rolledBack(killed) == 0)
    }

    @Test("A journal and old sums that both lie give damage, or the file as it was", arguments: RandomSeeds.seeds(30))
    func lies(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let killed = try Killed(mode: "TRUNCATE")
        var files = killed.within
        var journal = try #require(files["-journal"])
        var sums = try #require(files["-sums-before"])
        // SQLite itself checks few bytes of a page.
        journal[generator.below(journal.count)] ^= UInt8(1 << generator.below(8))
        let place = generator.below(sums.count)
        for at in place..<min(sums.count, place + 64) { sums[at] = UInt8(truncatingIfNeeded: generator.next()) }
        (files["-journal"], files["-sums-before"]) = (journal, sums)
        try restore(files, killed)
        if failure({ _ = try rolledBack(killed) }) == nil {
            #expect(try Data(contentsOf: URL(fileURLWithPath: killed.path)) == killed.before[""])
        }
    }

    @Test(
        "Without its journal, the file is told from a sound one",
        arguments: ["TRUNCATE", "DELETE"], [["-journal"], ["-journal", "-sums-before"], ["-sums-before"]])
    func lost(mode: String, endings: [String]) throws {
        let killed = try Killed(mode: mode)
        for cut in [false, true] {
            var files = killed.within
            for ending in endings { files[ending] = cut ? Data() : nil }
            try restore(files, killed)
            #expect(failure { _ = try rolledBack(killed) } != nil, "cut: \(cut)")
        }
    }
}
