import Diagnostics
import Glibc
import ManagedModel

/// A line of a text file with a checksum. Lines that a kill cut off, or that another program changed, are recognised.
enum SignedLine {
    /// Returns the line with its checksum, without a line end.
    static func signed(_ text: String) -> String {
        "\(text) \(SHA256.hash(Array(text.utf8)).prefix(4).hexadecimal)"
    }

    /// Returns the text of a line. Returns nil if the checksum does not match.
    static func text(of line: some StringProtocol) -> String? {
        guard let space = line.lastIndex(of: " ") else { return nil }
        let text = String(line[..<space])
        return signed(text) == line ? text : nil
    }
}

/// A file of signed lines about external data.
///
/// The file stays open from the first line on, so that the lines can be read even if no further file can be opened.
final class SignedLines {
    let path: String
    /// The words for writing to the file in errors.
    private let writing: String
    private var descriptor: Int32 = -1

    init(path: String, writing: String) {
        self.path = path
        self.writing = writing
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Begins an empty file. Throws `external.write`, `store.full` (74).
    func begin() throws(MigrationError) {
        unlink(path)
        if descriptor >= 0 { close(descriptor) }
        try open(O_EXCL)
    }

    private func open(_ flags: Int32) throws(MigrationError) {
        descriptor = SystemCall.uninterrupted {
            Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        }
        guard descriptor >= 0 else { throw failure }
    }

    /// Appends a line.
    func append(_ text: String) throws(MigrationError) {
        if descriptor < 0 { try open(0) }
        var rest = Array((SignedLine.signed(text) + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = SystemCall.uninterrupted {
                rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            }
            guard count > 0 else { throw failure }
            rest = rest.dropFirst(count)
        }
    }

    /// Syncs the file and its folder to the disk.
    func synchronize() throws(MigrationError) {
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else { throw failure }
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
    }

    /// Shows the texts of the sound lines; none if there is no file. Interrupted system calls are repeated.
    ///
    /// - Throws: `external.io` (74) if the file cannot be read to its end; the error of the body.
    func forEachLine(_ body: (String) throws(MigrationError) -> Void) throws(MigrationError) {
        guard let file = opened() else {
            if errno == ENOENT || errno == ENOTDIR { return }
            throw readingFailure
        }
        defer { fclose(file) }
        rewind(file)
        var buffer = [CChar](repeating: 0, count: 128)
        while true {
            guard fgets(&buffer, Int32(buffer.count), file) != nil else {
                guard ferror(file) != 0 else { return }
                guard errno == EINTR else { throw readingFailure }
                clearerr(file)
                continue
            }
            let line = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            if line.hasSuffix("\n"), let text = SignedLine.text(of: line.dropLast()) { try body(text) }
        }
    }

    /// Opens the file for reading: the one that was begun, or that of another run. On failure returns nil and leaves `errno`
    /// set.
    private func opened() -> UnsafeMutablePointer<FILE>? {
        guard descriptor >= 0 else {
            var file = fopen(path, "re")
            while file == nil, errno == EINTR { file = fopen(path, "re") }
            return file
        }
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { return nil }
        guard let file = fdopen(copy, "r") else {
            close(copy)
            return nil
        }
        return file
    }

    private var readingFailure: MigrationError {
        MigrationError(
            "external.io", .io, "Reading the journal of external data failed: \(String(cString: strerror(errno)))",
            context: .init(path: path))
    }

    private var failure: MigrationError { .writing(writing, path: path, otherwise: "external.write") }
}
