import Glibc

/// The number of files that the process may have open at once.
package enum OpenFiles {
    /// Raises the soft limit to the hard one. Each sorted run on disk is a file, and every relationship that is being filled
    /// may have some dozens. If the system refuses, the limit stays as it is.
    package static func raiseLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < limit.rlim_max
        else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
