import Diagnostics
import Glibc

/// The way to a path, on which somebody else may have put a link or a folder of their own.
///
/// In a folder that everybody may write in, anyone can make the folder that a command is about to make, or a link in its place.
/// Files made below it would lie where they chose, and be theirs to exchange. So each part of a way that lies in such a folder
/// has to be this user's, root's, or that folder's owner's. A folder that a group may write in is shared on purpose where this
/// user belongs to the group; then its other members are trusted.
///
/// Who may write in a folder that is not sticky can also move another user's folders there: no check helps against that.
package enum FolderWay {
    /// The most symbolic links that are followed, as by the kernel.
    private static let mostLinks = 40

    /// Refuses a path if a part of it is somebody else's in a folder that others may write in. What is missing is no fault.
    ///
    /// - Parameters:
    ///   - path: a file or folder; a relative path begins at the current folder.
    ///   - elsewhere: the remedy where the part cannot be removed, as the end of a sentence.
    /// - Throws: `folder.foreign` (77) with the part, its owner and its mode.
    /// - Complexity: O(parts of the path), two calls of the system each.
    package static func check(_ path: String, elsewhere: String) throws(MigrationError) {
        var parts = path.split(separator: "/").map(String.init)
        var place = path.hasPrefix("/") ? "/" : "."
        guard var folder = status(place, followsLinks: true) else { return }
        var links = 0
        parts.reverse()
        while let part = parts.popLast() {
            guard part != "." else { continue }
            let entry = place == "/" ? "/\(part)" : "\(place)/\(part)"
            guard let found = status(entry, followsLinks: false) else { return }
            let isLink = found.st_mode & S_IFMT == S_IFLNK
            if part != "..", isShared(folder), ![geteuid(), 0, folder.st_uid].contains(found.st_uid) {
                throw OwnFolder.foreign(entry, found, words(found), elsewhere)
            }
            if isLink {
                links += 1
                guard links <= mostLinks, let target = target(ofLink: entry) else { return }
                parts += target.split(separator: "/").map(String.init).reversed()
                guard target.hasPrefix("/") else { continue }
                place = "/"
            } else {
                place = entry
            }
            guard let next = status(place, followsLinks: true) else { return }
            folder = next
        }
    }

    private static func target(ofLink path: String) -> String? {
        var text = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = text.withUnsafeMutableBytes { bytes in
            bytes.withMemoryRebound(to: CChar.self) { $0.baseAddress.map { readlink(path, $0, Int(PATH_MAX)) } ?? 0 }
        }
        return count > 0 ? String(decoding: text.prefix(count), as: UTF8.self) : nil
    }

    private static func words(_ status: stat) -> String {
        switch status.st_mode & S_IFMT {
        case S_IFLNK: "The symbolic link is another user's"
        case S_IFDIR: OwnFolder.anothers
        default: "The file is another user's"
        }
    }

    /// Tells whether users with whom this one shares no group may write in a folder.
    private static func isShared(_ folder: stat) -> Bool {
        if folder.st_mode & S_IWOTH != 0 { return true }
        return folder.st_mode & S_IWGRP != 0 && !groups.contains(folder.st_gid)
    }

    private static var groups: [gid_t] {
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(max(0, Int(count))) + [getegid()]
    }

    private static func status(_ path: String, followsLinks: Bool) -> stat? {
        (try? FileBytes.status(path, followsLinks: followsLinks)) ?? nil
    }
}
