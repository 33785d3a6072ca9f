import Diagnostics
import Mapping
import Testing

@Suite("Source filters")
struct PredicateProgramTests {
    static let filters: [(String, Bool)] = [
        ("TRUEPREDICATE", true), ("FALSEPREDICATE", false), ("i16 == 7", true), ("SELF.i16 == 7", true),
        ("$source.i16 == 7", true), ("i16 > 7", false), ("i16 >= 7", true),
        ("7 < i16", false), ("i16 != 8", true), ("d > 2", true), ("d == 2.5", true), ("i16 == 7.0", true),
        ("big > 9223372036854775806.5", false), ("dec == 12.1", true),
        ("dec > 12", true), ("decI == 3", true), ("decN == 3", false), ("decN != 3", true),
        ("dec < 12.2 AND dec > 12.05", true), ("yes == TRUE", true), ("yes", true), ("no", false),
        ("NOT no", true), ("yes AND i16 == 7", true), ("no OR i16 == 7", true), ("i16 > 0 AND account != nil", true),
        ("account == nil", false), ("noAccount == nil", true),
        ("account == noAccount", false), ("account == account", true),
        // Unknown.
        ("ni == 5", false), ("ni != 5", false), ("NOT (ni == 5)", false), ("NOT (ni != 5)", false), ("ni == nil", true),
        ("ni != nil", false), ("nil == ni", true), ("NOT (ni == nil)", false),
        ("i16 != nil", true), ("ni == ni", false), ("ni < 5 OR i16 == 7", true), ("ni < 5 AND i16 == 7", false),
        ("NOT (ni < 5 AND i16 == 8)", true), ("NOT (ni < 5 OR i16 == 7)", false),
        ("NOT (ni < 5 AND i16 == 7)", false), ("nb", false), ("NOT nb", false), ("ni IN {1, 2}", false),
        ("NOT (ni IN {1, 2})", false), ("ni BETWEEN {1, 2}", false), ("NOT (ni BETWEEN {1, 2})", false),
        ("ns CONTAINS 'x'", false), ("NOT (ns LIKE 'x')", false), ("ni + 1 == 2", false), ("i16 IN {1, nil}", false),
        ("i16 IN {7, nil}", true), ("NOT (i16 IN {1, nil})", false),
        ("TERNARY(ni > 5, TRUE, FALSE) == FALSE", true),
        // Lists.
        ("i16 IN {1, 7, 9}", true), ("i16 IN {1, 9}", false), ("i16 IN {}", false), ("i16 IN {7.0}", true),
        ("d IN {1, 2.5}", true), ("s IN {'Hello', 'x'}", true), ("s IN {'hello'}", false),
        ("s IN[c] {'hello', 'x'}", true), ("u8 IN[cd] {'GROSSE E😀', 'grösse'}", true),
        ("s IN {'a', t, 'Hello'}", true), ("i16 BETWEEN {5, 7}", true), ("i16 BETWEEN {8, 9}", false),
        ("d BETWEEN {i16, 9}", false),
        ("i16 BETWEEN {zero, i16b}", true), ("{1, 7} CONTAINS i16", true), ("date IN {CAST(1000.5, 'NSDate')}", true),
        ("date > CAST(1000, 'NSDate')", true), ("date < now()", true), ("dateI == CAST(1000, 'NSDate')", true),
        // Text.
        ("s == 'Hello'", true), ("s == 'hello'", false), ("s ==[c] 'hELLO'", true), ("s !=[c] 'hELLO'", false),
        ("s < t", true), ("s > 'Hell'", true), ("s >= 'Hello'", true), ("u8 ==[c] 'GRÖßE É😀'", true),
        ("u8 ==[d] 'Große e😀'", true), ("u8 ==[cd] 'gROßE E😀'", true), ("s BEGINSWITH 'He'", true),
        ("s BEGINSWITH 'he'", false), ("s BEGINSWITH[c] 'he'", true), ("s ENDSWITH 'lo'", true),
        ("s ENDSWITH 'Lo'", false),
        ("s CONTAINS 'ell'", true), ("s CONTAINS 'eL'", false), ("s CONTAINS[c] 'eL'", true), ("s CONTAINS ''", true),
        ("'ell' IN s", true), ("u8 CONTAINS[cd] 'OßE'", true), ("u8 BEGINSWITH[d] 'Gro'", true),
        ("s CONTAINS 'Hello!'", false),
        ("uri == uri", true), ("uri BEGINSWITH 'x:'", true),
        ("uuid == CAST('00010203-0405-0607-0809-0a0b0c0d0e0f', 'NSUUID')", true),
        ("data == CAST('0102', 'NSData')", true), ("data != CAST('01', 'NSData')", true),
        ("uppercase(s) == 'HELLO'", true), ("length(s) == 5", true),
        ("FUNCTION(s, 'stringByAppendingString:', t) ENDSWITH 'oWorld'", true),
        // LIKE.
        ("s LIKE 'Hello'", true), ("s LIKE 'H*o'", true), ("s LIKE 'h*'", false), ("s LIKE[c] 'h*'", true),
        ("s LIKE 'H?llo'", true), ("s LIKE 'H?lo'", false), ("s LIKE '*'", true), ("empty LIKE '*'", true),
        ("empty LIKE '?'", false),
        ("u8 LIKE 'Gr??e ??'", true), ("u8 LIKE[cd] 'gro?e e*'", true), ("s LIKE 'H\\\\*'", false),
        ("s LIKE '**l*l**'", true),
        // MATCHES.
        ("s MATCHES 'Hello'", true), ("s MATCHES 'Hell'", false), ("s MATCHES 'H.*'", true),
        ("s MATCHES '[A-Z][a-z]+'", true), ("s MATCHES '[a-z]+'", false), ("s MATCHES[c] '[a-z]+'", true),
        ("s MATCHES '(?i)HELLO'", true),
        ("num MATCHES '\\\\d+\\\\.\\\\d'", true), ("num MATCHES '[0-9.]{4}'", true),
        ("num MATCHES '[0-9.]{2,3}'", false), ("num MATCHES '[0-9.]{2,}'", true), ("s MATCHES '^Hello$'", true),
        ("s MATCHES 'Hi|Hello|x'", true), ("s MATCHES '(Hel|x)(lo|y)'", true),
        ("s MATCHES '(?:He)?llo'", true), ("s MATCHES 'Hel*?o'", true), ("s MATCHES '[^x]*'", true),
        ("s MATCHES '\\\\w+'", true), ("u8 MATCHES '\\\\w+\\\\s.{2}'", true), ("u8 MATCHES 'Größe é\\\\u{1}'", false),
        ("u8 MATCHES[cd] 'GRO.E E.'", true),
        ("empty MATCHES ''", true), ("empty MATCHES 'a*'", true), ("s MATCHES ''", false),
        ("s MATCHES 'a||Hello'", true), ("s MATCHES '[]H]ello'", true), ("s MATCHES 'H[e-]llo'", true),
        ("s MATCHES '[\\\\w]+'", true), ("s MATCHES '\\\\x48ello'", true),
        ("s MATCHES '\\\\D+\\\\S'", true), ("s MATCHES '(a*)*(b*)*Hello'", true), ("s MATCHES 'H(e(l(l(o))))'", true),
    ]

    @Test("rows pass as SQL's logic says", arguments: filters)
    func filter(format: String, expected: Bool) throws {
        if format.contains("\\\\u{1}") {
            #expect(throws: MigrationError.self) { try ExpressionRow.passes(format) }
            return
        }
        #expect(try ExpressionRow.passes(format) == expected)
    }

    @Test(
        "a pattern that makes backtracking matchers explode is an error that names it; LIKE and CONTAINS are no such patterns"
    )
    func explosive() throws {
        // s is five letters; the pattern has many ways to fail over each of them.
        let long = String(repeating: "(x+x+)+", count: 20) + "y"
        #expect(try !ExpressionRow.passes("s MATCHES '\(long)'"))
        let text = String(repeating: "a", count: 20_000)
        let error = #expect(throws: MigrationError.self) {
            try ExpressionRow.passes("FUNCTION('\(text)', 'stringByAppendingString:', s) MATCHES '(a|aa)+b'")
        }
        #expect(error?.code == "expression.patternLimit" && error?.message.contains("(a|aa)+b") == true)
        #expect(try !ExpressionRow.passes("FUNCTION('\(text)', 'stringByAppendingString:', s) LIKE '*a*a*a*a*b'"))
        #expect(try !ExpressionRow.passes("FUNCTION('\(text)', 'stringByAppendingString:', s) CONTAINS '\(text)b'"))
    }

    @Test(
        "patterns beyond the matcher are refused when they are compiled",
        arguments: [
            "a**", "*a", "a{2", "a{3,2}", "[a", "[z-a]", "a)", "(a", "\\\\", "[[a]", "\\\\1", "(?<=a",
            "\\\\xZZ", "\\\\p{IsNothing}", "(?y:a)",
        ])
    func refused(pattern: String) throws {
        let error = try #require(throws: MigrationError.self) { try ExpressionRow.passes("s MATCHES '\(pattern)'") }
        #expect(error.code == "expression.unsupported" || error.code == "expression.syntax")
        #expect(error.category == .configuration)
    }

    @Test("filters that ask for more than a row are refused")
    func unsupported() {
        for format in [
            "ANY a.b == 1", "NONE a == 1", "SUBQUERY(a, $x, $x.b == 1).@count > 0", "a.@count > 0", "i16", "s",
            "i16 IN $list", "unknown == 1",
        ] {
            #expect(throws: MigrationError.self, "\(format)") { try ExpressionRow.passes(format) }
        }
    }
}
