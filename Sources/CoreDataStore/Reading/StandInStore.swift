import Diagnostics
import Glibc

/// A private SQLite store that is read in the place of a store of another type, wherever that one is named.
///
/// Whoever reads names the original, so messages, reports and saved plans name it too; and it is the original's state that is
/// compared at the end of a run and by a run that resumes.
package struct StandInStore: Sendable {
    /// The private store.
    package let path: String
    /// A sentence for each thing that a user should know about the original.
    package let notes: [String]
    let original: String
    let fingerprint: StoreFingerprint

    /// The private stores that are read at present.
    @TaskLocal private static var current: [StandInStore] = []

    /// - Parameter original: the store that a user names.
    package init(path: String, of original: String, fingerprint: StoreFingerprint, notes: [String]) {
        self.path = path
        self.notes = notes
        self.original = Self.canonical(original)
        self.fingerprint = fingerprint
    }

    /// Lets a body read the private store wherever it opens the original.
    package func during<Value>(_ body: () throws -> Value) rethrows -> Value {
        try Self.$current.withValue(Self.current + [self], operation: body)
    }

    /// Returns the private store that is read in the place of a store; nil if the store is read itself.
    package static func of(_ path: String) -> StandInStore? {
        guard !current.isEmpty else { return nil }
        let real = canonical(path)
        return current.last { $0.original == real }
    }

    /// Takes the fingerprint of an original, a store of type XML or binary. It includes the time of the file's last change, in the
    /// place of the hash over a `-wal`, which such a store does not have.
    package static func fingerprint(of path: String) throws(MigrationError) -> StoreFingerprint {
        let real = canonical(path)
        var fingerprint = try StoreFingerprint.take(path: real)
        var status = stat()
        guard stat(real, &status) == 0 else {
            throw MigrationError(
                "store.io", .io, "The store's last change cannot be looked up: \(String(cString: strerror(errno)))",
                context: .init(path: path))
        }
        fingerprint.walHash =
            UInt64(bitPattern: Int64(status.st_mtim.tv_sec)) &* 1_000_000_007
            ^ UInt64(bitPattern: Int64(status.st_mtim.tv_nsec))
        return fingerprint
    }

    /// The error for a store that changed while it was read.
    package static func moved(_ path: String) -> MigrationError { SourceStore.moved(path) }

    private static func canonical(_ path: String) -> String {
        guard let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }
}
