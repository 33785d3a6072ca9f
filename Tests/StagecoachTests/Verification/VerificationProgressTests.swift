import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import Testing

@testable import Stagecoach

/// A verification says how far it is, and ends when it is asked to, in the middle of a statement too.
@Suite("Progress of a verification") struct VerificationProgressTests {
    private func open() throws -> Connection {
        try Connection(path: ":memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    }

    /// A statement of so many rows, of some ten steps each.
    private func count(_ rows: Int) -> String {
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < \(rows)) SELECT count(*) FROM c"
    }

    @Test("The progress has a total before the comparison, and reaches it at the end")
    func total() throws {
        let store = try VerificationStore()
        let migration = store.migration(to: store.destinationPath, store.options)
        #expect(migration.progress.snapshot.phase == .opening)
        #expect(try VerificationStore.verify(migration).isEqual)
        let last = migration.progress.snapshot
        #expect(last.phase == .verify && last.totalRows > 0 && last.rows == last.totalRows, "\(last)")
    }

    @Test("A verification that is over holds nothing")
    func released() throws {
        let store = try VerificationStore()
        weak var progress: ProgressCounter?
        func verify() throws {
            let counter = ProgressCounter()
            progress = counter
            let migration = Migration(
                from: store.sourcePath, model: store.source, mapping: store.mapping, to: store.destinationPath,
                model: store.destination, options: store.options, progress: counter)
            #expect(try VerificationStore.verify(migration).isEqual)
        }
        try verify()
        #expect(progress == nil)
    }

    @Test("Steps of SQLite's machine move a part on, up to its share; its end moves it there")
    func pulses() throws {
        let counter = ProgressCounter()
        let progress = VerificationProgress(counter, cancellation: CancellationFlag())
        let connection = try open()
        connection.interrupt(when: progress.pulse)
        progress.begin(rows: 1_000_000, reads: 1_000_000)
        // Before a part begins there is nothing to be moved.
        _ = try connection.integer(count(100_000))
        #expect(counter.snapshot.rows == 0)
        try progress.part(600_000) {
            _ = try connection.integer(count(200_000))
            let now = counter.snapshot.rows
            #expect(now > 0 && now < 600_000)
            _ = try connection.integer(count(200_000))
            #expect(counter.snapshot.rows > now)
        }
        #expect(counter.snapshot.rows == 600_000)
        try progress.part(1000) {
            _ = try connection.integer(count(200_000))
            #expect(counter.snapshot.rows == 601_000)
        }
        // A part of parts has no share of its own.
        try progress.part(0) {
            try progress.part(199_000) {}
            try progress.part(200_000) {}
        }
        #expect(counter.snapshot.rows == 1_000_000)
    }

    @Test("A wish to stop ends a statement that would never end, with the wish's own error", .timeLimit(.minutes(1)))
    func stops() throws {
        struct Wish: Error {}
        let cancellation = CancellationFlag()
        let progress = VerificationProgress(ProgressCounter(), cancellation: cancellation)
        let connection = try open()
        connection.interrupt(when: progress.pulse)
        progress.begin(rows: 10, reads: 10)
        Thread.detachNewThread {
            usleep(50_000)
            cancellation.cancel(Wish())
        }
        #expect(throws: Wish.self) { try progress.part(10) { try connection.integer(count(.max)) } }
    }

    @Test("An error without a wish to stop is thrown unchanged")
    func otherErrors() throws {
        let progress = VerificationProgress(ProgressCounter(), cancellation: CancellationFlag())
        progress.begin(rows: 1, reads: 1)
        let connection = try open()
        let error = #expect(throws: MigrationError.self) { try progress.part(1) { try connection.execute("nonsense") } }
        #expect(error?.code == "store.sqlite")
    }
}
