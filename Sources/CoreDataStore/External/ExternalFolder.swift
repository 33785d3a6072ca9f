import Diagnostics
import Glibc

/// The folder of a store's external binary values, `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store, for reading.
///
/// Links are not followed: a folder or file that is a symbolic link is refused.
package struct ExternalFolder: Sendable {
    /// The path of `.NAME_SUPPORT` beside the store.
    package let support: String
    /// The path of `_EXTERNAL_DATA` in it.
    package var path: String { support + "/_EXTERNAL_DATA" }

    /// Makes the value for a store, whether its folder exists or not.
    ///
    /// - Parameter store: the store's path. The folder's name is the store's name without its last ending.
    package init(store: String) {
        let start = store.lastIndex(of: "/").map(store.index(after:)) ?? store.startIndex
        let name = store[start...]
        let end = name.lastIndex(of: ".").flatMap { $0 > start ? $0 : nil } ?? store.endIndex
        support = "\(store[..<start]).\(store[start..<end])_SUPPORT"
    }

    /// Tells whether the folder exists.
    ///
    /// - Throws: `external.io` (74); `external.folder` (65) if something else, such as a symbolic link, has one of the names.
    package func exists() throws(MigrationError) -> Bool {
        for path in [support, path] {
            guard let status = try Self.status(path) else { return false }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw MigrationError(
                    "external.folder", .data, "The place of external binary data is no folder of its own",
                    remedy: "Put the folder itself there, not a symbolic link to it", context: .init(path: path))
            }
        }
        return true
    }

    /// Returns the path of a file.
    package func path(of reference: ExternalReference) -> String { "\(path)/\(reference.name)" }

    /// Tells whether a file exists under the reference's name.
    ///
    /// - Throws: `external.io` (74).
    package func holds(_ reference: ExternalReference) throws(MigrationError) -> Bool {
        try Self.status(path(of: reference)) != nil
    }

    /// Returns the status of a path itself, without following links; nil if nothing exists there.
    private static func status(_ path: String) throws(MigrationError) -> stat? {
        do throws(FileBytes.Failure) {
            return try FileBytes.status(path, followsLinks: false)
        } catch {
            throw MigrationError(
                "external.io", .io, "Looking for external binary data failed: \(error)", context: .init(path: path))
        }
    }

    /// Opens a file.
    ///
    /// - Returns: nil if there is none.
    /// - Throws: the errors of opening, `external.folder`.
    package func file(_ reference: ExternalReference) throws(MigrationError) -> ExternalFile? {
        guard try holds(reference), try exists() else { return nil }
        return try ExternalFile(path: path(of: reference))
    }
}
