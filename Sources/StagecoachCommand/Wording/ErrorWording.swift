import Diagnostics

/// The words for errors of the work itself.
package enum ErrorWording {
    /// Returns one line with the place and the problem, and one with the remedy if there is one.
    package static func text(_ error: any Error) -> String {
        guard var known = error as? MigrationError else {
            return "stagecoach: \(MigrationError.words(error).printable)\n"
        }
        let remedy = known.remedy
        known.remedy = nil
        var text = "stagecoach: \(known.description.printable)\n"
        if let remedy, !remedy.isEmpty {
            let sentence = remedy.printable
            text += sentence + (sentence.last == "." || sentence.last == "?" ? "" : ".") + "\n"
        }
        return text
    }

    /// Returns the exit code: the error's category; 70 for an error of a foreign type.
    package static func exitCode(_ error: any Error) -> Int32 {
        (error as? MigrationError)?.category.rawValue ?? MigrationError.Category.internal.rawValue
    }
}
