import Diagnostics
import Mapping
import Testing

@Suite("Expression parser")
struct ExpressionParserTests {
    /// Text, and its canonical text.
    static let values: [(String, String)] = [
        ("5", "5"), ("-5", "-5"), ("- 5", "-5"), ("+5", "5"), ("0", "0"), ("007", "7"), ("5.0", "5.0"), (".5", "0.5"),
        ("1e3", "1000.0"), ("1.5E-3", "0.0015"), ("0x1F", "31"), ("0o17", "15"), ("0b101", "5"), ("0XfF", "255"),
        ("9223372036854775807", "9223372036854775807"), ("-9223372036854775808", "-9223372036854775808"),
        ("'a'", "'a'"), ("\"a\"", "'a'"), ("'it\\'s'", "'it\\'s'"), ("\"it's\"", "'it\\'s'"),
        ("'\\n\\t\\\\'", "'\\n\\t\\\\'"),
        ("'\\u00e9'", "'é'"), ("'\\ud83d\\ude00'", "'😀'"), ("'\\U0001F600'", "'😀'"), ("''", "''"),
        ("TRUE", "TRUE"), ("yes", "TRUE"), ("False", "FALSE"), ("NO", "FALSE"), ("NULL", "nil"), ("nil", "nil"),
        ("Nil", "nil"), ("self", "SELF"), ("SELF.a", "SELF.a"), ("$source", "$source"),
        ("$source.amount", "$source.amount"),
        ("$source . a . b", "$source.a.b"), ("a.b.c", "a.b.c"), ("#in", "#in"), ("a.in", "a.#in"),
        ("a.#in.b", "a.#in.b"),
        ("#name", "name"), ("first", "#first"), ("größe", "größe"), ("#'odd name'", "#'odd name'"),
        ("a.@count", "a.@count"), ("@sum.b", "@sum.b"), ("a.@distinctUnionOfObjects.b", "a.@distinctUnionOfObjects.b"),
        ("a.b.@max.c", "a.b.@max.c"), ("ANYKEY", "ANYKEY"),
        ("1+2*3", "1 + 2 * 3"), ("(1+2)*3", "(1 + 2) * 3"), ("1-2-3", "1 - 2 - 3"), ("1-(2-3)", "1 - (2 - 3)"),
        ("2**3**2", "2 ** 3 ** 2"), ("2**(3**2)", "2 ** (3 ** 2)"), ("a/b/c", "a / b / c"), ("a/(b*c)", "a / (b * c)"),
        ("a*b**c", "a * b ** c"), ("(a*b)**c", "(a * b) ** c"), ("7 % 4", "7 % 4"), ("-a", "-a"), ("--a", "-(-a)"),
        ("-(5)", "-(5)"), ("-a*b", "-a * b"), ("-(a*b)", "-(a * b)"), ("-2**2", "-2 ** 2"), ("a - -5", "a - -5"),
        ("a-5", "a - 5"), ("a -5", "a - 5"), ("(-5).a", "(-5).a"), ("(5).a", "(5).a"),
        ("($source.temperature - 32.0) / 1.8", "($source.temperature - 32.0) / 1.8"),
        ("((((a))))", "a"), ("{1,2 , 'x'}", "{1, 2, 'x'}"), ("{}", "{}"), ("{{1},{}}", "{{1}, {}}"),
        ("a[0]", "a[0]"), ("a[first]", "a[FIRST]"), ("a[LAST].b", "a[LAST].b"), ("a[SIZE]", "a[SIZE]"),
        ("a[#first]", "a[#first]"), ("a[1+2]", "a[1 + 2]"), ("{1,2}[1]", "{1, 2}[1]"), ("a[0][1]", "a[0][1]"),
        ("a['key']", "a['key']"),
        ("a UNION b", "a UNION b"), ("a union b intersect c minus d", "a UNION b INTERSECT c MINUS d"),
        ("a UNION (b MINUS c)", "a UNION (b MINUS c)"), ("a + b UNION c", "a + b UNION c"),
        ("FUNCTION($manager, \"f:b:\", 'A', $source.x)", "FUNCTION($manager, 'f:b:', 'A', $source.x)"),
        ("function(a,'uppercaseString')", "FUNCTION(a, 'uppercaseString')"),
        ("FUNCTION(a, 'b').c", "FUNCTION(a, 'b').c"),
        ("FUNCTION('a', 'stringByAppendingString:', b)", "FUNCTION('a', 'stringByAppendingString:', b)"),
        ("TERNARY(a > b, 1, 2)", "TERNARY(a > b, 1, 2)"), ("ternary(a, b, c)", "TERNARY(a, b, c)"),
        ("TERNARY(a == nil OR b == nil, nil, a + b)", "TERNARY(a == nil OR b == nil, nil, a + b)"),
        ("CAST(a, 'NSDate')", "CAST(a, 'NSDate')"), ("CAST(5, 'NSDate')", "CAST(5.0, 'NSDate')"),
        ("CAST('1.50', 'NSDecimalNumber')", "CAST('1.5', 'NSDecimalNumber')"),
        ("CAST('0AfF', 'NSData')", "CAST('0aff', 'NSData')"),
        ("CAST('1.5x', 'NSDecimalNumber')", "CAST('1.5x', 'NSDecimalNumber')"),
        ("SUBQUERY(a.b, $x, $x.c > 5)", "SUBQUERY(a.b, $x, $x.c > 5)"),
        ("SUBQUERY(a, $x, $x.c = 1 AND $x.d = 2).@count", "SUBQUERY(a, $x, $x.c == 1 AND $x.d == 2).@count"),
        (
            "FETCH(FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\" , \"Car\", \"TRUEPREDICATE\"), $manager.sourceContext, NO)",
            "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Car', 'TRUEPREDICATE'), $manager.sourceContext, NO)"
        ),
        ("FETCH(a, b, yes)", "FETCH(a, b, YES)"),
        ("sum:(1,1)", "sum(1, 1)"), ("$a.$b", "FUNCTION($a, 'valueForKeyPath:', $b)"),
        ("$a.b.$c.d", "FUNCTION($a.b, 'valueForKeyPath:', $c).d"), ("a . $b", "FUNCTION(a, 'valueForKeyPath:', $b)"),
        ("sum(a)", "sum(a)"), ("sum:(a)", "sum(a)"), ("now()", "now()"), ("count({1,2})", "count({1, 2})"),
        ("add:to:(1, 2)", "add:to:(1, 2)"), ("modulus:by:(a,b)", "modulus:by:(a, b)"),
        ("distance(a, b)", "distance(a, b)"),
        ("uppercase('x')", "uppercase('x')"), ("noindex(a)", "noindex(a)"),
        ("median(a) + mode(b)", "median(a) + mode(b)"),
        ("average({a, b})", "average({a, b})"), ("stddev(a)", "stddev(a)"), ("random()", "random()"),
        ("now() + 5", "now() + 5"),
        ("$a := 5 + 1", "$a := 5 + 1"), ("($a := 5) + 1", "($a := 5) + 1"), ("a > b", "a > b"),
        ("f(a > b, c)", "f(a > b, c)"),
        ("cast", "#cast"), ("function.x", "#function.x"), ("\n a\t", "a"),
    ]

    @Test("value expressions read as Apple's grammar says, and print canonically", arguments: values)
    func value(text: String, canonical: String) throws {
        let expression = try ValueExpression(parsing: text)
        #expect(expression.format == canonical)
        #expect(try ValueExpression(parsing: expression.format) == expression)
    }

    static let predicates: [(String, String)] = [
        ("TRUEPREDICATE", "TRUEPREDICATE"), ("falsepredicate", "FALSEPREDICATE"), ("a = 1", "a == 1"),
        ("a == 1", "a == 1"),
        ("a != 1", "a != 1"), ("a <> 1", "a != 1"), ("a<1", "a < 1"), ("a <= 1", "a <= 1"), ("a =< 1", "a <= 1"),
        ("a > 1", "a > 1"), ("a >= 1", "a >= 1"), ("a => 1", "a >= 1"), ("a<-1", "a < -1"),
        ("a > 1 and b < 2", "a > 1 AND b < 2"), ("a > 1 && b < 2 || c = 3", "a > 1 AND b < 2 OR c == 3"),
        ("a > 1 AND (b < 2 OR c = 3)", "a > 1 AND (b < 2 OR c == 3)"),
        ("(a = 1 AND b = 2) AND c = 3", "(a == 1 AND b == 2) AND c == 3"),
        ("a = 1 AND b = 2 AND c = 3", "a == 1 AND b == 2 AND c == 3"),
        ("a=1 OR b=2 OR c=3", "a == 1 OR b == 2 OR c == 3"),
        ("NOT a = 1", "NOT (a == 1)"), ("!a = 1", "NOT (a == 1)"), ("not (a = 1) and b = 2", "NOT (a == 1) AND b == 2"),
        ("NOT NOT a = 1", "NOT (NOT (a == 1))"), ("NOT (a = 1 OR b = 2)", "NOT (a == 1 OR b == 2)"),
        ("NOT active", "NOT active"),
        ("NOT TRUEPREDICATE", "NOT TRUEPREDICATE"), ("active AND b = 2", "active AND b == 2"),
        ("a BETWEEN {1, 10}", "a BETWEEN {1, 10}"), ("a between $range", "a BETWEEN $range"),
        ("a IN {1,2}", "a IN {1, 2}"),
        ("'x' in a.b", "'x' IN a.b"), ("NOT (a IN {1})", "NOT (a IN {1})"), ("a CONTAINS 'x'", "a CONTAINS 'x'"),
        ("a BEGINSWITH[cd] 'x'", "a BEGINSWITH[cd] 'x'"), ("a endswith [c] 'x'", "a ENDSWITH[c] 'x'"),
        ("a LIKE[dc] '*x?'", "a LIKE[cd] '*x?'"), ("a MATCHES '[a-z]+'", "a MATCHES '[a-z]+'"),
        ("a ==[c] 'x'", "a ==[c] 'x'"),
        ("a ==[n] 'x'", "a ==[n] 'x'"), ("a CONTAINS[l] 'x'", "a CONTAINS[l] 'x'"),
        ("ANY a.b = 1", "ANY a.b == 1"), ("some a.b > 1", "ANY a.b > 1"),
        ("ALL a.b > 1 AND c = 1", "ALL a.b > 1 AND c == 1"),
        ("NONE a.b = 1", "NONE a.b == 1"), ("NOT ANY a.b = 1", "NOT (ANY a.b == 1)"),
        ("a + b > c * 2", "a + b > c * 2"),
        ("(a + b) > c", "a + b > c"), ("(a > b) == TRUE", "(a > b) == TRUE"), ("((a > b))", "a > b"),
        ("a = nil", "a == nil"), ("a != NULL", "a != nil"),
        ("account != nil AND amount > 0", "account != nil AND amount > 0"),
        ("SELF == 5", "SELF == 5"), ("SELF IN {1}", "SELF IN {1}"), ("messageID < 10000", "messageID < 10000"),
        ("a.@count > 0", "a.@count > 0"),
        ("SUBQUERY(a, $x, $x.b = 1).@count > 0", "SUBQUERY(a, $x, $x.b == 1).@count > 0"),
        ("CAST(a, 'NSDate') < now()", "CAST(a, 'NSDate') < now()"), ("a[0] = 1", "a[0] == 1"),
        ("#like LIKE 'x'", "#like LIKE 'x'"),
        ("$x IN a UNION b", "$x IN a UNION b"), ("TRUE", "TRUE"),
        ("a = b AND NOT c = d OR e = f", "a == b AND NOT (c == d) OR e == f"),
    ]

    @Test("predicates read as Apple's grammar says, and print canonically", arguments: predicates)
    func predicate(text: String, canonical: String) throws {
        let predicate = try SourcePredicate(format: text)
        #expect(predicate.format == canonical)
        #expect(try SourcePredicate(format: predicate.format) == predicate)
    }

    static let errors: [(String, Int, String)] = [
        ("", 1, "expected an expression, found the end"), ("   ", 4, "expected an expression"),
        ("1 +", 4, "expected an expression"),
        ("(1 + 2", 7, "expected an operator or ')'"), ("1 2", 3, "expected an operator or the end, found the number 2"),
        ("a b", 3, "found 'b'"), ("a..b", 3, "expected the name of a property"),
        ("a.", 3, "expected the name of a property"),
        ("'abc", 1, "no closing quote"), ("x + 'abc", 5, "no closing quote"), ("'\\d'", 2, "unknown escape"),
        ("'\\u12'", 2, "hexadecimal"), ("'\\ud800'", 2, "Unicode"), ("0x", 3, "digit of base 16"),
        ("0b2", 3, "digit of base 2"),
        ("12abc", 3, "does not belong"), ("9223372036854775808", 1, "does not fit"),
        ("99999999999999999999", 1, "does not fit"),
        ("1e999", 1, "does not fit"), ("$", 2, "variable"), ("$ a", 2, "variable"), ("@", 2, "operator"),
        ("#", 2, "name"),
        ("a ; b", 3, "unexpected character ';'"), ("é ; b", 3, "unexpected character"),
        ("a ; b", 3, "unexpected character"),
        ("a = b = c", 7, "not chained"), ("a < b < c", 7, "not chained"), ("NOT a = b = c", 11, "not chained"),
        ("a = NOT b", 5, "expected a value"),
        ("1 + ANY a = 1", 5, "expected a value"), ("ANY a", 6, "expected a comparison"),
        ("a NOT IN {1}", 3, "reserved word 'NOT'"),
        ("AND", 1, "reserved word 'AND'"), ("a == AND b", 6, "expected an expression"), ("{1, 2", 6, "',' or '}'"),
        ("{1,}", 4, "expected an expression"),
        ("a[", 3, "expected an expression"), ("a[1", 4, "expected ']'"), ("a ==[x] b", 6, "options"),
        ("f(", 3, "expected an expression"),
        ("f(1", 4, "',' or ')'"), ("f(1,)", 5, "expected an expression"), ("add:to: 1", 9, "expected '('"),
        ("FUNCTION(a)", 11, "expected ','"),
        ("FUNCTION(a, b)", 13, "selector"), ("TERNARY(a, b)", 13, "expected ','"), ("CAST(a, b)", 9, "name of a type"),
        ("SUBQUERY(a, b, c)", 13, "variable"), ("FETCH(a, b, c)", 13, "YES or NO"), ("union(a)", 7, "no function"),
        (")", 1, "found ')'"),
        ("a)", 2, "found ')'"), ("((a)", 5, "')'"), ("a IN", 5, "expected an expression"),
        ("größe +", 8, "expected an expression"),
    ]

    @Test("errors name what was expected, and the column in characters", arguments: errors)
    func error(text: String, column: Int, part: String) throws {
        let error = try #require(throws: MigrationError.self) { try SourcePredicate(format: text) }
        #expect(error.code == "expression.syntax")
        #expect(error.category == .configuration)
        #expect(error.message.contains(part), "\(error.message)")
        #expect(error.message.hasSuffix("at column \(column) of the expression"), "\(error.message)")
        #expect(error.context.expression == text)
    }

    @Test("the tree keeps what the text says")
    func trees() throws {
        let source = ExpressionNode.variable("source")
        #expect(
            try ValueExpression(parsing: "$source.a.@sum.b").node
                == .keyPath(target: source, components: ["a", "@sum", "b"]))
        #expect(try ValueExpression(parsing: "SELF.a").node == .keyPath(target: .evaluatedObject, components: ["a"]))
        #expect(
            try ValueExpression(parsing: "max(a)").node
                == .function(target: nil, selector: "max:", arguments: [.keyPath(target: nil, components: ["a"])]))
        #expect(try ValueExpression(parsing: "-1").node == .constant(.integer(-1)))
        #expect(try ValueExpression(parsing: "-(1)").node == .negation(.constant(.integer(1))))
        #expect(try ValueExpression(parsing: "CAST(2.5, 'NSDate')").node == .constant(.date(2.5)))
        #expect(try ValueExpression(parsing: "TRUEPREDICATE").node == .predicate(.constant(true)))
        #expect(try SourcePredicate(format: "TRUE").node == .expression(.constant(.boolean(true))))
    }
}
