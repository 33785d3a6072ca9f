import Diagnostics

/// What the lexer and parser throw to each other: the place and the words.
///
/// A class, because the parser recurses and every `try` of it keeps room for an error in its stack frame: one pointer
/// instead of all of a ``MigrationError``.
final class ExpressionSyntaxError: Error, Sendable {
    /// Bytes before the place.
    let offset: Int
    let message: String
    let remedy: String?

    init(offset: Int, message: String, remedy: String?) {
        self.offset = offset
        self.message = message
        self.remedy = remedy
    }

    /// The error for the outside: with the text, and the place counted in characters from one.
    func described(in text: String) -> MigrationError {
        let before = String(decoding: text.utf8.prefix(offset), as: UTF8.self)
        return MigrationError(
            "expression.syntax", .configuration, "\(message), at column \(before.count + 1) of the expression",
            remedy: remedy, context: .init(expression: ExpressionLexer.excerpt(text)))
    }
}
