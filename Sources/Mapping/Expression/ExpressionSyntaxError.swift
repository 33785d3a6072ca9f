import Diagnostics

/// A syntax error as the lexer and the parser throw it internally: the place and the message.
///
/// It is a class because the parser recurses, and each `try` reserves stack space for an error: one pointer instead of a whole
/// ``MigrationError``.
final class ExpressionSyntaxError: Error, Sendable {
    /// The number of bytes before the place of the error.
    let offset: Int
    let message: String
    let remedy: String?

    init(offset: Int, message: String, remedy: String?) {
        self.offset = offset
        self.message = message
        self.remedy = remedy
    }

    /// Returns the public error, with the text and with the place counted in characters from one.
    func described(in text: String) -> MigrationError {
        let before = String(decoding: text.utf8.prefix(offset), as: UTF8.self)
        return MigrationError(
            "expression.syntax", .configuration, "\(message), at column \(before.count + 1) of the expression",
            remedy: remedy, context: .init(expression: ExpressionLexer.excerpt(text)))
    }
}
