import Diagnostics
import Glibc
import SpillStorage

/// The folder of a store's external binary values, `.NAME_SUPPORT/_EXTERNAL_DATA` beside the store, for reading.
///
/// Links are not followed: a folder or file that is a symbolic link is refused.
package struct ExternalFolder: Sendable {
    /// The path of `.NAME_SUPPORT` beside the store.
    package let support: String
    /// The store's path.
    private let store: String
    /// The path of `_EXTERNAL_DATA` in it.
    package var path: String { support + "/_EXTERNAL_DATA" }

    /// Makes the value for a store, whether its folder exists or not.
    ///
    /// - Parameter store: the store's path. The folder's name is the store's name without its last ending.
    package init(store: String) {
        self.store = store
        let start = store.lastIndex(of: "/").map(store.index(after:)) ?? store.startIndex
        let name = store[start...]
        let end = name.lastIndex(of: ".").flatMap { $0 > start ? $0 : nil } ?? store.endIndex
        support = "\(store[..<start]).\(store[start..<end])_SUPPORT"
    }

    /// Tells whether the folder exists.
    ///
    /// - Throws: `external.io` (74); `external.folder` (65) if something else, such as a symbolic link, has one of the names;
    ///   `folder.foreign` (77) if that is neither this user's nor the store's owner's.
    package func exists() throws(MigrationError) -> Bool {
        for path in [support, path] {
            guard let status = try Self.status(path) else { return false }
            guard status.st_mode & S_IFMT == S_IFDIR else {
                let owners = [geteuid(), 0, try Self.status(store)?.st_uid]
                guard owners.contains(status.st_uid) else {
                    let isLink = status.st_mode & S_IFMT == S_IFLNK
                    throw OwnFolder.foreign(
                        path, status, isLink ? "The symbolic link is another user's" : "The file is another user's",
                        "use a store in a folder that only you can write in")
                }
                throw MigrationError(
                    "external.folder", .data, "The place of external binary data is no folder of its own",
                    remedy: "Put the folder itself there, not a symbolic link to it", context: .init(path: path))
            }
        }
        return true
    }

    /// Opens the folder, if it exists, and makes sure that nobody but the owner of a store can put files into it. Whoever may
    /// write the store may write in the folder; permissions beyond that are taken away if the folder is this user's.
    ///
    /// - Parameters:
    ///   - owner: the owner of the store; nil for this user.
    ///   - mode: the permissions of the store.
    /// - Throws: `folder.foreign` (77) if the folder is another user's, or others may write in it; the errors of ``exists()``.
    package func opened(owner: uid_t?, mode: mode_t) throws(MigrationError) -> OpenExternalFolder? {
        guard try exists() else { return nil }
        let outer = try OpenExternalFolder(support, at: support, owner: owner, mode: mode)
        return try OpenExternalFolder(outer.inside + "/_EXTERNAL_DATA", at: path, owner: owner, mode: mode)
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

/// A folder of external binary values that is open for files to be put into it.
package final class OpenExternalFolder {
    /// The path for its files, which leads to this folder even if another one takes its name.
    package let inside: String
    private let descriptor: Int32

    /// - Parameters:
    ///   - name: the path by which it is opened.
    ///   - path: the path by which people know it.
    fileprivate init(_ name: String, at path: String, owner: uid_t?, mode: mode_t) throws(MigrationError) {
        let opened = SystemCall.uninterrupted { open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        let reason = errno
        guard opened >= 0 else {
            let status = (try? FileBytes.status(name, followsLinks: false)) ?? nil
            if let status, status.st_uid != geteuid() { throw Self.foreign(path, status, OwnFolder.anothers) }
            throw .writing("Opening the folder", path: path, otherwise: "external.io", number: reason)
        }
        descriptor = opened
        inside = OpenFolders.note(opened, as: path)
        var status = stat()
        guard fstat(opened, &status) == 0 else {
            throw .writing("Opening the folder", path: path, otherwise: "external.io")
        }
        guard status.st_uid == geteuid() || status.st_uid == owner else {
            throw Self.foreign(path, status, OwnFolder.anothers)
        }
        let beyond = status.st_mode & OwnFolder.writableByOthers & ~mode
        guard beyond == 0 || fchmod(opened, status.st_mode & 0o7777 & ~beyond) == 0 else {
            throw Self.foreign(path, status, OwnFolder.writable)
        }
    }

    deinit {
        OpenFolders.forget(descriptor)
        close(descriptor)
    }

    private static func foreign(_ path: String, _ status: stat, _ what: String) -> MigrationError {
        OwnFolder.foreign(path, status, what, "make the destination in a folder that only you can write in")
    }
}
