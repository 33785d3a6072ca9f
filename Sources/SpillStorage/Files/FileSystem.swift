import CLinux
import Diagnostics

/// The file system that a file is in.
package enum FileSystem {
    /// Brings everything that was written to the file system of an open file to the disk.
    ///
    /// - Returns: false with `errno` set where that fails.
    package static func synchronize(_ descriptor: Int32) -> Bool {
        SystemCall.uninterrupted { syncfs(descriptor) } == 0
    }
}
