import Diagnostics
import Foundation
import Mapping
import TestSupport
import Testing

@Suite("Hostile expression text")
struct ExpressionHostileTests {
    static let nested: [String] = {
        let count = 100_000
        func many(_ text: String, _ tail: String = "") -> String { String(repeating: text, count: count) + tail }
        return [
            many("("), many("{"), many("-", "a"), many("NOT ", "a = b"), many("!", "a"), many("a["), many("f("),
            many("a + ("),
            many("a ** ("), many("$a := "), many("a AND (b OR "), many("TERNARY("), many("ANY "),
            many("a", "") + many(".b"),
            many("FUNCTION(a, 'b', "), many("a + ", "b"), many("a - ", "b"), many("a UNION ", "b"), many("1 * 2 "),
            "a" + many("[0]"), "a" + many("[0].b"), many("'"), many("\\"), many("#"), many("@"), many("CAST("),
            many("{("),
            many("SUBQUERY("), many("FETCH("), many("a = b = "), many("0x"), many("1."), many("e"), many("9"),
            "'" + many("\\u0041") + "'", many("{1},"),
        ]
    }()

    @Test("deep or endless text ends in an answer, not in a crash", arguments: nested.indices)
    func deep(index: Int) {
        let text = Self.nested[index]
        for wrapped in [text, text + String(repeating: ")", count: 100)] {
            do {
                let predicate = try SourcePredicate(format: wrapped)
                #expect(throws: Never.self) { try SourcePredicate(format: predicate.format) }
            } catch {
                #expect(error.code == "expression.syntax")
                #expect((error.context.expression ?? "").utf8.count <= 1000 + 100)
            }
        }
    }

    @Test("nesting and depth have the documented bounds")
    func bounds() throws {
        func parentheses(_ count: Int) -> String {
            String(repeating: "(", count: count) + "a" + String(repeating: ")", count: count)
        }
        #expect(try ValueExpression(parsing: parentheses(199)).format == "a")
        #expect(throws: MigrationError.self) { try ValueExpression(parsing: parentheses(200)) }
        let long = Array(repeating: "a", count: 399).joined(separator: " + ")
        #expect(try ValueExpression(parsing: long).format == long)
        #expect(throws: MigrationError.self) { try ValueExpression(parsing: long + " + a + a + a") }
        let chain = Array(repeating: "a == 1", count: 50_000).joined(separator: " AND ")
        #expect(try SourcePredicate(format: chain).format == chain)
        #expect(throws: MigrationError.self) {
            try ValueExpression(parsing: String(repeating: " ", count: 1 << 20) + "a")
        }
        #expect(try ValueExpression(parsing: String(repeating: " ", count: (1 << 20) - 1) + "a").format == "a")
    }

    @Test("the deepest allowed text is read and printed on a stack of two MiB")
    func smallStack() async throws {
        let inner = String(repeating: "a OR b AND c == d UNION e + f * g ** (", count: 24)
        let text = inner + "1" + String(repeating: ")", count: 24)
        let forms = [
            text, String(repeating: "-(", count: 99) + "a" + String(repeating: ")", count: 99),
            Array(repeating: "a", count: 399).joined(separator: " - "),
            String(repeating: "f({", count: 99) + "a" + String(repeating: "})", count: 99),
        ]
        let results: [Bool] = await withCheckedContinuation { continuation in
            let thread = Thread {
                let results = forms.map { form in
                    guard let once = try? SourcePredicate(format: form) else { return false }
                    return (try? SourcePredicate(format: once.format)) == once
                }
                continuation.resume(returning: results)
            }
            thread.stackSize = 2 << 20
            thread.start()
        }
        #expect(results == [true, true, true, true])
    }

    @Test("random text and damaged expressions are read or refused")
    func random() {
        let seed = RandomSeeds.first
        print("ExpressionHostileTests.random seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            "a", "b.c", "$source", ".", "(", ")", "{", "}", "[", "]", ",", "+", "-", "*", "**", "/", "%", "==", "!=",
            "<", ">",
            "AND", "OR", "NOT", "ANY", "IN", "LIKE", "[cd]", "'x'", "\"", "'", "\\", "1", "2.5", "0x", "#", "@count",
            "$", ":=",
            "FUNCTION(", "TERNARY(", "CAST(", "SUBQUERY(", "FETCH(", "UNION", "nil", "SELF", "sum(", "add:to:(", "é",
            "\0", " ",
            "FIRST", "BETWEEN", "TRUE", "TRUEPREDICATE", "ANYKEY", "#'@x'(", "#':a'(", "#''",
        ]
        var read = 0
        for _ in 0..<20_000 {
            var text = ""
            if generator.chance(4) {
                text = String(
                    decoding: (0..<generator.below(40)).map { _ in UInt8(generator.below(256)) }, as: UTF8.self)
            } else {
                for _ in 0..<generator.below(12) {
                    text += pieces[generator.below(pieces.count)] + (generator.chance(2) ? " " : "")
                }
            }
            do {
                let predicate = try SourcePredicate(format: text)
                read += 1
                let canonical = predicate.format
                let again = try? SourcePredicate(format: canonical)
                #expect(again == predicate, "seed \(seed): \(text) → \(canonical)")
            } catch {
                #expect(error.code == "expression.syntax")
            }
        }
        #expect(read > 100)
    }

    @Test("Sets of sets of lists become objects, and compare")
    func nestedSets() throws {
        let one = "({{1}} UNION {2})"
        let other = "({{3}} UNION {2})"
        let value = try ValueExpression(parsing: "{\(one), \(other), \(one)} UNION {5, {4}}").evaluate(with: nil)
        let set = try #require(value as? NSSet)
        #expect(set.count == 4 && set.allObjects.count == 4)
        let inner = try #require(try ValueExpression(parsing: other).evaluate(with: nil) as? NSSet)
        let same = try ValueExpression(parsing: other).evaluate(with: nil)
        #expect(set.contains(inner) && inner.isEqual(same))
        let different = try ValueExpression(parsing: one).evaluate(with: nil)
        #expect(!inner.isEqual(different))
    }
}
