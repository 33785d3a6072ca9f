import Diagnostics
import Glibc

/// The Swift sources that an argument names: files and folders, joined by commas.
package struct SourceFiles: Sendable {
    /// The paths of the files, by name.
    package let paths: [String]

    private static let greatestFile = 16 << 20
    private static let greatestCount = 50_000
    private static let greatestDepth = 64
    /// The folders whose sources are not those of an app's model.
    private static let passedOver: Set<String> = ["build", "DerivedData", "Pods", "Carthage", "Tests", "node_modules"]

    /// Finds the sources of an argument.
    ///
    /// A folder gives all Swift files in it and below, without hidden folders, those of builds and packages, and those whose
    /// names end with `Tests`.
    ///
    /// - Returns: nil if a part of the argument is neither a Swift file nor a folder with one.
    /// - Throws: `swift.permission` (77), `swift.unreadable` (74), `swift.tooMany` (78).
    package static func find(_ argument: String) throws(MigrationError) -> SourceFiles? {
        var paths: [String] = []
        for part in argument.split(separator: ",").map(String.init) {
            let found = try files(at: part)
            if found.isEmpty { return nil }
            paths += found
        }
        guard !paths.isEmpty else { return nil }
        return SourceFiles(paths: Array(Set(paths)).sorted())
    }

    private static func files(at path: String) throws(MigrationError) -> [String] {
        guard let kind = try kind(of: path) else { return [] }
        if kind == S_IFREG { return path.hasSuffix(".swift") ? [path] : [] }
        guard kind == S_IFDIR else { return [] }
        var root = path
        while root.count > 1, root.hasSuffix("/") { root.removeLast() }
        // A package's sources stand below Sources.
        if try self.kind(of: root + "/Package.swift") == S_IFREG, try self.kind(of: root + "/Sources") == S_IFDIR {
            root += "/Sources"
        }
        var files: [String] = []
        var folders = [(path: root, depth: 0)]
        while let folder = folders.popLast() {
            let names: [String]
            do throws(FileBytes.Failure) { names = try FileBytes.names(in: folder.path) } catch {
                throw unreadable(folder.path, error)
            }
            for name in names where !name.hasPrefix(".") {
                let path = "\(folder.path)/\(name)"
                if name.hasSuffix(".swift") {
                    if try self.kind(of: path) == S_IFREG { files.append(path) }
                } else if !passedOver.contains(name), !name.hasSuffix("Tests"), folder.depth < greatestDepth,
                    try isOwnFolder(path)
                {
                    folders.append((path, folder.depth + 1))
                }
            }
            guard files.count <= greatestCount else {
                throw MigrationError(
                    "swift.tooMany", .configuration, "There are more than \(greatestCount) Swift files",
                    remedy: "Name the folder of the models", context: .init(path: path))
            }
        }
        return files
    }

    private static func kind(of path: String) throws(MigrationError) -> mode_t? {
        do throws(FileBytes.Failure) { return try FileBytes.status(path).map { $0.st_mode & S_IFMT } } catch {
            throw unreadable(path, error)
        }
    }

    /// A folder that is no symbolic link: links may lead back.
    private static func isOwnFolder(_ path: String) throws(MigrationError) -> Bool {
        do throws(FileBytes.Failure) {
            return try FileBytes.status(path, followsLinks: false).map { $0.st_mode & S_IFMT } == S_IFDIR
        } catch { throw unreadable(path, error) }
    }

    private static func unreadable(_ path: String, _ error: FileBytes.Failure) -> MigrationError {
        let isForbidden = error.number == EACCES || error.number == EPERM
        return MigrationError(
            isForbidden ? "swift.permission" : "swift.unreadable", isForbidden ? .permission : .io,
            isForbidden ? "The source may not be read" : "The source cannot be read",
            remedy: isForbidden ? "Grant read permission" : "Check the disk it is on", context: .init(path: path),
            cause: error)
    }

    /// Returns the text of a file.
    ///
    /// - Throws: `swift.permission` (77), `swift.unreadable` (74), `swift.tooLarge` (78).
    static func text(of path: String) throws(MigrationError) -> String {
        do throws(FileBytes.Failure) {
            let bytes = try FileBytes.read(path, most: greatestFile + 1)
            guard bytes.count <= greatestFile else { throw FileBytes.Failure(number: EFBIG) }
            return String(decoding: bytes, as: UTF8.self)
        } catch {
            guard error.number == EFBIG else { throw unreadable(path, error) }
            throw MigrationError(
                "swift.tooLarge", .configuration, "A Swift source of more than \(greatestFile >> 20) MiB is not read",
                remedy: "Name the files of the models", context: .init(path: path))
        }
    }
}
