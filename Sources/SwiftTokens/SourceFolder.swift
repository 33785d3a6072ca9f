import Diagnostics
import Glibc

/// The sources in folders, as users name them.
package enum SourceFolder {
    private static let greatestFile = 16 << 20
    private static let greatestCount = 50_000
    private static let greatestDepth = 64

    /// Returns the paths of the sources in a folder and below, without hidden ones. Links to folders may lead back, and are not
    /// followed.
    ///
    /// - Parameters:
    ///   - endings: those of the names, without the point.
    ///   - isPassedOver: tells by its name if a folder is left out.
    /// - Throws: `source.permission` (77), `source.unreadable` (74), `source.tooMany` (78).
    package static func files(
        in root: String, endings: Set<String>, isPassedOver: (String) -> Bool = { _ in false }
    ) throws(MigrationError) -> [String] {
        var files: [String] = []
        var folders = [(path: root, depth: 0)]
        while let folder = folders.popLast() {
            let names = try attempt(folder.path) { () throws(FileBytes.Failure) in
                try FileBytes.names(in: folder.path)
            }
            for name in names where !name.hasPrefix(".") {
                let path = "\(folder.path)/\(name)"
                if name.lastIndex(of: ".").map({ endings.contains(String(name[$0...].dropFirst())) }) == true {
                    if try kind(of: path) == S_IFREG { files.append(path) }
                } else if folder.depth < greatestDepth, !isPassedOver(name),
                    try kind(of: path, followsLinks: false) == S_IFDIR
                {
                    folders.append((path, folder.depth + 1))
                }
            }
            guard files.count <= greatestCount else {
                throw MigrationError(
                    "source.tooMany", .configuration, "There are more than \(greatestCount) sources",
                    remedy: "Name a folder inside", context: .init(path: root))
            }
        }
        return files.sorted()
    }

    /// Returns the type of the file at a path; nil if there is none.
    package static func kind(of path: String, followsLinks: Bool = true) throws(MigrationError) -> mode_t? {
        try attempt(path) { () throws(FileBytes.Failure) in
            try FileBytes.status(path, followsLinks: followsLinks).map { $0.st_mode & S_IFMT }
        }
    }

    /// Returns the text of a source.
    ///
    /// - Throws: `source.permission` (77), `source.unreadable` (74), `source.tooLarge` (78).
    package static func text(of path: String) throws(MigrationError) -> String {
        let bytes = try attempt(path) { () throws(FileBytes.Failure) in
            try FileBytes.read(path, most: greatestFile + 1)
        }
        guard bytes.count <= greatestFile else {
            throw MigrationError(
                "source.tooLarge", .configuration, "A source of more than \(greatestFile >> 20) MiB is not read",
                remedy: "Leave it out", context: .init(path: path))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func attempt<Value>(
        _ path: String, _ body: () throws(FileBytes.Failure) -> Value
    ) throws(MigrationError) -> Value {
        do throws(FileBytes.Failure) { return try body() } catch {
            let isForbidden = error.number == EACCES || error.number == EPERM
            throw MigrationError(
                isForbidden ? "source.permission" : "source.unreadable", isForbidden ? .permission : .io,
                isForbidden ? "The source may not be read" : "The source cannot be read",
                remedy: isForbidden ? "Grant read permission" : "Check the disk it is on", context: .init(path: path),
                cause: error)
        }
    }
}
