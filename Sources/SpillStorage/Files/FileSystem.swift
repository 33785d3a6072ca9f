import CLinux
import Diagnostics
import Glibc

/// The file system that a file is in.
package enum FileSystem {
    /// Brings everything that was written to the file system of an open file to the disk.
    ///
    /// - Returns: false with `errno` set where that fails.
    package static func synchronize(_ descriptor: Int32) -> Bool {
        SystemCall.uninterrupted { syncfs(descriptor) } == 0
    }

    /// Removes a file, or a folder of the run's own with all that is in it, as far as that is possible. Nothing is looked up
    /// and no link is followed.
    package static func removeTree(_ path: String) {
        guard unlink(path) != 0, errno == EISDIR || errno == EPERM else { return }
        for name in SystemFileCalls().names(in: path) ?? [] { removeTree("\(path)/\(name)") }
        rmdir(path)
    }

    /// Removes what an earlier run left where a file is to be made; one that is not there is none.
    ///
    /// - Throws: `spill.io` (74), `spill.permission` (77) where it stays.
    package static func remove(_ path: String) throws(MigrationError) {
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw SpillFailure.system("remove", path, number: Int(errno))
    }
}
