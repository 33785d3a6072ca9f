import Diagnostics
import Glibc

/// The program that loads policy libraries.
///
/// A released `stagecoach` has Swift's libraries linked statically: it starts in half the time, and runs without an installed
/// Swift. A policy library uses Swift's libraries, and Stagecoach itself, from the program that loads it. So with `--policies`,
/// `stagecoach-policies` replaces the process: the same command, linked dynamically.
package enum PolicyProgram {
    private static let name = "stagecoach-policies"

    /// Replaces the program of this process if the command line names policy libraries.
    ///
    /// - Parameter line: the command line, with the program's name first.
    /// - Returns: nil if it names none; else the exit code of a failure, which has been printed: 78 if the program or Swift's
    ///   libraries are missing.
    package static func takeOver(_ line: [String]) -> Int32? {
        let asks = asksForPolicies(line.dropFirst())
        // A library can be examined without being loaded.
        let checks = line.dropFirst().first == "policies"
        guard asks || checks else { return nil }
        let path = besideThis
        let obstacle = obstacle(path)
        if obstacle != nil, checks { return nil }
        if obstacle == nil { _ = ChildProcess.withWords(line) { execv(path, $0) } }
        let error = obstacle ?? missing(path, reason: String(cString: strerror(errno)))
        DescriptorSink(STDERR_FILENO).write(ErrorWording.text(error))
        return ErrorWording.exitCode(error)
    }

    /// Returns the reason why the program cannot be run; nil if there is none.
    static func obstacle(_ path: String) -> MigrationError? {
        guard access(path, X_OK) == 0 else { return missing(path, reason: String(cString: strerror(errno))) }
        let absent = (LoaderView.libraries(of: path) ?? []).filter { $0.path == nil }.map(\.name)
        return absent.isEmpty ? nil : withoutLibraries(path, absent)
    }

    /// Tells whether an option names a library.
    static func asksForPolicies(_ arguments: ArraySlice<String>) -> Bool {
        arguments.prefix { $0 != "--" }.contains { $0 == "--policies" || $0.hasPrefix("--policies=") }
    }

    /// The path of the program in this program's folder.
    static var besideThis: String { beside("/proc/self/exe") }

    /// Returns the path of the program in the folder of another program, whose path may be a link.
    static func beside(_ program: String) -> String {
        PathIdentity.real(program).map { "\(PathIdentity.folder(of: $0))/\(name)" } ?? name
    }

    static func missing(_ path: String, reason: String) -> MigrationError {
        MigrationError(
            "policies.noProgram", .configuration,
            "The program that loads libraries of policies cannot be run: \(reason)",
            remedy: "Put \(name) beside this program: the release's tarball has it, with Swift's libraries, and "
                + "swift build -c release --product \(name) makes it", at: path)
    }

    static func withoutLibraries(_ path: String, _ absent: [String]) -> MigrationError {
        let isSwift = absent.contains { $0.hasPrefix("libswift") || $0.contains("Foundation") }
        let names = absent.joined(separator: ", ")
        return MigrationError(
            isSwift ? "policies.noSwift" : "policies.missingLibraries", .configuration,
            isSwift
                ? "This host has no Swift, whose libraries policies need: \(names)"
                : "The program that loads libraries of policies needs libraries that are not on this host: \(names)",
            remedy: isSwift
                ? "Run the stagecoach of the release's tarball, which brings them; or copy the .so files of "
                    + "usr/lib/swift/linux in the Swift that built \(name) beside it"
                : "Install them, or copy them beside it", at: path)
    }
}
