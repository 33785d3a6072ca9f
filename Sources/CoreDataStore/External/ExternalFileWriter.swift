import DatabasePages
import Diagnostics
import Glibc

/// A new file of external binary data while it is written. An unfinished file is removed.
package final class ExternalFileWriter {
    private let path: String
    private var descriptor: Int32
    private var size: Int64 = 0
    private var isFinished = false

    /// Makes the file.
    ///
    /// - Parameter permissions: the permissions of the file, less those of the process's umask.
    /// - Throws: `external.write` (74), `store.full` (74), `destination.permission` (77).
    package init(path: String, permissions: FilePermissions) throws(MigrationError) {
        self.path = path
        descriptor = SystemCall.uninterrupted {
            open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions.file)
        }
        guard descriptor >= 0 else { throw failure() }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if !isFinished { unlink(path) }
    }

    /// Appends bytes.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(MigrationError) {
        guard let start = bytes.baseAddress else { return }
        guard PosixFile.write(descriptor, from: start, count: bytes.count, at: size) else { throw failure() }
        size += Int64(bytes.count)
    }

    /// Closes the file. It is not synced yet.
    package func finish() throws(MigrationError) {
        let code = close(descriptor)
        descriptor = -1
        guard code == 0 else { throw failure() }
        isFinished = true
    }

    private func failure() -> MigrationError {
        .writing("Writing external binary data", path: path, otherwise: "external.write")
    }
}
