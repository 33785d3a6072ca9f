import Foundation
import Synchronization

/// A fresh folder that is removed with its contents when the value is released, at the latest when the process exits: closures
/// of a test may hold each other, and the folder with them.
package final class TemporaryFolder: Sendable {
    package let url: URL
    package var path: String { url.path }

    private static let existing = Mutex<Set<URL>>([])
    private static let removalAtExit: Void = {
        atexit { for url in TemporaryFolder.existing.withLock({ $0 }) { try? FileManager.default.removeItem(at: url) } }
    }()

    package init() throws {
        _ = Self.removalAtExit
        url = FileManager.default.temporaryDirectory.appendingPathComponent("stagecoach-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        Self.existing.withLock { _ = $0.insert(url) }
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
        Self.existing.withLock { _ = $0.remove(url) }
    }

    /// The path of a file in the folder.
    package func file(_ name: String) -> String { url.appendingPathComponent(name).path }

    /// Copies a store with its `-wal` and `-shm` into the folder and returns the copy's path.
    package func copyStore(_ source: URL) throws -> String {
        let copy = url.appendingPathComponent(source.lastPathComponent)
        for suffix in ["", "-wal", "-shm"] {
            let from = source.path + suffix
            guard FileManager.default.fileExists(atPath: from) else { continue }
            try FileManager.default.copyItem(atPath: from, toPath: copy.path + suffix)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path + suffix)
        }
        return copy.path
    }
}
