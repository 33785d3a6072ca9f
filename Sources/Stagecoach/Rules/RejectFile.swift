import Diagnostics

/// The writer of a reject file: one line of JSON for each object.
///
/// Memory: 64 KiB of lines.
final class RejectFile {
    private let file: ResultFile
    var path: String { file.path }
    /// The final path of the file, and the path where it is written.
    var parts: (path: String, part: String) { (file.path, file.part) }

    /// Begins the file.
    ///
    /// - Parameters:
    ///   - permissions: the file's permissions, without those that the process's umask removes.
    ///   - earlier: reject files of previous steps in a chain of versions; their contents come first.
    /// - Throws: `output.exists` (73), `output.create` (73), `output.permission` (77), `output.io` (74).
    init(path: String, permissions: FilePermissions, earlier: [String] = []) throws(MigrationError) {
        file = try ResultFile(path: path, kind: "reject file", permissions: permissions)
        for path in earlier { try file.append(contentsOf: path) }
    }

    /// Adds a line.
    func append(_ object: RejectedObject) throws(MigrationError) { try file.append(line: object.json) }

    /// Copies the lines written so far to a file and syncs it to disk, for a run that resumes after this one was
    /// killed.
    ///
    /// - Throws: `output.io`, `store.full`, `store.io` (74).
    func keep(at path: String) throws { try file.keep(at: path) }

    /// Writes the remaining lines and syncs the file to disk.
    func finish() throws(MigrationError) { try file.finish() }

    /// Renames the file to its final path.
    ///
    /// - Throws: `output.exists` (73) if another file has appeared there; `output.io` (74).
    func place() throws(MigrationError) { try file.place() }

    /// Removes the file again, if the destination could not be published.
    func withdraw() { file.withdraw() }
}
