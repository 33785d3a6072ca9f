import Diagnostics
import Foundation

/// The policy sources of a folder, and the folder for ported copies.
enum PolicySourceFiles {
    struct Source {
        let path: String
        /// The path relative to the given folder; for a single file, its name.
        let name: String
        let isSwift: Bool
    }

    private static let endings: Set<String> = ["swift", "m", "mm", "h"]

    /// Returns the Swift and Objective-C sources below a folder, by name, or one file. Folders whose names begin with a dot are
    /// skipped.
    static func find(_ path: String) throws(MigrationError) -> [Source] {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw MigrationError("port.notFound", .noInput, "There is no such folder", context: .init(path: path))
        }
        func source(_ path: String, _ name: String) -> Source? {
            let ending = (name as NSString).pathExtension
            return endings.contains(ending) ? Source(path: path, name: name, isSwift: ending == "swift") : nil
        }
        var found: [Source] = []
        if isFolder.boolValue {
            let names = (FileManager.default.enumerator(atPath: path)?.allObjects ?? []).compactMap { $0 as? String }
            found = names.sorted().compactMap { name in
                let parts = name.split(separator: "/")
                guard !parts.contains(where: { $0.hasPrefix(".") }), !InputFile.isFolder(path + "/" + name) else {
                    return nil
                }
                return source(path + "/" + name, name)
            }
        } else if let file = source(path, (path as NSString).lastPathComponent) {
            found = [file]
        }
        guard !found.isEmpty else {
            throw MigrationError(
                "port.noSources", .noInput, "There are no Swift or Objective-C sources", context: .init(path: path))
        }
        return found
    }

    /// Makes a folder, and refuses one that is neither new nor empty.
    static func makeFolder(_ path: String) throws(MigrationError) {
        if let present = try? FileManager.default.contentsOfDirectory(atPath: path), !present.isEmpty {
            throw MigrationError(
                "output.exists", .cannotCreate, "The folder is not empty", remedy: "Name a new folder",
                context: .init(path: path))
        }
        try createFolder(path)
    }

    /// Writes a new file, with its missing parent folders.
    static func write(_ content: String, to path: String) throws(MigrationError) {
        try createFolder((path as NSString).deletingLastPathComponent)
        try OutputFile.create(path, content)
    }

    private static func createFolder(_ path: String) throws(MigrationError) {
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        } catch {
            throw MigrationError(
                "output.create", .cannotCreate, "The folder cannot be created", context: .init(path: path),
                cause: error)
        }
    }
}
