import Diagnostics
import Foundation
import Mapping
import Testing

@Suite("The language: unknown functions and selectors")
struct LanguageSelectorTests {
    private static func code(_ text: String) -> String? {
        let knows = { (variable: String, selector: String) in variable == "entityPolicy" && selector == "isbnForIsbn:" }
        do {
            try ValueExpression(format: text).checkCalls(knows: knows, isProperty: { $0 == "title" })
            return nil
        } catch {
            return error.code.rawValue
        }
    }

    @Test(
        "are found before anything is evaluated",
        arguments: [
            ("FUNCTION($entityPolicy, 'isbnForIsbn:', $source.isbn)", nil as String?),
            ("FUNCTION($entityPolicy, 'other:', $source.isbn)", "expression.unsupported"),
            ("FUNCTION($manager, 'isbnForIsbn:', $source.isbn)", "expression.unsupported"),
            ("FUNCTION($source, 'valueForKey:', 'a')", nil), ("FUNCTION($source.b, 'title')", nil),
            ("FUNCTION($source.b, 'titel')", "expression.unsupported"), ("FUNCTION('a', 'uppercaseString')", nil),
            ("FUNCTION('a', 'uppercaseString', 1)", "expression.type"), ("sum({1, 2})", nil), ("sum(1, 2)", nil),
            ("summe({1, 2})", "expression.unsupported"), ("now()", nil), ("add:to:(1, 2)", nil),
            ("add:to:(1)", "expression.unsupported"), ("1 + foo(2)", "expression.unsupported"),
            ("TERNARY(foo(1) == 2, 1, 2)", "expression.unsupported"), ("1 +", "expression.syntax"),
            ("SUBQUERY($source.a, $x, FUNCTION($x.b, 'nope') == 1)", "expression.unsupported"),
        ])
    func unknown(text: String, code: String?) { #expect(Self.code(text) == code, "\(text)") }

    @Test("everything that the tables call is known")
    func tables() throws {
        for line in LanguageFunctionTests.functions + LanguageFunctionTests.messages
        where !line.result.hasPrefix("error") {
            let expression = try ValueExpression(parsing: line.text)
            let isWellKnown = { (variable: String, _: String) in variable == "manager" || variable == "entityPolicy" }
            #expect(throws: Never.self, "\(line.text)") {
                try expression.checkCalls(knows: isWellKnown, isProperty: { ["name", "whatever"].contains($0) })
            }
        }
    }
}
