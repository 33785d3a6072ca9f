import Diagnostics

/// The words for errors of the work itself.
package enum ErrorWording {
    /// One line that says where and what, and one that says what to do, where that is known.
    package static func text(_ error: any Error) -> String {
        guard var known = error as? MigrationError else { return "stagecoach: \("\(error)".printable)\n" }
        let remedy = known.remedy
        known.remedy = nil
        var text = "stagecoach: \(known.description.printable)\n"
        if let remedy, !remedy.isEmpty {
            let sentence = remedy.printable
            text += sentence + (sentence.last == "." || sentence.last == "?" ? "" : ".") + "\n"
        }
        return text
    }

    /// The exit code: the error's category; 70 for an error of a foreign type.
    package static func exitCode(_ error: any Error) -> Int32 {
        (error as? MigrationError)?.category.rawValue ?? MigrationError.Category.internal.rawValue
    }
}
