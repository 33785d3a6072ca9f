import Foundation
import TestSupport

/// The libraries in C that tests preload into the command: each is compiled once a process, from its folder in `Tests`, and
/// stands beside the command.
enum PreloadedLibrary {
    /// Makes the command's calls on files fail.
    static let faultInjector = compiled("FaultInjector")
    /// Counts what the command allocates.
    static let allocationCounter = compiled("AllocationCounter")

    /// Returns the path of a library. If it cannot be compiled, the compiler's words are printed, and the tests that need it fail.
    private static func compiled(_ name: String) -> String {
        let sources = SharedStores.repository.appendingPathComponent("Tests/\(name)").path
        let library = URL(fileURLWithPath: CommandBinary.path).deletingLastPathComponent()
            .appendingPathComponent("lib\(name).so").path
        let made = "\(library).\(getpid())"
        let outcome = Result {
            try CommandBinary.run(
                [
                    "-euc",
                    "clang -shared -fPIC -O1 -Wall -Werror -I '\(sources)/include' '\(sources)'/*.c -o '\(made)'; mv '\(made)' '\(library)'",
                ], through: ["/bin/sh"], command: nil)
        }
        if (try? outcome.get().code) != 0 { print("lib\(name).so: \(outcome)") }
        return library
    }
}
