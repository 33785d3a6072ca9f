import CCrashNote
import Diagnostics
import Glibc

/// The line that a crash leaves, or a policy that calls `exit()`: the signal, and which policy had which object.
enum CrashLine {
    /// The beginnings of such lines.
    private static let marks = ["stagecoach: SIG", "stagecoach: exit() "]

    /// Returns a line of a process without the program's name, if it is such a line.
    static func text(of line: some Sequence<UInt8>) -> String? {
        let line = String(decoding: Array(line), as: UTF8.self)
        guard marks.contains(where: line.hasPrefix) else { return nil }
        return String(line.dropFirst("stagecoach: ".count).prefix { $0 != "\n" })
    }

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
            batch ?? STDERR_FILENO, strdup(advice), strdup(outside), MigrationError.Category.internal.rawValue,
            getenv("SWIFT_BACKTRACE") != nil)
    }
}
