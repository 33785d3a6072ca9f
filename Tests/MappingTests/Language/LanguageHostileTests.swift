import Diagnostics
import Foundation
import Mapping
import TestSupport
import Testing

@Suite("The language: hostile evaluations")
struct LanguageHostileTests {
    private static func code(_ text: String, _ object: Any? = nil) -> String {
        do {
            _ = try ValueExpression(parsing: text).evaluate(with: object)
            return "value"
        } catch let error as MigrationError {
            return error.code.rawValue
        } catch {
            return "\(error)"
        }
    }

    private static func many(_ text: String, _ count: Int, _ tail: String = "") -> String {
        String(repeating: text, count: count) + tail
    }

    @Test("the deepest trees that the parser makes are evaluated on a stack of two MiB")
    func deep() async {
        let texts = [
            Self.many("-(", 99) + "1" + Self.many(")", 99), Array(repeating: "1", count: 399).joined(separator: " - "),
            Self.many("max({", 99) + "1" + Self.many("})", 99), Self.many("NOT (", 99) + "1 == 1" + Self.many(")", 99),
            Self.many("TERNARY(1 == 1, ", 99) + "1" + Self.many(", 2)", 99),
            Self.many("FUNCTION(", 180) + "'a'" + Self.many(", 'uppercaseString')", 180),
            Self.many("SUBQUERY({", 90) + "1" + Self.many("}, $x, $x != nil)", 90),
            "{1}" + Self.many("[0]", 300).replacing("[0][0]", with: "[0]"),
        ]
        let results: [String] = await withCheckedContinuation { continuation in
            let thread = Thread { continuation.resume(returning: texts.map { Self.code($0) }) }
            thread.stackSize = 2 << 20
            thread.start()
        }
        #expect(results.dropLast() == ["value", "value", "value", "value", "value", "value", "value"][...])
        #expect(results.last == "expression.type")
    }

    @Test("subqueries in subqueries end by the number of steps")
    func steps() {
        let list = "{" + (0..<400).map(String.init).joined(separator: ", ") + "}"
        let text = (0..<4).reduce("TRUEPREDICATE") { inner, level in
            "SUBQUERY(\(list), $v\(level), \(inner)).@count == 0"
        }
        #expect(Self.code("TERNARY(\(text), 1, 0)") == "expression.limit")
    }

    @Test("texts and lists that double end by their size")
    func doubling() {
        let text = (0..<60).map { _ in "$a := FUNCTION($a, 'stringByAppendingString:', $a)" }.joined(separator: ", ")
        #expect(Self.code("{$a := 'xxxxxxxxxxxxxxxx', \(text)}") == "expression.limit")
        let sum = (0..<60).map { _ in "$a := $a + $a" }.joined(separator: ", ")
        #expect(Self.code("{$a := 'xxxxxxxxxxxxxxxx', \(sum)}") == "expression.limit")
        let list = (0..<60).map { _ in "$a := {$a, $a}" }.joined(separator: ", ")
        #expect(Self.code("{$a := {1}, \(list), $a == $a}") == "expression.limit")
        let replaced = "FUNCTION($a, 'stringByReplacingOccurrencesOfString:withString:', 'x', $a)"
        let replacing = (0..<8).map { _ in "$a := \(replaced)" }.joined(separator: ", ")
        #expect(Self.code("{$a := 'xxxxxxxxxxxxxxxx', \(replacing)}") == "expression.limit")
    }

    @Test("patterns that make other matchers backtrack take no time")
    func patterns() {
        let text = Self.many("a", 5000, "!")
        for pattern in ["(a+)+$", "(a|a)*", "(a*)*b", "a*a*a*a*a*a*a*b", "(.*)*x"] {
            #expect(!FormatPredicate(format: "SELF MATCHES %@", pattern).evaluate(with: text))
        }
        #expect(!FormatPredicate(format: "SELF LIKE %@", Self.many("*a", 100, "b")).evaluate(with: text))
        #expect(!FormatPredicate(format: "SELF CONTAINS %@", Self.many("a", 2500, "b")).evaluate(with: text))
        #expect(Self.code("'a' MATCHES '" + Self.many("(a{1000}){1000}", 1) + "'") == "value")
        #expect(Self.code("'a' MATCHES '" + Self.many("(", 5000) + "'") == "expression.syntax")
    }

    @Test("random trees are evaluated or refused, and once printed give the same")
    func random() {
        let seed = RandomSeeds.first
        print("LanguageHostileTests.random seed \(seed)")
        var generator = ExpressionRoundTripTests.TreeGenerator(random: SeededGenerator(seed: seed))
        let object = LanguageFixture.employee()
        let variables = LanguageFixture.variables(object)
        func outcome(_ expression: ValueExpression) -> String {
            do {
                return LanguageFixture.text(try expression.evaluate(with: object, variables: variables))
            } catch let error as MigrationError {
                return error.code.rawValue
            } catch {
                return "\(error)"
            }
        }
        EvaluationScope.$current.withValue(EvaluationScope(now: 5000)) {
            for _ in 0..<3000 {
                let expression = ValueExpression(node: generator.value(1 + generator.random.below(4)))
                let first = outcome(expression)
                // Random numbers differ by their nature.
                guard !expression.format.contains("random"),
                    let again = try? ValueExpression(parsing: expression.format)
                else { continue }
                #expect(outcome(again) == first, "seed \(seed): \(expression.format)")
            }
        }
    }

    @Test("what code builds deeper than any text is refused, not followed")
    func builtDeep() {
        var expression = ValueExpression(forConstantValue: 1)
        for _ in 0..<2000 { expression = ValueExpression(forFunction: "abs:", arguments: [expression]) }
        #expect(throws: MigrationError.self) { try expression.evaluate(with: nil) }
        #expect(ValueExpression(format: "%@ + 1", expression).failure?.code == "expression.syntax")
    }
}
