import Glibc

/// The permissions of the files that a run makes: those of the store that it reads, so that nobody can read in a result what
/// they may not read in the source. The process's umask takes its part when a file is made.
///
/// A file has them from its first byte on: it is made with them, and never opened up for a moment.
package struct FilePermissions: Sendable, Equatable {
    /// Of a file, as `chmod` takes them.
    package let file: mode_t
    /// Of a folder: whoever may read its files may enter it.
    package var folder: mode_t { file | file >> 2 & 0o111 }
    /// Of a file while the run works on it: its owner may read and write it. ``restrict(_:)`` ends that.
    package var work: mode_t { file | 0o600 }

    private init(file: mode_t) { self.file = file & 0o777 }

    /// Permissions for nobody but the owner.
    package static let own = FilePermissions(file: 0o600)

    /// The permissions of a store, by its path: the owner's alone where it cannot be looked at.
    package init(ofSource path: String) {
        let status = (try? FileBytes.status(path)) ?? nil
        self = status.map { FilePermissions(file: $0.st_mode) } ?? .own
    }

    /// The permissions that all of some stores give; a store that cannot be looked at has nothing to give away.
    package init(ofSources paths: some Sequence<String>) {
        let modes = paths.compactMap { ((try? FileBytes.status($0)) ?? nil)?.st_mode }
        self = modes.isEmpty ? .own : FilePermissions(file: modes.reduce(0o666) { $0 & $1 })
    }

    /// True where a file with other permissions has none beyond these.
    package func cover(_ mode: mode_t) -> Bool { mode & 0o777 & ~file == 0 }

    /// Takes from a file what it has beyond these.
    ///
    /// - Returns: false with `errno` set where that fails.
    package func restrict(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        return cover(status.st_mode) || chmod(path, status.st_mode & file) == 0
    }

}
