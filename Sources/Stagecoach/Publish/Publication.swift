import Archives
import CSQLite
import Diagnostics
import Foundation
import ManagedModel
import PersistentStore

/// The end of a load: triggers made, metadata and cached model written.
struct Publication {
    let session: MigrationSession
    /// Of the store.
    let uuid: String

    /// Completes the private store and closes it, synced.
    ///
    /// - Parameter highest: Z_MAX by destination table.
    /// - Throws: `store.…`.
    func finish(_ destination: DestinationStore, highest: [Int64]) throws {
        session.progress.begin(.publish)
        try destination.createTriggers()
        try destination.finish(
            metadata: try metadata(), maximumKeys: highest,
            modelCache: try ModelCache.encode(session.destinationSchema.model))
    }

    private func metadata() throws(MigrationError) -> DestinationMetadata {
        let old = session.source.metadata
        let model = session.destinationSchema.model
        var hashes: [String: [UInt8]] = [:]
        for (name, hash) in VersionHash.entityHashes(of: model) {
            switch hash {
            case .known(let bytes): hashes[name] = bytes
            case .unknown:
                // Never invented; a source entity that is the same to the last property has the right bytes.
                if let bytes = old.versionHashes[name], isUnchanged(name) { hashes[name] = bytes }
            }
        }
        return DestinationMetadata(
            uuid: uuid, sourceProperties: old.propertyList, versionHashes: hashes,
            versionIdentifiers: model.versionIdentifiers)
    }

    private func isUnchanged(_ name: String) -> Bool {
        session.layout.schema.model.entity(named: name)?.definition
            == session.destinationSchema.model.entity(named: name)?.definition
    }
}

/// Reads the finished file once more before it is published.
struct PublicationCheck {
    let session: MigrationSession
    /// - Throws: `internal.publication` (70) where the file does not hold what was written, or SQLite finds it damaged.
    func run(_ path: String) throws(MigrationError) {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let schema = session.destinationSchema
        for (table, expected) in zip(
            schema.tables.map(\.name) + schema.joinTables.map(\.name), session.rowsWritten + session.linksWritten)
        {
            let found = try connection.integer("SELECT count(*) FROM \(table)") ?? -1
            guard found == expected else {
                throw failure("Table \(table) of the finished store has \(found) rows, \(expected) were written", path)
            }
        }
        if let free = try connection.integer("PRAGMA freelist_count"), free != 0 {
            throw failure("The finished store has \(free) unused pages", path)
        }
        if session.options.fullCheck {
            let check = try connection.prepare("PRAGMA integrity_check(1)")
            guard try check.step(), check.text(0) == "ok" else {
                throw failure("SQLite's integrity check says: \(check.text(0) ?? "nothing")", path)
            }
        }
    }

    private func failure(_ message: String, _ path: String) -> MigrationError {
        MigrationError("internal.publication", .internal, message, context: .init(path: path))
    }
}

/// Wall and processor seconds since it was made.
struct RunClock {
    private let wall = ContinuousClock.now
    private let processor = RunClock.processorNow

    var seconds: Double {
        let passed = wall.duration(to: .now).components
        return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
    }
    var processorSeconds: Double { RunClock.processorNow - processor }

    private static var processorNow: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// Sizes of files.
enum FileSize {
    static func bytes(of path: String) throws(MigrationError) -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw MigrationError(
                "store.io", .io, "Reading the file's size failed: \(String(cString: strerror(errno)))",
                context: .init(path: path))
        }
        return Int(status.st_size)
    }
}
