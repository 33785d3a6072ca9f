import CSQLite
import CoreDataStore
import Diagnostics
import Foundation

/// The files of one store: the database, its journals, and the folder of its external values.
struct StoreFiles {
    let path: String

    private var support: String { ExternalFolder(store: path).support }
    private var journals: [String] { ["-wal", "-shm", "-journal"].map { path + $0 } }

    /// Removes all files of the store that exist. Throws `destination.io` (74), `destination.permission` (77).
    func remove() throws(MigrationError) {
        for file in journals + [path, support] { try Self.remove(file) }
    }

    /// Copies the committed state of another store here, with its external values. The store that was here, if any, is
    /// replaced once the copy is complete.
    ///
    /// - Throws: errors of opening the other store (65, 66, 74, 77); `store.full`, `store.io` (74),
    ///   `destination.permission` (77). The store that was here is unchanged then.
    func replace(byCopyOf other: StoreFiles) throws {
        guard try !DestinationPath.isSameFile(path, other.path) else { return }
        let place = DestinationPath(path: path)
        let area = "\(place.folder)/.\(place.name).stagecoach-copy-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: area, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: area) }
        let copy = StoreFiles(path: "\(area)/\(place.name)")
        let store = try SourceStore(
            path: other.path, cacheBytes: 256 << 10, valueLimit: 1 << 20, temporaryDirectory: nil)
        try store.copy(to: copy.path) {}
        try store.close()
        if try DestinationPath.status(other.support) != nil {
            try FileManager.default.copyItem(atPath: other.support, toPath: copy.support)
        }
        try take(copy, keepingOldIn: area)
        try DestinationPath.synchronize(folder: place.folder)
    }

    /// Moves the files of another store here. Files that were here are moved into a folder before, and back if the move fails.
    private func take(_ other: StoreFiles, keepingOldIn area: String) throws {
        if try DestinationPath.status(path) != nil, let old = try? Connection(path: path, flags: SQLITE_OPEN_READWRITE)
        {
            // Transactions in a journal belong to the old database only.
            try? old.execute("PRAGMA journal_mode=DELETE")
            try? old.close()
        }
        let manager = FileManager.default
        var moved: [(from: String, to: String)] = []
        func move(_ from: String, _ to: String) throws {
            guard try DestinationPath.status(from) != nil else { return }
            try manager.moveItem(atPath: from, toPath: to)
            moved.append((from, to))
        }
        do {
            for (number, file) in (journals + [path, support]).enumerated() { try move(file, "\(area)/old-\(number)") }
            try move(other.support, support)
            try move(other.path, path)
        } catch {
            for (from, to) in moved.reversed() { try? manager.moveItem(atPath: to, toPath: from) }
            throw error
        }
    }

    private static func remove(_ path: String) throws(MigrationError) {
        guard try DestinationPath.status(path) != nil else { return }
        do { try FileManager.default.removeItem(atPath: path) } catch {
            let number = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError)?.code ?? 0
            throw .writing(
                "Removing a store", path: path, otherwise: "destination.io", number: Int32(truncatingIfNeeded: number))
        }
    }
}
