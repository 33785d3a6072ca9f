import Diagnostics
import Mapping
import Rows
import Testing

@Suite("Keys of groups")
struct GroupingProgramTests {
    /// Returns the key of a row; nil if it is in no group.
    private func key(_ texts: [String], _ comparison: ComparisonOptions = [], nilIsAValue: Bool = false) throws
        -> [UInt8]?
    {
        var grouping = ObjectGrouping(
            expressions: try texts.map { GroupingExpression(try ValueExpression(parsing: $0)) })
        grouping.comparison = comparison
        grouping.nilIsAValue = nilIsAValue
        var resolver = ExpressionRow()
        let program = try GroupingProgram(grouping, resolver: &resolver) { _ in .init(entity: "E") }
        var key: [UInt8] = []
        return try program.writeKey(of: ExpressionRow.batch(), row: 0, to: &key) ? key : nil
    }

    @Test(
        "Equal values have equal keys, whatever computes them",
        arguments: [
            ("$source.i16", "$source.i16b"), ("$source.i16", "7"), ("$source.i16", "7.0"), ("$source.d", "2.5"),
            ("$source.decI", "3"), ("$source.dateI", "CAST(1000.0, 'NSDate')"), ("$source.s", "'Hello'"),
            ("$source.data", "CAST('0102', 'NSData')"), ("$source.zero", "-0.0"),
        ])
    func equal(left: String, right: String) throws {
        #expect(try key([left]) == key([right]))
        #expect(try key([left]) != nil)
    }

    @Test(
        "Other values have other keys",
        arguments: [
            ("$source.i16", "$source.neg"), ("$source.s", "$source.t"), ("$source.s", "'hello'"),
            ("$source.empty", "$source.zero"), ("$source.big", "9223372036854775800"), ("$source.huge", "$source.d"),
            ("$source.num", "42.5"),
        ])
    func different(left: String, right: String) throws { #expect(try key([left]) != key([right])) }

    @Test("Texts are compared without the differences that do not count")
    func folded() throws {
        #expect(try key(["$source.s"], .caseInsensitive) == key(["'hELLO'"], .caseInsensitive))
        #expect(try key(["$source.u8"], .diacriticInsensitive) == key(["'Große e😀'"], .diacriticInsensitive))
        #expect(try key(["$source.u8"], .caseInsensitive) != key(["'große e😀'"], .caseInsensitive))
    }

    @Test("All nil is no group, or one on request; one nil of several is a value")
    func missing() throws {
        #expect(try key(["$source.ni", "$source.ns"]) == nil)
        #expect(try key(["$source.ni", "$source.ns"], nilIsAValue: true) != nil)
        #expect(try key(["$source.ni", "$source.s"]) != key(["$source.s", "$source.ni"]))
    }

    @Test("Values do not run into each other, and long ones differ in all their bytes")
    func bounded() throws {
        #expect(try key(["'ab'", "'c'"]) != key(["'a'", "'bc'"]))
        let long = String(repeating: "x", count: 3000)
        #expect(try key(["'\(long)y'"]) != key(["'\(long)z'"]))
        #expect(try (key(["'\(long)y'"])?.count ?? 0) < 100)
    }

    @Test(
        "An object, or an expression that only objects evaluate, is refused",
        arguments: ["$source.account", "$manager"])
    func refused(text: String) { #expect(throws: MigrationError.self) { try key([text]) } }
}
