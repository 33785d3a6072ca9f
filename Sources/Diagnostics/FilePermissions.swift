import Glibc

/// The permissions of the files that a run makes. They are those of the source store, so that nobody can read in a result what
/// they may not read in the source. The process's umask applies when a file is made.
///
/// A file has these permissions from its first byte on: it is created with them, and never opened up for a moment.
package struct FilePermissions: Sendable, Equatable {
    /// The permissions of a file, as `chmod` takes them.
    package let file: mode_t
    /// The permissions of a folder: everybody who may read its files may enter it.
    package var folder: mode_t { file | file >> 2 & 0o111 }
    /// The permissions of a file while the run works on it: its owner may read and write it. ``restrict(_:)`` ends that.
    package var work: mode_t { file | 0o600 }

    private init(file: mode_t) { self.file = file & 0o777 }

    /// Read and write permission for the owner, none for others.
    package static let own = FilePermissions(file: 0o600)

    /// The permissions of the store at a path; the owner's alone if its status cannot be read.
    package init(ofSource path: String) {
        let status = (try? FileBytes.status(path)) ?? nil
        self = status.map { FilePermissions(file: $0.st_mode) } ?? .own
    }

    /// The permissions that all of some stores have in common. Stores whose status cannot be read are ignored.
    package init(ofSources paths: some Sequence<String>) {
        let modes = paths.compactMap { ((try? FileBytes.status($0)) ?? nil)?.st_mode }
        self = modes.isEmpty ? .own : FilePermissions(file: modes.reduce(0o666) { $0 & $1 })
    }

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
