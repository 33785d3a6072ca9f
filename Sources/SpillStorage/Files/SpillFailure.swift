import Diagnostics
import Glibc

/// The errors of the module, made from a system error or from damaged bytes.
///
/// Reading files throws `spill.damaged` and `spill.io` (74). Making or writing them also throws `spill.full` (74) and
/// `spill.permission` (77), and restoring a saved state `journal.damaged` (74). Comments in this module name only other errors.
enum SpillFailure {
    /// The error for a block, a header or a record that is not as it was written: `spill.damaged`.
    static func damaged(_ path: String, block offset: Int, _ what: String) -> MigrationError {
        MigrationError(
            "spill.damaged", .io, "the block at byte \(offset) of the spill file is damaged: \(what)",
            remedy: "Check the disk and run the command again",
            context: MigrationError.Context(path: path))
    }

    /// The error for a failed system call: `spill.full` if no space is left, otherwise `spill.io`.
    ///
    /// - Parameter number: the error number, positive.
    static func system(_ action: String, _ path: String, number: Int) -> MigrationError {
        let number = Int32(truncatingIfNeeded: number)
        let context = MigrationError.Context(path: path)
        let elsewhere = "Free space there or name another place with --work-dir, and run again"
        if let full = NoRoom(number, disk: elsewhere) {
            return MigrationError(
                "spill.full", .io, "no space is left to \(action) the spill file: \(full.reason)",
                remedy: full.remedy, context: context)
        }
        let reason = String(cString: strerror(number))
        switch number {
        case EACCES, EPERM, EROFS:
            return MigrationError(
                "spill.permission", .permission, "cannot \(action) the spill file: \(reason)",
                remedy: "Name a writable place with --work-dir", context: context)
        default:
            return MigrationError(
                "spill.io", .io, "cannot \(action) the spill file: \(reason)",
                remedy: "Check the disk and run again", context: context)
        }
    }
}
