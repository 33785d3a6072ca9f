import CoreDataStore
import Diagnostics
import Glibc
import SpillStorage

/// The store that a run fills, in its work area: a new store, or a copy of the store that is appended to.
final class PrivateStore {
    let path: String
    private(set) var destination: DestinationStore
    private let checkpointPath: String
    private let cacheBytes: Int
    private let vfs: String
    private let cancellation: CancellationFlag

    /// Creates or opens the store.
    ///
    /// - Parameters:
    ///   - isAppended: true if the file is a copy of a store that is appended to.
    init(
        in area: WorkArea, run: MigrationRun, resumed: JournalRecord.State?, isAppended: Bool
    ) throws(MigrationError) {
        path = area.storePath
        checkpointPath = area.checkpointPath
        cacheBytes = run.inputs.budget.destinationCache
        vfs = area.vfsName
        cancellation = run.services.cancellation
        if let state = resumed {
            destination = try DestinationStore(
                resuming: path, schema: run.inputs.destinationSchema, knowledge: state.knowledge, stamp: state.stamp,
                cuttingTo: state.filledPages(in: run.inputs.destinationSchema), cacheBytes: cacheBytes, vfs: vfs)
            interruptible()
            return
        }
        destination =
            try isAppended
            ? DestinationStore(
                appendingTo: path, schema: run.inputs.destinationSchema, cacheBytes: cacheBytes, vfs: vfs)
            : DestinationStore(
                creating: path, schema: run.inputs.destinationSchema, cacheBytes: cacheBytes,
                permissions: FilePermissions(ofSource: run.inputs.source.path).file, vfs: vfs)
        interruptible()
    }

    /// Makes long statements end when the run is cancelled.
    private func interruptible() {
        let cancellation = cancellation
        destination.connection.interrupt { cancellation.error != nil }
    }

    /// Returns the copy of the store that the interrupted run made before its load.
    ///
    /// - Throws: `journal.damaged`, `spill.io` (74).
    func keptCopy(_ before: JournalRecord.Before?) throws -> DestinationStore.Checkpoint {
        guard let before else { throw StateReader.damaged("the store before the load") }
        return destination.checkpoint(at: checkpointPath, knowledge: before.knowledge, stamp: before.stamp)
    }

    /// Copies the store, so that the load can return to it.
    ///
    /// - Throws: `store.full`, `store.io`, `spill.io` (74); the cancellation.
    /// - Complexity: O(1) if the file system shares blocks, else O(bytes).
    func copy(_ services: RunServices, _ checkpoints: CheckpointScheduler?) throws -> DestinationStore.Checkpoint {
        // A killed run may have made a copy and then been resumed from an earlier state.
        try FileSystem.remove(checkpointPath)
        let checkpoint = try destination.checkpoint(to: checkpointPath) { try services.checkCancelled() }
        try checkpoints?.keep(copy: checkpoint)
        return checkpoint
    }

    /// Opens the filled store again if a load closed it, so that its links can be read. It is not filled any more.
    func reopenFilled() throws(MigrationError) {
        guard destination.connection.handle == nil else { return }
        destination = try DestinationStore(
            resuming: path, schema: destination.schema, knowledge: destination.knowledge, stamp: destination.stamp,
            cuttingTo: nil, cacheBytes: cacheBytes, vfs: vfs)
        interruptible()
    }

    /// Opens a copy of the copy of the store. The filled store must be closed.
    func goBack(to checkpoint: DestinationStore.Checkpoint) throws {
        destination = try DestinationStore(
            reopening: checkpoint, at: path, schema: destination.schema, cacheBytes: cacheBytes, vfs: vfs
        ) { [cancellation] in if let error = cancellation.error { throw error } }
        interruptible()
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
    }
}
