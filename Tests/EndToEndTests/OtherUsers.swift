import Foundation
import Glibc

/// Users as whom tests run the command. Root may do anything, which hides what a file's mode and a read-only folder do.
enum OtherUsers {
    /// The user of tests of permissions: a user without a name, who owns nothing, if the tests run as root; else their own.
    static let ordinary: uid_t = geteuid() == 0 ? 1 << 30 + 1 : geteuid()

    /// True if this process can run the command as several users.
    static let areSeveral =
        geteuid() == 0
        && (try? CommandBinary.run(["--version"], through: through(ordinary)))?.code == 0

    /// True if this process is an ordinary user's or can run the command as one.
    static let haveOrdinary = geteuid() != 0 || areSeveral

    /// Returns the program, with its arguments, that runs a command as a user.
    static func through(_ user: uid_t) -> [String] {
        user == geteuid() ? [] : ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"]
    }

    /// Gives a folder and all that is in it to a user.
    static func give(_ folder: String, to user: uid_t = ordinary) throws {
        guard user != geteuid() else { return }
        for path in [folder] + (try FileManager.default.subpathsOfDirectory(atPath: folder)).map({ "\(folder)/\($0)" })
        where lchown(path, user, user) != 0 {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
    }
}
