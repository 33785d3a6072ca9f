import Diagnostics
import Foundation
import SpillStorage

/// A new file for a result. It never replaces an existing file.
enum OutputFile {
    /// Refuses a path where no new file can be made. Makes nothing.
    static func check(_ path: String) throws(MigrationError) {
        if try status(path) != nil { throw exists(path) }
        let folder = PathIdentity.folder(of: path)
        guard let status = try status(folder, followsLinks: true), status.st_mode & S_IFMT == S_IFDIR else {
            throw MigrationError(
                "output.folder", .cannotCreate, "The file's folder does not exist", remedy: "Make the folder first",
                at: path)
        }
        guard access(folder, W_OK | X_OK) == 0 else { throw creationFailure(errno, path) }
    }

    /// Returns the status of the file at a path; nil if there is none.
    private static func status(_ path: String, followsLinks: Bool = false) throws(MigrationError) -> stat? {
        do throws(FileBytes.Failure) { return try FileBytes.status(path, followsLinks: followsLinks) } catch {
            throw creationFailure(error.number, path)
        }
    }

    /// Makes the file with its content and syncs it. On failure no file is left.
    static func create(_ path: String, _ content: String) throws(MigrationError) {
        let descriptor = SystemCall.uninterrupted { open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644) }
        guard descriptor >= 0 else { throw creationFailure(errno, path) }
        let sink = DescriptorSink(descriptor)
        sink.write(content)
        var failure = sink.synchronize()
        if close(descriptor) != 0, failure == 0 { failure = errno }
        guard failure != 0 else { return }
        unlink(path)
        throw writingFailure(failure, path)
    }

    /// Writes a text to a new file, or to standard output if no path is given.
    static func deliver(_ content: String, to path: String?, _ console: Console) throws(MigrationError) {
        if let path { try create(path, content) } else { console.output.write(content) }
    }

    /// Returns the error for a file that cannot be written completely: `output.io` (74).
    static func writingFailure(_ number: Int32, _ path: String) -> MigrationError {
        let full = NoRoom(number)
        return MigrationError(
            "output.io", .io, "Writing the file failed: \(full?.reason ?? String(cString: strerror(number)))",
            remedy: full?.remedy, at: path)
    }

    /// Makes a folder and its missing parent folders.
    ///
    /// - Throws: `destination.folder` (73); `folder.foreign` (77) if somebody else made a part of it in a folder that others may
    ///   write in.
    static func makeFolder(_ folder: String) throws(MigrationError) {
        let elsewhere = "name a folder in one that only you can write in"
        try FolderWay.check(folder, elsewhere: elsewhere)
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw MigrationError("destination.folder", .cannotCreate, "The folder cannot be created", at: folder)
        }
        // Somebody may have been faster.
        try FolderWay.check(folder, elsewhere: elsewhere)
    }

    private static func exists(_ path: String) -> MigrationError {
        MigrationError(
            "output.exists", .cannotCreate, "The file exists already",
            remedy: "Name another path, or move the file away", at: path)
    }

    static func creationFailure(_ number: Int32, _ path: String) -> MigrationError {
        let reason = String(cString: strerror(number))
        return switch number {
        case EEXIST: exists(path)
        case EACCES, EPERM:
            MigrationError("output.permission", .permission, "The file cannot be created: \(reason)", at: path)
        case ENOSPC, EDQUOT, EIO:
            MigrationError("output.io", .io, "The file cannot be created: \(reason)", at: path)
        default:
            MigrationError("output.create", .cannotCreate, "The file cannot be created: \(reason)", at: path)
        }
    }
}
