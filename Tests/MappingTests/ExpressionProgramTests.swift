import Diagnostics
import ManagedModel
import Mapping
import Rows
import TestSupport
import Testing

@Suite("Expression programs")
struct ExpressionProgramTests {
    typealias Value = ExpressionRow.Value

    static let values: [(String, AttributeType, Value)] = [
        // Plain copies and conversions.
        ("$source.i16", .integer16, .integer(7)), ("$source.i16", .integer64, .integer(7)),
        ("$source.i64", .integer64, .integer(1 << 40)),
        ("$source.i16", .double, .real(7)), ("$source.i16", .float, .real(7)), ("$source.i16", .decimal, .integer(7)),
        ("$source.i32", .integer32, .integer(100_000)), ("$source.yes", .integer16, .integer(1)),
        ("$source.yes", .double, .real(1)),
        ("$source.yes", .decimal, .integer(1)), ("$source.yes", .boolean, .integer(1)),
        ("$source.zero", .boolean, .integer(0)),
        ("$source.d", .double, .real(2.5)), ("$source.d", .float, .real(2.5)), ("$source.d", .integer16, .integer(2)),
        ("$source.negd", .integer32, .integer(-2)), ("$source.d", .decimal, .real(2.5)),
        ("$source.f", .double, .real(1.5)),
        ("$source.f * 2", .decimal, .integer(3)), ("$source.dec", .decimal, .real(12.1)),
        ("$source.decN", .decimal, .text("NaN")),
        ("$source.dec", .double, .real(12.1)), ("$source.dec", .integer16, .integer(12)),
        ("$source.decI", .integer64, .integer(3)),
        ("$source.s", .string, .text("Hello")), ("$source.date", .date, .real(1000.5)),
        ("$source.dateI", .date, .integer(1000)),
        ("$source.uuid", .uuid, .blob(Array(0..<16))), ("$source.uri", .uri, .text("x://y")),
        ("$source.data", .binaryData, .blob([1, 2])), ("$source.data", .transformable, .blob([1, 2])),
        ("$source.tr", .binaryData, .blob([9])), ("CAST($source.tr, 'NSData')", .binaryData, .blob([9])),
        ("$source.tr", .transformable, .blob([9])), ("$source.ns", .string, .null), ("$source.ni", .integer16, .null),
        ("$source.nd", .decimal, .null), ("$source.ndec", .double, .null), ("$source.a.b", .integer32, .integer(99)),
        ("FUNCTION($source, 'valueForKeyPath:', 'a.b')", .integer32, .integer(99)),
        ("FUNCTION($source, 'valueForKey:', 's')", .string, .text("Hello")),
        ("noindex($source.i16)", .integer16, .integer(7)),
        ("0.1", .float, .real(Double(Float(0.1)))),
        // Constants.
        ("5", .integer16, .integer(5)), ("5", .double, .real(5)), ("5.0", .integer16, .integer(5)),
        ("5.9", .integer16, .integer(5)),
        ("-5.9", .integer16, .integer(-5)), ("5.5", .decimal, .real(5.5)), ("5.0", .decimal, .integer(5)),
        ("TRUE", .boolean, .integer(1)),
        ("NO", .integer16, .integer(0)), ("'x'", .string, .text("x")), ("''", .string, .text("")),
        ("nil", .string, .null),
        ("nil", .integer16, .null), ("nil", .uuid, .null), ("now()", .date, .real(5000)),
        ("CAST(10, 'NSDate')", .date, .real(10)),
        ("CAST('1.50', 'NSDecimalNumber')", .decimal, .real(1.5)),
        ("CAST('0102', 'NSData')", .binaryData, .blob([1, 2])),
        ("CAST('00010203-0405-0607-0809-0a0b0c0d0e0f', 'NSUUID')", .uuid, .blob(Array(0..<16))),
        ("CAST('x://z', 'NSURL')", .uri, .text("x://z")), ("1 > 2", .boolean, .integer(0)),
        ("1", .boolean, .integer(1)),
        // Arithmetic.
        ("1 + 2 * 3", .integer16, .integer(7)), ("7 / 2", .double, .real(3)), ("-7 / 2", .integer16, .integer(-3)),
        ("7 / 2.0", .double, .real(3.5)), ("7.0 / 2", .decimal, .real(3.5)), ("7 % 3", .integer16, .integer(1)),
        ("-7 % 3", .integer16, .integer(-1)),
        ("7.5 % 2", .double, .real(1.5)), ("2 ** 10", .integer16, .integer(1024)),
        ("2 ** 0.5", .double, .real(2.0.squareRoot())),
        ("2.0 ** -1", .double, .real(0.5)), ("-1 ** 3", .integer16, .integer(-1)), ("0 ** 0", .integer16, .integer(1)),
        ("$source.i16 / 2", .integer16, .integer(3)), ("$source.i16 / 2.0", .double, .real(3.5)),
        ("$source.i16 * $source.d", .double, .real(17.5)),
        ("-$source.i16", .integer16, .integer(-7)), ("-$source.d", .double, .real(-2.5)),
        ("$source.yes + $source.yes", .integer16, .integer(2)),
        ("$source.small % -1", .integer64, .integer(0)),
        ("($source.d - 32.0) / 1.8", .double, .real((2.5 - 32.0) / 1.8)),
        ("$source.dec + 1", .decimal, .real(13.1)), ("$source.dec * 10", .decimal, .integer(121)),
        ("$source.dec + $source.decI", .decimal, .real(15.1)),
        ("$source.dec * 3 - 36.3", .double, .real(0)),
        ("$source.decI / 2", .decimal, .real(1.5)),
        ("$source.decI / 2", .integer16, .integer(1)), ("$source.dec - $source.dec", .decimal, .integer(0)),
        ("$source.decI ** 3", .decimal, .integer(27)),
        ("$source.dec % 5", .decimal, .real(2.1)), ("-$source.dec", .decimal, .real(-12.1)),
        ("$source.decI * 9223372036854775807", .decimal, .real(27_670_116_110_564_327_424)),
        ("CAST('0.1', 'NSDecimalNumber') + CAST('0.2', 'NSDecimalNumber')", .decimal, .real(0.3)),
        // nil.
        ("$source.ni + 1", .integer16, .null), ("1 + $source.ni", .integer16, .null),
        ("nil + $source.i16", .integer16, .null),
        ("$source.nd * 2", .double, .null), ("$source.ndec + $source.dec", .decimal, .null),
        ("-$source.ni", .integer16, .null),
        ("$source.ni / 0", .integer16, .null), ("$source.ndate + 5", .date, .null), ("abs($source.nd)", .double, .null),
        // Dates.
        ("$source.date + 60", .date, .real(1060.5)), ("60 + $source.date", .date, .real(1060.5)),
        ("$source.date - 0.5", .date, .real(1000)),
        ("$source.date - $source.dateI", .double, .real(0.5)), ("$source.dateI + $source.i16", .date, .real(1007)),
        ("CAST($source.i16, 'NSDate')", .date, .real(7)), ("CAST($source.date, 'NSNumber')", .double, .real(1000.5)),
        ("now() - $source.dateI", .double, .real(4000)),
        // Functions.
        ("abs($source.neg)", .integer16, .integer(7)), ("abs($source.negd)", .double, .real(2.5)),
        ("abs(-$source.dec)", .decimal, .real(12.1)),
        ("ceiling($source.d)", .double, .real(3)), ("floor($source.negd)", .double, .real(-3)),
        ("trunc($source.negd)", .double, .real(-2)),
        ("floor($source.dec)", .decimal, .integer(12)), ("ceiling($source.dec)", .integer16, .integer(13)),
        ("floor($source.i16)", .integer16, .integer(7)),
        ("sqrt(16)", .double, .real(4)), ("log(100)", .double, .real(2)), ("ln(1)", .double, .real(0)),
        ("exp(0)", .double, .real(1)),
        ("add:to:($source.i16, 1)", .integer16, .integer(8)), ("from:subtract:(10, 3)", .integer16, .integer(7)),
        ("multiply:by:(2, 3)", .integer16, .integer(6)),
        ("divide:by:(7, 2)", .integer16, .integer(3)), ("modulus:by:(7, 2)", .integer16, .integer(1)),
        ("raise:toPower:(2, 3)", .integer16, .integer(8)),
        ("bitwiseAnd:with:(6, 3)", .integer16, .integer(2)), ("bitwiseOr:with:(6, 3)", .integer16, .integer(7)),
        ("bitwiseXor:with:(6, 3)", .integer16, .integer(5)),
        ("leftshift:by:(1, 4)", .integer16, .integer(16)), ("rightshift:by:(16, 4)", .integer16, .integer(1)),
        ("onesComplement:(0)", .integer16, .integer(-1)),
        ("max({$source.i16, 3, $source.ni})", .integer16, .integer(7)),
        ("min({$source.i16, 2.5})", .double, .real(2.5)), ("max({$source.dec, 13})", .decimal, .integer(13)),
        ("min({$source.dec, 13})", .decimal, .real(12.1)), ("max({})", .integer16, .null),
        ("min({$source.date, $source.dateI})", .date, .real(1000)),
        ("castObject:toType:($source.i16, 'NSString')", .string, .text("7")),
        // Text.
        ("uppercase($source.s)", .string, .text("HELLO")), ("lowercase:($source.u8)", .string, .text("größe é😀")),
        ("uppercase($source.u8)", .string, .text("GRÖSSE É😀")),
        ("FUNCTION($source.s, 'uppercaseString')", .string, .text("HELLO")),
        ("length($source.u8)", .integer16, .integer(9)), ("FUNCTION('abc', 'length')", .integer16, .integer(3)),
        ("FUNCTION($source.s, 'stringByAppendingString:', $source.t)", .string, .text("HelloWorld")),
        (
            "FUNCTION(FUNCTION($source.s, 'stringByAppendingString:', ', '), 'stringByAppendingString:', $source.t)",
            .string, .text("Hello, World")
        ),
        (
            "FUNCTION($source.s, 'stringByAppendingString:', FUNCTION('-', 'stringByAppendingString:', $source.u8))",
            .string, .text("Hello-Größe é😀")
        ),
        ("FUNCTION($source.s, 'stringByAppendingString:', $source.ns)", .string, .null),
        ("FUNCTION($source.ns, 'stringByAppendingString:', $source.s)", .string, .null),
        ("FUNCTION($source.s, 'stringByAppendingString:', nil)", .string, .null),
        ("FUNCTION('a', 'stringByAppendingString:', 'b')", .string, .text("ab")),
        ("FUNCTION($source.empty, 'stringByAppendingString:', $source.empty)", .string, .text("")),
        ("uppercase($source.ns)", .string, .null),
        ("canonical:($source.u8)", .string, .text("grosse e😀")), ("canonical($source.ns)", .string, .null),
        ("$source.s + $source.t", .string, .text("HelloWorld")), ("'a' + 'b' + 'c'", .string, .text("abc")),
        ("$source.s + (', ' + $source.t)", .string, .text("Hello, World")),
        ("add:to:($source.s, $source.u8)", .string, .text("HelloGröße é😀")),
        ("$source.s + $source.ns", .string, .null), ("$source.ns + $source.s", .string, .null),
        ("$source.s + nil", .string, .null), ("nil + $source.s", .string, .null),
        (
            "FUNCTION(uppercase($source.s), 'stringByAppendingString:', lowercase($source.s))", .string,
            .text("HELLOhello")
        ),
        // Casts.
        ("CAST($source.i16, 'NSString')", .string, .text("7")), ("CAST($source.d, 'NSString')", .string, .text("2.5")),
        ("CAST(5.0, 'NSString')", .string, .text("5")),
        ("CAST($source.dec, 'NSString')", .string, .text("12.1")),
        ("CAST($source.num, 'double')", .double, .real(42.5)), ("CAST($source.num, 'NSNumber')", .double, .real(42.5)),
        ("CAST($source.num, 'NSDecimalNumber')", .decimal, .real(42.5)),
        ("CAST($source.num, 'int32')", .integer32, .integer(42)),
        ("CAST($source.uuid, 'NSString')", .string, .text("00010203-0405-0607-0809-0A0B0C0D0E0F")),
        ("CAST($source.uri, 'NSString')", .string, .text("x://y")), ("CAST($source.s, 'NSURL')", .uri, .text("Hello")),
        ("CAST($source.d, 'integer')", .integer16, .integer(2)),
        ("CAST($source.ns, 'double')", .double, .null),
        ("CAST($source.uuid, 'NSData')", .binaryData, .blob(Array(0..<16))),
        (
            "CAST(CAST(CAST($source.uuid, 'NSString'), 'NSUUID'), 'NSString')", .string,
            .text("00010203-0405-0607-0809-0A0B0C0D0E0F")
        ),
        // Conditions.
        ("TERNARY($source.i16 > 5, 'big', 'small')", .string, .text("big")),
        ("TERNARY($source.ni > 5, 1, 2)", .integer16, .integer(2)),
        ("TERNARY($source.ni == nil, 0, $source.ni)", .integer16, .integer(0)),
        ("TERNARY($source.zero == 0, nil, 10 / $source.zero)", .integer16, .null),
        ("TERNARY($source.yes, 1, 2.5)", .double, .real(1)), ("TERNARY($source.no, 1, 2.5)", .double, .real(2.5)),
        ("TERNARY($source.nb, 1, 2)", .integer16, .integer(2)),
        ("TERNARY(NOT $source.nb, 1, 2)", .integer16, .integer(1)),
        ("TERNARY($source.yes, $source.dec, 1)", .decimal, .real(12.1)),
        ("TERNARY($source.no, $source.dec, 1)", .decimal, .integer(1)),
        ("TERNARY($source.yes, 1, $source.dec)", .decimal, .integer(1)),
        ("TERNARY($source.yes, nil, 'x')", .string, .null), ("TERNARY($source.no, nil, 'x')", .string, .text("x")),
        ("TERNARY($source.account == nil, 1, 2)", .integer16, .integer(2)),
        ("TERNARY($source.noAccount == nil, 1, 2)", .integer16, .integer(1)),
        ("TERNARY($source.yes, TERNARY($source.no, 1, 2), 3)", .integer16, .integer(2)),
        ("TERNARY($source.s == 'Hello', $source.t, $source.s)", .string, .text("World")),
        ("TERNARY(FUNCTION($source.s, 'stringByAppendingString:', 'x') == 'Hellox', 1, 2)", .integer16, .integer(1)),
        // Predicates as values: two-valued, and knowing nil.
        ("$source.i16 == 7", .boolean, .integer(1)), ("$source.ni == nil", .boolean, .integer(1)),
        ("$source.ni != 5", .boolean, .integer(1)), ("$source.ni == $source.nd", .boolean, .integer(1)),
        ("$source.ni < 5", .boolean, .integer(0)), ("NOT ($source.ni < 5)", .boolean, .integer(1)),
        ("$source.ni IN {1, 2}", .boolean, .integer(0)), ("$source.ni IN {1, nil}", .boolean, .integer(1)),
        ("$source.zero != 0 AND 5 / $source.zero > 1", .boolean, .integer(0)),
        ("$source.zero == 0 OR 5 / $source.zero > 1", .boolean, .integer(1)),
        ("(1 > 2) == FALSE", .boolean, .integer(1)), ("$source.s BEGINSWITH 'He'", .integer16, .integer(1)),
        ("TRUEPREDICATE", .boolean, .integer(1)), ("$source.ns CONTAINS 'x'", .boolean, .integer(0)),
    ]

    @Test("expressions store what the value rules say", arguments: values)
    func value(format: String, type: AttributeType, expected: Value) throws {
        #expect(try ExpressionRow.evaluate(format, type) == expected)
    }

    static let refusals: [(String, AttributeType, String)] = [
        ("$source.s", .integer16, "expression.type"), ("$source.i16", .string, "expression.type"),
        ("$source.i16", .date, "expression.type"), ("$source.date", .double, "expression.type"),
        ("$source.s", .uri, "expression.type"), ("$source.uri", .string, "expression.type"),
        ("$source.uuid", .string, "expression.type"), ("'x'", .uuid, "expression.type"),
        ("'5'", .integer16, "expression.type"),
        ("$source.s + 1", .integer16, "expression.type"), ("'a' - 'b'", .string, "expression.type"),
        ("1 + 'b'", .string, "expression.type"),
        ("$source.date + $source.date", .date, "expression.type"), ("$source.date * 2", .date, "expression.type"),
        ("5 - $source.date", .date, "expression.type"), ("TERNARY($source.i16, 1, 2)", .integer16, "expression.type"),
        ("TERNARY($source.yes, 1, 'x')", .integer16, "expression.type"),
        ("$source.s == 5", .boolean, "expression.type"),
        ("$source.date > 5", .boolean, "expression.type"), ("$source.uuid < $source.uuid", .boolean, "expression.type"),
        ("abs($source.s)", .double, "expression.type"), ("uppercase($source.i16)", .string, "expression.type"),
        ("abs(1, 2)", .double, "expression.unsupported"), ("$source.tr", .uuid, "expression.type"),
        ("$source.s", .transformable, "expression.unsupported"),
        ("FUNCTION($source.s, 'stringByAppendingString:', 5)", .string, "expression.type"),
        ("CAST($source.date, 'NSString')", .string, "expression.type"),
        ("CAST($source.s, 'NSFoo')", .string, "expression.unsupported"),
        ("$source.i16 BEGINSWITH 'x'", .boolean, "expression.type"),
        ("$source", .string, "expression.unsupported"), ("amount", .string, "expression.unsupported"),
        ("SELF", .string, "expression.unsupported"), ("$destination.a", .string, "expression.unsupported"),
        ("$manager", .string, "expression.unsupported"),
        ("$source.a.@count", .integer16, "expression.unsupported"),
        ("SUBQUERY($source.a, $x, $x.b == 1)", .integer16, "expression.unsupported"),
        ("{1, 2}", .integer16, "expression.unsupported"),
        ("$source.a UNION $source.b", .integer16, "expression.unsupported"),
        ("$source.s[0]", .integer16, "expression.unsupported"),
        ("FETCH($source.s, $source.t, NO)", .integer16, "expression.unsupported"),
        ("FUNCTION($entityPolicy, 'isbnForIsbn:', $source.s)", .string, "expression.unsupported"),
        (
            "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'A', $source.a)", .string,
            "expression.unsupported"
        ), ("FUNCTION($source.s, 'unheardOf:', 1)", .string, "expression.unsupported"),
        ("random()", .double, "expression.unsupported"),
        ("median({1,2})", .double, "expression.unsupported"), ("foo($source.s)", .double, "expression.unsupported"),
        ("ANY $source.a == 1", .boolean, "test.unknown"), ("$x := 5", .integer16, "expression.unsupported"),
        ("ANYKEY", .string, "expression.unsupported"),
        ("$source.s LIKE $source.t", .boolean, "expression.unsupported"),
        ("$source.s MATCHES '(a'", .boolean, "expression.syntax"),
        ("$source.s MATCHES '(?y)a'", .boolean, "expression.syntax"),
        ("$source.i16 BETWEEN $source.t", .boolean, "expression.unsupported"),
        ("$source.unknown", .string, "test.unknown"), ("$source.unknown + 1", .double, "test.unknown"),
        ("70000", .integer16, "value.outOfRange"), ("1 / 0", .integer16, "value.divisionByZero"),
        ("2", .boolean, "value.outOfRange"), ("1e300", .float, "value.outOfRange"),
        ("2 ** -1", .integer16, "value.outOfRange"), ("$source.account", .objectID, "expression.unsupported"),
        ("5", .undefined, "expression.unsupported"), ("CAST('x', 'NSUUID')", .uuid, "value.type"),
        ("$source.dec ** 0.5", .decimal, "expression.unsupported"),
    ]

    @Test("a product of tiny decimals is nothing, not a crash")
    func tinyDecimals() throws {
        let tiny = "CAST('1e-100', 'NSDecimalNumber')"
        #expect(try ExpressionRow.evaluate("\(tiny) * \(tiny)", .decimal) == .integer(0))
        #expect(try ExpressionRow.evaluate("CAST('0.1', 'NSDecimalNumber') ** 500", .decimal) == .integer(0))
    }

    @Test("what cannot be computed is refused at load, by code", arguments: refusals)
    func refusal(format: String, type: AttributeType, code: String) throws {
        if format == "$source.dec ** 0.5" {
            // A decimal with a floating number is floating.
            #expect(try ExpressionRow.evaluate(format, type) != .null)
            return
        }
        let error = try #require(throws: MigrationError.self) { _ = try ExpressionRow.program(format, type) }
        #expect(error.code.rawValue == code)
        #expect(error.category == .configuration)
        #expect(error.context.property == "p")
        #expect(error.context.expression == (try ValueExpression(parsing: format)).format)
    }

    static let faults: [(String, AttributeType, String)] = [
        ("$source.i32", .integer16, "value.outOfRange"), ("$source.i64", .integer32, "value.outOfRange"),
        ("$source.i16", .boolean, "value.outOfRange"), ("$source.huge", .integer64, "value.outOfRange"),
        ("$source.huge", .float, "value.outOfRange"),
        ("$source.huge", .decimal, "value.outOfRange"), ("$source.decN", .double, "value.outOfRange"),
        ("$source.decN + 1", .decimal, "value.outOfRange"), ("$source.decN", .integer16, "value.outOfRange"),
        ("$source.big + 1", .integer64, "value.outOfRange"),
        ("$source.small - 1", .integer64, "value.outOfRange"), ("-$source.small", .integer64, "value.outOfRange"),
        ("abs($source.small)", .integer64, "value.outOfRange"), ("$source.small / -1", .integer64, "value.outOfRange"),
        ("$source.big * 2", .integer64, "value.outOfRange"),
        ("$source.i16 ** 100", .integer64, "value.outOfRange"),
        ("$source.huge * $source.huge", .double, "value.outOfRange"),
        ("sqrt($source.neg)", .double, "value.outOfRange"), ("ln($source.zero)", .double, "value.outOfRange"),
        ("1 / $source.zero", .integer16, "value.divisionByZero"),
        ("1 % $source.zero", .integer16, "value.divisionByZero"),
        ("1.0 / $source.zero", .double, "value.divisionByZero"),
        ("$source.dec / $source.zero", .decimal, "value.divisionByZero"), ("$source.odd", .integer16, "value.type"),
        ("uppercase($source.wrong)", .string, "value.type"),
        ("CAST($source.s, 'double')", .double, "value.type"),
        ("CAST($source.s, 'NSDecimalNumber')", .decimal, "value.type"),
        ("CAST($source.s, 'NSUUID')", .uuid, "value.type"), ("$source.huge ** 2", .double, "value.outOfRange"),
    ]

    @Test("values that do not fit are errors of data that name the value", arguments: faults)
    func fault(format: String, type: AttributeType, code: String) throws {
        let error = try #require(throws: MigrationError.self) { _ = try ExpressionRow.evaluate(format, type) }
        #expect(error.code.rawValue == code)
        #expect(error.category == .data)
        #expect(error.context.entity == "E")
        #expect(error.context.expression == format)
    }

    @Test("a range error names the value and the type")
    func rangeMessage() throws {
        let error = try #require(throws: MigrationError.self) {
            _ = try ExpressionRow.evaluate("$source.i32", .integer16)
        }
        #expect(error.message == "the value 100000 is out of the range of Integer 16")
    }

    @Test("every pair of attribute types is copied, converted or refused by one rule")
    func allPairs() throws {
        let sample: [AttributeType: String] = [
            .integer16: "zero", .integer32: "i32", .integer64: "i64", .decimal: "decI", .double: "d", .float: "f",
            .string: "s", .boolean: "yes",
            .date: "date", .binaryData: "data", .uuid: "uuid", .uri: "uri", .transformable: "tr",
        ]
        let numbers: Set<AttributeType> = [.integer16, .integer32, .integer64, .decimal, .double, .float, .boolean]
        let copies: Set<[AttributeType]> = [
            [.integer16, .integer32], [.integer16, .integer64], [.integer32, .integer64], [.boolean, .integer16],
            [.boolean, .integer32],
            [.boolean, .integer64], [.boolean, .decimal], [.integer16, .decimal],
            [.integer32, .decimal], [.integer64, .decimal], [.transformable, .binaryData],
            [.binaryData, .transformable],
        ]
        for (from, name) in sample {
            for to in sample.keys {
                if from == to || copies.contains([from, to]) || (numbers.contains(from) && numbers.contains(to)) {
                    let program = try ExpressionRow.program("$source.\(name)", to)
                    #expect(
                        (program.copiedSlot != nil) == (from == to || copies.contains([from, to])), "\(from) to \(to)")
                    #expect(program.constant == nil)
                } else {
                    #expect(throws: MigrationError.self, "\(from) to \(to)") {
                        try ExpressionRow.program("$source.\(name)", to)
                    }
                }
            }
        }
    }

    @Test("constants are known without a row")
    func constants() throws {
        #expect(try ExpressionRow.program("nil", .string).constant == .null)
        #expect(try ExpressionRow.program("1 + 2", .integer16).constant == .integer(3))
        #expect(try ExpressionRow.program("5", .double).constant == .real(5))
        #expect(try ExpressionRow.program("uppercase('x')", .string).constant == .text([0x58]))
        #expect(try ExpressionRow.program("CAST('ff', 'NSData')", .binaryData).constant == .blob([255]))
        #expect(try ExpressionRow.program("$source.ni + nil", .integer16).constant == nil)
        #expect(try ExpressionRow.program("$source.s", .string).copiedSlot == 16)
    }

    @Test("a random arithmetic tree computes what a direct walk computes")
    func randomArithmetic() throws {
        let seed = RandomSeeds.first
        print("ExpressionProgramTests.randomArithmetic seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        func tree(_ depth: Int) -> (String, Int64?) {
            if depth == 0 || generator.chance(4) {
                switch generator.below(4) {
                case 0: return ("$source.i16", 7)
                case 1: return ("$source.neg", -7)
                case 2: return ("$source.ni", nil)
                default:
                    let value = Int64(generator.below(20) - 10)
                    return (value < 0 ? "(\(value))" : "\(value)", value)
                }
            }
            let (left, a) = tree(depth - 1)
            let (right, b) = tree(depth - 1)
            switch generator.below(4) {
            case 0: return ("(\(left) + \(right))", a.flatMap { a in b.map { a &+ $0 } })
            case 1: return ("(\(left) - \(right))", a.flatMap { a in b.map { a &- $0 } })
            case 2: return ("(\(left) * \(right))", a.flatMap { a in b.map { a &* $0 } })
            default:
                return (
                    "TERNARY(\(left) < \(right), \(left), \(right))", a.flatMap { a in b.map { a < $0 ? a : $0 } } ?? b
                )
            }
        }
        for _ in 0..<500 {
            let (text, expected) = tree(3)
            let found = try ExpressionRow.evaluate(text, .integer64)
            #expect(found == (expected.map { .integer($0) } ?? .null), "seed \(seed): \(text)")
        }
    }

    @Test("programs of the largest trees compile and run on a stack of two MiB")
    func deepTrees() throws {
        let sum = Array(repeating: "$source.i16", count: 399).joined(separator: " + ")
        #expect(try ExpressionRow.evaluate(sum, .integer64) == .integer(7 * 399))
        let nested = String(repeating: "1 + (", count: 90) + "$source.i16" + String(repeating: ")", count: 90)
        #expect(try ExpressionRow.evaluate(nested, .integer64) == .integer(97))
        var text = "$source.s"
        for _ in 0..<150 { text = "FUNCTION(\(text), 'stringByAppendingString:', 'x')" }
        #expect(try ExpressionRow.evaluate(text, .string) == .text("Hello" + String(repeating: "x", count: 150)))
        let chain = Array(repeating: "i16 == 7", count: 20_000).joined(separator: " AND ")
        #expect(try ExpressionRow.passes(chain))
        let list = (0..<50_000).map(String.init).joined(separator: ",")
        #expect(try ExpressionRow.passes("i32 IN {\(list),100000}"))
        #expect(try !ExpressionRow.passes("i32 IN {\(list)}"))
        var between = "i16"
        for _ in 0..<60 { between = "(\(between) IN {7, 1.5, TRUE})" }
        #expect(throws: Never.self) { try ExpressionRow.passes("\(between) == TRUE") }
    }
}
