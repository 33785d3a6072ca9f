import Glibc
import Synchronization

/// The folders whose files are reached through an open descriptor, so that nobody can put another folder in their place.
///
/// Such a path, `/proc/self/fd/7/store.sqlite`, means nothing to people: errors name the folder by the path at which it was
/// opened.
package enum OpenFolders {
    /// The beginning of every path through a descriptor.
    package static let prefix = "/proc/self/fd/"
    private static let paths = Mutex<[Substring: String]>([:])

    /// Notes the path at which a folder was opened.
    ///
    /// - Returns: the path for its files: through the descriptor, or the same path where no /proc is mounted.
    package static func note(_ descriptor: Int32, as path: String) -> String {
        // A folder within an open folder was opened by a path through the other's descriptor.
        let known = shown(path)
        paths.withLock { $0[Substring("\(descriptor)")] = known }
        let through = "\(prefix)\(descriptor)"
        return access(through + "/.", F_OK) == 0 ? through : path
    }

    /// Forgets a folder whose descriptor is about to be closed.
    package static func forget(_ descriptor: Int32) {
        paths.withLock { _ = $0.removeValue(forKey: Substring("\(descriptor)")) }
    }

    /// Returns a path as people know it.
    package static func shown(_ path: String) -> String {
        guard path.hasPrefix(prefix) else { return path }
        let rest = path.dropFirst(prefix.count)
        let number = rest.prefix { $0 != "/" }
        return paths.withLock { $0[number] }.map { $0 + rest[number.endIndex...] } ?? path
    }
}
