import CoreDataStore
import Diagnostics
import Glibc
import ManagedModel
import Rows
import SpillStorage

/// The import of a store of type XML or binary into a private SQLite store of the same model, with the same identifier,
/// metadata and version hashes. The number of an object becomes its key.
///
/// Memory: the allowance, and a page cache of 1 MiB.
package struct PrivateStoreImport {
    /// A store that was imported.
    package struct Result: Sendable {
        /// The private store, to be read in the place of the original.
        package let standIn: StandInStore
        package let header: AtomicStoreHeader
        /// The number of objects.
        package let objects: Int
        /// The highest number of each table, if those of each table follow those of the table before; nil if they do not.
        package let bounds: [Int64]?
    }

    private let path: String
    private let format: StoreFormat
    private let directory: WorkDirectory
    private let memory: Int
    private let bounds: [Int64]
    private let checkCancelled: () throws(MigrationError) -> Void

    /// - Parameters:
    ///   - path: the store; it is only read.
    ///   - directory: takes the private store and the files of sorting.
    ///   - memory: the allowance in bytes; 4 MiB are used at least.
    ///   - bounds: those of the same store, if its numbers are not keys but follow those of the table before.
    package init(
        _ path: String, format: StoreFormat, directory: WorkDirectory, memory: Int, bounds: [Int64] = [],
        checkCancelled: @escaping () throws(MigrationError) -> Void
    ) {
        self.path = path
        self.format = format
        self.directory = directory
        self.memory = max(4 << 20, memory)
        self.bounds = bounds
        self.checkCancelled = checkCancelled
    }

    /// Imports the store.
    ///
    /// - Parameters:
    ///   - store: the path of the private store, where no file exists.
    ///   - chooseModel: finds the model that wrote a store, by its header.
    /// - Throws: the errors of reading the store, all of the data (65); `store.otherModel`, `model.namesDifferByCase`,
    ///   `store.unprovenType` (78); `store.moved` (75) if another process wrote meanwhile.
    /// - Complexity: O(n log n) in objects and links.
    package func run(
        to store: String, chooseModel: (AtomicStoreHeader) throws(MigrationError) -> ManagedObjectModel
    ) throws(MigrationError) -> Result {
        do throws(MigrationError) {
            return try importing(to: store, chooseModel)
        } catch {
            unlink(store)
            throw error.inside(.init(path: path))
        }
    }

    private func importing(
        to target: String, _ chooseModel: (AtomicStoreHeader) throws(MigrationError) -> ManagedObjectModel
    ) throws(MigrationError) -> Result {
        let before = try StandInStore.fingerprint(of: path)
        let header: AtomicStoreHeader
        let intake: ObjectIntake
        var notes: [String] = []
        switch format {
        case .sqlite: preconditionFailure("a store of type SQLite is read as it is")
        case .xml:
            let reader = try XMLStoreReader(
                path: path, valueLimit: memory / 16, checkCancelled: checkCancelled)
            header = try reader.header()
            intake = try ObjectIntake(
                AtomicModel(try chooseModel(header), folds: true), directory: directory, memory: memory, bounds: bounds)
            let objects = XMLObjectIntake(intake)
            try reader.objects(objects)
            notes += objects.notes
        case .binary:
            let reader = try BinaryStoreReader(
                path: path, valueLimit: memory / 16, checkCancelled: checkCancelled)
            header = try reader.header()
            intake = try ObjectIntake(
                AtomicModel(try chooseModel(header), folds: false), directory: directory, memory: memory, bounds: bounds
            )
            try reader.objects(intake)
        }
        let destination = try DestinationStore(
            creating: target, schema: intake.model.schema, cacheBytes: 1 << 20,
            permissions: FilePermissions(ofSource: path).file,
            vfs: nil)
        do throws(MigrationError) {
            try write(intake, header, to: destination)
        } catch {
            destination.abandon()
            throw error
        }
        guard try StandInStore.fingerprint(of: path) == before else { throw StandInStore.moved(path) }
        let objects = intake.counts.reduce(0, +)
        let example = header.format == .xml ? ": z102 becomes key 102" : ""
        notes.insert(
            "The store is of type \(format.rawValue): its \(objects.counted("object")) are read through a private SQLite "
                + "store, and keep their numbers as keys\(example)", at: 0)
        return Result(
            standIn: StandInStore(path: target, of: path, fingerprint: before, notes: notes), header: header,
            objects: objects, bounds: Self.bounds(intake))
    }

    private static func bounds(_ intake: ObjectIntake) -> [Int64]? {
        var bounds: [Int64] = []
        for (least, greatest) in zip(intake.minimumKeys, intake.maximumKeys) where greatest > 0 {
            guard least > bounds.last ?? 0 else { return nil }
            bounds.append(greatest)
        }
        return bounds
    }

    // MARK: Writing the private store

    private func write(
        _ intake: ObjectIntake, _ header: AtomicStoreHeader, to store: DestinationStore
    ) throws(MigrationError) {
        let links = LinkIntake(intake, store: store, directory: directory, memory: memory)
        try links.checkReferences()
        try checkCancelled()
        try links.writeLinks()
        try writeRows(intake, patches: links.patches, to: store)
        for table in store.schema.tables.indices { try store.createIndexes(table: table) }
        for table in store.schema.joinTables.indices { try store.createIndexes(joinTable: table) }
        try store.createTriggers()
        let model = intake.model.model
        var metadata = DestinationMetadata(
            uuid: header.metadata.uuid, sourceProperties: header.metadata.propertyList,
            versionHashes: VersionHash.entityHashes(of: model).compactMapValues(\.bytes),
            versionIdentifiers: header.metadata.versionIdentifiers)
        metadata.omitsUnknownHashes = true
        try store.finish(
            metadata: metadata, maximumKeys: intake.maximumKeys, modelCache: try ModelCache.encode(model))
    }

    /// Writes the tables' rows in order, each with its patches.
    private func writeRows(
        _ intake: ObjectIntake, patches: RecordSorter, to store: DestinationStore
    ) throws(MigrationError) {
        let rows = try intake.rows.finish()
        let sorted = try patches.finish()
        let patch = UnsafeMutablePointer<UInt64>.allocate(capacity: 4)
        defer { patch.deallocate() }
        var hasPatch = try sorted.next(into: patch)
        var entry = try rows.next()
        for (table, description) in store.schema.tables.enumerated() {
            guard let first = entry, RowEntry.place(of: first).table == table else { continue }
            let writer = try store.tableWriter(table)
            var batch = RowBatch(slots: description.columns.count, rowCapacity: 200, byteTarget: 1 << 17)
            while let next = entry, case let place = RowEntry.place(of: next), place.table == table {
                let row = batch.appendRow(key: place.key)
                RowEntry.fill(&batch, row: row, from: next)
                while hasPatch, patch[0] == UInt64(table), patch[1] == UInt64(place.key) {
                    batch[row, Int(patch[2])] = .integer(Int64(bitPattern: patch[3]))
                    hasPatch = try sorted.next(into: patch)
                }
                if batch.isFull {
                    try writer.append(batch)
                    batch.removeAll()
                    try checkCancelled()
                }
                entry = try rows.next()
            }
            try writer.append(batch)
            try writer.finish()
        }
    }
}
