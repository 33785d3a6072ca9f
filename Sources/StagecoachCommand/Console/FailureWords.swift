import Diagnostics

/// An error in the words of a report.
struct FailureWords: Encodable {
    private enum CodingKeys: CodingKey { case code, message, remedy }

    /// The stable code; nil for an error of a foreign type.
    let code: String?
    /// The place and the message, without the remedy.
    let message: String
    let remedy: String?
    let exitCode: Int32

    init(_ error: any Error) {
        exitCode = ErrorWording.exitCode(error)
        guard var known = error as? MigrationError else {
            code = nil
            message = MigrationError.words(error).printable
            remedy = MigrationError.suggestion(error)?.printable
            return
        }
        code = known.code.rawValue
        remedy = known.remedy.flatMap { $0.isEmpty ? nil : $0.printable }
        known.remedy = nil
        message = known.description.printable
    }
}
