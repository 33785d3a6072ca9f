import Diagnostics

/// The words for errors of the work itself.
package enum ErrorWording {
    /// Returns one line with the place and the problem, and one with the remedy if there is one.
    package static func text(_ error: any Error) -> String {
        let words = FailureWords(error)
        let text = "stagecoach: \(words.message)\n"
        guard error is MigrationError, let remedy = words.remedy else { return text }
        return text + remedy + (remedy.last == "." || remedy.last == "?" ? "" : ".") + "\n"
    }

    /// Returns the exit code: the error's category; 70 for an error of a foreign type.
    package static func exitCode(_ error: any Error) -> Int32 {
        (error as? MigrationError)?.category.rawValue ?? (error as? ToldFailure)?.exitCode
            ?? MigrationError.Category.internal.rawValue
    }
}

/// A failure of which all has been said: stores of a batch that are not done, or one object among several that is not there. It
/// only carries the exit code.
struct ToldFailure: Error {
    let exitCode: Int32

    /// Throws the failure unless the exit code is 0.
    static func check(_ exitCode: Int32) throws {
        if exitCode != 0 { throw ToldFailure(exitCode: exitCode) }
    }
}
