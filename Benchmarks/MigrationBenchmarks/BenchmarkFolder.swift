import Diagnostics
import Glibc

/// The folder that a benchmark works in.
enum BenchmarkFolder {
    /// Makes a folder that is not there yet.
    ///
    /// - Returns: its path.
    /// - Throws: `benchmark.folder` (73).
    @discardableResult
    static func make(_ path: String) throws(MigrationError) -> String {
        guard mkdir(path, 0o755) == 0 else {
            throw MigrationError(
                "benchmark.folder", .cannotCreate,
                "The folder for the results cannot be made: \(String(cString: strerror(errno)))",
                remedy: "Remove it, or name another with --folder", context: .init(path: path))
        }
        return path
    }
}
