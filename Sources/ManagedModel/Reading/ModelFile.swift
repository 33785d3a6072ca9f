import Diagnostics
import Foundation

/// Reads files and folders of models on disk. Nothing is ever written.
enum ModelFile {
    /// The kinds of file that may contain a model.
    enum Kind {
        case file, folder
    }

    /// Returns the kind of the file at a path, following symbolic links; nil if nothing exists there, and for devices, pipes
    /// and sockets.
    ///
    /// - Throws: `model.permission` (77), `model.unreadable` (74) if the path cannot be examined.
    static func kind(at path: String) throws(MigrationError) -> Kind? {
        let status: stat
        do throws(FileBytes.Failure) {
            guard let found = try FileBytes.status(path) else { return nil }
            status = found
        } catch {
            throw unreadable(path, error)
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .folder
        default: return nil
        }
    }

    /// Tells whether a path is a regular file.
    static func isFile(_ path: String) throws(MigrationError) -> Bool { try kind(at: path) == .file }

    /// Tells whether a path is a folder.
    static func isFolder(_ path: String) throws(MigrationError) -> Bool { try kind(at: path) == .folder }

    /// Returns the bytes of a file, at most one more than `limit`, so that the caller can detect a file that is too large.
    ///
    /// - Throws: `model.notFound` (66), `model.permission` (77), `model.unreadable` (74).
    static func read(_ path: String, limit: Int = XMLSource.greatestByteCount) throws(MigrationError) -> Data {
        guard try isFile(path) else { throw notFound(path) }
        do throws(FileBytes.Failure) {
            return Data(try FileBytes.read(path, most: limit + 1))
        } catch {
            throw unreadable(path, error)
        }
    }

    /// Returns the names in a folder.
    ///
    /// - Throws: `model.permission` (77), `model.unreadable` (74).
    static func names(in folder: String) throws(MigrationError) -> [String] {
        do throws(FileBytes.Failure) {
            return try FileBytes.names(in: folder)
        } catch {
            throw unreadable(folder, error)
        }
    }

    /// Returns the error for a model that does not exist (66).
    static func notFound(_ path: String) -> MigrationError {
        MigrationError(
            "model.notFound", .noInput, "There is no such model",
            remedy: "Name an .xcdatamodeld, .xcdatamodel, .momd or .mom, or Bundle.xcdatamodeld:Version",
            context: .init(path: path))
    }

    /// Returns the error for an existing file or folder that cannot be read.
    static func unreadable(_ path: String, _ error: any Error) -> MigrationError {
        if (error as? CocoaError)?.code == .fileReadNoPermission || (error as? FileBytes.Failure)?.number == EACCES {
            return MigrationError(
                "model.permission", .permission, "The model may not be read", remedy: "Grant read permission",
                context: .init(path: path), cause: error)
        }
        return MigrationError(
            "model.unreadable", .io, "The model cannot be read", remedy: "Check the disk it is on",
            context: .init(path: path), cause: error)
    }
}
