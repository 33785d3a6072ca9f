import Foundation
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

    /// Returns the absolute path, without symbolic links and relative parts as far as it exists.
    static func canonical(_ path: String) -> String {
        if let whole = real(path) { return whole }
        let trimmed = withoutSlash(path)
        let folder = folder(of: trimmed)
        guard folder != trimmed, !path.isEmpty, !path.utf8.contains(0) else { return trimmed }
        let (parent, name) = (canonical(folder), name(of: trimmed))
        // What is not there is no symbolic link, so its relative parts are a matter of words.
        if name == "." || name == ".." { return name == "." ? parent : self.folder(of: parent) }
        return parent == "/" ? "/\(name)" : "\(parent)/\(name)"
    }

    /// Returns a text with the paths in it that lead into the current folder written from there: people read them more easily.
    static func shortened(_ text: String) -> String {
        guard let folder = real("."), folder != "/" else { return text }
        var result = ""
        var rest = text[...]
        while let found = rest.range(of: folder + "/") {
            let before = rest[..<found.lowerBound].last ?? result.last
            let isBeginning = before.map { " '\"(:=\t".contains($0) } ?? true
            result += rest[..<(isBeginning ? found.lowerBound : found.upperBound)]
            rest = rest[found.upperBound...]
        }
        return result + rest
    }

    /// Returns the folder of a path; `.` if the path is a name alone.
    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    }

    /// Returns the last part of a path.
    static func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }

    /// Returns the path without slashes at its end.
    static func withoutSlash(_ path: String) -> String {
        var path = path
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// Returns the path without symbolic links and relative parts; nil if nothing is there.
    static func real(_ path: String) -> String? {
        guard !path.utf8.contains(0), let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
