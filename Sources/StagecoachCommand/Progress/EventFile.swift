import Diagnostics
import Glibc

/// A file to which lines of JSON are appended; it may be a pipe or a device.
final class EventFile: Sendable {
    private let descriptor: Int32
    private let sink: DescriptorSink

    /// - Parameter permissions: the permissions of a new file, less those of the process's umask.
    /// - Throws: `output.create` (73), `output.permission` (77), `output.io` (74).
    init(_ path: String, permissions: FilePermissions) throws(MigrationError) {
        descriptor = SystemCall.uninterrupted {
            open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, permissions.file)
        }
        guard descriptor >= 0 else { throw OutputFile.creationFailure(errno, path) }
        sink = DescriptorSink(descriptor)
    }

    deinit { close(descriptor) }

    /// Appends a line, which has its line end.
    func write(_ line: String) { sink.write(line) }
}
