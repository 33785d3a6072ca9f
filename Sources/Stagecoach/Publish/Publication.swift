import Archives
import CSQLite
import Diagnostics
import Foundation
import ManagedModel
import Mapping
import PersistentStore

/// The end of a load: triggers made, metadata and cached model written. An appended store has them already.
struct Publication {
    let session: MigrationSession
    /// Of the store.
    let uuid: String
    /// Whether the rows were added to a store that stood at the destination.
    let isAppended: Bool
    /// Nil: none is carried over.
    let history: HistoryCopy?

    /// Completes the private store and closes it, synced.
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

    /// The version hashes of a destination, as far as they are known: computed, or stated by a compiled model, or those of a
    /// source entity that is the same to the last property. They are never invented.
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
                // An inherited property and a composite's elements enter the hash as well.
                let isUnchanged =
                    lineage(before) == lineage(now)
                    && source.definition.composites == model.definition.composites
                if isUnchanged { hashes[name] = bytes }
            }
        }
        return hashes
    }

    /// The definitions of an entity and of all above it.
    private static func lineage(_ entity: EntityDescription) -> [EntityDefinition] {
        sequence(first: entity, next: \.superentity).map(\.definition)
    }
}

extension Migration {
    /// Entities of a fresh destination whose version hashes only Core Data can compute; by name.
    func unknownHashes(_ prepared: Prepared) -> [String] {
        let known = Publication.versionHashes(
            of: destinationModel, from: prepared.source.metadata, prepared.layout.schema.model)
        return destinationModel.entities.map(\.definition.name).filter { known[$0] == nil }.sorted()
    }

    /// Refuses such a destination before anything is written, unless it may lack them, and one whose columns are not known.
    ///
    /// - Throws: `metadata.missingHash`, `model.unstorableAttribute` (78).
    func checkHashes(_ prepared: Prepared, appends: Bool) throws(MigrationError) {
        if !appends { try prepared.schema.refuseUnstorable(destinationPath) }
        guard !appends, options.unknownHashes == .refuse, let first = unknownHashes(prepared).first else { return }
        let reason = destinationModel.unknownHashReason(ofEntity: first).map { " (\($0))" } ?? ""
        throw MigrationError(
            "metadata.missingHash", .configuration,
            "The version hash of an entity with derived or composite attributes is known to Core Data only" + reason,
            remedy:
                "Give the destination model as a compiled .momd, whose VersionInfo.plist holds the hashes, or as a store "
                + "of that version, whose metadata hold them, or leave them out with --unknown-hashes omit",
            context: .init(entity: first))
    }
}

/// Reads the finished file once more before it is published.
struct PublicationCheck {
    let session: MigrationSession
    /// Whether the rows were added to a store that stood at the destination.
    let isAppended: Bool

    /// - Throws: `internal.publication` (70) where the file does not hold what was written, or SQLite finds it damaged.
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
        // An appended store may have had unused pages.
        if !isAppended, let free = try connection.integer("PRAGMA freelist_count"), free != 0 {
            throw failure("The finished store has \(free) unused pages", path)
        }
        if session.options.fullCheck {
            let check = try connection.prepare("PRAGMA integrity_check(1)")
            guard try check.step(), check.text(0) == "ok" else {
                let answer = check.text(0) ?? "nothing"
                // A page that could not be read is no damage: SQLite reports its own error's number in the text.
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

/// Wall and processor seconds since it was made.
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
