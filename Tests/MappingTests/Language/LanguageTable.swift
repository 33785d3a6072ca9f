import Diagnostics
import Foundation
import Mapping
import Testing

/// A line of a table: a text of the language and what it gives for ``LanguageFixture/employee()``.
struct LanguageCase: Sendable, CustomTestStringConvertible {
    let text: String
    /// The value as ``LanguageFixture/text(_:)`` writes it, or the code of the error.
    let result: String

    init(_ text: String, _ result: String) {
        self.text = text
        self.result = result
    }

    var testDescription: String { "\(text) → \(result)" }

    /// Evaluates the text, and again what it prints as; where it is true or false, as a predicate too.
    ///
    /// - Returns: a line for each result that is not the expected one.
    func problems() throws -> [String] {
        var lines: [String] = []
        func expect(_ found: String, _ expected: String, _ what: String) {
            if found != expected { lines.append("\(what) gives \(found), expected \(expected)") }
        }
        let expression = try ValueExpression(parsing: text)
        expect(Self.outcome(expression), result, text)
        let canonical = expression.format
        let again = try ValueExpression(parsing: canonical)
        if again != expression { lines.append("\(text) prints as \(canonical), which is another expression") }
        expect(Self.outcome(again), result, canonical)
        // Whatever is a value is a predicate's text too, and prints alike.
        let predicate = try SourcePredicate(format: text)
        if try SourcePredicate(format: predicate.format) != predicate {
            lines.append("\(text) prints as \(predicate.format), which is another predicate")
        }
        guard result == "TRUE" || result == "FALSE" else { return lines }
        for (form, value) in try predicateValues() { expect(value ? "TRUE" : "FALSE", result, "\(text), \(form),") }
        return lines
    }

    /// Returns the text's value as a predicate, in each of the forms in which a predicate is evaluated.
    private func predicateValues() throws -> [(form: String, value: Bool)] {
        let source = LanguageFixture.employee()
        let variables = LanguageFixture.variables(source)
        let predicate = try SourcePredicate(format: text)
        let object = FormatPredicate(format: text)
        let given = variables.mapValues { $0 ?? NSNull() }
        var values = [
            ("as a filter", try predicate.evaluate(with: source, variables: variables)),
            ("as a predicate", object.evaluate(with: source, substitutionVariables: given)),
        ]
        if !text.contains(":=") {
            values.append(("substituted", object.withSubstitutionVariables(given).evaluate(with: source)))
        }
        return values
    }

    private static func outcome(_ expression: ValueExpression) -> String {
        let source = LanguageFixture.employee()
        return EvaluationScope.$current.withValue(EvaluationScope(now: 5000)) {
            do {
                return LanguageFixture.text(
                    try expression.evaluate(with: source, variables: LanguageFixture.variables(source)))
            } catch let error as MigrationError {
                return "error \(error.code.rawValue)"
            } catch {
                return "error \(error)"
            }
        }
    }
}
