import Glibc

/// The reason why a file takes no more bytes, and the remedy: a full disk, a used-up quota, or a limit of the file's size.
package struct NoRoom {
    /// The reason, as the end of a sentence.
    package let reason: String
    /// The remedy, as a sentence without a full stop.
    package let remedy: String

    /// - Parameters:
    ///   - number: the `errno` of the failed call.
    ///   - disk: the remedy for a full disk.
    /// - Returns: nil if the call failed for another reason.
    package init?(_ number: Int32, disk: String = "Free space on the disk and run the command again") {
        let told = String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT: (reason, remedy) = (told, disk)
        case EFBIG:
            guard let limit = ResourceLimit.current(RLIMIT_FSIZE) else {
                (reason, remedy) = (told, "Name a place in a file system that takes larger files")
                return
            }
            reason = "\(told): the limit of file sizes is \(limit.counted("byte"))"
            remedy = "Raise the limit (ulimit -f unlimited) and run the command again"
        default: return nil
        }
    }
}
