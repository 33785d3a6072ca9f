import Diagnostics
import Foundation
import Testing

@testable import Mapping

@Suite("Operators on bits")
struct BitOperatorTests {
    static let values: [(String, String, Int64)] = [
        ("6 & 3", "bitwiseAnd:with:(6, 3)", 2), ("6 | 3", "bitwiseOr:with:(6, 3)", 7),
        ("6 ^ 3", "bitwiseXor:with:(6, 3)", 5), ("1 << 4", "leftshift:by:(1, 4)", 16),
        ("-16 >> 2", "rightshift:by:(-16, 2)", -4), ("~5", "onesComplement(5)", -6),
        ("~ ~5", "onesComplement(onesComplement(5))", 5),
        // C's order: | below ^ below & below shifts below sums.
        ("1 | 2 ^ 3 & 2", "bitwiseOr:with:(1, bitwiseXor:with:(2, bitwiseAnd:with:(3, 2)))", 1),
        ("4 & 2 | 1", "bitwiseOr:with:(bitwiseAnd:with:(4, 2), 1)", 1),
        ("1 << 2 + 1", "leftshift:by:(1, 2 + 1)", 8), ("1 << 2 << 1", "leftshift:by:(leftshift:by:(1, 2), 1)", 8),
        ("7 - 1 & 3", "bitwiseAnd:with:(7 - 1, 3)", 2), ("(1 | 2) * 2", "bitwiseOr:with:(1, 2) * 2", 6),
        ("~1 + 3", "onesComplement(1) + 3", 1), ("-~1", "-onesComplement(1)", 2), ("~-1", "onesComplement(-1)", 0),
        ("2 ** 3 | 1", "bitwiseOr:with:(2 ** 3, 1)", 9), ("{5}[0] & 4", "bitwiseAnd:with:({5}[0], 4)", 4),
    ]

    @Test("They are their functions, in C's order", arguments: values)
    func value(text: String, canonical: String, result: Int64) throws {
        let expression = try ValueExpression(parsing: text)
        #expect(expression.format == canonical)
        #expect(try ValueExpression(parsing: canonical) == expression)
        let value = try expression.evaluate(with: nil, variables: [:])
        #expect((value as? NSNumber)?.int64Value == result)
    }

    @Test("They bind more tightly than comparisons and logic, and leave && and || alone")
    func predicates() throws {
        for (text, canonical) in [
            ("a & 4 == 4", "bitwiseAnd:with:(a, 4) == 4"), ("a == 4 | b", "a == bitwiseOr:with:(4, b)"),
            ("a & 1 == 1 && b | 2 == 2", "bitwiseAnd:with:(a, 1) == 1 AND bitwiseOr:with:(b, 2) == 2"),
            ("a==1||b==2", "a == 1 OR b == 2"), ("a < 1 << 3", "a < leftshift:by:(1, 3)"),
            ("a>1>>3", "a > rightshift:by:(1, 3)"), ("a<>1", "a != 1"), ("~a IN {1}", "onesComplement(a) IN {1}"),
            ("a UNION b | c", "a UNION bitwiseOr:with:(b, c)"),
        ] {
            let predicate = try SourcePredicate(format: text)
            #expect(predicate.format == canonical)
            #expect(try SourcePredicate(format: canonical) == predicate)
        }
    }

    @Test(
        "What is no operator is still refused",
        arguments: ["a & ", "& a", "a | | b", "a ^", "a << ", "~", "a ~ b", "a <<< b"])
    func refused(text: String) {
        let error = #expect(throws: MigrationError.self) { try ValueExpression(parsing: text) }
        #expect(error?.code == "expression.syntax")
    }
}
