import Glibc

/// The permissions of the files that a run makes. They are those of the source store, so that nobody can read in a result what
/// they may not read in the source; but their owner may always read and write them. A source that came from a backup may be
/// read-only, and its migrated store is to be used. The process's umask applies when a file is made.
///
/// A file has these permissions from its first byte on: it is created with them, and never opened up for a moment.
package struct FilePermissions: Sendable, Equatable {
    /// The permissions of a file, as `chmod` takes them.
    package let file: mode_t
    /// The permissions of a folder: everybody who may read its files may enter it.
    package var folder: mode_t { file | file >> 2 & 0o111 }

    private init(file: mode_t) { self.file = file & 0o777 | 0o600 }

    /// Read and write permission for the owner, none for others.
    package static let own = FilePermissions(file: 0)

    /// The permissions for results of the store at a path; the owner's alone if its status cannot be read.
    package init(ofSource path: String) {
        let status = (try? FileBytes.status(path)) ?? nil
        self = status.map { FilePermissions(file: $0.st_mode) } ?? .own
    }

    /// The permissions for results of several stores: those that all of them have in common. Stores whose status cannot be read are ignored.
    package init(ofSources paths: some Sequence<String>) {
        let modes = paths.compactMap { ((try? FileBytes.status($0)) ?? nil)?.st_mode }
        self = modes.isEmpty ? .own : FilePermissions(file: modes.reduce(0o666) { $0 & $1 })
    }

    /// Returns the permissions for a result made of a file with some permissions.
    package func limiting(_ mode: mode_t) -> mode_t { mode & file | 0o600 }

    /// Tells whether other permissions include none beyond these.
    package func cover(_ mode: mode_t) -> Bool { mode & 0o777 & ~file == 0 }

    /// Removes the permissions of a file that go beyond these.
    ///
    /// - Returns: false with `errno` set if that fails.
    package func restrict(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return cover(status.st_mode) || chmod(path, status.st_mode & file) == 0
    }
}
