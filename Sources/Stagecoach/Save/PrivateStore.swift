import Diagnostics
import Glibc
import PersistentStore
import SpillStorage

/// The store that a run fills, in its work area: fresh, or a copy of the one that is appended to.
final class PrivateStore {
    let path: String
    private(set) var destination: DestinationStore
    private let checkpointPath: String
    private let cacheBytes: Int
    private let vfs: String
    private let cancellation: CancellationFlag

    /// Makes or opens the store.
    ///
    /// - Parameters:
    ///   - isAppended: whether the copy of a store stands there.
    ///   - state: of a store that a killed run filled.
    init(
        in area: WorkArea, session: MigrationSession, isAppended: Bool, resuming state: RunRecord.State? = nil
    ) throws(MigrationError) {
        path = area.storePath
        checkpointPath = area.checkpointPath
        cacheBytes = session.budget.destinationCache
        vfs = area.vfsName
        cancellation = session.cancellation
        let checkpoints = session.checkpoints
        if let state {
            // A table that is being filled is checked when it is gone on with: what was written behind the state goes then.
            try FileSums.check(path, upTo: state.fill == nil ? .max : FileSums.block, copiedFrom: checkpoints?.original)
            destination = try DestinationStore(
                resuming: path, schema: session.destinationSchema, knowledge: state.knowledge, stamp: state.stamp,
                cacheBytes: cacheBytes, vfs: vfs)
            interruptible()
            return
        }
        if checkpoints?.isResumable ?? false {
            try FileSums.begin(path, noting: isAppended ? .firstBlock : .nothing)
        }
        destination =
            try isAppended
            ? DestinationStore(
                appendingTo: path, schema: session.destinationSchema, cacheBytes: cacheBytes, vfs: vfs)
            : DestinationStore(
                creating: path, schema: session.destinationSchema, cacheBytes: cacheBytes,
                permissions: FilePermissions(ofSource: session.source.path).work, vfs: vfs)
        interruptible()
    }

    /// Lets long statements end where the run is cancelled.
    private func interruptible() {
        let cancellation = cancellation
        destination.connection.interrupt { cancellation.error != nil }
    }

    /// Copies the store as it is, to go back to it once.
    ///
    /// - Throws: `store.full`, `store.io`, `spill.io` (74); the cancellation.
    /// - Complexity: O(1) where the file system shares blocks, else O(bytes).
    func checkpoint(_ session: MigrationSession) throws -> DestinationStore.Checkpoint {
        let checkpoints = session.checkpoints
        if checkpoints?.resumed != nil {
            guard let before = checkpoints?.before else { throw StateReader.damaged("the store before the load") }
            // Where the load without rejects has begun, it was gone back to.
            if checkpoints?.rejects == nil {
                try FileSums.check(checkpointPath, copiedFrom: checkpoints?.original)
            }
            return destination.checkpoint(at: checkpointPath, knowledge: before.knowledge, stamp: before.stamp)
        }
        // A killed run may have come so far, and gone back behind it.
        try FileSystem.remove(checkpointPath)
        FileSums.remove(of: checkpointPath)
        let checkpoint = try destination.checkpoint(to: checkpointPath) { try session.checkCancelled() }
        // The copy has the number before.
        if checkpoints?.isResumable ?? false { try destination.write(stamp: destination.stamp + 1) }
        checkpoints?.before = RunRecord.Before(knowledge: checkpoint.knowledge, stamp: checkpoint.stamp)
        return checkpoint
    }

    /// Opens the store as it was. The one that was filled since is closed.
    func goBack(to checkpoint: DestinationStore.Checkpoint) throws(MigrationError) {
        destination = try DestinationStore(
            reopening: checkpoint, at: path, schema: destination.schema, cacheBytes: cacheBytes, vfs: vfs)
        interruptible()
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
    }
}
