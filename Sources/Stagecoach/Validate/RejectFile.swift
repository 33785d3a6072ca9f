import Diagnostics

/// A reject file while it is written: an object a line, as JSON.
///
/// Memory: 64 KiB of lines.
final class RejectFile {
    private let file: ResultFile
    var path: String { file.path }
    /// The file's path, and where it is until it is placed.
    var parts: (path: String, part: String) { (file.path, file.part) }

    /// Begins the file.
    ///
    /// - Parameters:
    ///   - permissions: the file's, less those of the process's umask.
    ///   - earlier: reject files of the steps before in a chain of versions: what is in them comes first.
    /// - Throws: `output.exists` (73), `output.create` (73), `output.permission` (77), `output.io` (74).
    init(path: String, permissions: FilePermissions, earlier: [String] = []) throws(MigrationError) {
        file = try ResultFile(path: path, kind: "reject file", permissions: permissions)
        for path in earlier { try file.append(contentsOf: path) }
    }

    /// Adds a line.
    func append(_ object: RejectedObject) throws(MigrationError) { try file.append(line: object.json) }

    /// Copies what there is so far to a file, for a run that goes on after this one was killed; it is on the disk then.
    ///
    /// - Throws: `output.io`, `store.full`, `store.io` (74).
    func keep(at path: String) throws { try file.keep(at: path) }

    /// Writes what is left and brings the file to the disk.
    func finish() throws(MigrationError) { try file.finish() }

    /// Gives the file its name.
    ///
    /// - Throws: `output.exists` (73) where a file came to stand there meanwhile; `output.io` (74).
    func place() throws(MigrationError) { try file.place() }

    /// Takes the file away again, where the destination could not be published.
    func withdraw() { file.withdraw() }
}
