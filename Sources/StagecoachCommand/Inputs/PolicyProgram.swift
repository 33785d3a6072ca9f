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
    /// - Returns: nil if it names none; else the exit code of a failure, which has been printed: 78 if the program is missing.
    package static func takeOver(_ line: [String]) -> Int32? {
        guard asksForPolicies(line.dropFirst()) else { return nil }
        let path = beside("/proc/self/exe")
        var words: [UnsafeMutablePointer<CChar>?] = line.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        execv(path, &words)
        let error = missing(path, reason: String(cString: strerror(errno)))
        DescriptorSink(STDERR_FILENO).write(ErrorWording.text(error))
        return ErrorWording.exitCode(error)
    }

    /// Tells whether an option names a library.
    static func asksForPolicies(_ arguments: ArraySlice<String>) -> Bool {
        arguments.prefix { $0 != "--" }.contains { $0 == "--policies" || $0.hasPrefix("--policies=") }
    }

    /// Returns the path of the program in the folder of another program, whose path may be a link.
    static func beside(_ program: String) -> String {
        guard let resolved = realpath(program, nil) else { return name }
        defer { free(resolved) }
        let own = String(cString: resolved)
        return (own.lastIndex(of: "/").map { String(own[...$0]) } ?? "") + name
    }

    static func missing(_ path: String, reason: String) -> MigrationError {
        MigrationError(
            "policies.noProgram", .configuration,
            "The program that loads libraries of policies cannot be run: \(reason)",
            remedy: "Put \(name) beside this program: swift build -c release --product \(name)",
            context: .init(path: path))
    }
}
