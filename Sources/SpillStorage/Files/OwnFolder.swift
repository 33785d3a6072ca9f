import Diagnostics
import Glibc

/// A folder in which nobody else can put files, open for the time that it is used.
///
/// In a folder that others may write in, somebody may have made the folder first, or a link in its place, and may put another
/// one there at any time. So it is opened once, without following a link, and checked; and its files are reached through the
/// descriptor.
package final class OwnFolder: Sendable {
    /// The path at which it was opened.
    package let path: String
    /// The path for its files: through the descriptor, or ``path`` where no /proc is mounted.
    package let inside: String
    private let descriptor: Int32
    private let calls: any FileCalls

    /// Opens a folder without following a link, and checks that it belongs to this user. If others may write in it, that
    /// permission is taken away.
    ///
    /// - Parameters:
    ///   - calls: the system calls by which it is opened and read.
    ///   - elsewhere: what to do where the folder cannot be removed, as the end of a sentence.
    /// - Returns: nil if there is nothing at the path.
    /// - Throws: `folder.foreign` (77) if it is a link, belongs to another user, or was open to others and holds a file of another
    ///   user or stays open; `work.create` (73), `spill.io` (74), `spill.permission` (77).
    package init?(
        _ path: String, calls: any FileCalls = SystemFileCalls(),
        elsewhere: String = "name another folder with --work-dir"
    ) throws(MigrationError) {
        let opened = calls.openUninterrupted(path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if opened == -Int(ENOENT) { return nil }
        guard opened >= 0 else {
            // Another user's folder may not be open to this one.
            guard let status = (try? FileBytes.status(path, followsLinks: false)) ?? nil else { return nil }
            switch status.st_mode & S_IFMT {
            case S_IFLNK: throw Self.foreign(path, status, "The folder is a symbolic link", elsewhere)
            case S_IFDIR where status.st_uid != geteuid(): throw Self.foreign(path, status, Self.anothers, elsewhere)
            case S_IFDIR: throw SpillFailure.system("open", path, number: -opened)
            default: throw WorkDirectory.cannotCreate(path, number: Int(ENOTDIR))
            }
        }
        let folder = Int32(truncatingIfNeeded: opened)
        (self.path, self.calls, descriptor) = (path, calls, folder)
        inside = OpenFolders.note(folder, as: path)
        try check(elsewhere)
    }

    deinit {
        OpenFolders.forget(descriptor)
        _ = calls.close(descriptor)
    }

    private func check(_ elsewhere: String) throws(MigrationError) {
        let status: stat
        do throws(FileBytes.Failure) { status = try calls.status(of: descriptor) } catch {
            throw SpillFailure.system("look up", path, number: Int(error.number))
        }
        guard status.st_uid == geteuid() || hasOwner(status.st_uid) else {
            throw Self.foreign(path, status, Self.anothers, elsewhere)
        }
        guard status.st_mode & Self.writableByOthers != 0 else { return }
        guard fchmod(descriptor, 0o700) == 0 else {
            throw Self.foreign(path, status, Self.writable, elsewhere)
        }
        for name in calls.names(in: inside) ?? [] {
            let found = (try? FileBytes.status("\(inside)/\(name)", followsLinks: false)) ?? nil
            if let found, found.st_uid != status.st_uid {
                throw Self.foreign("\(path)/\(name)", found, "Another user put this into the folder", elsewhere)
            }
        }
    }

    /// The faults of a folder, as the beginning of a sentence.
    package static let anothers = "The folder is another user's"
    package static let writable = "Other users can write in the folder"

    /// The permissions of the group and of all others to write.
    package static let writableByOthers: mode_t = 0o022

    /// Tells whether files that this process makes in the folder have an owner: a file system may show all files as one user's,
    /// as NFS does to root and FAT to everybody.
    private func hasOwner(_ owner: uid_t) -> Bool {
        let probe = "\(inside)/owner-\(getpid())"
        let file = SystemCall.uninterrupted { open(probe, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600) }
        guard file >= 0 else { return false }
        defer {
            close(file)
            unlink(probe)
        }
        var status = stat()
        return fstat(file, &status) == 0 && status.st_uid == owner
    }

    /// Returns the error for a file or folder that is not the user's own.
    ///
    /// - Parameter what: its fault, as the beginning of a sentence.
    package static func foreign(
        _ path: String, _ status: stat, _ what: String, _ elsewhere: String
    ) -> MigrationError {
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return MigrationError(
            "folder.foreign", .permission,
            "\(what), and so could hold anything (owner \(status.st_uid), mode 0\(mode))",
            remedy: "Remove it, or \(elsewhere)", context: .init(path: path))
    }

    /// Tells whether a file is the user's own, and no link. A file that others put beside a destination is not taken for a trace
    /// of a run.
    package static func isOwnFile(_ path: String) -> Bool {
        guard let status = (try? FileBytes.status(path, followsLinks: false)) ?? nil else { return false }
        return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
    }
}
