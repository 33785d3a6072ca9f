import Diagnostics
import Foundation
import Mapping
import Testing

/// A line of a table: a text of the language and what it gives for ``LanguageScene/employee()``.
struct LanguageCase: Sendable, CustomTestStringConvertible {
    let text: String
    /// The value as ``LanguageScene/text(_:)`` writes it, or the code of the error.
    let result: String

    init(_ text: String, _ result: String) {
        self.text = text
        self.result = result
    }

    var testDescription: String { "\(text) → \(result)" }

    /// Evaluates the text, and again what it prints as.
    func check() throws {
        let expression = try ValueExpression(parsing: text)
        #expect(Self.outcome(expression) == result, "\(text)")
        let canonical = expression.format
        let again = try ValueExpression(parsing: canonical)
        #expect(again == expression, "\(text) prints as \(canonical)")
        #expect(Self.outcome(again) == result, "\(canonical)")
        // Whatever is a value is a predicate's text too, and prints alike.
        let predicate = try SourcePredicate(format: text)
        #expect(try SourcePredicate(format: predicate.format) == predicate, "\(predicate.format)")
        if result == "TRUE" || result == "FALSE" { try checkPredicate() }
    }

    private func checkPredicate() throws {
        let source = LanguageScene.employee()
        let variables = LanguageScene.variables(source)
        let predicate = try SourcePredicate(format: text)
        #expect(try predicate.evaluate(with: source, variables: variables) == (result == "TRUE"), "\(text)")
        let object = FormatPredicate(format: text)
        let given = variables.mapValues { $0 ?? NSNull() }
        #expect(object.evaluate(with: source, substitutionVariables: given) == (result == "TRUE"), "\(text)")
        let substituted = object.withSubstitutionVariables(given)
        if !text.contains(":=") { #expect(substituted.evaluate(with: source) == (result == "TRUE"), "\(text)") }
    }

    private static func outcome(_ expression: ValueExpression) -> String {
        let source = LanguageScene.employee()
        return EvaluationScope.$current.withValue(EvaluationScope(now: 5000)) {
            do {
                return LanguageScene.text(
                    try expression.evaluate(with: source, variables: LanguageScene.variables(source)))
            } catch let error as MigrationError {
                return "error \(error.code.rawValue)"
            } catch {
                return "error \(error)"
            }
        }
    }
}
