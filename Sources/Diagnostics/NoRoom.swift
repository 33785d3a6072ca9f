import Glibc

/// The reason why a file takes no more bytes, and what helps: a full disk, a used-up quota, or a limit of the file's size.
package struct NoRoom {
    /// The reason, as the end of a sentence.
    package let reason: String
    /// What helps, as a sentence without its end.
    package let remedy: String

    /// - Parameters:
    ///   - number: the `errno` of the failed call.
    ///   - disk: what helps where the disk is full.
    /// - Returns: nil if the call failed for another reason.
    package init?(_ number: Int32, disk: String = "Free space on the disk and run the command again") {
        let told = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT: (reason, remedy) = (told, disk)
        case EFBIG:
            guard let limit = Self.fileSizeLimit else {
                (reason, remedy) = (told, "Name a place in a file system that takes larger files")
                return
            }
            reason = "\(told): the limit of file sizes is \(limit.counted("byte"))"
            remedy = "Raise the limit (ulimit -f unlimited) and run the command again"
        default: return nil
        }
    }

    /// The most bytes that this process may write to a file; nil if there is no limit.
    private static var fileSizeLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur == rlim_t.max ? nil : Int(clamping: limit.rlim_cur)
    }
}
