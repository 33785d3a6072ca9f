import Diagnostics
import Glibc

/// The sizes of files.
enum FileSize {
    static func bytes(of path: String) throws(MigrationError) -> Int {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw MigrationError(
                "store.io", .io, "Reading the file's size failed: \(String(cString: strerror(errno)))",
                context: .init(path: path))
        }
        return Int(status.st_size)
    }
}
