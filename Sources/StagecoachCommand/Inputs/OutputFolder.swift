import Diagnostics
import Foundation

/// A new folder for a result; an existing folder is never used.
enum OutputFolder {
    /// Makes the folder with its files, synced. It gets its name once it is complete. If that fails, nothing is left.
    ///
    /// - Parameter files: paths in the folder and contents.
    static func create(_ path: String, _ files: [(path: String, content: String)]) throws(MigrationError) {
        let path = PathIdentity.withoutSlash(path)
        try OutputFile.check(path)
        let parent = PathIdentity.folder(of: path)
        let draft = "\(parent)/.\(PathIdentity.name(of: path)).\(UUID().uuidString)"
        do throws(MigrationError) {
            try fill(draft, files)
            try sync(draft)
            // Two folders cannot be swapped by mistake: a folder never takes the place of one that has files.
            guard rename(draft, path) == 0 else {
                throw OutputFile.creationFailure(errno == ENOTEMPTY || errno == ENOTDIR ? EEXIST : errno, path)
            }
        } catch {
            try? FileManager.default.removeItem(atPath: draft)
            throw error.inside(.init(path: path))
        }
        try sync(parent)
    }

    private static func fill(_ folder: String, _ files: [(path: String, content: String)]) throws(MigrationError) {
        var made: Set<String> = []
        for file in files {
            var inner = folder
            for part in [""] + file.path.split(separator: "/").dropLast().map({ "/\($0)" }) {
                inner += part
                guard made.insert(inner).inserted else { continue }
                guard mkdir(inner, 0o777) == 0 else { throw OutputFile.creationFailure(errno, inner) }
            }
            try OutputFile.create("\(folder)/\(file.path)", file.content)
        }
        for inner in made { try sync(inner) }
    }

    private static func sync(_ folder: String) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0 else { throw OutputFile.writingFailure(errno, folder) }
        defer { close(descriptor) }
        guard SystemCall.uninterrupted({ fsync(descriptor) }) == 0 || errno == EINVAL else {
            throw OutputFile.writingFailure(errno, folder)
        }
    }
}
