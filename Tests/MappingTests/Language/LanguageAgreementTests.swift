import Diagnostics
import Foundation
import ManagedModel
import Mapping
import Rows
import TestSupport
import Testing

/// Random expressions over one row, by the compiled program and by the evaluator: both have to give the same.
///
/// Left out is what legitimately differs. A compiled TERNARY or list of numbers of several types has their common type
/// before anything is computed, the evaluator knows only the value it has: `TERNARY(a, 1, 2.5) / 2`. Types that do not
/// fit are found when a program is compiled and only when they are met by the evaluator. A compiled filter follows SQL,
/// where a comparison with nil is unknown and NOT of unknown is unknown; the evaluator has two truth values.
@Suite("The language: evaluator and compiled programs")
struct LanguageAgreementTests {
    struct Generator {
        var random: SeededGenerator
        /// The beginning of key paths.
        var root = "$source."
        var allowsNil = true

        mutating func pick(_ texts: [String]) -> String { texts[random.below(texts.count)] }

        private mutating func column(_ names: [String], nils: [String]) -> String {
            root + pick(allowsNil ? names + nils : names)
        }

        mutating func integer(_ depth: Int) -> String {
            if depth == 0 || random.chance(4) {
                return random.chance(2)
                    ? pick(["0", "1", "-1", "2", "3", "7", "-13", "63", "9223372036854775807", "100000"])
                    : column(["i16", "i32", "i64", "neg", "zero", "big", "small", "i16b"], nils: ["ni"])
            }
            let inner = depth - 1
            switch random.below(12) {
            case 0...4: return "(\(integer(inner)) \(pick(["+", "-", "*", "/", "%", "**"])) \(integer(inner)))"
            case 5: return "(-\(integer(inner)))"
            case 6: return "\(pick(["abs", "floor", "ceiling", "trunc", "onesComplement"]))(\(integer(inner)))"
            case 7:
                let name = pick([
                    "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:", "rightshift:by:",
                ])
                return "\(name)(\(integer(inner)), \(integer(inner)))"
            case 8: return "length(\(text(inner)))"
            case 9: return "\(pick(["min", "max"]))({\(integer(inner)), \(integer(inner)), \(integer(inner))})"
            case 10: return "CAST(\(random.chance(2) ? real(inner) : decimal(inner)), 'integer')"
            default: return "TERNARY(\(predicate(inner)), \(integer(inner)), \(integer(inner)))"
            }
        }

        mutating func real(_ depth: Int) -> String {
            if depth == 0 || random.chance(4) {
                return random.chance(2)
                    ? pick(["0.0", "1.5", "-2.25", "1e10", "0.1", "1e300"])
                    : column(["d", "negd", "f", "huge"], nils: ["nd"])
            }
            let inner = depth - 1
            switch random.below(8) {
            case 0...2: return "(\(real(inner)) \(pick(["+", "-", "*", "/", "%", "**"])) \(number(inner)))"
            case 3: return "(\(integer(inner)) \(pick(["+", "-", "*", "/"])) \(real(inner)))"
            case 4: return "\(pick(["abs", "floor", "ceiling", "trunc", "sqrt", "ln", "log", "exp"]))(\(real(inner)))"
            case 5: return "(\(date(inner)) - \(date(inner)))"
            case 6: return "CAST(\(random.chance(2) ? decimal(inner) : integer(inner)), 'double')"
            default: return "TERNARY(\(predicate(inner)), \(real(inner)), \(real(inner)))"
            }
        }

        mutating func decimal(_ depth: Int) -> String {
            if depth == 0 || random.chance(3) {
                return random.chance(2)
                    ? pick(["CAST('0.1', 'NSDecimalNumber')", "CAST('-12.50', 'NSDecimalNumber')"])
                    : column(["dec", "decI"], nils: ["ndec"])
            }
            let inner = depth - 1
            switch random.below(6) {
            case 0...1: return "(\(decimal(inner)) \(pick(["+", "-", "*", "/", "%"])) \(decimal(inner)))"
            case 2: return "(\(decimal(inner)) \(pick(["+", "-", "*", "/", "**"])) \(integer(inner)))"
            case 3: return "\(pick(["abs", "floor", "ceiling", "trunc"]))(\(decimal(inner)))"
            case 4: return "CAST(\(random.chance(2) ? real(inner) : text(inner)), 'NSDecimalNumber')"
            default: return "TERNARY(\(predicate(inner)), \(decimal(inner)), \(decimal(inner)))"
            }
        }

        mutating func number(_ depth: Int) -> String {
            switch random.below(3) {
            case 0: integer(depth)
            case 1: real(depth)
            default: decimal(depth)
            }
        }

        mutating func date(_ depth: Int) -> String {
            if depth == 0 || random.chance(2) {
                return random.chance(2)
                    ? pick(["now()", "CAST(12.5, 'NSDate')"]) : column(["date", "dateI"], nils: ["ndate"])
            }
            return random.chance(2)
                ? "(\(date(depth - 1)) \(pick(["+", "-"])) \(number(depth - 1)))"
                : "(\(number(depth - 1)) + \(date(depth - 1)))"
        }

        mutating func text(_ depth: Int) -> String {
            if depth == 0 || random.chance(3) {
                return random.chance(2)
                    ? pick(["'a'", "''", "'Hello'", "'größe'", "'1.5'", "'hello world'", "'é'", "'e\u{301}'"])
                    : column(["s", "t", "empty", "u8", "num"], nils: ["ns"])
            }
            let inner = depth - 1
            switch random.below(6) {
            case 5: return "(\(text(inner)) + \(text(inner)))"
            case 0...1: return "FUNCTION(\(text(inner)), 'stringByAppendingString:', \(text(inner)))"
            case 2: return "\(pick(["uppercase", "lowercase", "canonical"]))(\(text(inner)))"
            case 3: return "CAST(\(random.chance(2) ? integer(inner) : real(inner)), 'NSString')"
            default: return "TERNARY(\(predicate(inner)), \(text(inner)), \(text(inner)))"
            }
        }

        mutating func predicate(_ depth: Int) -> String {
            if depth == 0 { return pick(["TRUEPREDICATE", "FALSEPREDICATE", "\(root)yes", "\(root)no == NO"]) }
            let inner = depth - 1
            let sign = pick(["==", "!=", "<", "<=", ">", ">="])
            let options = pick(["", "", "[c]", "[d]", "[cd]"])
            switch random.below(11) {
            case 0: return "(\(predicate(inner)) \(pick(["AND", "OR"])) \(predicate(inner)))"
            case 1: return "(NOT \(predicate(inner)))"
            case 2...3: return "(\(number(inner)) \(sign) \(number(inner)))"
            case 4: return "(\(text(inner)) \(sign)\(options) \(text(inner)))"
            case 5: return "(\(date(inner)) \(sign) \(date(inner)))"
            case 6:
                return "(\(text(inner)) \(pick(["BEGINSWITH", "ENDSWITH", "CONTAINS", "IN"]))\(options) \(text(inner)))"
            case 7:
                let pattern =
                    random.chance(2)
                    ? "LIKE\(options) " + pick(["'*'", "'h?l*'", "'a'", "''", "'?*'"])
                    : "MATCHES\(options) " + pick(["'.*'", "'[a-z]+'", "'a'", "''", "'H.*o'"])
                return "(\(text(inner)) \(pattern))"
            case 8: return "(\(integer(inner)) BETWEEN {\(number(inner)), \(integer(inner))})"
            case 9: return "(\(number(inner)) IN {\(number(inner)), \(integer(inner)), 7})"
            default:
                return random.chance(2)
                    ? "(\(text(inner)) IN\(options) {\(text(inner)), 'hello'})"
                    : "(\(pick([integer(inner), text(inner), date(inner)])) \(pick(["==", "!="])) nil)"
            }
        }
    }

    /// The row of the programs as an object.
    static var row: [String: Any?] {
        Dictionary(
            uniqueKeysWithValues: ExpressionRow.columns.map { column in
                let value: Any?
                switch (column.type, column.value) {
                case (.boolean, .integer(let number)): value = number != 0
                case (.decimal, .integer(let number)): value = Decimal(number)
                case (.decimal, .real(let number)): value = Decimal(string: "\(number)")
                case (.date, .integer(let number)): value = Date(timeIntervalSinceReferenceDate: Double(number))
                case (.date, .real(let number)): value = Date(timeIntervalSinceReferenceDate: number)
                case (_, .integer(let number)): value = number
                case (_, .real(let number)): value = number
                case (_, .text(let text)): value = text
                default: value = nil
                }
                return (column.name, value)
            })
    }

    /// An evaluated value as an attribute of a type stores it.
    private static func stored(_ value: Any?) -> ExpressionRow.Value {
        switch ExpressionConstant(value) {
        case .boolean(let flag): return .integer(flag ? 1 : 0)
        case .integer(let number): return .integer(number)
        case .double(let number): return .real(number)
        case .decimal(let number):
            if let whole = Int64(number.description) { return .integer(whole) }
            return .real(Double(number.description) ?? .nan)
        case .string(let text): return .text(text)
        case .date(let seconds): return .real(seconds)
        default: return .null
        }
    }

    @Test("agree on random expressions")
    func expressions() throws {
        let seed = RandomSeeds.first
        print("LanguageAgreementTests.expressions seed \(seed)")
        var generator = Generator(random: SeededGenerator(seed: seed))
        var (values, errors) = (0, 0)
        let object = LanguageFixture.Thing("Row", Self.row)
        try EvaluationScope.$current.withValue(EvaluationScope(now: 5000)) {
            for _ in 0..<8000 {
                let depth = 1 + generator.random.below(3)
                let (text, type): (String, AttributeType) =
                    switch generator.random.below(6) {
                    case 0: (generator.integer(depth), .integer64)
                    case 1: (generator.real(depth), .double)
                    case 2: (generator.decimal(depth), .decimal)
                    case 3: (generator.text(depth), .string)
                    case 4: (generator.date(depth), .date)
                    default: ("TERNARY(\(generator.predicate(depth)), 1, 0)", .integer64)
                    }
                let compiled = Result { try ExpressionRow.evaluate(text, type) }
                let expression = try ValueExpression(parsing: text)
                let evaluated = Result {
                    Self.stored(try expression.evaluate(with: object, variables: ["source": object]))
                }
                switch (compiled, evaluated) {
                case (.success(let one), .success(let other)):
                    values += 1
                    // A date that is only copied stays the integer that the store may hold.
                    if case .integer(let seconds) = one, type == .date, other == .real(Double(seconds)) { continue }
                    #expect(one == other, "seed \(seed): \(text)")
                case (.failure(let one as MigrationError), .failure(let other as MigrationError)):
                    errors += 1
                    #expect(one.code == other.code, "seed \(seed): \(text)")
                default: Issue.record("seed \(seed): \(text): \(compiled) is not \(evaluated)")
                }
            }
        }
        #expect(values > 2000 && errors > 50, "\(values) values and \(errors) errors")
    }

    @Test("agree on random filters over rows without nil")
    func filters() throws {
        let seed = RandomSeeds.first
        print("LanguageAgreementTests.filters seed \(seed)")
        var generator = Generator(random: SeededGenerator(seed: seed), root: "", allowsNil: false)
        let object = LanguageFixture.Thing("Row", Self.row)
        var passed = 0
        try EvaluationScope.$current.withValue(EvaluationScope(now: 5000)) {
            for _ in 0..<4000 {
                let text = generator.predicate(1 + generator.random.below(3))
                let predicate = try SourcePredicate(format: text)
                let compiled = Result { try ExpressionRow.passes(text) }
                let evaluated = Result { try predicate.evaluate(with: object) }
                switch (compiled, evaluated) {
                case (.success(let one), .success(let other)):
                    passed += one ? 1 : 0
                    #expect(one == other, "seed \(seed): \(text)")
                case (.failure, .failure): continue
                default: Issue.record("seed \(seed): \(text): \(compiled) is not \(evaluated)")
                }
            }
        }
        #expect(passed > 500)
    }

    @Test("agree on random filters over rows with nil if the evaluator follows SQL, too")
    func filtersWithNil() throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = RandomSeeds.first
        let runs = environment["STAGECOACH_RUNS"].flatMap(Int.init).map { $0 * 200 } ?? 4000
        print("LanguageAgreementTests.filtersWithNil seed \(seed), \(runs) runs")
        var generator = Generator(random: SeededGenerator(seed: seed), root: "")
        let object = LanguageFixture.Thing("Row", Self.row)
        var (passed, unknown) = (0, 0)
        try EvaluationScope.$current.withValue(EvaluationScope(now: 5000)) {
            for _ in 0..<runs {
                let text = generator.predicate(1 + generator.random.below(3))
                let predicate = try SourcePredicate(format: text)
                let compiled = Result { try ExpressionRow.passes(text) }
                let evaluated = Result { try predicate.filterTruth(of: object, variables: [:]) }
                switch (compiled, evaluated) {
                case (.success(let one), .success(let other)):
                    passed += one ? 1 : 0
                    unknown += other == nil ? 1 : 0
                    #expect(one == (other == true), "seed \(seed): \(text)")
                case (.failure, .failure): continue
                default: Issue.record("seed \(seed): \(text): \(compiled) is not \(evaluated)")
                }
            }
        }
        #expect(passed > 500 && unknown > 100, "\(passed) passed, \(unknown) unknown")
    }

    @Test(
        "differ only where the documentation says",
        arguments: [
            // Text, the compiled filter's answer, the evaluator's.
            ("NOT (ni > 5)", false, true), ("ni != 5", false, true), ("NOT (ns == 'x')", false, true),
            ("ni > 5", false, false), ("ni == nil", true, true), ("NOT (ni == nil)", false, false),
        ])
    func differences(text: String, compiled: Bool, evaluated: Bool) throws {
        #expect(try ExpressionRow.passes(text) == compiled)
        #expect(try SourcePredicate(format: text).evaluate(with: LanguageFixture.Thing("Row", Self.row)) == evaluated)
    }
}
