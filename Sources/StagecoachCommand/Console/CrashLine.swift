import CCrashNote
import Glibc

/// The line that a crash leaves: the signal, and which policy had which object.
enum CrashLine {
    /// The beginning of each such line.
    static let mark = "stagecoach: SIG"

    /// Lets crashes of this process print a line. Swift's own backtrace, which can take minutes, follows only if
    /// `SWIFT_BACKTRACE` asks for it.
    ///
    /// - Parameters:
    ///   - command: the command's name.
    ///   - batch: the descriptor by which a worker answers its batch; nil in another process, whose line goes to standard error.
    static func install(command: String?, batch: Int32?) {
        let advice =
            switch command {
            case _ where batch != nil: ". The same command tries this store last"
            case "migrate": ". The same command goes on from its last checkpoint"
            default: ""
            }
        let outside = " outside policies. SWIFT_BACKTRACE=enable=yes shows where"
        crash_note_install(
            batch ?? STDERR_FILENO, strdup(advice), strdup(outside), getenv("SWIFT_BACKTRACE") != nil)
    }
}
