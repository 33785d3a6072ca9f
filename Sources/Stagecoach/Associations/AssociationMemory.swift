import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// The associations that a migration manager keeps between calls, in a work directory of its own that is removed with it.
final class AssociationMemory {
    let archive: AssociationArchive
    private let directory: WorkDirectory
    private let source: [Int64]
    private let destinationPath: String
    /// The identity of the destination after the last call; nil before.
    private var destination: [Int64]?

    /// Returns a file's identity; nil if there is none. Throws `destination.io` (74), `destination.permission` (77).
    private static func identity(of path: String) throws(MigrationError) -> [Int64]? {
        try DestinationPath.status(path, followsLinks: true).map(DestinationPath.identity)
    }

    private init(source: [Int64], destinationPath: String, folder: String) throws(MigrationError) {
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
        guard let identity = try Self.identity(of: source) else {
            throw MigrationError(
                "store.notFound", .noInput, "There is no store at the source", context: .init(path: source))
        }
        if let last, last.source.prefix(2) == identity.prefix(2), last.destinationPath == destination,
            !last.archive.mappings.isEmpty, let now = try Self.identity(of: destination)
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
        destination = try Self.identity(of: destinationPath)
        try archive.park()
    }
}
