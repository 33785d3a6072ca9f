import Glibc

/// Tells whether paths name the same file, before anything is opened.
enum PathIdentity {
    /// Compares two paths, resolving symbolic links, relative parts and hard links. A path without a file is compared by the
    /// real path of its folder.
    static func isSame(_ first: String, _ second: String) -> Bool {
        var one = stat()
        var other = stat()
        if stat(first, &one) == 0, stat(second, &other) == 0 {
            return one.st_dev == other.st_dev && one.st_ino == other.st_ino
        }
        return canonical(first) == canonical(second)
    }

    /// Returns the path without symbolic links and relative parts, as far as it exists.
    static func canonical(_ path: String) -> String {
        if let whole = real(path) { return whole }
        var trimmed = path
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        guard let slash = trimmed.lastIndex(of: "/") else { return "\(real(".") ?? ".")/\(trimmed)" }
        let folder = slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
        let name = trimmed[trimmed.index(after: slash)...]
        guard let parent = real(folder) else { return trimmed }
        return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
    }

    private static func real(_ path: String) -> String? {
        guard !path.utf8.contains(0), let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
