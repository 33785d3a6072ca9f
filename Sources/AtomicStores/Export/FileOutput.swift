import Diagnostics
import Glibc

/// A new file that is written from its beginning to its end.
///
/// Memory: a buffer of 256 KiB.
final class FileOutput {
    private static let capacity = 256 << 10

    private let path: String
    private let descriptor: Int32
    @exclusivity(unchecked) private var buffer: [UInt8] = []
    /// The number of bytes in the file, without the buffer.
    @exclusivity(unchecked) private var flushed = 0
    /// The number of bytes written.
    var length: Int { flushed + buffer.count }

    /// Makes the file. Throws `destination.permission` (77), `destination.io` (74).
    init(
        creating path: String, permissions: FilePermissions, replaces: Bool = false
    ) throws(MigrationError) {
        self.path = path
        descriptor = SystemCall.uninterrupted {
            open(path, O_RDWR | O_CREAT | (replaces ? O_TRUNC : O_EXCL) | O_CLOEXEC, permissions.file)
        }
        guard descriptor >= 0 else {
            throw .writing("Making the file", path: path, otherwise: "destination.io", number: errno)
        }
        buffer.reserveCapacity(Self.capacity)
    }

    deinit { close(descriptor) }

    /// Makes a file without a name in the same folder, for what is written before its place is known.
    func spool(_ name: String) throws(MigrationError) -> FileOutput {
        // A killed run may have left one.
        let file = try FileOutput(creating: "\(path)-\(name)", permissions: .own, replaces: true)
        unlink(file.path)
        return file
    }

    /// Appends the bytes of another file.
    func append(_ other: FileOutput) throws(MigrationError) {
        try other.flush()
        var piece = [UInt8](repeating: 0, count: Self.capacity)
        var place = 0
        while place < other.flushed {
            let read = SystemCall.uninterrupted { pread(other.descriptor, &piece, piece.count, off_t(place)) }
            guard read > 0 else {
                throw .writing("Reading a work file", path: path, otherwise: "destination.io", number: errno)
            }
            try write(Array(piece[..<read]))
            place += read
        }
    }

    /// Writes bytes over the first ones.
    func replaceBeginning(by bytes: [UInt8]) throws(MigrationError) {
        try flush()
        guard SystemCall.uninterrupted({ pwrite(descriptor, bytes, bytes.count, 0) }) == bytes.count else {
            throw .writing("Writing the file", path: path, otherwise: "destination.io", number: errno)
        }
    }

    func write(_ text: String) throws(MigrationError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.capacity { try flush() }
    }

    func write(_ bytes: [UInt8]) throws(MigrationError) {
        buffer += bytes
        if buffer.count >= Self.capacity { try flush() }
    }

    private func flush() throws(MigrationError) {
        var done = 0
        while done < buffer.count {
            let written = buffer.withUnsafeBytes { bytes in
                SystemCall.uninterrupted {
                    Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                }
            }
            guard written > 0 else {
                throw .writing("Writing the file", path: path, otherwise: "destination.io", number: errno)
            }
            done += written
        }
        flushed += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }

    /// Writes what is left and syncs the file.
    func finish() throws(MigrationError) {
        try flush()
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 else {
            throw .writing("Syncing the file", path: path, otherwise: "destination.sync", number: errno)
        }
    }
}
