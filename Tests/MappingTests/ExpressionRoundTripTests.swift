import Diagnostics
import Foundation
import Mapping
import TestSupport
import Testing

@Suite("Expression round trips")
struct ExpressionRoundTripTests {
    /// Makes trees of every form that a text can say.
    struct TreeGenerator {
        var random: SeededGenerator

        private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[random.below(elements.count)] }

        private mutating func name() -> String {
            pick(["a", "amount", "in", "First", "größe", "_x1", "and", "odd name", "self", "b\\c'", "TRUE", "function"])
        }

        private mutating func components() -> [String] {
            (0...random.below(3)).map { _ in random.chance(5) ? pick(["@count", "@sum", "@max"]) : name() }
        }

        private mutating func constant() -> ExpressionConstant {
            switch random.below(8) {
            case 0: .null
            case 1: .boolean(random.chance(2))
            case 2: .integer(pick([0, 1, -1, .max, .min, 42, Int64(truncatingIfNeeded: random.next())]))
            case 3:
                .double(
                    pick([
                        0, -0.5, 1e300, .leastNonzeroMagnitude, .infinity, -.infinity, Double(random.below(1000)) / 7,
                    ]))
            case 4: .decimal(Decimal(random.below(100_000)) / 1000 - 50)
            case 5: .string(pick(["", "x", "it's", "\"", "\\", "line\nbreak\t", "\u{1}\u{7f}", "😀é", "$source", "%@"]))
            case 6: .date(pick([0, -1, 12.5, 1e9]))
            default: .data(Data((0..<random.below(4)).map { _ in UInt8(random.below(256)) }))
            }
        }

        mutating func value(_ depth: Int) -> ExpressionNode {
            if depth == 0 {
                switch random.below(6) {
                case 0: return .variable(pick(["source", "manager", "x"]))
                case 1: return .evaluatedObject
                case 2: return .anyKey
                case 3: return .keyPath(target: nil, components: components())
                case 4: return .keyPath(target: .variable("source"), components: components())
                default: return .constant(constant())
                }
            }
            let inner = depth - 1
            switch random.below(14) {
            case 0...2:
                return .arithmetic(
                    pick([.add, .subtract, .multiply, .divide, .power, .modulus]), value(inner), value(inner))
            case 3: return .negation(value(inner))
            case 4: return .aggregate((0..<random.below(4)).map { _ in value(inner) })
            case 5: return .ternary(predicate(inner), value(inner), value(inner))
            case 6:
                // A cast of a literal may be a constant's own form.
                let cast = value(inner)
                if case .constant = cast { return cast }
                return .cast(cast, pick(["NSDate", "NSString", "it's"]))
            case 7: return .subquery(value(inner), variable: "x", predicate(inner))
            case 8: return .setOperation(pick([.union, .intersection, .difference]), value(inner), value(inner))
            case 9:
                return .element(value(inner), pick([.first, .last, .size, .at(value(inner))]))
            case 10: return .fetch(request: value(inner), context: value(inner), countOnly: random.chance(2))
            case 11:
                let target = value(inner)
                if case .keyPath = target { return target }
                return .keyPath(target: target, components: components())
            case 12:
                if random.chance(2) {
                    return .function(
                        target: value(inner), selector: pick(["f", "a:b:", "it's:"]),
                        arguments: (0..<random.below(3)).map { _ in value(inner) })
                }
                let (selector, count): (String, Int) = pick([
                    ("now", 0), ("sum:", 1), ("add:to:", 2), ("max::", 2), ("in:", 1), ("odd name:", 1), ("f:g:", 1),
                    ("first", 0),
                ])
                return .function(target: nil, selector: selector, arguments: (0..<count).map { _ in value(inner) })
            default:
                if random.chance(2) { return .assignment("x", value(inner)) }
                let predicate = predicate(inner)
                if case .expression(let node) = predicate { return node }
                return .predicate(predicate)
            }
        }

        mutating func predicate(_ depth: Int) -> PredicateNode {
            if depth == 0 { return random.chance(2) ? .constant(random.chance(2)) : plain(value(0)) }
            let inner = depth - 1
            switch random.below(6) {
            case 0: return .not(predicate(inner))
            case 1: return .and((0...1 + random.below(2)).map { _ in predicate(inner) })
            case 2: return .or((0...1 + random.below(2)).map { _ in predicate(inner) })
            case 3: return plain(value(inner))
            default:
                return .comparison(
                    modifier: pick([.direct, .direct, .any, .all, .none]), value(inner),
                    pick([
                        .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .equal, .notEqual, .matches,
                        .like, .beginsWith, .endsWith, .contains, .isIn, .between,
                    ]),
                    value(inner), ComparisonOptions(rawValue: UInt8(random.below(16))))
            }
        }

        private func plain(_ node: ExpressionNode) -> PredicateNode {
            if case .predicate(let predicate) = node { return predicate }
            return .expression(node)
        }
    }

    @Test("a random tree, printed and read, is the same tree")
    func trees() throws {
        let seed = RandomSeeds.first
        print("ExpressionRoundTripTests.trees seed \(seed)")
        var generator = TreeGenerator(random: SeededGenerator(seed: seed))
        for _ in 0..<6000 {
            let depth = generator.random.below(5)
            let expression = ValueExpression(node: generator.value(depth))
            let text = expression.format
            let again = try? ValueExpression(parsing: text)
            #expect(again == expression, "seed \(seed): \(text)")
            #expect(again?.format == text)
            let predicate = SourcePredicate(node: generator.predicate(depth))
            #expect((try? SourcePredicate(format: predicate.format)) == predicate, "seed \(seed): \(predicate.format)")
        }
    }

    @Test("random trees compile or are refused, and run or fail with a value's error")
    func programs() throws {
        let seed = RandomSeeds.first
        print("ExpressionRoundTripTests.programs seed \(seed)")
        let leaves = [
            "$source.i16", "$source.d", "$source.dec", "$source.s", "$source.ni", "$source.nd", "$source.ns",
            "$source.yes", "$source.zero", "$source.date",
            "$source.huge", "$source.big", "$source.small", "$source.decN", "$source.u8", "nil", "5", "0", "2.5", "'x'",
            "TRUE", "$source.ndec", "now()",
            "$source.uuid", "CAST('1e100', 'NSDecimalNumber')",
        ]
        let shapes = [
            "(@ + @)", "(@ - @)", "(@ * @)", "(@ / @)", "(@ % @)", "(@ ** @)", "-@", "(@ < @)", "(@ == @)",
            "(@ != nil)", "TERNARY(@ > @, @, @)", "TERNARY(@, @, @)",
            "FUNCTION(@, 'stringByAppendingString:', @)", "uppercase(@)", "length(@)", "abs(@)", "floor(@)", "sqrt(@)",
            "CAST(@, 'NSString')", "CAST(@, 'double')",
            "CAST(@, 'NSDate')", "CAST(@, 'NSDecimalNumber')", "CAST(@, 'integer')", "max({@, @})", "(@ IN {@, @})",
            "(@ BETWEEN {@, @})", "(@ BEGINSWITH[cd] @)",
            "(@ AND @)", "(NOT @)", "(@ LIKE 'H*')", "bitwiseAnd:with:(@, @)", "leftshift:by:(@, @)",
        ]
        var generator = SeededGenerator(seed: seed)
        func text(_ depth: Int) -> String {
            if depth == 0 || generator.chance(5) { return leaves[generator.below(leaves.count)] }
            var result = ""
            for character in shapes[generator.below(shapes.count)] {
                result += character == "@" ? text(depth - 1) : String(character)
            }
            return result
        }
        let types = ExpressionRow.columns.map(\.type)
        var computed = 0
        for _ in 0..<20_000 {
            let format = text(1 + generator.below(3))
            let type = types[generator.below(types.count)]
            do {
                _ = try ExpressionRow.evaluate(format, type)
                computed += 1
            } catch let error as MigrationError {
                let codes = [
                    "expression.type", "expression.unsupported", "value.outOfRange", "value.divisionByZero",
                    "value.type",
                ]
                #expect(codes.contains(error.code.rawValue), "seed \(seed): \(format): \(error)")
            }
            if let passes = try? ExpressionRow.passes("\(format) == \(format)") { computed += passes ? 1 : 0 }
        }
        #expect(computed > 500)
    }
}
