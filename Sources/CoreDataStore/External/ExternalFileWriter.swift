import Diagnostics
import Glibc

/// A new file of external binary data while it is written. An unfinished file is removed.
package final class ExternalFileWriter {
    private let path: String
    private var descriptor: Int32
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
        var done = 0
        while done < bytes.count {
            let count = write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure() }
            done += count
        }
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
