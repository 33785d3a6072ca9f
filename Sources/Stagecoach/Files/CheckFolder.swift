import Diagnostics
import Foundation
import Glibc
import SpillStorage

/// A folder for the work files of one check, locked during the check. A later check removes the folders of killed checks.
///
/// The lock is an `flock` on the folder itself. It ends with the process, however the process ends.
final class CheckFolder {
    let path: String
    private let descriptor: Int32

    /// The beginning of the folder's name.
    enum Kind: String {
        case check = "stagecoach-check-"
        /// Beside a destination, where people look.
        case source = ".stagecoach-source-"
    }

    /// Makes and locks the folder, and removes the folders of killed checks beside it.
    ///
    /// - Parameter folder: an existing folder; nil for the folder for temporary files.
    /// - Throws: `work.create` (73, 77).
    init(in folder: String?, as kind: Kind = .check) throws(MigrationError) {
        let place = folder ?? NSTemporaryDirectory()
        Self.removeAbandoned(in: place, kind)
        // Before the new folder is locked, another check may take it for an abandoned one and remove it.
        for _ in 0..<16 {
            var template = Array("\(place)/\(kind.rawValue)XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { break }
            let path = template.withUnsafeBufferPointer { buffer in
                String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
            if let descriptor = Self.lock(path) {
                self.path = path
                self.descriptor = descriptor
                return
            }
        }
        let number = errno
        let isFull = number == ENOSPC || number == EDQUOT
        throw MigrationError(
            "work.create", number == EACCES ? .permission : isFull ? .io : .cannotCreate,
            "No folder for work files can be made: \(String(cString: strerror(number)))",
            remedy: "Name a folder that exists with --work-dir", context: .init(path: place))
    }

    /// Removes the folder and its contents.
    func remove() {
        Self.remove(path, descriptor)
    }

    /// Removes a locked folder with its content, and closes it.
    private static func remove(_ path: String, _ descriptor: Int32) {
        let inside = OpenFolders.note(descriptor, as: path)
        for name in (try? FileBytes.names(in: inside)) ?? [] { FileSystem.removeTree("\(inside)/\(name)") }
        rmdir(path)
        OpenFolders.forget(descriptor)
        close(descriptor)
    }

    /// Removes the folders of killed checks: folders of this user that are not locked.
    ///
    /// Errors are ignored; a folder that cannot be removed only wastes disk space.
    static func removeAbandoned(in place: String, _ kind: Kind = .check) {
        for name in ((try? FileBytes.names(in: place)) ?? []) where name.hasPrefix(kind.rawValue) {
            guard let descriptor = lock("\(place)/\(name)") else { continue }
            remove("\(place)/\(name)", descriptor)
        }
    }

    /// Locks a folder of this user. Returns nil if another process holds it or it is gone.
    private static func lock(_ path: String) -> Int32? {
        let descriptor = SystemCall.uninterrupted { open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { return nil }
        var held = stat()
        var named = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &held) == 0, lstat(path, &named) == 0,
            held.st_ino == named.st_ino, held.st_dev == named.st_dev, held.st_uid == geteuid()
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }
}
