import Diagnostics
import Foundation
import SwiftTokens

/// The policy sources of a folder, and the folder for ported copies.
enum PolicySourceFiles {
    struct Source {
        let path: String
        /// The path relative to the given folder; for a single file, its name.
        let name: String
        let isSwift: Bool
    }

    private static let endings: Set<String> = ["swift", "m", "mm", "h"]

    /// Returns the Swift and Objective-C sources below a folder, by name, or one file. Hidden folders are skipped.
    static func find(_ path: String) throws(MigrationError) -> [Source] {
        guard FileManager.default.fileExists(atPath: path) else {
            throw MigrationError("port.notFound", .noInput, "There is no such folder", at: path)
        }
        let isTree = InputFile.isFolder(path)
        let files = isTree ? try SourceFolder.files(in: path, endings: endings) : [path]
        let found = files.map { file in
            let name = isTree ? String(file.dropFirst(path.count + 1)) : (path as NSString).lastPathComponent
            return Source(path: file, name: name, isSwift: name.hasSuffix(".swift"))
        }.filter { endings.contains(($0.name as NSString).pathExtension) }
        guard !found.isEmpty else {
            throw MigrationError("port.noSources", .noInput, "There are no Swift or Objective-C sources", at: path)
        }
        return found
    }

    /// Makes a folder, and refuses one that is neither new nor empty.
    static func makeFolder(_ path: String) throws(MigrationError) {
        if let present = try? FileManager.default.contentsOfDirectory(atPath: path), !present.isEmpty {
            throw MigrationError(
                "output.exists", .cannotCreate, "The folder is not empty", remedy: "Name a new folder", at: path)
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
            throw MigrationError("output.create", .cannotCreate, "The folder cannot be created", at: path, cause: error)
        }
    }
}
