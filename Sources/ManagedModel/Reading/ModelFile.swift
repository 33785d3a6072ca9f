import Diagnostics
import Foundation

/// Files and folders of models on disk. Nothing is ever written.
enum ModelFile {
    /// What may hold a model.
    enum Kind {
        case file(byteCount: Int)
        case folder
    }

    /// What stands at a path, symbolic links followed; nil for nothing, and for devices, pipes and sockets.
    ///
    /// - Throws: `model.permission` (77), `model.unreadable` (74): nobody knows what stands there.
    static func kind(at path: String) throws(MigrationError) -> Kind? {
        let status: stat
        do throws(FileBytes.Failure) {
            guard let found = try FileBytes.status(path) else { return nil }
            status = found
        } catch {
            throw unreadable(path, error)
        }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file(byteCount: Int(status.st_size))
        case S_IFDIR: return .folder
        default: return nil
        }
    }

    /// Whether a regular file stands at a path.
    ///
    /// - Throws: as ``kind(at:)``.
    static func isFile(_ path: String) throws(MigrationError) -> Bool {
        if case .file? = try kind(at: path) { true } else { false }
    }

    /// Whether a folder stands at a path.
    ///
    /// - Throws: as ``kind(at:)``.
    static func isFolder(_ path: String) throws(MigrationError) -> Bool {
        if case .folder? = try kind(at: path) { true } else { false }
    }

    /// The bytes of a file; one more than `limit` at most, so that the reader can tell that there are more.
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

    /// The names in a folder.
    ///
    /// - Throws: `model.permission` (77), `model.unreadable` (74).
    static func names(in folder: String) throws(MigrationError) -> [String] {
        do throws(FileBytes.Failure) {
            return try FileBytes.names(in: folder)
        } catch {
            throw unreadable(folder, error)
        }
    }

    /// The error for a model that is not there (66).
    static func notFound(_ path: String) -> MigrationError {
        MigrationError(
            "model.notFound", .noInput, "There is no such model",
            remedy: "Name an .xcdatamodeld, .xcdatamodel, .momd or .mom, or Bundle.xcdatamodeld:Version",
            context: .init(path: path))
    }

    /// The error for a file or folder that is there and cannot be read.
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
