import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The associations that a migration manager keeps between calls, in a work directory of its own that is removed with it.
final class AssociationMemory {
    let archive: AssociationArchive
    private let directory: WorkDirectory
    private let source: FileIdentity
    private let destinationPath: String
    /// The identity of the destination after the last call; nil before.
    private var destination: FileIdentity?

    /// The attributes that tell whether a file is unchanged.
    private struct FileIdentity: Equatable {
        let device: UInt
        let inode: UInt
        let size: Int
        let changed: [Int]

        /// - Throws: `destination.io` (74), `destination.permission` (77).
        init?(_ path: String) throws(MigrationError) {
            guard let status = try DestinationPath.status(path, followsLinks: true) else { return nil }
            device = UInt(status.st_dev)
            inode = UInt(status.st_ino)
            size = Int(status.st_size)
            changed = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        }

        func isSameFile(as other: FileIdentity) -> Bool { device == other.device && inode == other.inode }
    }

    private init(source: FileIdentity, destinationPath: String, folder: String) throws(MigrationError) {
        self.source = source
        self.destinationPath = destinationPath
        directory = try WorkDirectory(path: "\(folder)/.stagecoach-\(UUID().uuidString)")
        archive = AssociationArchive(directory: directory)
    }

    deinit {
        // If removal fails, the directory is removed with the folder for temporary files.
        try? directory.remove()
    }

    /// Returns the associations that a call may look up. These are the previous ones if the call has the same source and
    /// destination and the destination still exists; otherwise the result is empty.
    ///
    /// - Parameter workDirectory: the folder for the association tables; nil for the folder for temporary files.
    /// - Throws: `manager.destinationChanged` (65) if another process has written the destination since, because its objects
    ///   may not be the associated ones; `work.create` (73).
    static func forCall(
        after last: AssociationMemory?, from source: String, to destination: String, workDirectory: String?
    ) throws(MigrationError) -> AssociationMemory {
        guard let identity = try FileIdentity(source) else {
            throw MigrationError(
                "store.notFound", .noInput, "There is no store at the source", context: .init(path: source))
        }
        if let last, last.source.isSameFile(as: identity), last.destinationPath == destination,
            !last.archive.mappings.isEmpty, let now = try FileIdentity(destination)
        {
            guard now == last.destination else {
                throw MigrationError(
                    "manager.destinationChanged", .data,
                    "The destination was changed since this manager migrated to it: its associations may not hold any more",
                    remedy: "Call reset() on the manager", context: .init(path: destination))
            }
            return last
        }
        return try AssociationMemory(
            source: identity, destinationPath: destination,
            folder: workDirectory ?? FileManager.default.temporaryDirectory.path)
    }

    /// Ends a successful call and moves its associations to disk.
    func endCall() throws(MigrationError) {
        destination = try FileIdentity(destinationPath)
        try archive.park()
    }
}
