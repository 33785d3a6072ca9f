import Archives
import CSQLite
import CoreDataStore
import Diagnostics
import Foundation
import ManagedModel
import Mapping

/// The end of a load: triggers are made, metadata and the cached model are written. An appended store already has them.
struct Publication {
    let session: MigrationSession
    /// The UUID of the store.
    let uuid: String
    /// True if the rows were added to an existing store at the destination.
    let isAppended: Bool
    /// The history to carry over; nil for none.
    let history: HistoryCopy?

    /// Completes the private store, syncs it and closes it.
    ///
    /// - Throws: `store.…`.
    func finish(_ destination: DestinationStore) throws {
        session.begin(.publish)
        guard !isAppended else { return try destination.finishAppending(maximumKeys: session.highestKeys) }
        try destination.createTriggers()
        try destination.finish(
            metadata: try metadata(), maximumKeys: session.highestKeys,
            modelCache: try ModelCache.encode(
                session.destinationSchema.model.whole, archiver: ArchivingLanguage()), history: history)
    }

    private func metadata() throws(MigrationError) -> DestinationMetadata {
        let old = session.source.metadata
        let model = session.destinationSchema.model
        var metadata = DestinationMetadata(
            uuid: uuid, sourceProperties: old.propertyList,
            versionHashes: Self.versionHashes(of: model, from: old, session.layout.schema.model),
            versionIdentifiers: model.versionIdentifiers)
        metadata.omitsUnknownHashes = session.options.unknownHashes == .omit
        return metadata
    }

    /// Returns the version hashes of a destination that are known: computed, stated by a compiled model, or taken from a source
    /// entity that is the same to the last property. They are never invented.
    static func versionHashes(
        of model: ManagedObjectModel, from old: StoreMetadata, _ source: ManagedObjectModel
    ) -> [String: [UInt8]] {
        var hashes: [String: [UInt8]] = [:]
        for (name, hash) in VersionHash.entityHashes(of: model) {
            switch hash {
            case .known(let bytes): hashes[name] = bytes
            case .unknown:
                guard let bytes = old.versionHashes[name], !bytes.isEmpty,
                    let before = source.entity(named: name), let now = model.entity(named: name)
                else { continue }
                // Inherited properties and the elements of composites are part of the hash too.
                let isUnchanged =
                    lineage(before) == lineage(now)
                    && source.definition.composites == model.definition.composites
                if isUnchanged { hashes[name] = bytes }
            }
        }
        return hashes
    }

    /// Returns the definitions of an entity and of all its superentities.
    private static func lineage(_ entity: EntityDescription) -> [EntityDefinition] {
        sequence(first: entity, next: \.superentity).map(\.definition)
    }
}

extension Migration {
    /// Returns the names of the entities of a fresh destination whose version hashes only Core Data can compute.
    func unknownHashes(_ prepared: Prepared) -> [String] {
        let known = Publication.versionHashes(
            of: destinationModel, from: prepared.source.metadata, prepared.layout.schema.model)
        return destinationModel.entities.map(\.definition.name).filter { known[$0] == nil }.sorted()
    }

    /// Refuses a destination with unknown version hashes, unless they may be left out, and a destination with unknown columns.
    /// Nothing has been written yet.
    ///
    /// - Throws: `metadata.missingHash`, `model.unstorableAttribute` (78).
    func checkHashes(_ prepared: Prepared, appends: Bool) throws(MigrationError) {
        if !appends { try prepared.schema.refuseUnstorable(destinationPath) }
        guard !appends, options.unknownHashes == .refuse, let first = unknownHashes(prepared).first else { return }
        let reason = destinationModel.unknownHashReason(ofEntity: first).map { " (\($0))" } ?? ""
        throw MigrationError(
            "metadata.missingHash", .configuration,
            "The version hash of this entity is known to Core Data only" + reason,
            remedy:
                "Give the destination model as a compiled .momd, whose VersionInfo.plist holds the hashes, or as a store "
                + "of that version, whose metadata hold them, or leave them out with --unknown-hashes omit",
            context: .init(entity: first))
    }
}

/// The check of the finished file, which is read once more before it is published.
struct PublicationCheck {
    let session: MigrationSession
    /// True if the rows were added to an existing store at the destination.
    let isAppended: Bool

    /// - Throws: `internal.publication` (70) if the file does not hold the written rows, or SQLite finds it damaged.
    func run(_ path: String) throws(MigrationError) {
        let connection = try Connection(path: path, flags: SQLITE_OPEN_READONLY)
        let cancellation = session.cancellation
        connection.interrupt { cancellation.error != nil }
        let schema = session.destinationSchema
        let tables = schema.tables.map(\.name) + schema.joinTables.map(\.name)
        let old = session.existingRows + session.existingLinks
        let written = session.rowsWritten + session.linksWritten
        let rows = try PublishedRows(path, connection)
        for (index, table) in tables.enumerated() {
            let found: Int64
            do throws(MigrationError) {
                found = try rows.count(table)
            } catch {
                guard error.code == "store.damaged" else { throw error }
                throw failure("The finished store cannot be read: \(error.message)", path)
            }
            guard found == old[index] + written[index] else {
                throw failure(
                    "Table \(table) of the finished store has \(found) rows, it had \(old[index]) and \(written[index]) were written",
                    path)
            }
        }
        // An appended store may have had unused pages before.
        if !isAppended, let free = try connection.integer("PRAGMA freelist_count"), free != 0 {
            throw failure("The finished store has \(free) unused pages", path)
        }
        if session.options.fullCheck {
            let check = try connection.prepare("PRAGMA integrity_check(1)")
            guard try check.step(), check.text(0) == "ok" else {
                let answer = check.text(0) ?? "nothing"
                // A page that could not be read is no damage. SQLite reports the number of its own error in the text.
                if let number = answer.firstMatch(of: /error code=([0-9]+)/).flatMap({ Int32($0.1) }),
                    number & 0xff == SQLITE_IOERR
                {
                    throw MigrationError(
                        "store.io", .io,
                        "Reading the store failed: \(String(cString: strerror(EIO))) (SQLite \(number))",
                        context: .init(path: path))
                }
                throw failure("SQLite's integrity check says: \(answer)", path)
            }
        }
    }

    private func failure(_ message: String, _ path: String) -> MigrationError {
        MigrationError("internal.publication", .internal, message, context: .init(path: path))
    }
}

/// A clock of the wall and processor seconds since its creation.
package struct RunClock {
    private let wall = ContinuousClock.now
    private let processor = RunClock.processorNow

    package init() {}

    package var seconds: Double {
        let passed = wall.duration(to: .now).components
        return Double(passed.seconds) + Double(passed.attoseconds) / 1e18
    }
    package var processorSeconds: Double { RunClock.processorNow - processor }

    private static var processorNow: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// The sizes of files.
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
