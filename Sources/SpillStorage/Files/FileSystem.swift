import CLinux
import Diagnostics
import Glibc

/// The file system that a file is in.
package enum FileSystem {
    /// Syncs everything that was written to the file system of an open file.
    ///
    /// - Returns: false with `errno` set if that fails.
    package static func synchronize(_ descriptor: Int32) -> Bool {
        SystemCall.uninterrupted { syncfs(descriptor) } == 0
    }

    /// Removes a file, or a folder of the run's own with all its content, as far as possible. It follows no symbolic links and
    /// reports no errors.
    package static func removeTree(_ path: String) {
        guard unlink(path) != 0, errno == EISDIR || errno == EPERM else { return }
        for name in SystemFileCalls().names(in: path) ?? [] { removeTree("\(path)/\(name)") }
        rmdir(path)
    }

    /// Removes a file that an earlier run left where a new one is to be made. A missing file is no error.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) if the file stays.
    package static func remove(_ path: String) throws(MigrationError) {
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw SpillFailure.system("remove", path, number: Int(errno))
    }
}
