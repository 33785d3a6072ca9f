import Diagnostics
import Glibc

/// A file for lines of JSON: they are added to what it holds. A pipe or a device may stand there.
final class EventFile: Sendable {
    private let descriptor: Int32
    private let sink: DescriptorSink

    /// - Parameter permissions: the file's where it is made, less those of the process's umask.
    /// - Throws: `output.create` (73), `output.permission` (77), `output.io` (74).
    init(_ path: String, permissions: FilePermissions) throws(MigrationError) {
        descriptor = SystemCall.uninterrupted {
            open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, permissions.file)
        }
        guard descriptor >= 0 else { throw OutputFile.creationFailure(errno, path) }
        sink = DescriptorSink(descriptor)
    }

    deinit { close(descriptor) }

    /// Adds a line with its end.
    func write(_ line: String) { sink.write(line) }
}
