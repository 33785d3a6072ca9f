import Foundation
import Glibc

/// A file system of a given size in memory, mounted for a test: the way to a full or a read-only disk. Needs root.
final class SmallDisk {
    let path: String

    /// True if such a disk can be mounted here.
    static let isPossible = SmallDisk(bytes: 65536) != nil

    init?(bytes: Int) {
        path =
            FileManager.default.temporaryDirectory.appendingPathComponent("stagecoach-disk-\(UUID().uuidString)").path
        guard mkdir(path, 0o755) == 0 else { return nil }
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else {
            rmdir(path)
            return nil
        }
    }

    deinit {
        umount2(path, 2)  // MNT_DETACH: also where a failed test left a file open
        rmdir(path)
    }

    func makeReadOnly() -> Bool { mount("tmpfs", path, "tmpfs", 32 | 1, "") == 0 }  // MS_REMOUNT | MS_RDONLY
}
