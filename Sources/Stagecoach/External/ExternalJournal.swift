import Diagnostics
import Glibc
import PersistentStore

/// What a publication does in the destination's folder of external data, on disk before it is done: a line each.
struct ExternalJournal {
    /// The first character of a line.
    enum Mark: Character {
        /// A file that comes to the destination.
        case placed = "+"
        /// A file that goes once the store is published.
        case orphan = "-"
        /// The run made `.NAME_SUPPORT`.
        case madeSupport = "S"
        /// The run made `_EXTERNAL_DATA`.
        case madeData = "D"
    }

    let path: String
    let folder: ExternalFolder

    /// Begins an empty journal.
    ///
    /// - Throws: `external.write`, `store.full` (74).
    func begin() throws(MigrationError) {
        unlink(path)
        let descriptor = SystemCall.uninterrupted { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard descriptor >= 0 else { throw failure() }
        close(descriptor)
    }

    /// Adds a line.
    func append(_ mark: Mark, _ reference: ExternalReference?) throws(MigrationError) {
        let line = "\(mark.rawValue)\(reference?.name ?? "")\n"
        let descriptor = SystemCall.uninterrupted { open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        var rest = Array(line.utf8)[...]
        while !rest.isEmpty {
            let count = SystemCall.uninterrupted {
                rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            }
            guard count > 0 else { throw failure() }
            rest = rest.dropFirst(count)
        }
    }

    /// Brings the journal to the disk.
    func finish() throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
        guard descriptor >= 0 else { throw failure() }
        defer { close(descriptor) }
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else { throw failure() }
        try DestinationPath.synchronize(folder: DestinationPath(path: path).folder)
    }

    /// Shows the lines of a kind; damaged ones are passed over.
    func forEach(
        _ mark: Mark, _ body: (ExternalReference) throws(MigrationError) -> Void
    ) throws(MigrationError) {
        guard let file = opened() else { return }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        while Self.next(file, &buffer) {
            let line = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            guard line.first == mark.rawValue, line.hasSuffix("\n") else { continue }
            guard let reference = ExternalReference(name: String(line.dropFirst().dropLast())) else { continue }
            try body(reference)
        }
    }

    /// Takes back what was put into the destination's folder. Errors are passed over: what cannot be removed hurts
    /// nobody but its disk.
    func undo() {
        try? forEach(.placed) { unlink(folder.path(of: $0)) }
        if has(.madeData) { rmdir(folder.path) }
        if has(.madeSupport) { rmdir(folder.support) }
        unlink(path)
    }

    /// Removes what nothing refers to any more, and the journal.
    func removeOrphans() {
        try? forEach(.orphan) { unlink(folder.path(of: $0)) }
        unlink(path)
    }

    /// Ends what a killed run began: the journal tells of a store that was published, or of one that was not.
    ///
    /// - Parameters:
    ///   - built: the private store of the run; it is gone, or the destination itself, once it was published.
    ///   - destination: where it was to be published.
    func recover(built: String, destination: String) {
        guard access(path, F_OK) == 0 else { return }
        var one = stat()
        var other = stat()
        let isPrivate =
            lstat(built, &one) == 0
            && !(lstat(destination, &other) == 0 && one.st_ino == other.st_ino && one.st_dev == other.st_dev)
        if isPrivate { undo() } else { removeOrphans() }
    }

    private func has(_ mark: Mark) -> Bool {
        guard let file = opened() else { return false }
        defer { fclose(file) }
        var buffer = [CChar](repeating: 0, count: 64)
        while Self.next(file, &buffer) {
            if UInt8(bitPattern: buffer[0]) == mark.rawValue.asciiValue { return true }
        }
        return false
    }

    /// The journal, to be read; nil where it cannot be. A call that a signal interrupted is made again.
    private func opened() -> UnsafeMutablePointer<FILE>? {
        while true {
            if let file = fopen(path, "re") { return file }
            guard errno == EINTR else { return nil }
        }
    }

    /// Reads the next line; false at the end.
    private static func next(_ file: UnsafeMutablePointer<FILE>, _ buffer: inout [CChar]) -> Bool {
        while fgets(&buffer, Int32(buffer.count), file) == nil {
            guard ferror(file) != 0, errno == EINTR else { return false }
            clearerr(file)
        }
        return true
    }

    private func failure() -> MigrationError {
        .writing("Writing the journal of external data", path: path, otherwise: "external.write")
    }
}
