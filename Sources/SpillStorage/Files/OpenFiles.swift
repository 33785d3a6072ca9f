import Glibc
import Synchronization

/// The files that the process has open at once. The system limits their number, for some batch systems to 16.
///
/// Spill files take what is left by all others, and give descriptors up to each other (``SpillDescriptor``): each sorted run on disk
/// is a file, and every relationship that is being filled may have some dozens.
package enum OpenFiles {
    /// The descriptors that are left to others: the streams, the stores with their logs, the journal, locks and folders.
    private static let others = 12
    /// The number of spill files that are open even so.
    private static let least = 3

    private struct Open {
        /// The open spill files, those opened first in front.
        var files: [SpillDescriptor] = []
        /// The most of them; nil until it is asked of the system.
        var most: Int?
    }

    private static let open = Mutex(Open())

    /// Raises the soft limit to the hard one. If the system refuses, the limit stays as it is.
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        open.withLock { $0.most = nil }
    }

    /// Closes idle spill files until one more may be opened.
    static func makeRoom() {
        let surplus = open.withLock { open in
            let most = open.most ?? mostSpillFiles()
            open.most = most
            return open.files.count - most
        }
        guard surplus >= 0 else { return }
        for _ in 0...surplus where !closeOne() { return }
    }

    private static func mostSpillFiles() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return .max }
        return max(least, Int(clamping: limit.rlim_cur) - others)
    }

    /// Closes the idle spill file that was opened first. Returns false if all are in use.
    static func closeOne() -> Bool {
        // Outside of the lock: who holds a file's lock may wait for this one.
        let files = open.withLock { $0.files }
        for file in files where file.closeIfIdle() {
            forget(file)
            return true
        }
        return false
    }

    static func note(_ file: SpillDescriptor) { open.withLock { $0.files.append(file) } }

    static func forget(_ file: SpillDescriptor) {
        open.withLock { open in
            if let index = open.files.firstIndex(where: { $0 === file }) { open.files.remove(at: index) }
        }
    }
}
